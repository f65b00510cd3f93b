"""A built-in answer, streamed in crumbs, for whoever wants to see something at once."""

from __future__ import annotations

from pathlib import Path
from random import Random

from oshaberi.chunks import Chunk
from oshaberi.delivery.config import StreamConfig
from oshaberi.stream.provider import Silence, Step
from oshaberi.text.config import Persona, Sprite, TextConfig

QUESTION = "hey, what do you actually do?"
CRUMB_MS = 14
_SIZES = (1, 2, 3, 4, 4, 5, 6, 8)

MOCHI = Persona(
    name="Mochi",
    sprites=(Sprite("sleepy", "https://mochi.example/sleepy.png"),),
)


def story() -> str:
    """What the model is made to say."""
    return (Path(__file__).parent / "story.md").read_text(encoding="utf-8")


def crumbs(speed: float) -> list[Step]:
    """The story as a model would send it: a few characters at a time."""
    text, rng, at = story(), Random(7), 0
    steps: list[Step] = []
    while at < len(text):
        size = rng.choice(_SIZES)
        steps += [Chunk("text", text[at : at + size]), Silence(round(CRUMB_MS / speed))]
        at += size
    return [*steps, Chunk("done", finish_reason="stop")]


def config(speed: float) -> StreamConfig:
    """A brisk typist. A terminal shows no pictures, so tables come as aligned code."""
    return StreamConfig(
        text=TextConfig(persona=MOCHI, emojis=("<:mochi_wave:100000000000000001>",)),
        render_tables=False,
        base_type_speed_ms_per_char=round(10 / speed),
        min_visible_typing_duration_ms=round(500 / speed),
        max_typing_time_ms=round(1100 / speed),
        min_random_pause_ms=round(150 / speed),
        max_random_pause_ms=round(450 / speed),
    )
