"""Handles become mentions, and nothing else does."""

from __future__ import annotations

import pytest

from oshaberi.text.config import Known, TextConfig
from oshaberi.text.normalize.pieces import SegmentWork, TextPiece
from oshaberi.text.normalize.table import Normalizers

CONFIG = TextConfig(
    known=(
        Known("alice", id="1", aliases=("al", "Alice Smith")),
        Known("Bob (dev)", id="2", aliases=("j.doe",)),
        Known("sam", id="3"),
        Known("Sam", id="4", aliases=("sam jones",)),
        Known("アリス", id="5"),
        Known("さくら", id="6"),
        Known("Ren", "persona", id="7"),
        Known("ghost"),
        Known("everyone", id="8"),
    )
)


def shown(text: str) -> str:
    work = SegmentWork([TextPiece(text)])
    Normalizers(CONFIG).run(work)
    return work.pieces[0].text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@alice hi", "<@1> hi"),
        ("hi @AL, @Alice.", "hi <@1>, <@1>."),
        ("@Alice Smith and @alice smithers", "<@1> and <@1> smithers"),
        ("@alice's", "<@1>'s"),
        ("(@al)", "(<@1>)"),
        ("@(Alice Smith) @(al)", "<@1> <@1>"),
        ("@Bob (dev) @(bob (dev))", "<@2> <@2>"),
        ("@j.doe", "<@2>"),
        ("@sam jones", "<@4>"),
        ("ねえ@アリスさん", "ねえ<@5>さん"),
        ("@さくらちゃん @aliceさん", "<@6>ちゃん <@1>さん"),
        ("@al@al", "<@1>@al"),
    ],
)
def test_resolved(text: str, expected: str) -> None:
    assert shown(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "@sam hi",
        "@(sam) hi",
        "mail me@alice.test",
        "@alice.test",
        "@alice/pkg",
        "@alicex @al_x",
        "@アリスカ",
        "`@alice` ``@al``",
        "https://x.test/@alice ok",
        "<@1> <@!1>",
        "@Ren @ghost",
        "@everyone @here",
        "@",
        "@(",
        "@(alice",
        "alice",
    ],
)
def test_text_stays(text: str) -> None:
    assert shown(text) == text
