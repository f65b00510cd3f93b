"""/persona import and export, and /lore: with files, on the stage."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from discord_stage.interactions import interaction_flow
from discord_stage.interactions.targets import PostedFile
from discord_stage.world.records import StageMessage
from oshaberi.bot.characters import work_limits
from oshaberi.bot.characters.card_files import read_card
from oshaberi.bot.characters.lorebooks import book_from
from oshaberi.bot.commands.command_context import CommandRefusedError
from oshaberi.bot.commands.lore_commands import filled_entry
from oshaberi.bot.storage.records import LorebookRecord, ModelRecord
from tests.bot.client_harness import ADMIN, MEMBER, ClientHarness
from tests.bot.test_faces import play
from tests.characters.made_cards import (
    DATA_V2,
    DATA_V3,
    V1,
    archive,
    as_v2,
    as_v3,
    charx,
    packed,
    png,
    text_chunk,
)
from tests.characters.test_lore import SILLY

CARDS = {
    "a V1 PNG": ("mochi.png", png(text_chunk(b"chara", packed(V1)))),
    "a V2 PNG": ("mochi.png", png(text_chunk(b"chara", packed(as_v2())))),
    "a V3 JSON": ("mochi.json", json.dumps(as_v3()).encode()),
    "a V3 CHARX": ("mochi.charx", charx()),
}


async def ask(harness: ClientHarness, options: dict[str, Any], user: str = ADMIN) -> StageMessage:
    asked = harness.stage.people.run("persona import", options, user=user, channel="general")
    return await harness.answer(asked)


async def bring_in(harness: ClientHarness, *files: tuple[str, bytes], **more: Any) -> str:
    """Import the files, press the button, and return what the bot says then."""
    names = ("file", "file2", "file3", "file4", "file5")
    options = {one: PostedFile(*file) for one, file in zip(names, files, strict=False)}
    message = await ask(harness, {**options, **more})
    [row] = message.components
    harness.stage.people.press(message, row["components"][0]["label"], user=ADMIN)
    await harness.stage.wait_for(lambda: not message.components)
    return str(message.content)


@pytest.mark.parametrize("file", CARDS.values(), ids=CARDS)
def test_a_card_is_shown_and_then_brought_in(file: tuple[str, bytes]) -> None:
    async def scenario(harness: ClientHarness) -> None:
        message = await ask(harness, {"file": PostedFile(*file)})
        assert "**Mochi** (a card of V" in message.content
        assert "a description, a personality, a scenario" in message.content
        card = read_card(file[1])
        assert ("Best with a warm drink." in message.content) == bool(card.creator_notes)
        assert await harness.db.personas.of(harness.server_id) == ()
        told = await bring_in(harness, file)
        assert told == "**Mochi** is here, and answers from now on."
        [stored] = await harness.db.personas.of(harness.server_id)
        assert (stored.name, stored.prompt, stored.is_default) == ("Mochi", V1["description"], True)
        assert stored.aliases == (("Mo",) if card.version == 3 else ())
        books = await harness.db.lorebooks.of(harness.server_id)
        assert [(one.name, one.persona_id) for one in books] == (
            [("Mochi: Tea house", stored.id)] if card.book else []
        )

    play(scenario)


def test_several_cards_at_once_and_one_that_is_none() -> None:
    async def scenario(harness: ClientHarness) -> None:
        anko = ("anko.json", json.dumps(as_v2(DATA_V2 | {"name": "Anko"})).encode())
        told = await bring_in(harness, CARDS["a V1 PNG"], ("photo.png", png()), anko)
        assert told.splitlines() == [
            "**Mochi** is here, and answers from now on.",
            "**Anko** is here. It answers to its name.",
        ]
        again = await harness.run("persona import", {"file": PostedFile(*anko)}, user=ADMIN)
        assert again == "There is already a persona Anko; use `/persona edit`."
        told = await bring_in(harness, anko, name="Kuro")
        assert told == "**Kuro** is here. It answers to its name."
        books = await harness.db.lorebooks.of(harness.server_id)
        assert [one.name for one in books] == ["Anko: Tea house", "Kuro: Tea house"]

    play(scenario)


REFUSED = {
    "a photo": (("a.png", png()), "there is no character in this picture"),
    "nonsense": (("a.json", b"{"), "it is not JSON"),
    "a name that Discord refuses": (
        ("a.json", json.dumps(as_v2(DATA_V2 | {"name": "everyone"})).encode()),
        "cannot be called that",
    ),
    "a book that is too large": (
        (
            "a.json",
            json.dumps(
                as_v2(DATA_V2 | {"character_book": {"entries": [{"keys": ["k" * 501]}]}})
            ).encode(),
        ),
        "keys has more than 500 characters",
    ),
}


def large_charx() -> bytes:
    """Return a small file with 21 MB of pictures."""
    paths = [f"assets/{number}.png" for number in range(3)]
    listed = [
        {"type": "emotion", "uri": f"embeded://{one}", "name": one, "ext": "png"} for one in paths
    ]
    document = as_v3(DATA_V3 | {"name": "Large", "assets": listed})
    files = {one: png() + b"\0" * 7_000_000 for one in paths}
    return archive({"card.json": json.dumps(document).encode(), **files})


def with_book(*contents: str) -> PostedFile:
    entries = [{"keys": ["tea"], "content": one} for one in contents]
    book = {"name": "World", "extensions": {}, "entries": entries}
    return PostedFile("a.json", json.dumps(as_v2(DATA_V2 | {"character_book": book})).encode())


def test_the_book_of_a_card_has_the_bounds_of_every_book() -> None:
    async def scenario(harness: ClientHarness) -> None:
        large = with_book(*["x" * 90_000] * 12)
        told = await harness.run("persona import", {"file": large}, user=ADMIN)
        assert told == "The lorebook would be larger than 1 MB."
        for number in range(50):
            record = LorebookRecord(harness.server_id, f"{number}", {"entries": []})
            await harness.db.lorebooks.save(record)
        told = await harness.run("persona import", {"file": with_book("x")}, user=ADMIN)
        assert told == "At most 50 lorebooks; remove one first."
        assert await harness.db.personas.of(harness.server_id) == ()

    play(scenario)


def test_several_cards_have_a_bound_together_and_trigger_words_are_shown() -> None:
    async def scenario(harness: ClientHarness) -> None:
        ours = {"extensions": {"oshaberi": {"triggers": ["e", "tea"]}}}
        small = PostedFile("a.json", json.dumps(as_v2(DATA_V2 | ours)).encode())
        large = PostedFile("b.charx", large_charx())
        options = {"file": small, "file2": large, "file3": large}
        message = await ask(harness, options)
        assert "- called by e, tea" in message.content
        refused = "- b.charx: its pictures are larger than 32 MB together"
        assert message.content.count(refused) == 1

    play(scenario)


def test_cards_that_wait_for_their_button_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(harness: ClientHarness) -> None:
        work = harness.client.context.character_work
        size = len(charx()) + sum(len(one.content or b"") for one in read_card(charx()).assets)
        monkeypatch.setattr(work_limits, "MOST_OF_SERVER", size + 10)
        first = await ask(harness, {"file": PostedFile(*CARDS["a V3 CHARX"])})
        assert work.held_bytes == size
        second = await ask(harness, {"file": PostedFile(*CARDS["a V3 CHARX"])})
        assert work.held_bytes == size
        harness.stage.people.press(first, "Bring it in", user=ADMIN)
        await harness.stage.wait_for(lambda: "no longer here" in _last(harness))
        assert await harness.db.personas.of(harness.server_id) == ()
        harness.stage.people.press(second, "Bring it in", user=ADMIN)
        await harness.stage.wait_for(lambda: not second.components)
        assert "**Mochi** is here" in second.content
        await harness.stage.wait_for(lambda: work.held_bytes == 0)
        third = await ask(harness, {"file": PostedFile(*CARDS["a V1 PNG"]), "name": "Taro"})
        assert work.held_bytes > 0
        harness.stage.people.press(third, "Cancel", user=ADMIN)
        await harness.stage.wait_for(lambda: work.held_bytes == 0)

    play(scenario)


def _last(harness: ClientHarness) -> str:
    channel = harness.stage.world.channel("general").id
    found = list(harness.stage.world.messages[channel].values())
    return str(found[-1].content) if found else ""


@pytest.mark.parametrize("order", ["--5", "-", "٣--"])
def test_an_order_that_is_no_number_is_one_line(order: str) -> None:
    with pytest.raises(CommandRefusedError, match="The order is a whole number"):
        filled_entry({}, {**ENTRY, "second": "", "order": order})


@pytest.mark.parametrize(("file", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_brought_in_is_one_line(file: tuple[str, bytes], reason: str) -> None:
    async def scenario(harness: ClientHarness) -> None:
        told = await harness.run("persona import", {"file": PostedFile(*file)}, user=ADMIN)
        assert reason in told
        assert "\n" not in told
        assert await harness.db.personas.of(harness.server_id) == ()
        refused = await harness.run("persona import", {"file": PostedFile(*file)}, user=MEMBER)
        assert "Only members with the permission Manage Server" in refused

    play(scenario)


async def exported(harness: ClientHarness, command: str, options: dict[str, Any]) -> bytes:
    asked = harness.stage.people.run(command, options, user=ADMIN, channel="general")
    message = await harness.answer(asked)
    await harness.stage.wait_for(lambda: message.attachments)
    [file] = message.attachments
    return bytes(file.content)


@pytest.mark.parametrize("form", ["png", "charx"])
def test_pictures_go_out_and_come_in_again(form: str) -> None:
    async def scenario(harness: ClientHarness) -> None:
        told = await bring_in(harness, CARDS["a V3 CHARX"])
        assert told == "**Mochi** is here, and answers from now on."
        before = await harness.db.personas.get(harness.server_id, "Mochi")
        assert before is not None
        assert before.avatar_url
        assert [one.name for one in before.sprites] == ["joy", "sadness"]
        card = read_card(
            await exported(harness, "persona export", {"name": "Mochi", "format": form})
        )
        assert card.face is not None
        assert card.face.content
        assert [one.name for one in card.moods if one.content] == (
            ["joy", "sadness"] if form == "charx" else []
        )

    play(scenario)


@pytest.mark.parametrize("form", ["png", "charx", "json"])
def test_import_export_import_changes_nothing(form: str) -> None:
    async def scenario(harness: ClientHarness) -> None:
        await bring_in(harness, ("mochi.json", json.dumps(as_v3()).encode()))
        content = await exported(harness, "persona export", {"name": "Mochi", "format": form})
        card = read_card(content)
        assert card.data == read_card(json.dumps(as_v3()).encode()).data
        before = await harness.db.personas.get(harness.server_id, "Mochi")
        books = await harness.db.lorebooks.of(harness.server_id)
        await harness.confirmed("persona delete", {"name": "Mochi"})
        assert await harness.db.lorebooks.of(harness.server_id) == ()
        await bring_in(harness, (f"mochi.{form}", content))
        after = await harness.db.personas.get(harness.server_id, "Mochi")
        assert before is not None
        assert after is not None
        assert replace(after, id=before.id) == before
        again = await harness.db.lorebooks.of(harness.server_id)
        assert [(one.name, one.content) for one in again] == [
            (one.name, one.content) for one in books
        ]

    play(scenario)


def test_an_export_that_discord_would_not_take_is_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario(harness: ClientHarness) -> None:
        await bring_in(harness, CARDS["a V3 CHARX"])
        monkeypatch.setattr(interaction_flow, "ATTACHMENT_MOST", 2000)
        told = await harness.run("persona export", {"name": "Mochi", "format": "charx"})
        assert told.startswith("The file would have 0.0 MB, and Discord takes 0 MB here.")
        assert "`oshaberi persona export`" in told

    play(scenario)


ENTRY = {"keys": "tea, お茶", "content": "Tea grows in Uji.", "title": "Tea", "order": "10"}


def test_lore_is_added_tested_changed_and_removed() -> None:
    async def scenario(harness: ClientHarness) -> None:
        assert "There are no lorebooks" in await harness.run("lore list")
        told = await harness.form("lore add", {"book": "World"}, ENTRY)
        assert told == "**World** has the entry 1 now."
        assert await harness.run("lore list") == "- **World** (1 entry)"
        assert "1. Tea: tea, お茶" in await harness.run("lore list", {"book": "world"})
        for words in ("some tea", "今日はお茶がいい"):
            told = await harness.run("lore test", {"message": words})
            assert told.startswith("- World 1, Tea: "), words
            assert told.endswith("was said")
        assert await harness.run("lore test", {"message": "coffee"}) == "It wakes nothing."
        changed = {**ENTRY, "keys": "coffee"}
        told = await harness.form("lore edit", {"book": "World", "entry": 1}, changed)
        assert told == "Entry 1 is changed."
        assert "Tea: coffee" in await harness.run("lore test", {"message": "coffee"})
        assert "has no entry 2" in await harness.run("lore edit", {"book": "World", "entry": 2})
        told = await harness.run("lore remove", {"book": "World", "entry": 1})
        assert told == "**World** no longer has the entry 1."
        assert await harness.confirmed("lore remove", {"book": "World"}) == "**World** is deleted."

    play(scenario)


def test_a_book_is_switched_off_and_says_how_far_it_looks_back() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await harness.form("lore add", {"book": "World"}, ENTRY)
        told = await harness.run("lore set", {"book": "World"})
        assert told == "- **World** (1 entry)\nIt looks back 6 messages."
        wanted = {"scan_depth": 1, "tokens": 300, "recursive": False, "in": "general"}
        told = await harness.run("lore set", {"book": "World", **wanted})
        channel_id = harness.stage.world.channel("general").id
        assert told == (
            f"- **World** (1 entry; <#{channel_id}>)\nIt looks back 1 message.\n"
            "It fills at most 300 tokens.\nIts entries do not wake each other."
        )
        [record] = await harness.db.lorebooks.of(harness.server_id)
        book = book_from(record.content)
        assert (book.scan_depth, book.token_budget, book.is_recursive) == (1, 300, False)
        told = await harness.run("lore set", {"book": "World", "enabled": False, "for_all": True})
        assert told.startswith("- **World** (1 entry; off)\n")
        assert await harness.run("lore test", {"message": "tea"}) == "It wakes nothing."
        await harness.run("lore set", {"book": "World", "enabled": True})
        assert "Tea" in await harness.run("lore test", {"message": "tea"})
        one = {"book": "World", "entry": 1}
        told = await harness.run("lore set", {**one, "enabled": False})
        assert told == "1. Tea: tea, お茶 (off)"
        assert await harness.run("lore test", {"message": "tea"}) == "It wakes nothing."
        assert "`enabled` alone" in await harness.run("lore set", {**one, "scan_depth": 3})
        assert "has no entry 2" in await harness.run(
            "lore set", {"book": "World", "entry": 2, "enabled": True}
        )

    play(scenario)


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("lore list", {}),
        ("lore list", {"book": "World"}),
        ("lore test", {"message": "tea"}),
        ("lore set", {"book": "World", "enabled": False}),
        ("lore export", {"book": "World"}),
    ],
)
def test_what_a_book_says_is_for_those_who_may_change_it(
    command: str, options: dict[str, Any]
) -> None:
    """Also if a server lets its members use `/lore`: a secret may be among the titles."""

    async def scenario(harness: ClientHarness) -> None:
        await harness.form("lore add", {"book": "World"}, ENTRY)
        told = await harness.run(command, options, user=MEMBER)
        assert told == "Only members with the permission Manage Server can change this."
        assert await harness.choices("lore export", "book", "W", user=MEMBER) == []
        assert await harness.choices("lore export", "book", "W") != []

    play(scenario)


def test_the_test_knows_the_window_of_the_models() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await harness.form("lore add", {"book": "World"}, {**ENTRY, "content": "x" * 3600})
        assert "Left out" not in await harness.run("lore test", {"message": "tea"})
        small = ModelRecord(harness.server_id, "ollama", "small", params={"window": 2000})
        await harness.db.models.set_chain(harness.server_id, (small,))
        assert "Left out" in await harness.run("lore test", {"message": "tea"})

    play(scenario)


def test_sillytaverns_book_comes_in_and_goes_out() -> None:
    async def scenario(harness: ClientHarness) -> None:
        file = PostedFile("tea.json", json.dumps(SILLY).encode())
        told = await harness.run("lore import", {"file": file})
        assert told == "**tea** is here with 2 entries."
        options = {"book": "tea", "format": "sillytavern"}
        written = json.loads(await exported(harness, "lore export", options))
        assert written["entries"]["0"].items() >= SILLY["entries"]["0"].items()
        v3 = json.loads(await exported(harness, "lore export", {"book": "tea"}))
        assert v3["spec"] == "lorebook_v3"
        bad = PostedFile("a.json", b"no")
        assert "is not JSON" in await harness.run("lore import", {"file": bad})

    play(scenario)


def test_an_entry_keeps_what_its_form_does_not_show() -> None:
    one = {"keys": ["a"], "content": "x", "extensions": {"sticky": 3}, "priority": 5}
    changed = filled_entry(one, {**ENTRY, "second": "milk", "keys": "/a,b/i"})
    assert changed["extensions"] == {"sticky": 3}
    assert (changed["priority"], changed["keys"]) == (5, ["/a,b/i"])
    assert (changed["selective"], changed["constant"]) == (True, False)
