"""`oshaberi record` against models on loopback: what it keeps, what it tells, what it hides."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from discord_stage.model_servers import AnthropicWire, ModelServer, OpenAIWire, WireFormat
from discord_stage.model_servers.google_wire import GoogleWire
from discord_stage.model_servers.novelai_wire import NovelAIWire
from discord_stage.model_servers.scripts import (
    Call,
    Cut,
    Finish,
    Refuse,
    Say,
    Stall,
    Step,
    Think,
)
from oshaberi import cli
from oshaberi.scenes import load_scene
from oshaberi.scenes.playback import perform

KEY = "hush-This1sTheKey-of-nobody"
ANSWER = ("Hi th", "ere!\nHow are ", "you?\n```py\nx = 1\n```\nBye.")


@contextmanager
def serving(wire: WireFormat, *scripts: Sequence[Step]) -> Iterator[ModelServer]:
    """A model in a loop of its own: the command brings its own, too."""
    ready: Future[tuple[ModelServer, asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def serve() -> None:
        over = asyncio.Event()
        async with ModelServer(wire, *scripts) as server:
            ready.set_result((server, asyncio.get_running_loop(), over))
            await over.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    server, loop, over = ready.result(timeout=30)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(timeout=30)


class Ran(NamedTuple):
    status: int
    out: str
    err: str


class Desk:
    """A folder, a key in the environment, and the command."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.path = folder / "scene.json"
        self._capsys = capsys

    def record(self, *args: str, model: str = "model-1", prompt: str | None = "hi") -> Ran:
        asked = [] if prompt is None else ["--prompt", prompt]
        status = cli.main(["record", "--out", str(self.path), "--model", model, *asked, *args])
        return Ran(status, *self._capsys.readouterr())

    def ask(self, server: ModelServer, *args: str, provider: str = "openai") -> Ran:
        place = ["--provider", provider, "--base-url", server.url, "--key-env", "A_KEY"]
        return self.record(*place, *args)


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Desk:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("A_KEY", KEY)
    return Desk(tmp_path, capsys)


def messages(path: Path) -> list[str]:
    records = perform(load_scene(str(path))).records
    return [record["content"] for record in records if record["kind"] == "message"]


def said(path: Path) -> list[Any]:
    """The chunks of a scene without its waits."""
    chunks = json.loads(path.read_bytes())["chunks"]
    return [one for one in chunks if isinstance(one, str) or one["type"] != "wait"]


FAMILIES: list[tuple[str, WireFormat]] = [
    ("openai", OpenAIWire()),
    ("anthropic", AnthropicWire()),
    ("google", GoogleWire()),
    ("novelai", NovelAIWire()),
]


@pytest.mark.parametrize(("provider", "wire"), FAMILIES, ids=[name for name, _ in FAMILIES])
def test_a_stream_of_each_family_becomes_a_scene(
    provider: str, wire: WireFormat, desk: Desk
) -> None:
    with serving(wire, (Say(*ANSWER),)) as server:
        ran = desk.ask(server, "--degree", "1", provider=provider)
    assert (ran.status, ran.out) == (0, "".join(ANSWER) + "\n")
    assert ran.err.startswith(f"{desk.path}: 4 chunks, {len(''.join(ANSWER))} characters, ")
    scene = load_scene(str(desk.path))
    assert (scene.name, scene.text) == (f"{provider} model-1", "".join(ANSWER))
    assert scene.config.text.humanizer_degree == 1
    assert messages(desk.path) == ["Hi there!", "How are you?", "```py\nx = 1\n```", "Bye."]
    assert cli.main(["replay", str(desk.path)]) == 0


def test_a_recorded_scene_is_a_model_too(desk: Desk, tmp_path: Path) -> None:
    with serving(OpenAIWire(), (Think("Hm."), Say(*ANSWER), Finish("length"))) as server:
        desk.ask(server)
    first_path, desk.path = desk.path, tmp_path / "again.json"
    assert desk.record("--provider", "replay", model=str(first_path)).status == 0
    assert said(desk.path) == said(first_path)
    assert {"type": "thought", "content": "Hm.", "kind": "raw"} in said(desk.path)


def test_thoughts_calls_and_settings_are_kept(desk: Desk) -> None:
    script = (Think("Hm."), Say("Look."), Call("look", '{"at": "it"}'))
    with serving(AnthropicWire(), script) as server:
        ran = desk.ask(server, "--set", "hold_limit=200", provider="anthropic")
    settings = json.loads(desk.path.read_bytes())["config"]
    assert (ran.status, settings) == (0, {"hold_limit": 200})
    assert said(desk.path) == [
        {"type": "thought", "content": "Hm.", "kind": "summary"},
        "Look.",
        {"type": "function_call", "name": "look", "args": {"at": "it"}},
    ]


def test_what_is_asked(desk: Desk) -> None:
    with serving(OpenAIWire()) as server:
        desk.ask(server, "--system", "Be brief.", "--thinking", "low", "--max-tokens", "9")
    body = server.requests[0].json
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hi"},
    ]
    # The thoughts have room of their own.
    assert (body["reasoning_effort"], body["max_completion_tokens"]) == ("low", 9 + 2048)


def test_the_prompt_may_come_through_a_pipe(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO("¿qué?\n".encode())))
    with serving(OpenAIWire()) as server:
        ran = desk.record("--base-url", server.url, prompt=None)
    assert (ran.status, server.requests[0].json["messages"][-1]["content"]) == (0, "¿qué?")


# -- secrets -------------------------------------------------------------------------------------


def test_the_key_reaches_the_provider_and_nothing_else(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    other = "zq-" + "Another5ecret"
    monkeypatch.setenv("OTHER_TOKEN", other)
    words = (f"Your key is {KEY[:9]}", f"{KEY[9:]}, theirs {other}. sk-proj-Zk3v9Qp7", "LmX2 too")
    with serving(OpenAIWire(), (Say(*words),)) as server:
        ran = desk.ask(server)
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    scene = desk.path.read_text(encoding="utf-8")
    assert load_scene(str(desk.path)).text == (
        "Your key is [secret], theirs [secret]. [secret] too"
    )
    assert [s for s in (KEY, other, "Zk3v9Qp7") if s in scene + ran.err + caplog.text] == []


def test_a_refusal_that_quotes_the_key(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    refusal = Refuse("auth", f"Incorrect API key provided: {KEY}")
    with serving(OpenAIWire(), (refusal,)) as server:
        ran = desk.ask(server)
    assert (ran.status, ran.out) == (2, "")
    told = "Incorrect API key provided: [secret] (the key that ends in body)"
    assert ran.err == f"oshaberi: openai: auth: {told}\n"
    assert KEY not in caplog.text
    assert not desk.path.exists()


def test_a_key_is_not_sent_to_somebody_else_s_server(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(OpenAIWire()) as server:
        assert desk.record("--base-url", server.url).status == 0
    assert KEY not in str(dict(server.requests[0].headers))


# -- what goes wrong -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (
            ["--provider", "openai"],
            "openai: no API key; set the environment variable OPENAI_API_KEY",
        ),
        (["--key-env", "NOT_SET"], "openai: no API key; set the environment variable NOT_SET"),
        (["--provider", "opnai"], "provider: 'opnai' is not known; did you mean 'openai'"),
        (["--key-env", "A_KEY", "--base-url", "localhost"], "does not begin with http"),
        (["--key-env", "A_KEY", "--thinking", "lots"], "thinking: 'lots' is not one of"),
        (["--key-env", "A_KEY", "--prompt", " "], "nothing to ask"),
        (["--key-env", "A_KEY", "--set", "hold_limit=x"], "hold_limit: 'x' is not"),
        (["--out", "/nowhere/at/all.json"], "--out /nowhere/at/all.json: cannot be written"),
        (["--provider", "replay"], "model-1: cannot be read"),
    ],
)
def test_bad_input_is_one_line(args: list[str], line: str, desk: Desk) -> None:
    ran = desk.record(*args)
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert line in ran.err


def test_a_missing_package_is_one_line(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    ran = desk.record("--key-env", "A_KEY")
    assert (ran.status, ran.err.count("\n")) == (2, 1)
    assert 'pip install "oshaberi[openai]"' in ran.err


def test_half_an_answer_is_kept_and_its_end_is_told(desk: Desk) -> None:
    with serving(OpenAIWire(), (Say("Half an ans"), Cut())) as server:
        ran = desk.ask(server)
    assert ran.status == 2
    assert "oshaberi: openai: network: " in ran.err
    text, error = said(desk.path)
    assert (text, error["error"]["type"]) == ("Half an ans", "network")


def test_ctrl_c_keeps_what_came(desk: Desk) -> None:
    with serving(OpenAIWire(), (Say("Well, "), Stall())) as server:
        args = ["record", "--out", str(desk.path), "--model", "m", "--prompt", "hi"]
        command = [sys.executable, "-m", "oshaberi", *args, "--base-url", server.url]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert os.read(process.stdout.fileno(), 100) == b"Well, "
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=60) == 130
    assert load_scene(str(desk.path)).text == "Well, "


def test_the_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["record", "--help"]) == 0
    assert "oshaberi record --out hi.json" in capsys.readouterr().out
