"""Colours, and text that must not steer the terminal."""

from __future__ import annotations

from io import StringIO

import pytest

from oshaberi.terminal_output import TerminalPalette, harmless


class Screen(StringIO):
    """A terminal as far as anybody asks."""

    def isatty(self) -> bool:
        return True


def test_colours_only_on_a_terminal_that_wants_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "")
    monkeypatch.setenv("TERM", "xterm")
    assert TerminalPalette.of(StringIO()).paint("code", "code") == "code"
    assert TerminalPalette.of(Screen()).paint("code", "code") == "\x1b[36mcode\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert TerminalPalette.of(Screen()).paint("code", "code") == "code"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert TerminalPalette.of(Screen()).paint("code", "code") == "code"


def test_code_is_coloured_from_fence_to_fence() -> None:
    lines = list(TerminalPalette(colours=True).lines_of("a\n```x```\nb\n```\nc"))
    assert [line.startswith("\x1b[36m") for line in lines] == [False, True, False, True, True]


def test_text_does_not_steer_the_terminal() -> None:
    assert harmless("a\x1b[2Jb\x07\x9bc\td") == "a␛[2Jb␇\ufffdc\td"
