"""`oshaberi bench`: measures in a checkout, says so elsewhere."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from oshaberi import cli


@pytest.mark.usefixtures("little_to_collect")
def test_in_a_checkout_it_measures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from bench.growth import Plan

    from bench import __main__ as bench

    tiny = Plan(sizes=(200, 1600), base=200, compared=1600, rounds=1, retries=0)
    monkeypatch.setattr(bench, "QUICK", replace(bench.QUICK, plan=tiny))
    assert cli.main(["bench", "--quick", "--json", "--only", "growth", "--only", "rules"]) == 0
    said = capsys.readouterr()
    assert "measuring growth (1 of 1)" in said.err, "it may take minutes"
    measured = json.loads(said.out)
    assert {row["shape"] for row in measured["growth"]} == {"rules"}


def test_an_unknown_part_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "--only", "nothing"]) == 2
    err = capsys.readouterr().err
    assert "'nothing' is none of: tokens, growth" in err
    assert err.count("\n") == 1
    assert len(err) < 200  # the names of eighty shapes would hide it


def test_elsewhere_it_says_where(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from oshaberi.cli.commands import bench

    monkeypatch.setattr(bench, "ROOT", tmp_path)
    assert cli.main(["bench"]) == 2
    assert "run this in a checkout" in capsys.readouterr().err
