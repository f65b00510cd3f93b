"""The bench runs, and its checks can fail: planted engines are quadratic, slow and leaky.

With a planted engine the clock counts its steps, so nothing here depends on the machine.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from bench.engines import Engine, cut, text_engine
from bench.readmes import readmes
from bench.report import growth_table, token_table
from bench.shapes import SHAPES
from click.testing import CliRunner

from bench import __main__ as command
from bench import growth, memory, timing, tokens

_PLAN = growth.Plan(sizes=(200, 400, 1600), base=200, compared=1600, rounds=1, retries=1)
_TINY = command.Effort(rounds=1, plan=_PLAN, engines=3, streamed=400, token_size=100)


class Steps:
    def __init__(self) -> None:
        self.taken = 0

    def clock(self) -> float:
        return self.taken / 1e6


class Linear:
    """Reads each character once."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._buffer = ""

    def feed(self, text: str, /) -> list[object]:
        self._buffer += text
        self._steps.taken += len(text)
        return []

    def finish(self) -> list[object]:
        return []


class Quadratic(Linear):
    """Reads everything again with every piece."""

    def feed(self, text: str, /) -> list[object]:
        self._buffer += text
        self._steps.taken += len(self._buffer)
        return []


class SlowEnd(Linear):
    """Reads everything again at every line end, when it is over."""

    def finish(self) -> list[object]:
        self._steps.taken += self._buffer.count("\n") * len(self._buffer)
        return []


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Steps:
    steps = Steps()
    monkeypatch.setattr(timing, "clock", steps.clock)
    return steps


def _growth(make: Callable[[Steps], Engine], steps: Steps, way: str) -> growth.Growth:
    return growth.measure(lambda _: make(steps), "lines", SHAPES["lines"], 1, way, _PLAN)


@pytest.mark.parametrize("way", growth.WAYS)
def test_a_linear_engine_does_not_grow(steps: Steps, way: str) -> None:
    found = _growth(Linear, steps, way)
    assert found.ratio == pytest.approx(1)
    assert found.cost_ns == pytest.approx({200: 1000, 400: 1000, 1600: 1000})
    assert not found.flagged


def test_a_quadratic_engine_is_flagged(steps: Steps) -> None:
    found = _growth(Quadratic, steps, "tokens")
    assert found.ratio > 7
    assert found.flagged
    assert growth_table([found]).splitlines()[-1].endswith("<<<")


def test_a_quadratic_finish_is_flagged_in_one_big_feed(steps: Steps) -> None:
    assert _growth(Quadratic, steps, "whole").ratio == pytest.approx(1)
    assert _growth(SlowEnd, steps, "whole").flagged


def test_a_slow_engine_is_flagged(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    def loads(_: str) -> None:
        steps.taken += 2

    monkeypatch.setattr(json, "loads", loads)
    text = {"x": ["a" * 40]}
    [cheap] = tokens.measure(lambda _: Linear(steps), text, 10.0, 1)
    [dear] = tokens.measure(lambda _: Quadratic(steps), text, 10.0, 1)
    assert not cheap.flagged
    assert dear.ratio(2) == pytest.approx(11)
    assert "<<<" in token_table([dear]).splitlines()[-1]


def test_a_leak_is_seen() -> None:
    found = {one.what: one.value for one in memory.run(lambda _: Linear(Steps()), 10, 50_000, 1)}
    assert found["held after 50000 characters of prose, degree 2"] > 50_000
    assert 0 < found["engine, idle"] < 2_000


def test_the_chunk_carries_the_token() -> None:
    event = json.loads(tokens.chunk_json('"é\n'))
    assert event["choices"][0]["delta"]["content"] == '"é\n'
    assert 250 < len(tokens.chunk_json("abcd")) < 350


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_has_its_size(name: str) -> None:
    text = SHAPES[name].of(999)
    assert len(text) == 999
    assert "".join(cut(text)) == text


def test_there_is_real_markdown() -> None:
    assert sum(map(len, readmes()["markdown"])) > 10_000


@pytest.mark.parametrize(("part", "count"), [("tokens", 3), ("growth", 16), ("memory", 6)])
def test_the_engine_is_measured(part: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "readmes", lambda: {"markdown": ["# Title\n\nSome *text*.\n"]})
    shapes = {name: SHAPES[name] for name in ("prose", "(a\\n")}
    table, rows, _goals = command.bench(part, text_engine, shapes, _TINY)
    assert len(rows) == count
    assert len(table.splitlines()) == count + 4
    assert json.loads(json.dumps(rows))


def test_json_holds_the_parts_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "QUICK", _TINY)
    ran = CliRunner().invoke(command.main, ["--quick", "--json", "--only", "growth", "--only", "<"])
    found = json.loads(ran.stdout)
    assert list(found) == ["growth"]
    assert {row["shape"] for row in found["growth"]} == {"<"}


def test_shares_are_all_shapes_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "QUICK", _TINY)
    monkeypatch.setattr(command, "SHAPES", {name: SHAPES[name] for name in ("prose", "<", "(")})
    shapes = []
    for share in ("1/2", "2/2"):
        arguments = ["--quick", "--json", "--only", "growth", "--share", share]
        rows = json.loads(CliRunner().invoke(command.main, arguments).stdout)["growth"]
        shapes.append({row["shape"] for row in rows})
    assert shapes == [{"prose", "("}, {"<"}]


@pytest.mark.parametrize("share", ["0/2", "3/2", "1", "a/b"])
def test_a_share_that_is_none_is_refused(share: str) -> None:
    ran = CliRunner().invoke(command.main, ["--share", share])
    assert ran.exit_code == 2
    assert "is not like 1/2" in ran.output


def test_a_wrong_name_is_named() -> None:
    ran = CliRunner().invoke(command.main, ["--only", "nothing"])
    assert ran.exit_code == 2
    assert "'nothing' is none of" in ran.stderr
