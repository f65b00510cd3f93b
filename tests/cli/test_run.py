"""`oshaberi run` and the terminal as a place for messages."""

from __future__ import annotations

import asyncio
from io import StringIO
from pathlib import Path

import pytest
from click.testing import CliRunner

from oshaberi import demo
from oshaberi.cli.app import app
from oshaberi.clock import run_virtual
from oshaberi.delivery.sink import Embed, Face, File, Post, Sent, Wire
from oshaberi.stream import ScriptedProvider, StreamContext, StreamResult, stream_to_sink
from oshaberi.terminal import Palette, TerminalSink


class Screen(StringIO):
    """A terminal as far as anybody asks."""

    def isatty(self) -> bool:
        return True


def shown(*posts: Post, screen: StringIO | None = None) -> str:
    out = screen or StringIO()
    sink = TerminalSink(out, "Mochi")

    async def send() -> None:
        for post in posts:
            await sink.typing(500)
            await sink.send(post, Wire(0))

    asyncio.run(send())
    return out.getvalue()


def test_a_name_stands_above_its_messages() -> None:
    ren = Face("Ren", "https://x.test/ren.png")
    assert shown(Post("1", "one"), Post("2", "two\nlines"), Post("3", "boo", face=ren)) == (
        "Mochi\n  ● one\n  ● two\n    lines\nRen  ren.png\n  ● boo\n"
    )


def test_files_and_notices() -> None:
    file = File("table-1.png", b"", source="| a |", width=8, height=9)
    out = shown(Post("1", files=(file,)), Post("2", embed=Embed("Oh", "no")))
    assert out == "Mochi\n  ● [table-1.png, 8 × 9]\n    | a |\n  ● Oh\n    no\n"


def test_replies_and_edits() -> None:
    out = StringIO()
    sink = TerminalSink(out, "Mochi")

    async def act() -> None:
        await sink.reply_notice(Face("Ren"))
        await sink.edit(Sent(1), Post("1", "new"))

    asyncio.run(act())
    assert out.getvalue() == "  ↪ Ren answers you\n  (edited)\n  ● new\n"


def test_colours_and_typing_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    post = Post("1", "hi <:soup:1>\n```\ncode\n```")
    plain, coloured = shown(post), shown(post, screen=Screen())
    assert "\x1b" not in plain
    assert "is typing" not in plain
    assert "is typing…" in coloured
    assert "\x1b[36mcode\x1b[0m" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[36m" not in shown(post, screen=Screen())


def test_code_is_coloured_from_fence_to_fence() -> None:
    lines = list(Palette(colours=True).lines_of("a\n```x```\nb\n```\nc"))
    assert [line.startswith("\x1b[36m") for line in lines] == [False, True, False, True, True]


def test_text_does_not_steer_the_terminal() -> None:
    out = shown(Post("1", "a\x1b[2Jb\x07\x9bc\td"), screen=Screen())
    assert "a␛[2Jb␇\ufffdc\td" in out


def _played(speed: float) -> tuple[StreamResult, str]:
    out = StringIO()
    provider = ScriptedProvider(demo.crumbs(speed))
    sink = TerminalSink(out, demo.MOCHI.name)
    stream = stream_to_sink(provider, None, demo.config(speed), StreamContext(), sink)
    return run_virtual(stream), out.getvalue()


def test_the_demo_shows_what_it_promises() -> None:
    result, out = _played(1)
    assert result.status == "completed"
    assert 10 <= result.metrics.messages <= 14
    assert result.metrics.duration_ms <= 20_000
    assert len(result.thought_log.texts) == 1
    assert result.undelivered == ""
    assert "think" not in out
    for part in ("```python", ":mochi_wave:", "🎉", "日本語", "sleepy.png", "what you see"):
        assert part in out


def test_speed_is_speed() -> None:
    fast, slow = _played(4)[0].metrics.duration_ms, _played(1)[0].metrics.duration_ms
    assert 3 <= slow / fast <= 5


def test_run_is_honest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSHABERI_DISCORD_TOKEN", "x")
    result = CliRunner().invoke(app, ["run", "--speed", "100"])
    assert result.exit_code == 0
    assert demo.QUESTION in result.stdout
    assert "Discord and the browser stage come later" in result.stdout
    assert "not built yet" in result.stderr


def test_a_recorded_run_replays_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "scenes"
    played = CliRunner().invoke(app, ["run", "--speed", "100", "--record", str(folder)])
    assert played.exit_code == 0
    (scene,) = folder.iterdir()
    replayed = CliRunner().invoke(app, ["replay", str(scene)])
    assert replayed.exit_code == 0
    assert "bot: Hi! I'm Mochi." in replayed.stdout
    assert "completed, 11 messages" in replayed.stdout
