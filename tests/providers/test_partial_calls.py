"""Gemini's function calls in pieces become whole ones."""

from __future__ import annotations

from typing import Any

import pytest

from oshaberi.providers.google.events import PartialCalls

Part = dict[str, Any]


def _document(*parts: Part, **fields: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": list(parts), "role": "model"}, **fields}]}


def _call(**call: Any) -> Part:
    return {"functionCall": call}


def _piece(path: str, *, more: bool = True, **value: Any) -> Part:
    return _call(partialArgs=[{"jsonPath": path, **value}], willContinue=more)


def _whole(*documents: dict[str, Any]) -> list[Part]:
    calls = PartialCalls()
    made = [calls.whole(document) for document in documents]
    return [
        part
        for document in made
        for candidate in document["candidates"]
        for part in (candidate.get("content") or {}).get("parts") or ()
    ]


def test_a_call_in_pieces() -> None:
    parts = _whole(
        _document({"functionCall": {"name": "put", "willContinue": True}, "thoughtSignature": "S"}),
        _document(_piece("$.items[0].name", stringValue="app", willContinue=True)),
        _document(_piece("$.items[0].name", stringValue="le")),
        _document(_piece("$.items[0].price", numberValue=0.5)),
        _document(_piece("$.items[1].name", stringValue="pear")),
        _document(_piece("$['odd key'].is", boolValue=True)),
        _document(_piece("$.none", nullValue="NULL_VALUE")),
        _document(_call()),
        _document({"text": ""}, finishReason="STOP"),
    )
    (call, _text) = parts
    assert call["thoughtSignature"] == "S"
    assert call["functionCall"]["name"] == "put"
    assert call["functionCall"]["args"] == {
        "items": [{"name": "apple", "price": 0.5}, {"name": "pear"}],
        "odd key": {"is": True},
        "none": None,
    }


def test_whole_calls_and_text_stay_as_they_are() -> None:
    text, call = _document({"text": "Hi"}), _document(_call(name="f", args={"a": 1}))
    calls = PartialCalls()
    assert calls.whole(text) is text
    assert calls.whole(call) == call
    assert calls.whole({"usageMetadata": {}}) == {"usageMetadata": {}}


def test_calls_one_after_the_other() -> None:
    parts = _whole(
        _document(_call(name="a", willContinue=True)),
        _document(_piece("$.x", more=False, numberValue=1)),
        _document(_call(name="b")),
        _document(_call(name="c", willContinue=True), _call(name="d", args={})),
    )
    calls = [(part["functionCall"]["name"], part["functionCall"]["args"]) for part in parts]
    assert calls == [("a", {"x": 1}), ("b", {}), ("c", {}), ("d", {})]


@pytest.mark.parametrize(("reason", "made"), [("STOP", 1), ("MAX_TOKENS", 0)])
def test_a_call_that_the_limit_cut_off_is_none(reason: str, made: int) -> None:
    parts = _whole(
        _document(_call(name="a", willContinue=True)),
        _document(_piece("$.x", stringValue="lon")),
        {"candidates": [{"finishReason": reason}]},
    )
    assert len(parts) == made
