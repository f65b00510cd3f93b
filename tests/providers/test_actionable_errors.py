"""Errors that a person can act on, and nothing in them that is secret."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from discord_stage.model_servers import ModelServer
from discord_stage.model_servers.scripts import Refuse, Status
from discord_stage.model_servers.server import Reply
from discord_stage.model_servers.wire_format import ReceivedRequest, WireAnswer
from oshaberi.chunks import ProviderError
from oshaberi.providers.base import Adapter
from oshaberi.providers.registry import connect
from oshaberi.providers.request.model_request import Endpoint
from oshaberi.providers.wire import errors
from oshaberi.providers.wire.errors import explained, names_shown, shown_address
from tests.providers.adapter_runs import chunks, error, read
from tests.providers.provider_families import FAMILIES, KEY, Family, every_family

LISTING = [family for family in FAMILIES if family.name in ("openai", "anthropic", "google")]


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a list may take longer than somebody waits for a better message."""
    monkeypatch.setattr(errors, "_LISTING_PATIENCE_S", 60.0)


class ListingServer(ModelServer):
    """Refuses every model, and lists those it has; or not."""

    def __init__(self, family: Family, names: Sequence[str], status: int = 200) -> None:
        super().__init__(family.wire(), *[[Refuse("model_error")]] * 3)
        self._listed = json.dumps({"data": [{"id": name} for name in names]})
        self._status = status

    def _reply(self, request: ReceivedRequest) -> Reply:
        if request.method == "GET":
            return WireAnswer(self._status, self._listed, {"content-type": "application/json"})
        return super()._reply(request)


def _missing(
    family: Family, names: Sequence[str], status: int = 200, **settings: Any
) -> ProviderError:
    async def main() -> ProviderError:
        async with ListingServer(family, names, status) as server:
            adapter = connect(
                family.preset, "gpt-nano", api_key=KEY, base_url=server.url, **settings
            )
            found = error(await read(adapter))
            await adapter.aclose()
            return found

    return asyncio.run(main())


@pytest.mark.parametrize("family", LISTING, ids=str)
def test_a_missing_model_is_told_with_those_that_are_there(family: Family) -> None:
    problem = _missing(family, ["whisper", "gpt-nano-2", "gpt-5"])
    assert problem.type == "model_error"
    told = "('gpt-nano' does not exist; available: gpt-nano-2, gpt-5, whisper)"
    assert problem.message.endswith(told)


@pytest.mark.parametrize(("names", "status"), [([], 200), (["gpt-nano"], 200), (["x"], 500)])
def test_where_there_is_no_list_there_are_no_names(names: Sequence[str], status: int) -> None:
    assert "there are" not in _missing(LISTING[0], names, status).message


def test_very_many_names_are_not_all_told() -> None:
    shown = names_shown("model-17", [f"model-{n}" for n in range(40)])
    assert shown.startswith("model-17, ")
    assert shown.endswith(" and 32 more")


@every_family
def test_the_address_that_was_not_reached(family: Family) -> None:
    async def main(adapter: Adapter) -> ProviderError:
        found = error(await read(adapter))
        await adapter.aclose()
        return found

    nobody = "http://127.0.0.1:9/v1"
    settings = {"api_key": KEY, **family.settings}
    problem = asyncio.run(main(connect(family.preset, "m", base_url=nobody, **settings)))
    assert problem.type == "network"
    assert problem.message.endswith("(at http://127.0.0.1:9/v1; is the server running?)")
    assert " object at 0x" not in problem.message
    # The path may be somebody's secret.
    assert (problem.shown or "").endswith("(at http://127.0.0.1:9; is the server running?)")


@every_family
def test_the_end_of_the_key_that_is_refused(family: Family) -> None:
    problem = error(chunks(family, Refuse("auth")))
    assert problem.message.endswith(f"(the key that ends in {KEY[-4:]})")
    assert KEY not in problem.message
    assert (problem.shown or "").endswith(f"(the key that ends in {KEY[-4:]})")


@pytest.mark.parametrize(
    ("is_known", "told"),
    [
        (True, "('gpt-nano' does not exist; available: gpt-5)"),
        (False, "('gpt-nano' does not exist)"),
    ],
)
def test_a_channel_sees_names_of_known_servers_only(is_known: bool, told: str) -> None:
    problem = _missing(LISTING[0], ["gpt-5"], is_known_server=is_known)
    assert (problem.shown or "").endswith(told)


def test_without_words_to_show_the_hint_stands_alone() -> None:
    problem = ProviderError("auth", "no", raw={"status": None}, shown="")
    told = asyncio.run(explained(problem, Endpoint("openai", "m"), "openai"))
    assert (told.message, told.shown) == ("no (no key was sent)", "no key was sent")


def test_what_may_be_shown_whole_stays_so() -> None:
    told = asyncio.run(explained(ProviderError("auth", "no"), Endpoint("openai", "m"), "openai"))
    assert (told.message, told.shown) == ("no (no key was sent)", None)


def test_no_key_and_a_short_one() -> None:
    assert "no key was sent" in error(chunks(FAMILIES[0], Refuse("auth"), api_key=None)).message
    short = error(chunks(FAMILIES[0], Refuse("auth"), api_key="hush-hush")).message
    assert "hush" not in short


def test_a_timeout_of_a_server_behind_another_has_no_address_of_ours() -> None:
    problem = error(chunks(FAMILIES[0], Status(504, '{"error": {"message": "gateway"}}')))
    assert (problem.type, problem.message) == ("timeout", "gateway")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://u:p@api.x.test:8443/v1?k=v#f", "https://api.x.test:8443/v1"),
        ("http://[::1]:80/v1", "http://[::1]:80/v1"),
        ("http://x.test:notaport", ""),
        (None, ""),
    ],
)
def test_addresses(url: str | None, shown: str) -> None:
    assert shown_address(url) == shown
