"""The parts between the wire and the orchestrator, each alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oshaberi.chunks import Chunk, ThoughtPart, ToolCall
from oshaberi.providers.request.model_request import Request
from oshaberi.providers.wire.chunk_assembler import ChunkAssembler
from oshaberi.providers.wire.reasoning_tail import LOOK_AHEAD, ReasoningTail
from oshaberi.providers.wire.signed_blocks import SignedBlocks, unpacked
from oshaberi.providers.wire.speaker_holdback import SpeakerHoldback
from oshaberi.providers.wire.tool_call_assembly import ToolCallAssembly
from oshaberi.providers.wire.wire_steps import CallPiece, FinishStep, SignedBlock, Step, TokenCount


def _assembled(steps: list[Step], request: Request | None = None) -> list[Chunk]:
    assembler = ChunkAssembler("p", request or Request(()))
    made = [chunk for step in steps for chunk in assembler.take((step,))]
    return made if assembler.is_over else [*made, *assembler.finish()]


def _unglued(pieces: list[str]) -> tuple[str, str]:
    thought: Step = Chunk("text", thoughts=(ThoughtPart("I "),))
    steps: list[Step] = [thought, *(Chunk("text", piece) for piece in pieces), FinishStep("stop")]
    made = _assembled(steps)
    return (
        "".join(part.text for chunk in made for part in chunk.thoughts).removeprefix("I "),
        "".join(chunk.content for chunk in made),
    )


@pytest.mark.parametrize(
    ("text", "tail"),
    [
        ("must do.Hello! Fine.", "must do."),
        ("is it so?Hello", "is it so?"),
        ("so (at last).Yes", "so (at last)."),
        ("e.g. this. Hello.World", ""),
        ("yes, and then. Hello.World", ""),
        ("Hello.World", ""),
        ("hello\nworld.World", ""),
        (" must do.Hello", ""),
        ("plain words", ""),
        ("use node.js here.Then go", "use node.js here."),
        ("a" * LOOK_AHEAD + ".Hello", ""),
        ("ends with a stop.", ""),
        ("日本語.Hello", ""),
    ],
)
def test_glued_tails(text: str, tail: str) -> None:
    whole = _unglued([text])
    assert whole == (tail, text.removeprefix(tail) if tail else text)
    assert _unglued(list(text)) == whole


def test_without_reasoning_nothing_is_glued() -> None:
    made = _assembled([Chunk("text", "must do.Hello"), FinishStep("stop")])
    assert made[0].content == "must do.Hello"


def test_the_look_ahead_is_bounded() -> None:
    reasoning_tail = ReasoningTail()
    assert reasoning_tail.feed("a" * LOOK_AHEAD) is None
    assert reasoning_tail.feed("b") == ("", "a" * LOOK_AHEAD + "b")


def _held_back(pieces: list[str], chars: int = 32) -> tuple[str, str | None]:
    hold = SpeakerHoldback(("Mika", "Ren the Great", "A+"), chars)
    out = ""
    for piece in pieces:
        out += hold.feed(piece)
        if hold.found:
            return out, hold.found
    return out + hold.finish(), hold.found


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Yes.\nMika: hi", "Mika"),
        ("Yes.\n**Mika:** hi", "Mika"),
        ("Yes.\n  mika : hi", "mika"),
        ("Yes.\nUser: hi", "User"),
        ("Yes.\nRen the Great: hi", "Ren the Great"),
        ("Yes.\nA+: hi", "A+"),
        ("Yes.\nMika：hi", "Mika"),
        ("Yes.\n\n\nHuman: hi", "Human"),
        ("a\n```\ncode\n```\nMika: hi", "Mika"),
        ("Mika: the first line", None),
        ("Yes, Mika: hi", None),
        ("Yes.\nMikado: hi", None),
        ("Yes.\nMika://path", None),
        ("Yes.\nsystem::call", None),
        ("a\n```yaml\nuser: root\n", None),
        ("```yaml\nuser: root\nsystem: x\n```\n", None),
        ("Yes.\nMika", None),
        ("Yes.\nMika:", "Mika"),
        ("Yes.\nMika:/", "Mika"),
    ],
)
def test_holding_back(text: str, label: str | None) -> None:
    out, found = _held_back([text])
    assert found == label
    assert _held_back(list(text)) == (out, found)
    if label is None:
        assert out == text
    else:
        assert text.startswith(out)
        assert label not in out


@given(
    st.lists(
        st.sampled_from(["\n", "Mika", ":", " ", "a", "```", "\nUser: ", "**", "~~~", "x" * 40]),
        max_size=30,
    ),
    st.integers(12, 40),
)
def test_cuts_change_nothing(words: list[str], chars: int) -> None:
    text = "".join(words)
    whole, found = _held_back([text], chars)
    bit_by_bit, found_too = _held_back(list(text), chars)
    assert found == found_too
    assert bit_by_bit.rstrip() == whole.rstrip()
    assert text.startswith(whole)


def test_so_much_is_kept_back() -> None:
    hold = SpeakerHoldback((), 32)
    assert hold.feed("x" * 40) == "x" * 8
    assert hold.feed("") == ""
    assert hold.finish() == "x" * 32


def test_nothing_is_kept_back_if_nothing_is_to_be() -> None:
    assert SpeakerHoldback((), 0).feed("abc") == "abc"


def test_pieces_of_calls_may_come_mixed() -> None:
    calls = ToolCallAssembly()
    for piece in (
        CallPiece(0, "a", '{"x"', "id-a"),
        CallPiece(1, "b", "", "id-b"),
        CallPiece(0, "", ": 1}"),
        CallPiece(1, "", '{"y": 2}'),
    ):
        calls.add(piece)
    assert calls.whole() == (ToolCall("a", {"x": 1}, "id-a"), ToolCall("b", {"y": 2}, "id-b"))


def test_calls_that_all_have_the_number_0() -> None:
    calls = ToolCallAssembly()
    calls.add(CallPiece(0, "a", "{}", "id-a"))
    calls.add(CallPiece(0, "b", "{}", "id-b"))
    assert [call.name for call in calls.whole()] == ["a", "b"]


def test_a_name_repeated_in_every_piece_is_one_call() -> None:
    calls = ToolCallAssembly()
    calls.add(CallPiece(0, "a", "{", "id-a"))
    calls.add(CallPiece(0, "a", "}", "id-a"))
    assert calls.whole() == (ToolCall("a", {}, "id-a"),)


def test_a_call_without_a_name() -> None:
    calls = ToolCallAssembly()
    calls.add(CallPiece(0, "", "{}"))
    (call,) = calls.whole()
    assert call.error == "the call names no tool"


def test_keepsakes_grow_and_are_unpacked_again() -> None:
    kept = SignedBlocks()
    kept.add(SignedBlock(0, {"type": "thinking"}, {"thinking": "a"}))
    kept.add(SignedBlock(1, {"type": "text"}, optional=True))
    kept.add(SignedBlock(0, {}, {"thinking": "b", "signature": "s"}))
    packed = kept.packed()
    assert unpacked(packed) == [
        {"type": "thinking", "thinking": "ab", "signature": "s"},
        {"type": "text"},
    ]


def test_places_alone_are_not_kept() -> None:
    kept = SignedBlocks()
    kept.add(SignedBlock(1, {"type": "text"}, optional=True))
    assert kept.packed() is None


def test_a_stream_that_does_not_say_that_it_ends_was_cut() -> None:
    made = _assembled([Chunk("text", "Half"), CallPiece(0, "look", "{}")])
    assert [chunk.type for chunk in made] == ["text", "error"]
    assert made[-1].error is not None
    assert (made[-1].error.type, made[-1].error.retryable) == ("network", True)


def test_tokens_are_counted_from_all_that_is_said() -> None:
    made = _assembled([TokenCount(5, 1), TokenCount(None, 9), FinishStep("stop"), FinishStep()])
    assert made[-1].usage is not None
    assert (made[-1].usage.input_tokens, made[-1].usage.output_tokens) == (5, 9)
    assert made[-1].finish_reason == "stop"


def test_what_is_held_back_leaves_before_an_error() -> None:
    guarded = Request((), speaker_guard=True)
    made = _assembled([Chunk("text", "Half an answer")], guarded)
    assert [chunk.content for chunk in made] == ["Half an answer", ""]
    assert made[-1].type == "error"
