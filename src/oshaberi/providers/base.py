"""The base class of all adapters: turns wire events into chunks.

A family defines how to ask (`events`), what one event says (`read`) and what an error means
(`classify`). The base class assembles chunks, holds text back, and turns errors into chunks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from time import monotonic
from types import MappingProxyType
from typing import Any, NamedTuple

from oshaberi.chunks import Chunk, ProviderError, Usage
from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities
from oshaberi.providers.error_classification import LOST
from oshaberi.providers.request.answer_budgets import DEFAULT_BUDGETS, BudgetMeter, byte_size
from oshaberi.providers.request.model_request import Endpoint, Request, RequestSize
from oshaberi.providers.request.preparation import FittedRequest, fitted, left_out
from oshaberi.providers.request.token_estimate import request_cost
from oshaberi.providers.wire.chunk_assembler import ChunkAssembler
from oshaberi.providers.wire.errors import with_window
from oshaberi.providers.wire.steps import Step
from oshaberi.secret_redaction import SecretValues

_NOTHING_YET = (None,)
_made = tuple.__new__
"""Makes a named tuple without `__new__`, which costs more than everything else here, once per
token."""


class RawChunk(NamedTuple):
    """One wire event, and the chunk that the stream's assembler made of it.

    `chunk` is None if the event makes no chunk by itself, such as a piece of a tool call.
    """

    data: Any
    provider: str
    model: str
    received_at: float
    chunk: Chunk | None = None


class Adapter(ABC):
    """One model behind one API. Serves any number of streams; call `aclose` at the end."""

    name: str
    model: str
    reemits: bool = False
    text: Mapping[str, Any] = MappingProxyType({})
    """Text settings that are different for this model (spec 01): flush sizes, message length."""
    continues: bool = False
    """Whether an answer that ran out of tokens says how to continue it (`continuation_prefill`)."""
    endpoint: Endpoint | None = None
    """None for an adapter without a window, about which nothing is learned."""

    @abstractmethod
    def events(self, request: Request) -> AsyncGenerator[Any, None]:
        """Yield the wire events of one answer, without keep-alives.

        Closes its connection at the end, or when the iterator is closed. Raises what the SDK
        raises.
        """

    @abstractmethod
    def read(self, event: Any) -> Sequence[Step]:
        """Return what one event says, in order; nothing for a keep-alive. Pure."""

    @abstractmethod
    def classify(self, error: Exception) -> ProviderError:
        """Turn any exception into a ProviderError without secrets. Pure."""

    async def explain(self, problem: ProviderError) -> ProviderError:
        """Return the error with a hint about what to do, if there is one."""
        return problem

    @abstractmethod
    async def aclose(self) -> None:
        """Close every connection that was kept open for the next stream."""

    def takes_prefill(self, _request: Request) -> bool:
        """Return whether the model continues the request's `prefill`."""
        return False

    def capabilities(self) -> ModelCapabilities:
        """Return what is known at the moment about the model's capabilities."""
        return ModelCapabilities()

    async def left_out(self, request: Request, share: float = 1.0) -> frozenset[int]:
        """Return the indexes of the items that do not fit into the window.

        If some do not fit, it returns enough of them that the others take at most `share` of the
        room.
        """
        if self.endpoint is None:
            return frozenset()
        return await left_out(request, self.endpoint, self.capabilities(), share)

    async def fitted(self, request: Request) -> FittedRequest:
        """Return the request as it would be sent: within the window, without what is left out."""
        if self.endpoint is None:
            return FittedRequest(request, None, request_cost(request))
        return await fitted(request, self.endpoint, self.capabilities(), is_exact=True)

    def local_stops(self, _request: Request) -> Sequence[str]:
        """Return the stop strings that the adapter applies itself, because the API takes none."""
        return ()

    def normalise(self, raw: RawChunk) -> Chunk | None:
        """Return the chunk of a raw chunk. Pure."""
        return raw.chunk

    async def open(self, request: Request) -> AsyncIterator[RawChunk]:
        """Yield the raw chunks of one answer. Errors are chunks too; none is raised (spec 02)."""
        name, model, read = self.name, self.model, self.read
        size = RequestSize()
        request = replace(request, size=size)
        budgets = DEFAULT_BUDGETS if self.endpoint is None else self.endpoint.budgets
        meter = BudgetMeter(budgets)
        assembler = ChunkAssembler(name, request, self.local_stops(request), meter)
        event: Any = None
        try:
            async with aclosing(self.events(request)) as events:
                async for event in events:
                    steps = read(event)
                    if not steps:
                        continue
                    step = steps[0]
                    if (
                        assembler.is_plain
                        and len(steps) == 1
                        and step.__class__ is Chunk
                        and step[0] == "text"
                        and not step[4]  # thoughts have a budget of their own
                    ):
                        # Fast path for nearly every token: the assembler would not change it.
                        text = step[1]
                        used = len(text) if text.isascii() else byte_size(text)
                        if used <= meter.text_left:
                            meter.text_left -= used
                            yield _made(RawChunk, (event, name, model, monotonic(), step))
                            continue
                    # A piece of a call makes no chunk yet, but it is life: the timer sees it.
                    for chunk in assembler.take(steps) or _NOTHING_YET:
                        if chunk is not None and chunk.usage is not None:
                            self._learn_size(size, chunk.usage)
                        yield _made(RawChunk, (event, name, model, monotonic(), chunk))
                    if assembler.is_over:
                        assembler.check_budget()
                        return
            last = assembler.finish()
            for chunk in last:
                if chunk.usage is not None:
                    self._learn_size(size, chunk.usage)
        except Exception as error:
            # The error itself holds the request with its key: it stays here.
            problem = await self.explain(self._problem(error, has_begun=event is not None))
            last = assembler.fail(with_window(problem, size))
        for chunk in last:
            yield RawChunk(None, name, model, monotonic(), chunk)

    def _problem(self, error: Exception, *, has_begun: bool) -> ProviderError:
        problem = self.classify(error)
        if has_begun and problem.type == "network":
            return replace(problem, message=LOST, shown=LOST, broke_off=True)
        return problem

    def _learn_size(self, size: RequestSize, usage: Usage) -> None:
        """Note how many tokens the API counted, so that the next estimate is better."""
        if self.endpoint is not None:
            tokens = self.endpoint.learned.tokens
            tokens.note(self.endpoint.place, size.estimated_tokens, usage.input_tokens)


class EndpointAdapter(Adapter):
    """An adapter for the model of one endpoint."""

    endpoint: Endpoint

    def __init__(self, endpoint: Endpoint) -> None:
        self.name = endpoint.name
        self.model = endpoint.model
        self.reemits = endpoint.reemits
        self.endpoint = endpoint
        self._redact = SecretValues(endpoint.secrets).redacted
