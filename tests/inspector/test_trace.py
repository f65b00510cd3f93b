"""The trace of a stream: it says what replay says, and accounts for every character."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import regex

from oshaberi.inspector import replayed, trace
from oshaberi.scenes import find_scenes, parse_scene
from oshaberi.scenes.playback import perform
from tests.laws.allowed_differences import BREAK
from tests.laws.visible_text import UNSEEN

SCENES = find_scenes([str(Path(__file__).parents[1] / "scenes")])
Json = dict[str, Any]


def document(path: str) -> Json:
    loaded: Json = json.loads(Path(path).read_text(encoding="utf-8"))
    return loaded


def traced(*chunks: Any, **fields: Any) -> Json:
    degree = fields.pop("degree", 1)
    config = {"humanizer_degree": degree, **fields.pop("config", {})}
    return trace({"chunks": list(chunks), "config": config, **fields})


@pytest.mark.parametrize("path", SCENES, ids=lambda path: Path(path).stem)
def test_the_trace_of_every_scene(path: str) -> None:
    scene = document(path)
    told = trace(scene)
    every_character_is_in_one_segment(told)
    every_visible_word_went_somewhere(told)
    messages_are_those_of_a_replay(told, scene)
    there_is_a_way_back_to_the_raw_text(told)
    everything_has_a_reason_and_is_json(told)


def every_character_is_in_one_segment(told: Json) -> None:
    end = 0
    for segment in told["segments"]:
        assert segment["span"][0] == end
        end = segment["span"][1]
        if segment["kind"] == "blank":
            assert nothing_is_seen(told["text"][slice(*segment["span"])])
    assert end == len(told["text"])


def every_visible_word_went_somewhere(told: Json) -> None:
    """Into a message, or it was lost or withheld: nothing but blanks and `<br>` is left over."""
    left = list(told["text"])
    found = [source for message in told["messages"] for source in message["sources"]]
    found += [one["source"] for one in (*told["lost"], *told["withheld"])]
    for start, end in found:
        left[start:end] = " " * (end - start)
    assert nothing_is_seen(BREAK.sub("", "".join(left)))


def nothing_is_seen(text: str) -> bool:
    return regex.fullmatch(f"{UNSEEN}*", text) is not None


def messages_are_those_of_a_replay(told: Json, scene: Json) -> None:
    played = perform(parse_scene(scene, "it"))
    gone = {r["id"] for r in played.records if r["kind"] == "delete"}
    records = [r for r in played.records if r["kind"] == "message" and r["id"] not in gone]
    edits = {r["id"]: r["content"] for r in played.records if r["kind"] == "edit"}
    expected = [(edits.get(r["id"], r["content"]), r["at_ms"], r["username"]) for r in records]
    texts = [m for m in told["messages"] if m["text"]]
    assert [(m["text"], m["at_ms"], m["username"]) for m in texts] == expected
    typed = sum(r["ms"] for r in played.records if r["kind"] == "typing")
    assert sum(m["typing_ms"] for m in told["messages"]) <= typed
    files = [r["source"] for r in played.records if r["kind"] == "file"]
    assert [file["source"] for m in told["messages"] for file in m["files"]] == files
    assert told["result"]["status"] == played.result.status


def there_is_a_way_back_to_the_raw_text(told: Json) -> None:
    for at, place, length in told["places"]:
        assert told["text"][at : at + length] == told["raw"][place : place + length]
    assert "".join(told["raw"][slice(*t["span"])] for t in told["tokens"]) == told["raw"]
    for one in told["captured"]:
        inside = told["raw"][slice(*one["raw"])]
        assert all(word in inside for word in one["text"].split())


def everything_has_a_reason_and_is_json(told: Json) -> None:
    assert all(m["why"].endswith(".") and m["why"][0].isupper() for m in told["messages"])
    assert all(one["why"] for key in ("withheld", "lost", "captured") for one in told[key])
    assert json.loads(json.dumps(told))["raw"] == told["raw"]


def whys(told: Json) -> list[str]:
    return [message["why"] for message in told["messages"]]


def test_one_sentence_each() -> None:
    told = traced("one\n", {"type": "wait", "ms": 900}, "two (and\nmore) yes", degree=2)
    assert whys(told) == [
        "Ended at the newline; sent at once.",
        "Ended where the text ends; held together while “(” was open; waited 0.8 s.",
    ]
    hold = told["holds"][0]
    assert (hold["marker"], hold["at"], hold["rule"]) == ("(", 12, "H1")


def test_a_wait_is_counted_from_its_turn() -> None:
    told = traced("one\ntwo\nthree", degree=2)
    first, second, third = told["messages"]
    assert second["wait_ms"] == second["at_ms"] - first["at_ms"]
    assert third["queued_ms"] == second["at_ms"]
    assert "s in the queue; waited" in third["why"]
    assert second["typing_ms"] >= 750


def test_a_bracket_that_never_closes() -> None:
    told = traced("so (this\nand that\n\nthen")
    assert (
        whys(told)[0] == "Ended at the newline; waited in vain for “(” to be closed; sent at once."
    )
    assert "an ordinary character" in told["holds"][0]["why"]


EMOJIS = ["<:soup:111111111111111111>"]
"""Without a list no shortcode is unresolved."""


def test_changes_stand_with_their_message() -> None:
    told = traced(
        "hi @alice\nand :nope: you",
        known=[{"name": "alice", "kind": "user", "id": "123456789012345678"}],
        emojis=EMOJIS,
    )
    first, second = told["messages"]
    assert [(c["name"], c["before"]) for c in first["changes"]] == [("mentions", "hi @alice")]
    assert [c["name"] for c in second["changes"]] == ["shortcodes"]
    assert told["withheld"][0]["reason"] == "unresolved_shortcode"
    assert told["text"][slice(*told["withheld"][0]["source"])] == ":nope:"


def test_a_table_and_its_source() -> None:
    table = "| a | b |\n|---|---|\n| 1 | 2 |"
    told = traced(f"Look:\n{table}\nthere")
    picture = told["messages"][1]
    assert (picture["kind"], picture["text"]) == ("file", "")
    assert told["text"][slice(*picture["sources"][0])] == table
    assert picture["why"].startswith("A whole table, as a picture")
    code = traced(f"Look:\n{table}\nthere", config={"render_tables": False})["messages"][1]
    assert code["why"].startswith("A whole table, as aligned code")


def test_a_table_in_several_messages_of_code() -> None:
    rows = "\n".join(f"| {'x' * 60} | {n} |" for n in range(60))
    told = traced(f"| a | b |\n|---|---|\n{rows}\n", config={"render_tables": False})
    assert len(told["messages"]) > 1
    assert all(m["sources"] == told["messages"][0]["sources"] for m in told["messages"])


def test_long_text_is_cut_and_says_so() -> None:
    told = traced("word " * 700, degree=0)
    assert len(told["messages"]) == 2
    assert told["messages"][0]["cuts"] == ["It is too long for one message."]
    assert "one of 2 messages from the same segment" in whys(told)[0]
    (_, end), (start, _) = (m["sources"][0] for m in told["messages"])
    assert end <= start


def test_what_came_besides_text() -> None:
    told = traced(
        {"type": "thought", "content": "hm"},
        "<think>quiet</think>Hi",
        {"type": "wait", "ms": 40},
        {"type": "function_call", "name": "look", "args": {"at": "it"}},
    )
    assert [(s["kind"], s["at_ms"]) for s in told["steps"]] == [("thought", 0), ("call", 40)]
    assert [(c["kind"], c["text"], c["raw"]) for c in told["captured"]] == [
        ("thought", "quiet", (0, 20))
    ]
    assert whys(told) == ["Sent before the tool was called; sent at once."]


def test_an_error_has_its_notice() -> None:
    told = traced("Hi", {"type": "error", "error": {"type": "network", "message": "gone"}})
    assert [m["kind"] for m in told["messages"]] == ["text", "notice"]
    assert told["messages"][1]["spans"] == []
    assert "notice of the bot" in whys(told)[1]


def test_one_message_that_grows() -> None:
    told = traced("a\n", {"type": "wait", "ms": 2000}, "b\n", config={"delivery": "live"})
    assert [m["text"] for m in told["messages"]] == ["a\nb"]
    assert len(told["messages"][0]["sources"]) == 2
    assert "grew by 1 edit" in whys(told)[0]


def test_another_degree() -> None:
    scene = {"chunks": ["One. Two.\nThree."], "config": {"humanizer_degree": 2}}
    counts = [len(replayed(scene, degree)) for degree in range(4)]
    assert counts == [1, 2, 2, 3]
    assert scene["config"] == {"humanizer_degree": 2}


def test_withheld_in_order() -> None:
    told = traced(":nope: a :nope: b", emojis=EMOJIS)
    sources = [one["source"] for one in told["withheld"]]
    assert sources == [(0, 6), (9, 15)]
