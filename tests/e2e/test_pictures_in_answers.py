"""Pictures of an answer are files in the channel, after its text, and one request is enough."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from discord_stage.model_servers import GoogleWire, OpenAIResponsesWire, OpenAIWire, WireFormat
from discord_stage.model_servers.scripts import Cite, Say, Show
from tests.e2e.bot_harness import BotHarness, run_with_bot
from tests.providers.picture_files import flat_png

WIRES = pytest.mark.parametrize("wire", [OpenAIWire, OpenAIResponsesWire, GoogleWire])


@WIRES
def test_a_picture_alone_is_an_answer(wire: Callable[[], WireFormat]) -> None:
    content = flat_png(8, 8)

    async def scenario(here: BotHarness) -> None:
        here.ask("draw a cat")
        await here.wait_for(here.ours)
        await here.idle()
        (sent,) = here.ours()
        assert sent.content == ""
        assert [one.filename for one in sent.attachments] == ["picture-1.png"]
        assert len(here.model.requests) == 1, "a picture costs, and this one arrived"

    run_with_bot(scenario, Show(content), wires=[wire()])


def test_text_then_the_picture_then_the_links() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("draw a cat")
        await here.wait_for(lambda: len(here.ours()) == 3)
        await here.idle()
        words, links, picture = here.ours()
        assert words.content == "Here it is."
        assert links.content == "-# [Cats](<https://cats.example/>)"
        assert [one.filename for one in picture.attachments] == ["picture-1.png"]

    answer = (Show(flat_png(8, 8)), Say("Here it is."), Cite("https://cats.example/", "Cats"))
    run_with_bot(scenario, answer)


def test_what_cannot_be_shown_is_said() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("draw a cat")
        await here.says("[file-1: it cannot be shown here]")
        assert len(here.model.requests) == 1

    run_with_bot(scenario, Show(b"<svg/>"))


def test_where_files_are_forbidden_its_name_is_said() -> None:
    async def scenario(here: BotHarness) -> None:
        here.stage.deny("general", "attach_files")
        here.ask("draw a cat")
        await here.says("[picture-1.png]")

    run_with_bot(scenario, Show(flat_png(8, 8)))
