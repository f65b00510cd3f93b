"""The fuzzer finds what is planted, makes it small and writes it down."""

from __future__ import annotations

import json
from pathlib import Path

from .engine_mutants import ChunkEngine
from .fuzz import Fuzzer, kind
from .text_shrinking import shrink


def test_shrinking_keeps_what_fails() -> None:
    text = "one\ntwo three\nfour\n" * 20
    assert shrink(text, lambda smaller: smaller.count("r") >= 2) == "rr"


def test_kind_forgets_the_particulars() -> None:
    assert kind("L3 V has 'a', messages 'b'") == "L3 V has"
    assert kind("span: segment 3 after 4") == "span: segment"


def test_a_planted_fault_is_found_and_written(tmp_path: Path) -> None:
    fuzzer = Fuzzer(1, tmp_path, ChunkEngine)
    for number in range(6):
        fuzzer.one(number)
    assert fuzzer.count == 6
    assert fuzzer.failures > 2
    found = [json.loads(path.read_text()) for path in tmp_path.iterdir()]
    assert found
    assert min(len(scene["chunks"][0]) for scene in found) < 10
    assert all(scene["broken"] for scene in found)


def test_texts_are_the_same_for_a_seed(tmp_path: Path) -> None:
    one, two = Fuzzer(7, tmp_path, ChunkEngine), Fuzzer(7, tmp_path, ChunkEngine)
    for number in range(5):
        one.one(number)
        two.one(number)
    assert one.kinds == two.kinds
    assert one.kinds
