"""Films docs/pictures/typed-*.webp: one answer, as typed lines and as one block, side by side.

`python -m docs.pictures.moving_picture`, with Chromium installed. The page is the stage's, the bot
is discord.py with `oshaberi.deliver`, and only the model is scripted.
"""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

import discord
from PIL import Image
from playwright.async_api import Browser, Page, async_playwright

import oshaberi
from discord_stage import Stage
from discord_stage.client_runner import logged_in, staged
from stage_page.chromium import chromium

HERE = Path(__file__).parent
QUESTION = "how do I make good green tea?"
ANSWER = """\
oh, green tea is easy!
boil some water, then let it cool for a few minutes (about 80 degrees is perfect)
a small spoon of leaves for each cup is enough
and now the important part:
```python
steep(tea="green", minutes=2)  # no longer!
```
if it tastes bitter, it was too long or too hot
enjoy it while it's warm :tea:
"""
TOKEN_CHARS, TOKEN_S = 4, 0.055
DEGREES = {"typed-lines": 2, "one-block": 0}
SIZE = {"width": 470, "height": 560}
SCALE = 1.25
FRAME_S, REST_S, MOST_S = 0.2, 4.0, 30.0
GAP = 12
MOST_BYTES = 1_000_000
"""For each of the two files: the README is read over telephones, too."""
WORLD = {
    "bot": {"name": "Mochi"},
    "guilds": [
        {
            "name": "Tea House",
            "channels": list(DEGREES),
            "members": ["Mika"],
        }
    ],
}
GO = """path => {
  history.pushState(null, "", path);
  dispatchEvent(new PopStateEvent("popstate"));
}"""
Theme = Literal["light", "dark"]


@dataclass(frozen=True, slots=True)
class Frame:
    """Both pages, and when they looked so (the loop's time)."""

    at_s: float
    picture: Image.Image


async def tokens() -> AsyncIterator[str]:
    for at in range(0, len(ANSWER), TOKEN_CHARS):
        yield ANSWER[at : at + TOKEN_CHARS]
        await asyncio.sleep(TOKEN_S)


class Mochi(discord.Client):
    """Answers everybody, at the degree of the channel."""

    async def on_message(self, message: discord.Message) -> None:
        if message.author.bot or not isinstance(message.channel, discord.TextChannel):
            return
        degree = DEGREES[message.channel.name]
        await oshaberi.deliver(tokens(), to=message.channel, degree=degree)


async def film(theme: Theme) -> Path:
    """Film one answer at both degrees. Return the file."""
    bot = Mochi(intents=discord.Intents.all(), guild_ready_timeout=0.1)
    async with staged(WORLD) as stage, logged_in(stage, bot), async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium())
        pages = [await opened(browser, stage, channel, theme) for channel in DEGREES]
        for channel in DEGREES:
            stage.people.post(channel, QUESTION, user="Mika")
        frames = await until_rest(pages, theme)
        await browser.close()
    path = HERE / f"typed-{theme}.webp"
    save(frames, path)
    return path


async def opened(browser: Browser, stage: Stage, channel: str, theme: Theme) -> Page:
    context = await browser.new_context(
        viewport=SIZE,  # type: ignore[arg-type]
        device_scale_factor=SCALE,
        color_scheme=theme,
        reduced_motion="reduce",
    )
    page = await context.new_page()
    await page.goto(stage.page_url)
    await page.locator("#log .intro").wait_for()
    place = stage.world.channel(channel)
    await page.evaluate(
        GO,
        f"/channels/{place.guild_id}/{place.id}",
    )
    await page.get_by_label("Close the greeting").click()
    await page.mouse.move(SIZE["width"] - 1, SIZE["height"] - 1)  # over no message
    await (
        page.get_by_text(f"Message #{channel}")
        .or_(page.get_by_placeholder(f"Message #{channel}"))
        .first.wait_for()
    )
    return page


async def until_rest(pages: list[Page], theme: Theme) -> list[Frame]:
    """Take a frame five times a second, until nothing has changed for a while."""
    loop = asyncio.get_running_loop()
    begun_s = changed_s = loop.time()
    frames: list[Frame] = []
    while loop.time() - changed_s < REST_S and loop.time() - begun_s < MOST_S:
        now_s = loop.time()
        picture = await both(pages, theme)
        if not frames or frames[-1].picture.tobytes() != picture.tobytes():
            frames.append(Frame(now_s, picture))
            changed_s = now_s
        await asyncio.sleep(max(0.0, now_s + FRAME_S - loop.time()))
    return frames


async def both(pages: list[Page], theme: Theme) -> Image.Image:
    shots = await asyncio.gather(*(page.screenshot(animations="allow") for page in pages))
    pictures = [Image.open(io.BytesIO(shot)).convert("RGB") for shot in shots]
    width = sum(picture.width for picture in pictures) + GAP * (len(pictures) - 1)
    whole = Image.new(
        "RGB", (width, pictures[0].height), "white" if theme == "light" else "#0d1117"
    )
    x = 0
    for picture in pictures:
        whole.paste(picture, (x, 0))
        x += picture.width + GAP
    return whole


def save(frames: list[Frame], path: Path) -> None:
    """Save the frames, each shown until the next one was taken, the last one for a while."""
    lasts_ms = [round((after.at_s - frame.at_s) * 1000) for frame, after in pairwise(frames)]
    pictures = [frame.picture for frame in frames]
    pictures[0].save(
        path,
        save_all=True,
        append_images=pictures[1:],
        duration=[*lasts_ms, round(REST_S * 1000)],
        loop=0,
        quality=70,
        method=6,
        minimize_size=True,
    )
    if path.stat().st_size > MOST_BYTES:
        raise SystemExit(f"{path.name} has {path.stat().st_size} bytes: more than {MOST_BYTES}")


def main() -> None:
    themes: tuple[Theme, ...] = ("light", "dark")
    for theme in themes:
        path = asyncio.run(film(theme))
        sys.stdout.write(f"wrote {path.name}: {path.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()
