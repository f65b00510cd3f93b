"""Lets several observers listen to the text engine of one stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from oshaberi.stream.stream_context import StreamContext, StreamTextEngine, text_engine

if TYPE_CHECKING:
    from oshaberi.text.decision_observer import Decision

Hear = Callable[["Decision"], None]


class ObservedEngines:
    """Makes engines whose decisions reach all listeners. Listeners must not raise."""

    def __init__(self) -> None:
        self.listeners: list[Hear] = []

    def __call__(self, config: Any, carry: Any) -> StreamTextEngine:
        from oshaberi import TextEngine

        return TextEngine(config, carried=carry, observe=self._tell)

    def _tell(self, decision: Decision) -> None:
        for hear in self.listeners:
            hear(decision)


def listen(context: StreamContext, hear: Hear) -> Callable[[], None]:
    """Call `hear` for each decision, from the next engine on. Returns a function that ends it.

    Does nothing if the context has a custom engine.
    """
    if context.make_engine is text_engine:
        context.make_engine = ObservedEngines()
    engines = context.make_engine
    if not isinstance(engines, ObservedEngines):
        return lambda: None
    engines.listeners.append(hear)

    def leave() -> None:
        engines.listeners.remove(hear)
        if not engines.listeners and context.make_engine is engines:
            context.make_engine = text_engine

    return leave
