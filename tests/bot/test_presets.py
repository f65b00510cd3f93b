"""/config preset: one table, applied all at once, and the page that shows it.

`make generate` writes the table of docs/lively.md again.
"""

from __future__ import annotations

from typing import Any

import pytest

from oshaberi.bot.config import SERVER_KEYS, Setting, effective, load
from oshaberi.bot.config.presets import PRESET_KEYS, PRESETS, ROWS, Preset, preset_values
from oshaberi.bot.config.schema import check_value
from oshaberi.bot.config.server_settings import reduce_to_limits
from oshaberi.bot.conversation.turn_config import TurnConfig
from tests.bot.client_harness import ADMIN, MEMBER, ClientHarness, run_with_client
from tests.cli.document_pages import DOCS, table, text_of, with_table

PAGE = DOCS / "lively.md"


def _plain(value: Any) -> str:
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def page(text: str) -> str:
    """With the table of the presets as it is in the code."""
    rows = []
    for row in ROWS:
        setting = SERVER_KEYS[row.name]
        values = (row.value(preset) for preset in PRESETS)
        shown = (_plain(setting.default if value is None else value) for value in values)
        name = row.page.removesuffix(".md").replace("-", " ")
        cells = (f"`{row.name}`", setting.what, *shown, f"[{name}]({row.page})")
        rows.append(f"| {' | '.join(cells)} |")
    head = "| setting | what it does | quiet | normal | lively | more |"
    return with_table(text, "presets", table(head, rows))


def test_the_page_has_the_table() -> None:
    text = text_of(PAGE)
    assert text == page(text), "run: make generate"


def _is_off(setting: Setting) -> bool:
    """Whether something that a turn could do is off."""
    is_off = setting.default is False or setting.default == "off" or "0 is off" in setting.what
    return setting.section is TurnConfig and is_off


def test_the_page_names_everything_that_is_off() -> None:
    text = text_of(PAGE)
    off = [name for name, setting in SERVER_KEYS.items() if _is_off(setting)]
    assert {"answer_buttons", "search_tool_enabled", "attention_ms"} <= set(off)
    assert [name for name in off if f"`{name}`" not in text] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_is_valid_and_changes_something(row: Any) -> None:
    setting = SERVER_KEYS[row.name]
    for preset in PRESETS:
        value = row.value(preset)
        assert value is None or check_value(setting, value) == value
    assert row.value("normal") is None
    assert row.quiet is not None
    assert {row.quiet, row.lively} - {setting.default, None}
    assert (DOCS / row.page).is_file()


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_goes_together_within_the_default_limits(preset: Preset) -> None:
    settings = load(None, {})
    values = preset_values(preset)
    assert reduce_to_limits(settings, values) == dict(values)
    now = effective(settings, values)
    for row in ROWS:
        expected = row.value(preset)
        default = SERVER_KEYS[row.name].default
        section = now.turn if hasattr(now.turn, row.name) else now.stream
        assert getattr(section, row.name) == (default if expected is None else expected)
    assert len(PRESET_KEYS) == len(ROWS)


async def use(harness: ClientHarness, preset: str, user: str = ADMIN) -> str:
    return await harness.run("config preset", {"preset": preset}, user=user)


def test_a_preset_says_what_it_changes_and_normal_takes_it_back() -> None:
    async def scenario(harness: ClientHarness) -> None:
        stored = harness.db.servers
        await stored.set_config(harness.server_id, "notify", "first")
        await stored.set_config(harness.server_id, "attention_ms", 5000)
        told = await use(harness, "lively")
        assert told.startswith("This server is `lively` now.\n- `attention_ms`: `5000` → `120000`")
        assert "- `answer_buttons`: `off` → `menu`" in told
        assert "answer_to_names" not in told, "it is no different from before"
        assert "`/config preset normal` gives all of these their defaults again" in told
        assert await stored.config(harness.server_id) == {
            "notify": "first",
            **preset_values("lively"),
        }
        again = await use(harness, "lively")
        assert again == "This server is `lively` now. No setting had to change."
        told = await use(harness, "quiet")
        assert "- `answer_to_names`: `true` → `false`" in told
        assert "- `attention_ms`: `120000` → `0`" in told
        assert "- `attention_ms`" not in await use(harness, "normal")
        assert await stored.config(harness.server_id) == {"notify": "first"}

    run_with_client(scenario)


def test_a_preset_keeps_to_the_operators_limits_and_leaves_channels_alone() -> None:
    async def scenario(harness: ClientHarness) -> None:
        general = harness.id_of("general")
        await harness.db.servers.set_config(harness.server_id, "answer_versions", 3, general)
        told = await use(harness, "lively")
        assert f"This does not apply where a value is set: <#{general}>." in told
        assert "- `attention_ms`: `0` → `60000`" in told
        stored = await harness.db.servers.settings(harness.server_id)
        assert stored.server["attention_ms"] == 60_000
        assert stored.channels == {general: {"answer_versions": 3}}

    limited = load(None, {"OSHABERI_SERVER_LIMITS": '{"attention_ms": 60000}'})
    run_with_client(scenario, own=limited)


def test_who_may_not_manage_the_server_changes_nothing() -> None:
    async def scenario(harness: ClientHarness) -> None:
        assert "Manage Server" in await use(harness, "lively", user=MEMBER)
        assert await harness.db.servers.config(harness.server_id) == {}

    run_with_client(scenario)


def test_all_of_it_is_stored_or_nothing() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await harness.db.servers.set_config(harness.server_id, "attention_ms", 5000)
        values: dict[str, Any] = {"answer_versions": 5, "own_threads": {1, 2}}
        with pytest.raises(Exception, match="JSON"):
            await harness.db.servers.change_config(harness.server_id, values, ["attention_ms"])
        assert await harness.db.servers.config(harness.server_id) == {"attention_ms": 5000}

    run_with_client(scenario)
