"""Prepares a request for an endpoint: trims it to the window, fetches images."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from oshaberi.errors import Sentence
from oshaberi.providers.capabilities.learned import Lesson
from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities
from oshaberi.providers.request.dialogue import for_model
from oshaberi.providers.request.model_request import (
    ContextItem,
    Endpoint,
    FetchImage,
    ImagePart,
    Item,
    Part,
    Request,
    TextPart,
    ToolRound,
)
from oshaberi.providers.request.token_estimate import (
    Count,
    RequestCost,
    request_cost,
    request_tokens,
    text_tokens,
)

# Finds the size of a model's window: the most reliable known value, else the usual one.


async def known_window(endpoint: Endpoint, capabilities: ModelCapabilities) -> int | None:
    """Return the window in tokens. For a local server its own value counts, not the model's."""
    if endpoint.window is not None:
        return endpoint.window
    if endpoint.ask_window is not None:
        return await endpoint.ask_window() or endpoint.usual_window
    return capabilities.window or endpoint.usual_window


# Fits a conversation into a model's window: drops the oldest first, never system (spec 01).


REPLY = 4096
"""How many tokens are reserved for the answer if its length is not limited."""
STEPS = 8
"""A history that is too long is shortened in steps of one eighth of the window's room."""


def trimmed(request: Request, window: int | None, count: Count = text_tokens) -> tuple[Item, ...]:
    """Return the items that fit. The question always stays, however long it is."""
    dropped = overflowing(request, window, count)
    return tuple(item for index, item in enumerate(request.items) if index not in dropped)


def overflowing(
    request: Request, window: int | None, count: Count = text_tokens, share: float = 1.0
) -> frozenset[int]:
    """Return the indexes of the items to drop.

    If some must be dropped, it drops enough that the rest takes at most `share` of the room. The
    history before the question is dropped in steps of an eighth of the room: as it grows, several
    requests in a row begin with the same words, which an API may have in its cache.
    """
    return _overflow(request, window, request_cost(request, count), share)


def _overflow(
    request: Request, window: int | None, cost: RequestCost, share: float = 1.0
) -> frozenset[int]:
    if window is None:
        return frozenset()
    costs = cost.items
    room = window - _reply_tokens(request, window) - cost.tools
    if sum(costs) <= room:
        return frozenset()
    over = sum(costs) - room * share
    step = max(room // STEPS, 1)
    in_steps = -(-over // step) * step
    asked = _current(request.items)
    dropped: set[int] = set()
    cuts_history = False
    for index in _expendable(request.items):
        is_old = index < asked and _tag(request.items[index]) != "sample"
        if (in_steps if is_old and cuts_history else over) <= 0:
            break
        cuts_history = is_old
        over -= costs[index]
        in_steps -= costs[index]
        dropped.add(index)
    return frozenset(dropped)


def _reply_tokens(request: Request, window: int) -> int:
    return request.max_output_tokens or min(REPLY, window // 4)


# If the window has no room for the required items, first the tools are dropped; then it is an
# error.


SEARCH_OR_TOOLS = "it takes its own search or the tools, not both: the tools are left out"
LEAST_REPLY = 8
"""The tools are left out if they leave less than this part (an eighth) of the window."""
OVERESTIMATE = 1.5
"""By how much the estimate may exceed an API's own count. Beyond that it is not asked at all."""


def _base_tokens(request: Request, cost: RequestCost) -> int:
    """Return the tokens of everything that is never left out, except the tools."""
    return sum(cost.items) - sum(cost.items[number] for number in _expendable(request.items))


def _tools_fit(request: Request, window: int | None, cost: RequestCost) -> bool:
    """Return whether the window has room for the tools, the required items and an answer."""
    if window is None or not request.tools:
        return True
    return _base_tokens(request, cost) + cost.tools + window // LEAST_REPLY <= window


def window_words(base: int, window: int) -> Sentence:
    """Say which number is too small."""
    return Sentence(
        "the model's `window` ({window}) is too small: the rules, the persona and the question "
        "alone have about {base} tokens",
        window=window,
        base=base,
    )


class WindowTooSmallError(Exception):
    """The model cannot be asked, no matter what is left out."""

    def __init__(self, base: int, window: int) -> None:
        super().__init__(window_words(base, window))
        self.words = window_words(base, window)


def comparable_tokens(request: Request) -> int:
    """Estimate the tokens, to compare them with the API's count; 0 if that would be meaningless.

    The cost of images and files is different for each API and says nothing about text.
    """
    parts = [p for item in request.items if isinstance(item, ContextItem) for p in item.parts]
    return request_tokens(request) if all(isinstance(p, TextPart) for p in parts) else 0


def _expendable(items: Sequence[Item]) -> list[int]:
    """Return the items that may be dropped, in order: samples, history, later messages.

    Samples show how a character speaks until real messages need their room. Messages after the
    question go last, because they may change what is asked. The tool calls of this turn stay.
    """
    before = range(_current(items))
    old = [i for i in before if isinstance(items[i], ToolRound) or _tag(items[i]) == "history"]
    samples = [i for i in before if _tag(items[i]) == "sample"]
    return [i for i in samples + old + _said_since(items) if _role(items[i]) != "system"]


def _said_since(items: Sequence[Item]) -> list[int]:
    """Return the messages after the question, oldest first, if an item is tagged as current."""
    tagged = [i for i, item in enumerate(items) if _tag(item) == "current"]
    after = range(tagged[0], len(items)) if tagged else range(0)
    return [i for i in after if _tag(items[i]) == "history"]


def _current(items: Sequence[Item]) -> int:
    """Return where the current turn begins: by its tag, else at the user's last item."""
    tagged = [i for i, item in enumerate(items) if _tag(item) == "current"]
    if tagged:
        return tagged[0]
    asked = [i for i, item in enumerate(items) if _role(item) == "user"]
    return asked[-1] if asked else len(items)


def _tag(item: Item) -> str:
    return item.tag if isinstance(item, ContextItem) else ""


def _role(item: Item) -> str:
    return item.role if isinstance(item, ContextItem) else ""


# Prepares a request for an endpoint: trims it to the window, fetches images.


_UNKNOWN = ModelCapabilities()
UNASKED_WINDOW = 2048
"""A local server is not asked for its window if a request fits into this many tokens."""
_HALVES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class FittedRequest:
    """A request within a model's window, before its images are fetched."""

    request: Request
    window: int | None
    cost: RequestCost
    """The present cost of the request, in the order of its items."""
    left_out: tuple[Item, ...] = ()
    base_tokens: int = 0
    """The tokens of everything that is never left out."""
    lost_tools: bool = False
    """Whether the window has no room for the tools."""


async def fitted(
    request: Request,
    endpoint: Endpoint,
    capabilities: ModelCapabilities = _UNKNOWN,
    *,
    is_exact: bool = False,
) -> FittedRequest:
    """Return the request within the window. Nothing is learned and no image is fetched.

    `is_exact`: a local server is asked for its window even if the request is short.
    """
    if request.max_output_tokens is None and endpoint.max_output_tokens is not None:
        request = replace(request, max_output_tokens=endpoint.max_output_tokens)
    request = for_model(request, capabilities)
    count = counter_of(endpoint)
    cost = request_cost(request, count)
    if is_exact:
        window = await known_window(endpoint, capabilities)
    else:
        window = await _window(request, endpoint, capabilities, cost)
    lost_tools = not _tools_fit(request, window, cost)
    if lost_tools:
        # Earlier calls become text: some APIs refuse calls of tools that are not declared.
        request = for_model(request, replace(capabilities, tools=False))
        cost = request_cost(request, count)
    base = _base_tokens(request, cost)
    dropped = _overflow(request, window, cost)
    without = tuple(request.items[n] for n in sorted(dropped))
    if dropped:
        kept = [n for n in range(len(request.items)) if n not in dropped]
        request = replace(request, items=tuple(request.items[n] for n in kept))
        cost = cost._replace(items=tuple(cost.items[n] for n in kept))
    return FittedRequest(request, window, cost, without, base, lost_tools)


async def prepared(
    request: Request, endpoint: Endpoint, capabilities: ModelCapabilities = _UNKNOWN
) -> Request:
    """Return the request within the window, with each image fetched or replaced by a note."""
    found = await fitted(request, endpoint, capabilities)
    request, base, window = found.request, found.base_tokens, found.window
    if found.lost_tools:
        # `/status` says so.
        words = f"its window of {window} tokens has no room for the tools, which are left out"
        endpoint.learned.learn(endpoint.place, Lesson(words))
    if window is not None and base > window * OVERESTIMATE:
        raise WindowTooSmallError(base, window)
    if request.size is not None:
        request.size.estimated_tokens = comparable_tokens(request)
        request.size.base_tokens, request.size.window = base, window or 0
    ready = await _with_images(request.items, endpoint.fetch_image)
    return replace(request, items=tuple(map(_sendable, ready)))


def without_tools(
    request: Request, endpoint: Endpoint, capabilities: ModelCapabilities, words: str
) -> Request:
    """Return the request without its tools. `words` say why, in `/status`.

    Earlier calls become text: some APIs refuse calls of tools that are not declared.
    """
    endpoint.learned.learn(endpoint.place, Lesson(words))
    return for_model(request, replace(capabilities, tools=False))


async def left_out(
    request: Request, endpoint: Endpoint, capabilities: ModelCapabilities, share: float = 1.0
) -> frozenset[int]:
    """Return the indexes of the items that do not fit into the window and are not sent."""
    if request.max_output_tokens is None and endpoint.max_output_tokens is not None:
        request = replace(request, max_output_tokens=endpoint.max_output_tokens)
    cost = request_cost(request, counter_of(endpoint))
    window = await _window(request, endpoint, capabilities, cost)
    if not _tools_fit(request, window, cost):
        cost = cost._replace(tools=0)
    return _overflow(request, window, cost, share)


async def _window(
    request: Request, endpoint: Endpoint, capabilities: ModelCapabilities, cost: RequestCost
) -> int | None:
    """Return the model's window. A local server is not asked if the request is short."""
    asks = endpoint.window is None and endpoint.ask_window is not None
    if asks and not _overflow(request, UNASKED_WINDOW, cost):
        return UNASKED_WINDOW
    return await known_window(endpoint, capabilities)


def counter_of(endpoint: Endpoint) -> Count:
    """Return the token counter: a tokenizer, else an estimate corrected by past usage."""
    if endpoint.count_tokens is not None:
        return endpoint.count_tokens
    return endpoint.learned.tokens.corrected(endpoint.place, text_tokens)


async def _with_images(items: Sequence[Item], fetch: FetchImage | None) -> Sequence[Item]:
    """Fetch all images together. Most requests have none."""
    away = {part for item in items for part in _parts(item) if _is_away(part)}
    if not away:
        return items
    found = dict(zip(away, await asyncio.gather(*(_fetched(p, fetch) for p in away)), strict=True))
    return [
        replace(item, parts=tuple(found.get(part, part) for part in item.parts))
        if isinstance(item, ContextItem)
        else item
        for item in items
    ]


async def _fetched(part: Part, fetch: FetchImage | None) -> Part:
    url = part.url if isinstance(part, ImagePart) else None
    if fetch is None or url is None:
        return TextPart("[an image, not shown]")
    return await fetch(url)


def _parts(item: Item) -> Sequence[Part]:
    return item.parts if isinstance(item, ContextItem) else ()


def _is_away(part: Part) -> bool:
    return isinstance(part, ImagePart) and part.data is None


def _sendable(item: Item) -> Item:
    """Replace lone surrogates: they have no UTF-8 form and would break the request."""
    if isinstance(item, ContextItem):
        return replace(item, parts=tuple(map(_whole_part, item.parts)))
    results = tuple(replace(result, content=_whole(result.content)) for result in item.results)
    return replace(item, results=results, text=_whole(item.text))


def _whole_part(part: Part) -> Part:
    return TextPart(_whole(part.text)) if isinstance(part, TextPart) else part


def _whole(text: str) -> str:
    return text if text.isascii() else _HALVES.sub("\ufffd", text)
