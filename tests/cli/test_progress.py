"""Long work: a line that changes on a terminal, a line now and then in a pipe."""

from __future__ import annotations

import io

import pytest

from oshaberi.cli.replay_output import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_one_line_changes_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    out = Terminal()
    assert list(Progress(out).over("ab", "scenes")) == ["a", "b"]
    assert out.getvalue() == "\r\x1b[K1 of 2 scenes\r\x1b[K2 of 2 scenes\r\x1b[K"


def test_in_a_pipe_a_line_now_and_then() -> None:
    out, seconds = io.StringIO(), [0]
    for number in Progress(out, lambda: seconds[0]).over(range(13), "scenes"):
        seconds[0] = number + 1
    assert out.getvalue() == "5 of 13 scenes\n10 of 13 scenes\n"


def test_short_work_says_nothing_in_a_pipe() -> None:
    out = io.StringIO()
    progress = Progress(out, lambda: 0.0)
    assert len(list(progress.over(range(1000), "scenes"))) == 1000
    progress.clear()
    assert out.getvalue() == ""
