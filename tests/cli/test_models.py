"""`oshaberi models`, and the call that `doctor` makes to each model."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from discord_stage.model_servers import AnthropicWire, ModelServer, OpenAIWire, WireFormat
from discord_stage.model_servers.google_wire import GoogleWire
from discord_stage.model_servers.scripts import Finish, Refuse, Step
from discord_stage.model_servers.server import Reply
from discord_stage.model_servers.wire_format import ReceivedRequest, WireAnswer
from oshaberi import cli
from oshaberi.bot.config import load
from oshaberi.cli.doctor_checks import Finding, examine
from oshaberi.providers.first_words import MOST_TOKENS

KEY = "a-very-secret-key-WXYZ"
NAMES = ["gpt-small", "gpt-large"]


class OfferingServer(ModelServer):
    """Lists its models, and answers."""

    def __init__(
        self,
        wire: WireFormat,
        *scripts: Sequence[Step],
        status: int = 200,
        names: Sequence[str] = NAMES,
    ) -> None:
        super().__init__(wire, *scripts)
        self._status = status
        self._names = names

    def _reply(self, request: ReceivedRequest) -> Reply:
        if request.method == "GET":
            body = json.dumps({"data": [{"id": name} for name in self._names]})
            return WireAnswer(self._status, body, {"content-type": "application/json"})
        return super()._reply(request)


@contextmanager
def serving(server: OfferingServer) -> Iterator[str]:
    """In a thread of its own: the command has an event loop itself."""
    started, ended = threading.Event(), threading.Event()

    async def main() -> None:
        async with server:
            started.set()
            await asyncio.to_thread(ended.wait)

    thread = threading.Thread(target=asyncio.run, args=(main(),))
    thread.start()
    started.wait()
    try:
        yield server.url
    finally:
        ended.set()
        thread.join()


# -- the command ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("provider", "wire"),
    [("ollama", OpenAIWire), ("anthropic", AnthropicWire), ("google", GoogleWire)],
)
def test_it_lists_what_an_endpoint_offers(
    provider: str, wire: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_KEY", KEY)
    server = OfferingServer(wire())
    with serving(server) as url:
        given = ["--provider", provider, "--base-url", url, "--key-env", "THE_KEY"]
        assert cli.main(["models", *given]) == 0
    assert capsys.readouterr().out.splitlines() == NAMES
    [request] = server.requests
    assert KEY in str(request.headers)


def test_it_lists_those_of_the_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(OfferingServer(OpenAIWire())) as url:
        model = f'[[models]]\nprovider = "ollama"\nmodel = "x"\nbase_url = "{url}"\n'
        (tmp_path / "oshaberi.toml").write_text(model * 2)
        assert cli.main(["models", "--json"]) == 0
        [line] = capsys.readouterr().out.splitlines()
        expected = {"provider": "ollama", "base_url": url, "models": NAMES, "is_whole": True}
        assert json.loads(line) == expected


def test_entries_of_one_endpoint_share_the_first_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    server = OfferingServer(OpenAIWire())
    with serving(server) as url:
        place = f'[[models]]\nprovider = "ollama"\nbase_url = "{url}"\n'
        entries = [f'{place}model = "x"\napi_keys = ["{KEY}"]\n', f'{place}model = "y"\n']
        (tmp_path / "oshaberi.toml").write_text("".join(entries))
        assert cli.main(["models"]) == 0
    [request] = server.requests
    assert KEY in str(request.headers)


def test_a_list_without_end_is_not_read_to_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    server = OfferingServer(OpenAIWire(), names=["x" * 1000] * 10_000)
    with serving(server) as url:
        assert cli.main(["models", "--provider", "ollama", "--base-url", url]) == 2
    assert "its list is longer than" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "no model is in the settings; try: oshaberi models --provider ollama"),
        (["--provider", "olama"], "'olama' is not known; did you mean 'ollama'"),
        (["--provider", "novelai"], "its API does not list its models"),
        (["--provider", "azure"], "azure: needs a base_url"),
        (["--provider", "azure", "--base-url", "http://x.test"], "variable AZURE_OPENAI_API_KEY"),
        (["--provider", "groq"], "set the environment variable GROQ_API_KEY"),
        (["--base-url", "http://x.test"], "need a --provider"),
        (["--provider", "ollama", "--base-url", "x"], "does not begin with http://"),
        (
            ["--provider", "ollama", "--base-url", "http://u:hush@127.0.0.1:9/v1"],
            "ollama at http://127.0.0.1:9/v1 was not reached",
        ),
    ],
)
def test_what_does_not_work_is_one_line(
    given: list[str],
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    monkeypatch.delenv("AZURE_OPENAI_API_KEY", raising=False)
    assert cli.main(["models", *given]) == 2
    told = capsys.readouterr()
    assert said in told.err
    assert len(told.err.splitlines()) == 1
    assert "hush" not in told.err
    assert told.out == ""


@pytest.mark.parametrize(("status", "said"), [(401, "wants a key"), (404, "does not list")])
def test_a_server_that_refuses(status: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(OfferingServer(OpenAIWire(), status=status)) as url:
        assert cli.main(["models", "--provider", "ollama", "--base-url", url]) == 2
    assert said in capsys.readouterr().err


# -- doctor --------------------------------------------------------------------------------------


def look(
    tmp_path: Path, *scripts: Sequence[Step], offline: bool = False, **entry: Any
) -> tuple[list[Finding], list[ReceivedRequest]]:
    async def main() -> tuple[list[Finding], list[ReceivedRequest]]:
        async with OfferingServer(OpenAIWire(), *scripts) as server:
            model = {"provider": "openai", "model": "gpt-small", "api_keys": [KEY]}
            models = json.dumps([{**model, "base_url": server.url, **entry}])
            environ = {"OSHABERI_DATA_DIR": str(tmp_path / "data"), "OSHABERI_MODELS": models}
            found = examine(load(None, environ), environ, offline=offline)
            findings = [one async for one in found if one.name.startswith("model ")]
            assert KEY not in str(findings)
            return findings, server.requests

    return asyncio.run(main())


def test_each_model_gets_one_call(tmp_path: Path) -> None:
    params = {"thinking": "low", "seed": 7, "max_output_tokens": 4000}
    (listed, called), requests = look(tmp_path, params=params)
    assert (listed.state, called.state) == ("good", "good")
    assert called.name == "model openai gpt-small, a call"
    assert called.text.startswith("it answers, after ")
    [body] = [request.json for request in requests if request.method == "POST"]
    assert (body["reasoning_effort"], body["seed"]) == ("low", 7)
    assert body["max_completion_tokens"] == MOST_TOKENS + 2048


def test_an_empty_answer_is_a_problem(tmp_path: Path) -> None:
    (_listed, called), _requests = look(tmp_path, [Finish("length")])
    assert called.state == "bad"


def test_a_call_that_fails_says_what_to_do(tmp_path: Path) -> None:
    (listed, called), _requests = look(tmp_path, [Refuse("model_error")], model="gpt-tiny")
    assert (listed.state, called.state) == ("note", "bad")
    assert "available: gpt-small, gpt-large" in called.text
    assert "oshaberi models" in called.advice


def test_a_key_that_is_refused_makes_no_call(tmp_path: Path) -> None:
    found, requests = look(tmp_path, base_url="http://127.0.0.1:9/v1")
    assert [one.state for one in found] == ["bad"]
    assert requests == []


def test_offline_nobody_is_asked(tmp_path: Path) -> None:
    [finding], requests = look(tmp_path, offline=True)
    assert (finding.state, requests) == ("note", [])
    assert "--offline" in finding.text


def test_offline_does_not_ask_discord_either(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OSHABERI_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("DISCORD_STAGE_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("OSHABERI_DISCORD_TOKEN", KEY)
    assert cli.main(["doctor", "--offline", "--json"]) == 1
    found = {line["name"]: line for line in map(json.loads, capsys.readouterr().out.splitlines())}
    assert "--offline" in found["token"]["text"]
    assert found["model"]["state"] == "bad"  # a token without a model
    assert "database" in found
