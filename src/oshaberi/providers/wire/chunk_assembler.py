"""Makes chunks from a stream's steps. Make one object per stream."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from oshaberi.chunks import Chunk, ProviderError, ThoughtKind, ThoughtPart, Usage
from oshaberi.errors import Sentence
from oshaberi.providers.request.answer_budgets import BudgetExceededError, BudgetMeter
from oshaberi.providers.request.model_request import Request
from oshaberi.providers.wire.answer_files import (
    MOST_FILES,
    FileStep,
    SoundPiece,
    SpokenAnswer,
    answer_file,
)
from oshaberi.providers.wire.signed_blocks import SignedBlocks
from oshaberi.providers.wire.steps import (
    PAUSED,
    CallPiece,
    CitedPage,
    FinishStep,
    SignedBlock,
    Step,
    TokenCount,
)
from oshaberi.providers.wire.text_outlet import TextOutlet
from oshaberi.providers.wire.tool_calls import ToolCallAssembly

# The pages that an answer cites, as one line of links after its text.


LONGEST_TITLE = 80
LONGEST_ADDRESS = 1500
"""A link must fit into one message, and a page found on the web may have any address."""
_SAFE = ":/?#[]@!$&'*+,;=%~-._"
_IN_A_LINK = str.maketrans(dict.fromkeys("[]<>\r\n", " "))


def links(pages: Iterable[CitedPage]) -> str:
    """Return small text with a link per page, without previews; empty if there are no pages."""
    made = [_link(page) for page in pages if _is_linked(page.url)]
    return f"\n\n-# {' · '.join(made)}" if made else ""


def _is_linked(url: str) -> bool:
    is_short = len(url) <= LONGEST_ADDRESS and len(quote(url, _SAFE)) <= LONGEST_ADDRESS
    return is_short and url.startswith(("https://", "http://"))


def _link(page: CitedPage) -> str:
    title = " ".join(page.title.translate(_IN_A_LINK).split())[:LONGEST_TITLE].rstrip()
    host = page.url.partition("://")[2].partition("/")[0].translate(_IN_A_LINK)[:LONGEST_TITLE]
    return f"[{title or host}](<{quote(page.url, _SAFE)}>)"


# Removes the end of a thought that a faulty server put before the answer: `must do.Hello!`.
#
# The text is moved to the thoughts only if reasoning came before, the answer starts in lower
# case, and its first sentence ends right before a capital (spec 03). The decision uses text
# positions alone, within a bounded look-ahead. This deliberately differs from
# `text.sentences.ends`, for which no sentence ends where a letter touches its period.


LOOK_AHEAD = 80
_END = re.compile(r"[.!?…][\"'”’)\]]*(?=(.))|\n", re.DOTALL)


class ReasoningTail:
    """Checks the first visible text after reasoning.

    `feed` and `finish` return the tail that belongs to the thoughts, and the text. `feed` returns
    None while that is undecided.
    """

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> tuple[str, str] | None:
        self._held += text
        if not self._held:
            return None
        if not self._held[0].islower():
            return "", self._held
        return self._decide()

    def finish(self) -> tuple[str, str]:
        return "", self._held

    def _decide(self) -> tuple[str, str] | None:
        for found in _END.finditer(self._held, 0, LOOK_AHEAD + 1):
            after = found[1]
            if after is None or after.isspace():
                return "", self._held
            if after.isupper():
                return self._held[: found.end()], self._held[found.end() :]
        return ("", self._held) if len(self._held) > LOOK_AHEAD else None


# Makes chunks from a stream's steps. Make one object per stream.


CUT_OFF = "length"
"""The finish reason of an answer that reached its limit before it was complete."""
MOST_CITED = 50
_BLOCKED = frozenset({"content_filter", "safety"})
"""Finish reasons that mean that something was withheld: an error, not an empty answer (spec 03)."""


class ChunkAssembler:
    """Turns the steps of one stream into chunks.

    Text is returned as it arrives; calls, tokens and the finish reason are returned together, at
    the end. While `is_plain` is true, callers may skip `take` for text: it would return the same
    chunk.
    """

    def __init__(
        self,
        provider: str,
        request: Request,
        stops: Sequence[str] = (),
        meter: BudgetMeter | None = None,
    ) -> None:
        """Start a stream. `stops` are the stop strings that the API does not take itself."""
        self.is_over = False
        self._meter = meter or BudgetMeter()
        self._exceeded: BudgetExceededError | None = None
        self._provider = provider
        self._outlet = TextOutlet(request, stops)
        self._reasoning_tail: ReasoningTail | None = None
        self._thought: ThoughtKind | None = None
        self._has_text = False
        self.is_plain = False
        self._calls = ToolCallAssembly()
        self._signed_blocks: SignedBlocks | None = None
        self._tokens: TokenCount | None = None
        self._finish: FinishStep | None = None
        self._cited: dict[str, CitedPage] = {}
        self._most_sources = request.most_sources
        self._files = 0
        self._spoken: SpokenAnswer | None = None

    def take(self, steps: Sequence[Step]) -> Sequence[Chunk]:
        """Take steps. Return the chunks that are ready."""
        made: list[Chunk] = []
        try:
            for step in steps:
                made += self._take(step)
                if self.is_over:
                    break
        except BudgetExceededError as error:
            self._end_by(error)
        return made

    def check_budget(self) -> None:
        """Raise BudgetExceededError if that is why the stream is over."""
        if self._exceeded is not None:
            raise self._exceeded

    def finish(self) -> Sequence[Chunk]:
        """End the stream. Return held-back text, then the calls or the end."""
        held = self._release()
        if self._outlet.ended_by is not None:
            return [*held, self._cut_short()]
        if self._finish is None or self._finish.reason == PAUSED:
            message = Sentence("the stream ended before the answer was complete")
            cut = ProviderError(
                "network", message, retryable=True, provider=self._provider, broke_off=True
            )
            return [*held, self._error(cut)]
        return [*held, self._last(self._finish.reason)]

    def fail(self, error: ProviderError) -> Sequence[Chunk]:
        """End a broken stream. Return held-back text, then the error. Drops partial calls."""
        return [*self._release(), self._error(error)]

    def _take(self, step: Step) -> Iterable[Chunk]:
        match step:
            case Chunk(type="text"):
                return self._text(step)
            case Chunk(error=error) if error is not None:
                self.is_over = True
                return self.fail(error)
            case CallPiece():
                self._meter.add_arguments(step.name, step.arguments)
                self._calls.add(step)
                self._meter.check_calls(len(self._calls))
            case SignedBlock():
                self._keep(step)
            case TokenCount():
                self._count(step)
            case CitedPage(url=url):
                if len(self._cited) < MOST_CITED:
                    self._cited.setdefault(url, step)
            case FileStep():
                return self._file(step)
            case SoundPiece():
                self._spoken = self._spoken or SpokenAnswer()
                self._spoken.add(step)
            case FinishStep():
                self._finish = step if step.reason or self._finish is None else self._finish
            case Chunk():
                return (step,)
        return ()

    def _file(self, step: FileStep) -> Iterable[Chunk]:
        self._files += 1
        if self._files > MOST_FILES + 1:
            return ()
        # Of more files than are taken, one stands for the others: it cannot be shown.
        return (Chunk("text", files=(answer_file(step, self._files),)),)

    def _keep(self, step: SignedBlock) -> None:
        kept = self._signed_blocks = self._signed_blocks or SignedBlocks()
        try:
            self._meter.add_signature(*step.fixed.values(), *step.grows.values())
        except BudgetExceededError:
            if not step.droppable:
                raise
            kept.drop()
        kept.add(step, self._meter.text_bytes)

    def _text(self, chunk: Chunk) -> Iterable[Chunk]:
        made: list[Chunk] = []
        if chunk.thoughts:
            for part in chunk.thoughts:
                self._meter.add_thought(part.text)
            self._thought = chunk.thoughts[-1].kind
            made.append(Chunk("text", thoughts=chunk.thoughts))
        if chunk.content:
            text = self._meter.fitting(chunk.content)
            made += self._visible(text)
            if text != chunk.content:
                self._end_by(self._meter.text_exceeded())
        return made

    def _end_by(self, exceeded: BudgetExceededError) -> None:
        self.is_over = True
        self._exceeded = self._exceeded or exceeded

    def _visible(self, text: str) -> Iterable[Chunk]:
        if not self._has_text:
            self._has_text = True
            self._reasoning_tail = ReasoningTail() if self._thought else None
        if self._reasoning_tail is None:
            self.is_plain = self._outlet.is_plain
            return self._outgoing(text)
        decided = self._reasoning_tail.feed(text)
        return () if decided is None else self._decided(*decided)

    def _decided(self, tail: str, text: str) -> list[Chunk]:
        return [*self._tail(tail), *self._outgoing(text)]

    def _tail(self, tail: str) -> Iterable[Chunk]:
        """Return the part of the first visible text that belongs to the thoughts."""
        self._reasoning_tail = None
        part = ThoughtPart(tail, self._thought or "raw")
        return (Chunk("text", thoughts=(part,)),) if tail else ()

    def _outgoing(self, text: str) -> Iterable[Chunk]:
        said = _said(self._outlet.feed(text))
        if self._outlet.ended_by is None:
            return said
        self.is_over = True
        return [*said, self._cut_short()]

    def _release(self) -> list[Chunk]:
        tail, text = "", ""
        if self._reasoning_tail is not None:
            tail, text = self._reasoning_tail.finish()
        released = self._outlet.feed(text) if text else ""
        said = _said(released + self._outlet.finish())
        if self._outlet.ended_by is not None:
            # Text after the cut was spoken, too.
            return [*self._tail(tail), *said]
        spoken = None if self._spoken is None else self._spoken.file(self._files + 1)
        sound = (Chunk("text", files=(spoken,)),) if spoken else ()
        return [*self._tail(tail), *said, *sound]

    def _cut_short(self) -> Chunk:
        """End the text here, and drop the model's calls."""
        self._calls = ToolCallAssembly()
        return self._last(self._outlet.ended_by)

    def _count(self, step: TokenCount) -> None:
        """Apply a token count. Values that it lacks stay as an earlier count had them."""
        said = {name: value for name, value in step._asdict().items() if value is not None}
        self._tokens = (self._tokens or TokenCount())._replace(**said)

    def _last(self, reason: str | None) -> Chunk:
        if reason in _BLOCKED:
            message = Sentence("the provider withheld the answer ({reason})", reason=reason)
            blocked = ProviderError("content_blocked", message, reason, provider=self._provider)
            return self._error(blocked)
        calls = self._calls.whole(is_cut_off=reason == CUT_OFF)
        if calls and self._finish is not None and self._finish.reason_with_calls:
            reason = self._finish.reason_with_calls
        return Chunk(
            "function_call" if calls else "done",
            calls=calls,
            thoughts=self._signed(),
            finish_reason=reason,
            usage=self._usage(),
            links=links(list(self._cited.values())[: self._most_sources]),
        )

    def _error(self, error: ProviderError) -> Chunk:
        reason = self._finish.reason if self._finish else None
        return Chunk("error", error=error, finish_reason=reason, usage=self._usage())

    def _signed(self) -> tuple[ThoughtPart, ...]:
        """Return a single signature with everything that goes back to the API."""
        packed = None if self._signed_blocks is None else self._signed_blocks.packed()
        return (ThoughtPart("", self._thought or "raw", packed),) if packed else ()

    def _usage(self) -> Usage | None:
        if self._tokens is None or self._tokens == TokenCount():
            return None
        total, written, cached, stored, cost_dollars = self._tokens
        return Usage(total or 0, written or 0, cached or 0, stored or 0, cost_dollars)


def _said(text: str) -> tuple[Chunk, ...]:
    return (Chunk("text", text),) if text else ()
