"""Takes the pictures of the docs: `python -m tests.local_run_page.doc_pictures`.

`page.png` is the whole page, `degree-*.png` one answer in the chat at each degree.
"""

from __future__ import annotations

import asyncio
import io
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from docs.pictures.degree_pictures import ANSWER, TOKEN_CHARS
from PIL import Image
from playwright.sync_api import FloatRect, Page, expect

from discord_stage.model_servers import ModelServer, OpenAIWire
from discord_stage.model_servers.scripts import Say
from oshaberi.delivery.config import POLICIES
from stage_page.chromium import Visit, open_browser, visits
from stage_page.page_harness import looping
from tests.local_run.local_run_process import LocalRunProcess, local_run
from tests.local_run_page.chat_page import ChatPage, ChatTurn

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
WHOLE = {"width": 1640, "height": 1055}
SHOWN = (1400, 900)
NARROW = {"width": 440, "height": 900}
COLORS, KMEANS = 255, 8
AROUND = 12


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as data,
        open_browser() as browser,
        visits(browser) as visit,
    ):
        with local_run(Path(data) / "page") as running:  # as fast as a visitor sees it
            _take_page(running, visit)
        for degree in range(len(POLICIES)):
            _take_degree(degree, Path(data), visit)


def _take_page(running: LocalRunProcess, visit: Visit) -> None:
    chat = _plain(running, visit, WHOLE, SHOWN[0] / WHOLE["width"])
    chat.ask("compare three kinds of tea in a table")
    turn = chat.ask("thank you! and show me all your faces")
    chat.page.get_by_role("button", name="Inspector", exact=True).click()
    expect(chat.inspector.locator(".in-item")).to_have_count(len(turn.messages))
    chat.inspector.locator(".in-row").nth(3).click()
    _at_rest(chat.page)
    _save("page", chat.page.screenshot(), (0, 0, *SHOWN))


def _take_degree(degree: int, data: Path, visit: Visit) -> None:
    settings = data / f"degree-{degree}.toml"
    settings.write_text(f"humanizer_degree = {degree}\nemoji_unique_lookback = 0\n")
    pieces = (ANSWER[at : at + TOKEN_CHARS] for at in range(0, len(ANSWER), TOKEN_CHARS))
    with (
        local_run(data / f"degree-{degree}", "--config", str(settings)) as running,
        _told(running) as model,
    ):
        running.post("rate_limits", on=False)  # or lines that wait would be joined
        chat = _plain(running, visit, NARROW)
        model.play(Say("hi!"))
        chat.ask("hi Mochi")  # the day stands above the first message
        model.play(Say(*pieces))
        turn = chat.ask("how do I make green tea?")
        _at_rest(chat.page)
        _save(f"degree-{degree}", chat.page.screenshot(clip=_around(chat, turn)))


def _plain(
    running: LocalRunProcess, visit: Visit, size: dict[str, int], scale: float = 1
) -> ChatPage:
    """A conversation without the greeting."""
    looks = {"viewport": size, "reduced_motion": "reduce", "device_scale_factor": scale}
    chat = ChatPage(running, visit(running.address, **looks))
    chat.page.get_by_role("button", name="Close the greeting").click()
    return chat


@contextmanager
def _told(running: LocalRunProcess) -> Iterator[ModelServer]:
    """A model that says what it is told."""
    with looping() as loop:
        server = ModelServer(OpenAIWire())
        asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(30)
        running.post("model", use="openai-compatible", base_url=server.url, model="m", key="k")
        yield server
        leaving = server.__aexit__(None, None, None)
        asyncio.run_coroutine_threadsafe(leaving, loop).result(30)


def _at_rest(page: Page) -> None:
    page.mouse.move(1, 1)
    page.evaluate("document.activeElement.blur()")
    page.evaluate("document.fonts.ready")
    page.wait_for_load_state("networkidle")


def _around(chat: ChatPage, turn: ChatTurn) -> FloatRect:
    first, last = (chat.of(one).bounding_box() for one in (turn.asked, turn.messages[-1]))
    assert first is not None
    assert last is not None
    bottom = last["y"] + last["height"] + AROUND
    return {"x": 0, "y": first["y"], "width": first["width"], "height": bottom - first["y"]}


def _save(name: str, taken: bytes, box: tuple[int, int, int, int] | None = None) -> None:
    """With fewer colours it is half the size, and nobody sees it."""
    picture = Image.open(io.BytesIO(taken)).convert("RGB").crop(box)
    few = picture.quantize(COLORS, kmeans=KMEANS, dither=Image.Dither.NONE)
    few.save(FOLDER / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
