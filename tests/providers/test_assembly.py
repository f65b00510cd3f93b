"""The parts between the wire and the orchestrator, each alone."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oshaberi.chunks import Chunk, ThoughtPart, ToolCall, text_chunk
from oshaberi.providers.request.model_request import Request
from oshaberi.providers.wire.chunk_assembler import LOOK_AHEAD, ChunkAssembler, ReasoningTail
from oshaberi.providers.wire.signed_blocks import TEXT_BEGINS, SignedBlocks, unpacked
from oshaberi.providers.wire.steps import (
    CallPiece,
    CitedPage,
    FinishStep,
    SignedBlock,
    Step,
    TokenCount,
)
from oshaberi.providers.wire.text_outlet import SpeakerHoldback, StopStringCut
from oshaberi.providers.wire.tool_calls import ToolCallAssembly


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


def test_the_short_way_to_a_chunk_of_text() -> None:
    assert text_chunk("a") == Chunk("text", "a")
    assert type(text_chunk("a")) is Chunk


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
    kept.add(SignedBlock(1, {"type": "text"}, optional=True), text_bytes=7)
    kept.add(SignedBlock(0, {}, {"thinking": "b", "signature": "s"}))
    packed = kept.packed()
    assert unpacked(packed) == [
        {"type": "thinking", "thinking": "ab", "signature": "s"},
        {"type": "text", TEXT_BEGINS: 7},
    ]


def test_a_block_that_has_ended_is_followed_by_another() -> None:
    kept = SignedBlocks()
    for number in "12":
        kept.add(SignedBlock("b", {"type": "thinking"}, {"thinking": number}))
        kept.add(SignedBlock("b", {}, {"signature": f"s{number}"}, ends=True))
    kept.add(SignedBlock("unheard of", {}, {"input": "x"}, only_continues=True))
    assert unpacked(kept.packed()) == [
        {"type": "thinking", "thinking": number, "signature": f"s{number}"} for number in "12"
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


@pytest.mark.parametrize("arguments", ["null", "", " ", "{}"])
def test_no_arguments(arguments: str) -> None:
    calls = ToolCallAssembly()
    calls.add(CallPiece(0, "now", arguments, "id-a"))
    assert calls.whole() == (ToolCall("now", {}, "id-a"),)


@pytest.mark.parametrize(
    "pieces",
    [
        [CallPiece(None, "a", '{"x": 1}'), CallPiece(None, "a", '{"x": 2}')],
        [CallPiece(None, "a", ""), CallPiece(None, "b", '{"x": 2}')],
        [CallPiece(None, "a", ""), CallPiece(None, "a", "")],
        [CallPiece(0, "a", '{"x": 1}'), CallPiece(0, "b", '{"x": 2}')],
        [CallPiece(0, "a", '{"x": 1}'), CallPiece(0, "a", '{"x": 2}')],
        [CallPiece(None, "a", "{}", "id-a"), CallPiece(None, "a", "{}", "id-b")],
        [CallPiece(None, "a", "", "id-a"), CallPiece(None, "b", "", "id-b")],
    ],
)
def test_two_calls_stay_two(pieces: list[CallPiece]) -> None:
    calls = ToolCallAssembly()
    for piece in pieces:
        calls.add(piece)
    assert [call.name for call in calls.whole()] == [piece.name for piece in pieces]
    assert all(call.error is None for call in calls.whole())


@pytest.mark.parametrize(
    "pieces",
    [
        [CallPiece(None, "a", '{"x"'), CallPiece(None, "", ": 1}")],
        [CallPiece(None, "a", '{"x"', "id"), CallPiece(None, "", ": 1}", "id")],
        [CallPiece(None, "a", '{"x"'), CallPiece(None, "a", ": 1}")],
        [CallPiece(0, "a", "", "id"), CallPiece(0, "", '{"x": 1}', "another")],
        [CallPiece(0, "a", '{"x": 1}'), CallPiece(0, "a", "")],
        [CallPiece(0, "a", '{"y"', "id"), CallPiece(0, "", '{"x": 1}', is_whole=True)],
        [CallPiece(0, "a", '{"y"', "id"), CallPiece(5, "a", '{"x": 1}', "id", is_whole=True)],
    ],
)
def test_one_call_stays_one(pieces: list[CallPiece]) -> None:
    calls = ToolCallAssembly()
    for piece in pieces:
        calls.add(piece)
    (call,) = calls.whole()
    assert (call.name, call.args) == ("a", {"x": 1})


def test_what_only_continues_begins_nothing() -> None:
    calls = ToolCallAssembly()
    calls.add(CallPiece(1, arguments='{"query": "x"}', only_continues=True))
    assert calls.whole() == ()


@pytest.mark.parametrize("arguments", ['{"a": "lon', "", '{"a"', "["])
def test_a_call_that_the_limit_cut_off_is_not_made(arguments: str) -> None:
    whole = CallPiece(0, "a", '{"x": 1}', "id-a")
    made = _assembled([whole, CallPiece(1, "b", arguments, "id-b"), FinishStep("length")])
    assert [call.name for call in made[-1].calls] == ["a"]
    (alone,) = _assembled([CallPiece(1, "b", arguments, "id-b"), FinishStep("length")])
    assert (alone.type, alone.calls, alone.finish_reason) == ("done", (), "length")


def test_a_whole_call_at_the_limit_is_made() -> None:
    (made,) = _assembled([CallPiece(0, "a", '{"x": 1}', "id-a"), FinishStep("length")])
    assert [call.args for call in made.calls] == [{"x": 1}]


def test_the_reason_may_depend_on_the_calls() -> None:
    finish = FinishStep("stop", "tool_calls")
    assert _assembled([finish])[-1].finish_reason == "stop"
    assert _assembled([CallPiece(0, "a", "{}"), finish])[-1].finish_reason == "tool_calls"


def test_cited_pages_are_links_behind_the_text() -> None:
    pages = [
        CitedPage("https://a.test/1", "A page\nwith [marks] <b>"),
        CitedPage("https://a.test/1", "Again"),
        CitedPage("https://b.test/(x)>", ""),
        CitedPage("javascript:alert(1)", "No"),
        CitedPage("https://c.test", "x" * 200),
    ]
    made = _assembled([Chunk("text", "So."), *pages, FinishStep("stop")])
    assert "".join(chunk.content for chunk in made) == "So."
    links = made[-1].links.removeprefix("\n\n-# ").split(" · ")
    assert links == [
        "[A page with marks b](<https://a.test/1>)",
        "[b.test](<https://b.test/%28x%29%3E>)",
        f"[{'x' * 80}](<https://c.test>)",
    ]


def _cut(pieces: list[str], *stops: str) -> tuple[str, bool]:
    cut = StopStringCut(stops)
    out = ""
    for piece in pieces:
        out += cut.feed(piece)
        if cut.is_found:
            return out, True
    return out + cut.finish(), False


def _expected_cut(text: str, stops: list[str]) -> tuple[str, bool]:
    """Look after each character whether a stop string is complete, the longest first."""
    for end in range(1, len(text) + 1):
        for stop in sorted(stops, key=len, reverse=True):
            if text[:end].endswith(stop):
                return text[: end - len(stop)], True
    return text, False


@given(
    st.text("ab#", max_size=30),
    st.lists(st.text("ab#", min_size=1, max_size=5), min_size=1),
    st.lists(st.integers(0, 30)),
)
def test_stop_strings_end_the_text_wherever_it_is_cut(
    text: str, stops: list[str], cuts: list[int]
) -> None:
    expected = _expected_cut(text, stops)
    edges = [0, *sorted(cuts), len(text)]
    pieces = [text[start:end] for start, end in itertools.pairwise(edges)]
    for cut_up in ([text], list(text), pieces):
        assert _cut(cut_up, *stops) == expected


@given(st.text("ab", max_size=30), st.lists(st.text("ab", min_size=1, max_size=5), min_size=1))
def test_only_what_may_become_a_stop_string_is_held_back(text: str, stops: list[str]) -> None:
    cut = StopStringCut(stops)
    shown = cut.feed(text)
    held = "" if cut.is_found else text[len(shown) :]
    assert held == cut.finish()
    assert not held or any(stop.startswith(held) and stop != held for stop in stops)


def test_nothing_follows_a_stop_string() -> None:
    cut = StopStringCut(["###"])
    assert (cut.feed("a###b"), cut.feed("c"), cut.finish()) == ("a", "", "")


def test_a_stop_string_and_a_label() -> None:
    request = Request((), speaker_guard=True, speakers=("Mika",))
    for text, said, reason in (
        ("Yes.###\nMika: no", "Yes.", "stop"),
        ("Yes.\nMika: no###", "Yes.", "speaker_guard"),
        ("Yes.\nMika:###", "Yes.", "speaker_guard"),
        ("Yes.", "Yes.", "stop"),
    ):
        for pieces in ([text], list(text)):
            assembler = ChunkAssembler("p", request, ("###",))
            made: list[Chunk] = []
            for piece in pieces:
                made += assembler.take((Chunk("text", piece),))
                if assembler.is_over:
                    break
            else:
                made += [*assembler.take((FinishStep("stop"),)), *assembler.finish()]
            assert "".join(chunk.content for chunk in made) == said
            assert [chunk.finish_reason for chunk in made if chunk.type == "done"] == [reason]
