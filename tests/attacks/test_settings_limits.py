"""Every text and list that a stranger can set has a maximum. A new one without fails here.

Strangers are everybody but the operator: a server's admins and members, through settings, options
of commands, forms, personas and options of models.
"""

from __future__ import annotations

import ast
import asyncio
import json
import math
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import discord
import pytest
from discord import app_commands

import oshaberi
from oshaberi.bot.characters.card_files import LARGEST_FILE
from oshaberi.bot.commands import COMMANDS
from oshaberi.bot.commands.answers import CommandForm
from oshaberi.bot.commands.command_context import MOST_PLACES, CommandRefusedError
from oshaberi.bot.commands.lore_limits import LARGEST_BOOK
from oshaberi.bot.commands.personas.persona_changes import PERSONA_LIMITS, check_size
from oshaberi.bot.commands.personas.picture_uploads import uploaded_file
from oshaberi.bot.commands.personas.sprite_commands import SpriteForm
from oshaberi.bot.config import SERVER_KEYS, LoadedSettings, Setting, effective, parse_server_value
from oshaberi.bot.config.server_settings import check_limit
from oshaberi.bot.conversation.turn_config import LONGEST_TEXT, MOST_IDS, MOST_TEXTS, TurnConfig
from oshaberi.bot.faces.pictures import LARGEST_BYTES
from oshaberi.bot.storage.records import PersonaRecord, SpriteRecord
from oshaberi.errors import ConfigError
from oshaberi.providers.model_options import OPTIONS, checked_option, parsed_option
from tests.attacks.loop_watch import computing_at_most
from tests.bot.client_harness import ADMIN, ClientHarness, run_with_client

Leaf = app_commands.Command[Any, ..., Any]
SOURCE = Path(oshaberi.__file__).parent
SMALL_KINDS = {"low", "switch", "fraction", "choices"}
"""Kinds of settings that are one number or one word of a list."""
ONE_LINE = 300
MOST_OF_DISCORD = 6000
"""As many characters as Discord lets an option have."""


# -- settings ------------------------------------------------------------------------------------


def _too_large(setting: Setting) -> list[str]:
    """What an admin could type that is larger than the setting allows."""
    about = setting.about
    if "ids" in about:
        return [",".join(map(str, range(MOST_IDS + 1)))]
    if "strings" in about:
        return [
            "x" * (about["server_longest"] + 1),
            "x" * MOST_OF_DISCORD,
            ",".join("x" * (about["server_most"] + 1)),
            json.dumps(["fine", "x" * 5000]),
        ]
    return ["x" * (about["server_longest"] + 1)]


@pytest.mark.parametrize("setting", SERVER_KEYS.values(), ids=SERVER_KEYS)
def test_a_setting_has_a_maximum(setting: Setting) -> None:
    about = setting.about
    if SMALL_KINDS & about.keys():
        return
    is_list = bool({"strings", "ids"} & about.keys())
    assert not is_list or about.get("server_most"), "a list needs `server_most`"
    is_text = bool({"strings", "name", "passage", "text"} & about.keys())
    assert not is_text or about.get("server_longest"), "a text needs `server_longest`"
    assert is_list or is_text, f"say how large a value of this kind may be: {sorted(about)}"
    for text in _too_large(setting):
        with pytest.raises(ConfigError) as refused:
            check_limit(LoadedSettings(), setting.name, parse_server_value(setting.name, text))
        line = str(refused.value)
        assert line.startswith(f"{setting.name}: is not ")
        assert "at most" in line
        assert len(line) < ONE_LINE
        assert "\n" not in line


def test_what_just_fits_is_taken() -> None:
    texts = ["x" * LONGEST_TEXT] * MOST_TEXTS
    check_limit(LoadedSettings(), "llm_stop_strings", texts)
    check_limit(LoadedSettings(), "blocked_users", list(range(MOST_IDS)))


def test_the_operator_may_have_longer_lists() -> None:
    many = tuple(range(10 * MOST_IDS))
    assert TurnConfig(blocked_users=many).blocked_users == many


def test_what_was_stored_before_there_was_a_maximum_is_cut_down() -> None:
    stored = {
        "llm_stop_strings": ["###", "x" * 5900, *(str(number) for number in range(100))],
        "blocked_users": list(range(3000)),
        "answering_persona": "x" * 5900,
        "display_mode": "x" * 5900,
    }
    now = effective(LoadedSettings(), stored)
    assert now.turn.llm_stop_strings == ("###", *(str(number) for number in range(18)))
    assert now.turn.blocked_users == tuple(range(MOST_IDS))
    assert now.turn.answering_persona == ""
    assert now.stream.display_mode == "persona"


def test_a_cut_list_still_counts_with_the_operators() -> None:
    operators = LoadedSettings(turn=TurnConfig(blocked_users=(10**9,)))
    now = effective(operators, {"blocked_users": list(range(3000))})
    assert now.turn.blocked_users == (10**9, *range(MOST_IDS))


@pytest.mark.parametrize("key", SERVER_KEYS)
@pytest.mark.parametrize("text", ["[" * 6000, '{"a":' * 1200, "9" * 6000, "<#" * 3000, "," * 6000])
def test_what_cannot_be_a_value_is_refused_in_one_line(key: str, text: str) -> None:
    with computing_at_most():
        told = _refusal(key, text)
    is_list_of_nothing = set(text) == {","} and isinstance(SERVER_KEYS[key].default, tuple)
    assert bool(told) != is_list_of_nothing or SERVER_KEYS[key].about.keys() & {"name", "text"}
    assert len(told) < ONE_LINE


def _refusal(key: str, text: str) -> str:
    try:
        check_limit(LoadedSettings(), key, parse_server_value(key, text))
    except ConfigError as refused:
        return str(refused)
    return ""


def test_a_server_has_a_maximum_of_channels_with_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oshaberi.bot.commands.command_context.MOST_PLACES", 1)
    assert MOST_PLACES > 1

    async def scenario(harness: ClientHarness) -> None:
        async def set_in(place: str) -> str:
            options = {"key": "humanizer_degree", "value": "1", "in": place}
            return await harness.run("config set", options, user=ADMIN)

        assert "is now" in await set_in("general")
        assert "is now" in await set_in("general"), "what has a value can have another"
        refused = await set_in("logs")
        assert (
            refused == "At most 1 channels can have their own settings or models; reset one first."
        )

    run_with_client(scenario)


# -- options of commands -------------------------------------------------------------------------


def _leaves() -> list[Leaf]:
    groups = [one for one in COMMANDS if isinstance(one, app_commands.Group)]
    plain = [one for one in COMMANDS if isinstance(one, app_commands.Command)]
    nested = [leaf for group in groups for leaf in group.walk_commands()]
    return [*plain, *(leaf for leaf in nested if isinstance(leaf, app_commands.Command))]


OPTIONS_OF_COMMANDS = [
    pytest.param(option, id=f"{leaf.qualified_name} {option.display_name}")
    for leaf in _leaves()
    for option in leaf.parameters
]
ONE_THING = {
    discord.AppCommandOptionType.boolean,
    discord.AppCommandOptionType.channel,
    discord.AppCommandOptionType.user,
    discord.AppCommandOptionType.role,
    discord.AppCommandOptionType.mentionable,
}
FILES: dict[str, int] = {
    "persona avatar picture": LARGEST_BYTES,
    "persona profile banner": LARGEST_BYTES,
    "sprite add picture": LARGEST_FILE,
    "persona import file": LARGEST_FILE,
    **{f"persona import file{number}": LARGEST_FILE for number in range(2, 6)},
    "lore import file": LARGEST_BOOK,
}
"""Options that take a file, and how many bytes it may have. All are read by `uploaded_file`:
`test_every_body_from_outside_is_bounded` knows no other place."""


def test_all_commands_are_walked() -> None:
    assert len(OPTIONS_OF_COMMANDS) > 30


@pytest.mark.parametrize("option", OPTIONS_OF_COMMANDS)
def test_an_option_has_a_maximum(option: app_commands.Parameter) -> None:
    if option.type in ONE_THING or option.choices:
        return
    if option.type is discord.AppCommandOptionType.attachment:
        place = f"{option.command.qualified_name} {option.display_name}"
        assert place in FILES, "say how large this file may be"
        return
    assert option.max_value is not None, "declare it as app_commands.Range"
    if option.type is discord.AppCommandOptionType.string:
        assert option.max_value <= MOST_OF_DISCORD
    else:
        assert option.min_value is not None


@pytest.mark.parametrize("most", sorted(set(FILES.values())))
def test_a_file_that_is_too_large_is_not_downloaded(most: int) -> None:
    class Upload:
        filename = "\n" * 5000

        def __init__(self, size: int) -> None:
            self.size = size
            self.downloads = 0

        async def read(self) -> bytes:
            self.downloads += 1
            return b"x"

    too_large, just_fits = Upload(most + 1), Upload(most)
    with pytest.raises(CommandRefusedError, match="is larger than") as refused:
        asyncio.run(uploaded_file(cast(discord.Attachment, too_large), most))
    assert len(str(refused.value)) < ONE_LINE
    assert asyncio.run(uploaded_file(cast(discord.Attachment, just_fits), most)) == b"x"
    assert (too_large.downloads, just_fits.downloads) == (0, 1)


def test_an_option_that_is_too_long_is_refused_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Discord refuses it before; here it lets everything through.
    monkeypatch.setattr("discord_stage.interactions.entered_values._within", _unchecked)

    async def scenario(harness: ClientHarness) -> None:
        options = {"key": "ab\n" * 2000, "value": "1"}
        told = await harness.run("config set", options, user=ADMIN)
        assert told.endswith("is too long: at most 100 characters.")
        assert len(told) < ONE_LINE
        assert "\n" not in told

    run_with_client(scenario)


def _unchecked(_option: object, value: object, _where: str) -> object:
    return value


# -- forms ---------------------------------------------------------------------------------------


def _calls(name: str) -> list[tuple[str, ast.Call]]:
    """Every call of something with this name in the source, with the file that it is in."""
    return [
        (f"{file.relative_to(SOURCE)}:{node.lineno}", node)
        for file in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == name
    ]


def test_a_field_of_a_form_has_a_maximum() -> None:
    inputs = _calls("TextInput")
    assert len(inputs) >= 4
    without = [
        place
        for place, call in inputs
        if not any(given.arg == "max_length" for given in call.keywords)
    ]
    assert without == []


def test_every_form_is_one_that_checks_its_fields() -> None:
    modals = [cls for cls in discord.ui.Modal.__subclasses__() if "oshaberi" in cls.__module__]
    assert modals == [CommandForm, SpriteForm]
    assert CommandForm.__subclasses__() == []
    fields = [
        type(one.component)
        for one in SpriteForm("Mochi", False).walk_children()
        if isinstance(one, discord.ui.Label)
    ]
    assert fields == [discord.ui.FileUpload], "it has no text; uploads have a maximum of their own"


@pytest.mark.parametrize("most", [10, None])
def test_a_form_refuses_what_is_longer_or_has_no_maximum(most: int | None) -> None:
    async def scenario() -> None:
        field: Any = discord.ui.TextInput(label="Text", custom_id="text", max_length=most)
        field._value = "x" * 11
        form = CommandForm("Form", [field], lambda *_given: None)  # type: ignore[arg-type]
        with pytest.raises(CommandRefusedError, match="is too long: at most"):
            await form.on_submit(SimpleNamespace())  # type: ignore[arg-type]

    asyncio.run(scenario())


# -- personas ------------------------------------------------------------------------------------

NOBODY = PersonaRecord(1, "Mika")


def _field_types() -> dict[str, str]:
    return {field.name: str(field.type) for field in fields(PersonaRecord)}


def test_every_text_and_list_of_a_persona_has_a_maximum() -> None:
    large = {name for name, kind in _field_types().items() if kind not in ("int", "bool")}
    each_has_its_own = {"options"}  # `persona_options` checks what each of them may be
    assert large - each_has_its_own == set(PERSONA_LIMITS)


@pytest.mark.parametrize("field", PERSONA_LIMITS)
def test_a_persona_that_is_too_large_is_refused_in_one_line(field: str) -> None:
    limit, kind = PERSONA_LIMITS[field], _field_types()[field]
    long = "x" * (limit.longest + 1)
    too_large: list[Any]
    if "SpriteRecord" in kind:
        too_large = [(SpriteRecord("a", long),), (SpriteRecord(long),), (SpriteRecord("a"),) * 51]
    elif kind.startswith("tuple[tuple"):
        too_large = [((long, "a"),), (("a", long),), (("a", "b"),) * (limit.most + 1)]
    elif kind.startswith("tuple"):
        too_large = [(long,), ("a",) * (limit.most + 1)]
    else:
        too_large = [long]
    for value in too_large:
        changed = PersonaRecord(**{"server_id": 1, "name": "Mika", field: value})
        with pytest.raises(CommandRefusedError) as refused:
            check_size(NOBODY, changed)
        assert len(str(refused.value)) < ONE_LINE
        check_size(changed, changed)  # what the operator wrote may stay


# -- options of models ---------------------------------------------------------------------------

HUGE: list[Any] = [10**30, -1, math.inf, math.nan, "x" * 100_000, list(range(10_000))]
HUGE += [{str(number): 1 for number in range(10_000)}, {"input": 10**30, "output": math.nan}]


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_of_a_model_has_a_maximum(name: str) -> None:
    for value in HUGE:
        with pytest.raises(ConfigError):
            checked_option(name, value)


@pytest.mark.parametrize("name", [name for name in OPTIONS if name != "prefill"])
@pytest.mark.parametrize("typed", ["[" * 2000, '{"a":' * 400, "9" * 2000, "1e999", "NaN"])
def test_what_cannot_be_an_option_is_refused(name: str, typed: str) -> None:
    with pytest.raises(ConfigError):
        parsed_option(name, typed)
