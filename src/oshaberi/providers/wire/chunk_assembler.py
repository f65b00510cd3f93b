"""Makes chunks of a stream's steps. One per stream."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from oshaberi.chunks import Chunk, ProviderError, ThoughtKind, ThoughtPart, Usage
from oshaberi.providers.request.model_request import Request
from oshaberi.providers.wire.reasoning_tail import ReasoningTail
from oshaberi.providers.wire.signed_blocks import SignedBlocks
from oshaberi.providers.wire.speaker_holdback import SpeakerHoldback
from oshaberi.providers.wire.tool_call_assembly import ToolCallAssembly
from oshaberi.providers.wire.wire_steps import (
    BLOCKED,
    CallPiece,
    FinishStep,
    SignedBlock,
    Step,
    TokenCount,
)

SPEAKER_GUARD = "speaker_guard"


class ChunkAssembler:
    """The state of one stream between the wire and the orchestrator.

    Text leaves as it comes; calls, tokens and the finish reason leave together, at the end.
    """

    def __init__(self, provider: str, request: Request) -> None:
        self.is_over = False
        self._provider = provider
        self._holdback = (
            SpeakerHoldback(request.speakers, request.holdback_chars)
            if request.speaker_guard
            else None
        )
        self._reasoning_tail: ReasoningTail | None = None
        self._thought: ThoughtKind | None = None
        self._has_text = False
        self._is_plain = False
        self._calls = ToolCallAssembly()
        self._signed_blocks = SignedBlocks()
        self._tokens: TokenCount | None = None
        self._finish: FinishStep | None = None

    def take(self, steps: Sequence[Step]) -> Sequence[Chunk]:
        """What can leave now."""
        if self._is_plain and len(steps) == 1:
            # The road of nearly every token.
            step = steps[0]
            if isinstance(step, Chunk) and step.type == "text":
                return (step,)
        made: list[Chunk] = []
        for step in steps:
            made += self._take(step)
            if self.is_over:
                break
        return made

    def finish(self) -> Sequence[Chunk]:
        """The stream ended: what is still held, then the calls or the end."""
        held = self._release()
        if self._holdback is not None and self._holdback.found is not None:
            return [*held, self._last(SPEAKER_GUARD)]
        if self._finish is None:
            message = "the stream ended before the answer was complete"
            cut = ProviderError("network", message, retryable=True, provider=self._provider)
            return [*held, self._error(cut)]
        return [*held, self._last(self._finish.reason)]

    def fail(self, error: ProviderError) -> Sequence[Chunk]:
        """The stream broke: what is still held, then the error. Calls in pieces are dropped."""
        return [*self._release(), self._error(error)]

    def _take(self, step: Step) -> Iterable[Chunk]:
        match step:
            case Chunk(type="text"):
                return self._text(step)
            case Chunk(error=error) if error is not None:
                self.is_over = True
                return self.fail(error)
            case CallPiece():
                self._calls.add(step)
            case SignedBlock():
                self._signed_blocks.add(step)
            case TokenCount():
                self._count(step)
            case FinishStep():
                self._finish = step if step.reason or self._finish is None else self._finish
            case Chunk():
                return (step,)
        return ()

    def _text(self, chunk: Chunk) -> Iterable[Chunk]:
        made: list[Chunk] = []
        if chunk.thoughts:
            self._thought = chunk.thoughts[-1].kind
            made.append(Chunk("text", thoughts=chunk.thoughts))
        if chunk.content:
            made += self._visible(chunk.content)
        return made

    def _visible(self, text: str) -> Iterable[Chunk]:
        if not self._has_text:
            self._has_text = True
            self._reasoning_tail = ReasoningTail() if self._thought else None
        if self._reasoning_tail is None:
            self._is_plain = self._holdback is None
            return self._outgoing(text)
        decided = self._reasoning_tail.feed(text)
        return () if decided is None else self._decided(*decided)

    def _decided(self, tail: str, text: str) -> list[Chunk]:
        self._reasoning_tail = None
        made = []
        if tail:
            part = ThoughtPart(tail, self._thought or "raw")
            made.append(Chunk("text", thoughts=(part,)))
        return [*made, *self._outgoing(text)]

    def _outgoing(self, text: str) -> Iterable[Chunk]:
        if self._holdback is None:
            return _said(text)
        out = self._holdback.feed(text)
        if self._holdback.found is None:
            return _said(out)
        self.is_over = True
        return [*_said(out), self._last(SPEAKER_GUARD)]

    def _release(self) -> list[Chunk]:
        held: list[Chunk] = []
        if self._reasoning_tail is not None:
            held += self._decided(*self._reasoning_tail.finish())
        if self._holdback is not None:
            held += _said(self._holdback.finish())
        return held

    def _count(self, step: TokenCount) -> None:
        before = self._tokens or TokenCount()
        self._tokens = TokenCount(
            before.input_tokens if step.input_tokens is None else step.input_tokens,
            before.output_tokens if step.output_tokens is None else step.output_tokens,
        )

    def _last(self, reason: str | None) -> Chunk:
        if reason in BLOCKED:
            message = f"the provider withheld the answer ({reason})"
            blocked = ProviderError("content_blocked", message, reason, provider=self._provider)
            return self._error(blocked)
        calls = () if reason == SPEAKER_GUARD else self._calls.whole()
        return Chunk(
            "function_call" if calls else "done",
            calls=calls,
            thoughts=self._signed(),
            finish_reason=reason,
            usage=self._usage(),
        )

    def _error(self, error: ProviderError) -> Chunk:
        reason = self._finish.reason if self._finish else None
        return Chunk("error", error=error, finish_reason=reason, usage=self._usage())

    def _signed(self) -> tuple[ThoughtPart, ...]:
        """One signature carries all that goes back to the API with the next round."""
        packed = self._signed_blocks.packed()
        return (ThoughtPart("", self._thought or "raw", packed),) if packed else ()

    def _usage(self) -> Usage | None:
        if self._tokens is None:
            return None
        return Usage(self._tokens.input_tokens or 0, self._tokens.output_tokens or 0)


def _said(text: str) -> tuple[Chunk, ...]:
    return (Chunk("text", text),) if text else ()
