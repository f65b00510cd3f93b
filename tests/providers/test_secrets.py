"""Keys are planted everywhere, and looked for everywhere."""

from __future__ import annotations

import logging
from dataclasses import fields
from typing import Any

import pytest

from discord_stage.model_servers import ModelServer
from discord_stage.model_servers.scripts import (
    Cut,
    ErrorEvent,
    Garbage,
    Refuse,
    Say,
    Status,
    Step,
)
from oshaberi.chunks import ProviderError
from oshaberi.providers.base import Adapter
from oshaberi.providers.presets import PRESETS
from oshaberi.providers.registry import families
from oshaberi.providers.request.model_request import Endpoint
from oshaberi.secret_redaction import MASK, SecretValues, redact
from tests.providers.adapter_runs import ASK, run
from tests.providers.provider_families import KEY, Family, every_family

HEADER = "Basic aHVzaDpodXNo-of-the-proxy"
SECRETS = (KEY, HEADER.split()[1])

SCRIPTS: dict[str, tuple[Step, ...]] = {
    "fine": (Say("Hello"),),
    "told the key": (Refuse("auth", f"Incorrect API key provided: {KEY}."),),
    "told the header": (Refuse("api_error", f"proxy-authorization was {HEADER}"),),
    "echoed": (Status(400, f'{{"error": {{"message": "no", "code": "{KEY}", "x": ["{KEY}"]}}}}'),),
    "echoed as text": (Status(500, f"authorization: Bearer {KEY}"),),
    "event": (Say("Hal"), ErrorEvent("auth", f"the key {KEY} is wrong")),
    "garbage": (Say("Hal"), Garbage('{"key": "' + KEY)),
    "page": (Status(200, f"<p>{KEY}</p>"),),
    "cut": (Say("Hal"), Cut()),
}


def _everything(value: Any) -> str:
    """All that is kept in an error, whether shown or not."""
    if isinstance(value, ProviderError):
        kept = " ".join(_everything(getattr(value, field.name)) for field in fields(value))
        return f"{value!r} {value} {kept}"
    if isinstance(value, dict):
        return " ".join(f"{key} {_everything(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return " ".join(map(_everything, value))
    return f"{value!r} {value}"


@every_family
@pytest.mark.parametrize("script", SCRIPTS)
def test_no_secret_is_shown_or_kept(
    family: Family, script: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(adapter: Adapter, _server: ModelServer) -> str:
        shown = [repr(adapter), str(adapter)]
        async for raw in adapter.open(ASK):
            data = raw.data if raw.chunk is None or raw.chunk.error is None else None
            shown.append(_everything([raw.chunk, raw.chunk and raw.chunk.error, data]))
        return " ".join(shown)

    caplog.set_level(logging.DEBUG)
    headers = {"Proxy-Authorization": HEADER}
    shown = run(family, scenario, *[SCRIPTS[script]] * 5, headers=headers)
    assert "error" in shown or script == "fine"
    for secret in SECRETS:
        assert secret not in shown
        assert secret not in caplog.text


@every_family
def test_the_key_is_really_sent(family: Family) -> None:
    """Otherwise there was nothing to find."""

    async def scenario(adapter: Adapter, server: ModelServer) -> str:
        _ = [raw async for raw in adapter.open(ASK)]
        return str(server.requests[0].headers)

    sent = run(family, scenario, headers={"Proxy-Authorization": HEADER})
    assert all(secret in sent for secret in SECRETS)


@every_family
def test_no_other_key_is_taken_from_the_environment(
    family: Family, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = "planted-in-the-environment"
    for name in ("OPENAI", "ANTHROPIC", "GEMINI", "GOOGLE"):
        monkeypatch.setenv(f"{name}_API_KEY", planted)
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, planted)
    for name in ("OPENAI_CUSTOM_HEADERS", "ANTHROPIC_CUSTOM_HEADERS"):
        monkeypatch.setenv(name, f"X-Team: {planted}\nAuthorization: Bearer {planted}")

    async def scenario(adapter: Adapter, server: ModelServer) -> str:
        _ = [raw async for raw in adapter.open(ASK)]
        return f"{server.requests[0].headers} {server.requests[0].path}"

    # What signs in at a cloud has other variables, which only its SDK knows.
    key = "token" if PRESETS[family.preset].cloud else None
    assert planted not in run(family, scenario, api_key=key)


def test_an_endpoint_does_not_show_its_key() -> None:
    endpoint = Endpoint("p", "m", api_key=KEY, headers={"x": HEADER})
    assert KEY not in repr(endpoint)
    assert HEADER not in repr(endpoint)
    assert KEY not in repr(SecretValues(endpoint.secrets))


def test_short_words_are_no_secrets() -> None:
    known, asked = SecretValues(["true", "on"]), "is it true that he is on?"
    assert (known.masked(asked), known.redacted(asked)) == (asked, asked)


def test_names_of_providers_are_no_secrets() -> None:
    names = ", ".join([*PRESETS, *families()])
    assert redact(names) == names
    assert redact("xai-responses-7Hq0Zk3v9Qp7") == MASK
