"""`deliver`: hand over a model's stream and a place on Discord, get whole messages delivered.

The answer ends with one `Delivery`. What the caller's stream raises is raised again, after what was
said before it has been delivered.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from oshaberi.chunks import Chunk, ToolCall
from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.response import ResponseState
from oshaberi.delivery.sink import DeliveryTarget, Post, Sent, Sink, WireState
from oshaberi.errors import ConfigError, OshaberiError
from oshaberi.one_call.model_streams import CallersStream
from oshaberi.stream import StopRegistry, StreamContext, StreamResult, stream_to_sink
from oshaberi.stream.result import Status, StopReason
from oshaberi.text.config import Persona, TextConfig

OnError = Callable[[Exception], str | Awaitable[str | None] | None]

LIBRARIES = {
    "discord": "oshaberi.discord_io.targets",
    "disnake": "oshaberi.other_libraries.discord_forks",
    "hikari": "oshaberi.other_libraries.hikari",
    "nextcord": "oshaberi.other_libraries.discord_forks",
    "pycord": "oshaberi.other_libraries.discord_forks",
}
"""The Discord libraries by the name of their package, and the module that knows its objects."""

DEFAULTS: dict[str, Any] = {
    # A model's words are delivered in full and unchanged.
    "max_flush_count": 1000,
    "emoji_preserve_unresolved_shortcodes": True,
    "participant_guard_enabled": False,
}
"""Settings that differ from the bot's."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of an answer."""

    status: Status
    messages: tuple[Sent, ...] = ()
    """The messages that were sent, each with `id` and `url`."""
    text: str = ""
    """What can be read on Discord."""
    thoughts: tuple[str, ...] = ()
    """What the model thought. It is never posted."""
    calls: tuple[ToolCall, ...] = ()
    """The tools that the model asked for. Run them, and deliver the next stream `after` this."""
    undelivered: str = ""
    """The text that Discord did not accept, or that a stop kept back."""
    stop_reason: StopReason | None = None
    error: Exception | None = None
    """The exception that `on_error` took care of."""
    result: StreamResult | None = field(default=None, repr=False, compare=False)
    """Everything else that is known: token counts, times, the ledger."""
    state: _AnswerState | None = field(default=None, repr=False, compare=False)
    """The state with which the next stream of the same answer continues."""


@dataclass(frozen=True, slots=True)
class _AnswerState:
    target: DeliveryTarget
    response: ResponseState


async def deliver(
    stream: Any,
    to: Any,
    *,
    degree: int = 2,
    persona: Persona | str | None = None,
    on_error: OnError | None = None,
    typing: bool = True,
    notices: bool = False,
    ephemeral: bool | None = None,
    after: Delivery | None = None,
    **settings: Any,
) -> Delivery:
    """Deliver a model's stream to Discord as whole messages, and return the result.

    `stream` is any iterator of text or `Chunk`s, asynchronous or not, or the stream object of the
    OpenAI, Anthropic or Google SDK or of pydantic-ai. `to` is a message (the answer is a reply), a
    channel, a thread, a user, a command's context, an interaction or a webhook.

    `degree` is 0 (one answer) to 3 (sentence by sentence, casual); see `TextConfig`. A `persona`
    with `is_alter`, or a mere name, speaks through a webhook under that name and with its avatar.
    `typing=False` shows no typing indicator. With `notices`, the channel is told about errors.
    `ephemeral` is for interactions; None keeps what you have answered with. `after` is the part
    of the same answer that ended with tool calls. All other keywords are settings of `TextConfig`
    and `StreamConfig`.

    What the stream raises is raised after the text before it has been delivered. With `on_error`,
    that is called instead; the text that it returns is sent. Refusals of Discord are not raised:
    see `status`, `stop_reason` and `undelivered`.
    """
    options = _options(degree, persona, on_error, typing, notices, **settings)
    state = await _state_of(to, ephemeral, after)
    return await _Answer(state, options).run(stream)


async def _state_of(to: Any, ephemeral: bool | None, after: Delivery | None) -> _AnswerState:
    if after is not None and after.state is not None:
        return after.state
    return _AnswerState(await open_target(to, ephemeral), ResponseState())


@dataclass(frozen=True, slots=True)
class _Options:
    degree: int
    persona: Persona | str | None
    on_error: OnError | None
    typing: bool
    notices: bool
    settings: dict[str, Any]

    def config(self, target: DeliveryTarget) -> StreamConfig:
        found = {"known": target.known, "emojis": target.emojis}
        chosen = DEFAULTS | found | self.settings
        words = {name: value for name, value in chosen.items() if name in TEXT_SETTINGS}
        rest = {name: value for name, value in chosen.items() if name in STREAM_SETTINGS}
        text = TextConfig(humanizer_degree=self.degree, persona=self._speaker(target), **words)
        return StreamConfig(text=text, suppress_user_errors=not self.notices, **rest)

    def _speaker(self, target: DeliveryTarget) -> Persona | None:
        if isinstance(self.persona, str):
            return Persona(self.persona, is_alter=True)
        if self.persona is not None and target.persona is not None:
            return replace(self.persona, is_alter=True)
        return self.persona or target.persona


TAKEN = {"humanizer_degree", "persona", "text", "suppress_user_errors", "suppress_text_output"}
"""Settings that have a keyword of their own, or make no sense here."""
TEXT_SETTINGS = {setting.name for setting in fields(TextConfig)} - TAKEN
STREAM_SETTINGS = {setting.name for setting in fields(StreamConfig)} - TAKEN


def _options(
    degree: int = 2,
    persona: Persona | str | None = None,
    on_error: OnError | None = None,
    typing: bool = True,
    notices: bool = False,
    **settings: Any,
) -> _Options:
    known = TEXT_SETTINGS | STREAM_SETTINGS
    for name in settings:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}?" if near else "`oshaberi settings` lists them"
            raise ConfigError(f"deliver: there is no setting {name}; {hint}")
    return _Options(degree, persona, on_error, typing, notices, settings)


class _Answer:
    """One stream of an answer, from its first item to its result."""

    def __init__(self, state: _AnswerState, options: _Options) -> None:
        self._target = state.target
        self._response = state.response
        self._state = state
        self._options = options
        self._config = options.config(state.target)
        self._sink = _CallersSink(state.target.sink, options)
        self._stops = StopRegistry()

    async def run(self, stream: Any) -> Delivery:
        source, before = CallersStream(stream), len(self._response.messages)
        is_over, told = True, ""
        try:
            with _running(self._target.channel, self._stops):
                result = await self._play(source)
                if source.failure is not None:
                    told = await self._handle(source.failure)
            # An interaction goes on thinking while the caller runs the tools.
            is_over = result.status != "function_call"
        finally:
            if is_over:
                await self._target.close()
        _raise_fault(result)
        return self._delivery(result, before, told, source.failure)

    async def _play(self, source: CallersStream) -> StreamResult:
        context = StreamContext(
            channel=self._target.channel,
            reply_to=self._target.replies,
            stops=self._stops,
            response=self._response,
        )
        return await stream_to_sink(source, None, self._config, context, self._sink)

    async def _handle(self, failure: Exception) -> str:
        """Raise the failure, or send what `on_error` says instead. Return what was sent."""
        if self._options.on_error is None:
            raise failure
        told = self._options.on_error(failure)
        text = await told if inspect.isawaitable(told) else told
        return (await self._play(CallersStream(text))).accumulated_text if text else ""

    def _delivery(
        self, result: StreamResult, before: int, told: str, error: Exception | None
    ) -> Delivery:
        return Delivery(
            status=result.status,
            messages=tuple(self._response.messages[before:]),
            text="\n".join(filter(None, (result.accumulated_text, told))),
            thoughts=tuple(result.thought_log.texts),
            calls=result.calls,
            undelivered=result.undelivered,
            stop_reason=result.stop_reason,
            error=error,
            result=result,
            state=self._state,
        )


def _raise_fault(result: StreamResult) -> None:
    """Raise bugs, in a sink or here. A refusal or an outage of Discord is returned as a value."""
    if isinstance(result.data, Exception) and not isinstance(result.data, OshaberiError | OSError):
        raise result.data


class _CallersSink:
    """The target's sink, without what the caller switched off: typing, notices, dead buttons."""

    def __init__(self, sink: Sink, options: _Options) -> None:
        self._sink = sink
        self._options = options
        self.room = sink.room
        self.edit = sink.edit
        self.delete = sink.delete
        self.reply_notice = sink.reply_notice
        self.open_webhook = sink.open_webhook
        self.forget_webhook = sink.forget_webhook
        self.find_arrivals = sink.find_arrivals

    @property
    def display_name(self) -> str | None:
        return self._sink.display_name

    async def send(self, post: Post, wire: WireState) -> Sent:
        if post.embed is not None:
            if not self._options.notices:
                return Sent(None)
            # Only the bot can answer again when its button is pressed.
            post = replace(post, embed=replace(post.embed, offers_retry=False))
        return await self._sink.send(post, wire)

    async def typing(self, ms: int | None) -> None:
        if self._options.typing:
            await self._sink.typing(ms)


async def open_target(to: Any, ephemeral: bool | None = None) -> DeliveryTarget:
    """Return the target that an object of a Discord library stands for. Raises TypeError.

    A sink of ours is a target too.
    """
    if hasattr(to, "find_arrivals"):
        return DeliveryTarget(to, channel=str(id(to)))
    for package in (cls.__module__.partition(".")[0] for cls in type(to).__mro__):
        if package in LIBRARIES:
            # py-cord has the same package name as discord.py, but another title.
            package = getattr(sys.modules[package], "__title__", package)
            opening = import_module(LIBRARIES[package]).open_target
            target: DeliveryTarget = await opening(to, ephemeral)
            return target
    raise TypeError(
        f"deliver: cannot send to {type(to).__name__!r}; pass a message, a channel, a thread, a "
        "user, a context, an interaction or a webhook"
    )


_answers: dict[str, list[StopRegistry]] = {}
"""The answers that are running now, by the id of their channel."""


@contextmanager
def _running(channel: str, stops: StopRegistry) -> Iterator[None]:
    running = _answers.setdefault(channel, [])
    running.append(stops)
    try:
        yield
    finally:
        running.remove(stops)
        if not running:
            del _answers[channel]


def stop(channel: Any) -> bool:
    """Stop the answers that are being delivered in a channel. Return whether there were any.

    `channel` is a channel or its id, or a message, context or interaction in it. What was said so
    far is sent; what comes after it is in `undelivered`.
    """
    key = _channel_id(channel)
    stopped = [stops.request_stop(key, "caller") for stops in tuple(_answers.get(key, ()))]
    return any(stopped)


def _channel_id(place: Any) -> str:
    if isinstance(place, int | str):
        return str(place)
    if hasattr(place, "find_arrivals"):
        return str(id(place))
    for name in ("channel_id", "channel", "dm_channel"):
        found = getattr(place, name, None)
        if found is not None:
            return _channel_id(found)
    return str(int(place.id))


class DeliveryWriter:
    """Takes an answer piece by piece. After the block, `result` has the outcome."""

    def __init__(self) -> None:
        self.result: Delivery | None = None
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._items: asyncio.Queue[Any] = asyncio.Queue()
        self._is_open = True

    def write(self, item: str | Chunk | Any) -> bool:
        """Add a piece of text, or an item as `deliver` takes it. May be called from any thread.

        Returns False if nothing more is wanted: somebody stopped the answer.
        """
        if threading.get_ident() == self._thread:
            self._items.put_nowait(item)
        else:
            self._loop.call_soon_threadsafe(self._items.put_nowait, item)
        return self._is_open

    async def _read(self) -> AsyncGenerator[Any, None]:
        try:
            while not isinstance(item := await self._items.get(), _WritingEnd):
                yield item
            if item.error is not None:
                raise item.error
        finally:
            self._is_open = False


@dataclass(frozen=True, slots=True)
class _WritingEnd:
    error: Exception | None = None


@asynccontextmanager
async def open_delivery(
    to: Any,
    *,
    ephemeral: bool | None = None,
    after: Delivery | None = None,
    **options: Any,
) -> AsyncIterator[DeliveryWriter]:
    """Deliver what is written in the block; takes the options of `deliver`.

    async with oshaberi.delivery(to=message) as out:
        model.generate(prompt, on_token=out.write)

    The block ends when everything is delivered. What it raises is raised after that.
    """
    chosen = _options(**options)
    state = await _state_of(to, ephemeral, after)
    out = DeliveryWriter()
    answer = _Answer(state, chosen)
    delivering = asyncio.create_task(answer.run(out._read()))  # noqa: SLF001
    failure: Exception | None = None
    try:
        yield out
    except Exception as error:
        failure = error
    except BaseException:
        delivering.cancel()
        await asyncio.wait({delivering})
        raise
    out.write(_WritingEnd(failure))
    out.result = await delivering
    if failure is not None and out.result.error is not failure:
        raise failure  # the answer had ended before
