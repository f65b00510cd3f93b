"""Tables: a picture with words for those who cannot see it, and a button that shows the source."""

from __future__ import annotations

import pytest

from discord_stage import Fault, Settings, StageMessage
from discord_stage.requests.injected_faults import SEND
from oshaberi.delivery.sink import File, Post
from oshaberi.discord_io.buttons import (
    GONE,
    SHOW_TEXT_LABEL,
    TableSourceLookup,
    shows_table,
    text_answer,
)
from oshaberi.discord_io.requests.parameters import text_in, with_text
from oshaberi.text.config import Persona
from tests.discord_io.sink_harness import SinkHarness, run_with_sinks, tiny_png

NO_LIMITS = Settings(rate_limits=False)
AKI = Persona("Aki", is_alter=True)
TABLE = "| name | age |\n|---|---|\n| Aki | 7 |"
PERSONAS = pytest.mark.parametrize("persona", [None, AKI], ids=["bot", "webhook"])


async def table_message(harness: SinkHarness, persona: Persona | None) -> StageMessage:
    result = await harness.play("general", f"{TABLE}\n\n", text={"persona": persona})
    assert result.status == "completed"
    (message,) = harness.messages("general")
    return message


async def pressed(harness: SinkHarness, message: StageMessage) -> tuple[str, int]:
    """What the button answers, and to whom alone it is shown."""
    interaction = harness.stage.people.press(message, SHOW_TEXT_LABEL, user="ren")

    def answer() -> StageMessage | None:
        there = harness.stage.world.messages[message.channel_id].values()
        ours = [m for m in there if m.interaction_id == interaction.id and not m.flags & 128]
        return ours[0] if ours else None

    shown = await harness.stage.wait_for(answer)
    assert shown is not None
    assert shown.ephemeral_to is not None
    return shown.content, shown.ephemeral_to


@PERSONAS
def test_picture_has_alt_text_and_its_source(persona: Persona | None) -> None:
    async def scenario(harness: SinkHarness) -> None:
        message = await table_message(harness, persona)
        (file,) = message.attachments
        assert (file.filename, file.description) == ("table-1.png", "name, age; Aki, 7")
        assert (file.width, file.height) == (1, 1)
        assert harness.bot.client_state.sources.get(message.id) == TABLE

    run_with_sinks(scenario, settings=NO_LIMITS)


@PERSONAS
@pytest.mark.parametrize("remembered", [True, False])
def test_button_shows_the_text_also_after_a_restart(
    persona: Persona | None, remembered: bool
) -> None:
    async def scenario(harness: SinkHarness) -> None:
        message = await table_message(harness, persona)
        if not remembered:
            harness.bot.client_state.sources._sources.clear()
        text, reader = await pressed(harness, message)
        assert text == f"```md\n{TABLE}\n```"
        assert reader == harness.stage.world.user("ren").id

    run_with_sinks(scenario, settings=NO_LIMITS)


def test_button_falls_back_to_the_alt_text_of_a_picture_without_source() -> None:
    async def scenario(harness: SinkHarness) -> None:
        message = await table_message(harness, None)
        harness.bot.client_state.sources._sources.clear()
        message.attachments[0].content = tiny_png()
        text, _ = await pressed(harness, message)
        assert text == "```md\nname, age; Aki, 7\n```"

    run_with_sinks(scenario, settings=NO_LIMITS)


def test_refused_picture_goes_out_as_code() -> None:
    async def scenario(harness: SinkHarness) -> None:
        harness.stage.fault(Fault(kind="code", code=40005, route=SEND))
        message = await table_message(harness, None)
        assert (message.content, message.attachments) == (f"```\n{TABLE}\n```", [])

    run_with_sinks(scenario, settings=NO_LIMITS)


def test_source_survives_in_the_picture() -> None:
    png = with_text(tiny_png(), TABLE)
    assert text_in(png) == TABLE
    assert png.endswith(tiny_png()[-12:])
    assert text_in(tiny_png()) is None


@pytest.mark.parametrize("broken", [b"", b"GIF89a", tiny_png()[:20]])
def test_what_is_no_picture_stays_as_it_is(broken: bytes) -> None:
    assert with_text(broken, TABLE) == broken
    assert text_in(broken) is None


def test_damaged_source_is_none() -> None:
    png = bytearray(with_text(tiny_png(), TABLE))
    at = png.index(b"Source") + 20
    png[at : at + 4] = b"\xff\xff\xff\xff"
    assert text_in(bytes(png)) is None


def test_huge_source_is_not_unpacked() -> None:
    assert text_in(with_text(tiny_png(), "x" * 2_000_000)) is None


def test_source_that_is_no_code_block_comes_as_a_file() -> None:
    assert text_answer(None) == {"content": GONE}
    for source in ("| ```x``` |", "x" * 3000):
        file = text_answer(source)["file"]
        assert file.fp.read() == source.encode()


def test_oldest_sources_are_forgotten_first() -> None:
    sources = TableSourceLookup(kept=2)
    sources.remember(1, "one")
    sources.remember(2, "two")
    assert sources.get(1) == "one"
    sources.remember(3, "three")
    assert [sources.get(number) for number in (1, 2, 3)] == ["one", None, "three"]


def test_only_pictures_of_something_get_the_button() -> None:
    picture = File("table-1.png", b"", source=TABLE, width=1, height=1)
    rest = File("rest.md", b"", source="text")
    assert shows_table(Post("n", files=(picture,)))
    assert not shows_table(Post("n", files=(rest,)))
