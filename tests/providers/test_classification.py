"""The table of docs/providers.md, read by the rules alone and over real sockets."""

from __future__ import annotations

import json
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import pytest

from discord_stage.model_servers import ModelServer
from discord_stage.model_servers.scripts import Status
from oshaberi.chunks import ProviderError
from oshaberi.providers.base import Adapter
from oshaberi.providers.error_classification import ProviderFailure, provider_error
from oshaberi.providers.presets import PRESETS
from tests.providers.adapter_runs import error, read, run
from tests.providers.provider_families import FAMILIES

DOCS = Path(__file__).parents[2] / "docs" / "providers.md"


class Row(NamedTuple):
    status: int | None
    code: str
    message: str
    type: str
    retryable: bool


def _rows() -> list[Row]:
    after = DOCS.read_text("utf-8").partition("| status | code |")[2].splitlines()[2:]
    lines = takewhile(lambda line: line.startswith("|"), after)
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    return [Row(int(c[0]) if c[0] else None, c[1], c[2], c[3], c[4] == "yes") for c in cells]


def _seen(problem: ProviderError) -> tuple[str, bool]:
    return problem.type, problem.retryable


@pytest.mark.parametrize("row", _rows(), ids=lambda row: f"{row.status} {row.code} {row.message}")
def test_the_rules(row: Row) -> None:
    failure = ProviderFailure(row.status, (row.code,) if row.code else (), row.message)
    assert _seen(provider_error(failure, "p", str)) == (row.type, row.retryable)


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_over_the_wire(name: str) -> None:
    """The same answers through the SDK: what it raises loses nothing that matters."""
    family = next(family for family in FAMILIES if family.name == name)
    rows = [row for row in _rows() if row.status is not None]

    async def scenario(adapter: Adapter, server: ModelServer) -> list[tuple[str, bool]]:
        found = []
        for row in rows:
            inner = {"message": row.message, "type": row.code or None, "code": None}
            refusal = Status(row.status or 0, json.dumps({"error": inner}))
            # As often as a request may be tried with fewer parameters.
            for _ in range(2):
                server.play(refusal)
            found.append(_seen(error(await read(adapter))))
            server.forget()
        return found

    assert run(family, scenario) == [(row.type, row.retryable) for row in rows]


def test_the_table_has_every_kind_that_a_server_can_say() -> None:
    assert {row.type for row in _rows()} == {
        *("rate_limit", "provider_overloaded", "timeout", "content_blocked", "auth"),
        *("model_error", "context_length", "balance_exhausted", "affordability", "api_error"),
    }


def test_every_preset_is_documented() -> None:
    text = DOCS.read_text("utf-8")
    for preset in PRESETS.values():
        assert f"| `{preset.name}` |" in text
        assert preset.key_name is None or f"`{preset.key_name}`" in text
        assert preset.extra is None or f"oshaberi[{preset.extra}]" in text


def test_the_time_to_wait_is_kept() -> None:
    family = FAMILIES[0]
    refusal = Status(429, '{"error": {"message": "slow"}}', {"retry-after": "7"})

    async def scenario(adapter: Adapter, _server: ModelServer) -> ProviderError:
        return error(await read(adapter))

    assert run(family, scenario, (refusal,)).raw["retry_after_s"] == 7.0
