"""Text and configurations that give step 06 work: labels, sprites, emoji, mentions, a prefill."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from oshaberi import Known, Persona, Sprite, TextConfig, TextEngine
from oshaberi.events import Event

from .engine_feeding import described, pieces_of
from .law_checks import fences, limit
from .law_configs import random_config
from .text_grammar import few_snippets, random_text

TOMORI = Persona(
    "Tomori",
    aliases=("Lilya",),
    sprites=(
        Sprite("mad", "https://x.test/mad.png"),
        Sprite("shy", "https://x.test/shy.png"),
        Sprite("The Voice", "https://x.test/voice.png", is_identity=True),
        Sprite("not loaded"),
    ),
)
KNOWN = (
    Known("Ren", "persona", avatar_url="https://x.test/ren.png"),
    Known("alice", "user", id="123", aliases=("al", "Big Al"), takes_part=True),
)
EMOJIS = ("<:soup:111111111111111111>", "<a:dance:222222222222222222>")
PREFILLS = ("Sure, here", "```py\n", "(well", "Tomori: ")
OPENINGS = ("Sure, here", " Sure, h", "Surely", "<think>p</think>Sure, here", "")
PIECES = (
    "Tomori: ", "Tomori (mad): ", "\nTomori (shy): ", "**Tomori (mad):** ", "\nTomori (Ren): ",
    "\nTomori (The Voice): ", "Tomori (not loaded): ", "Tomori (nobody): ", "\nLilya: ",
    "\nTomori (mad): a\n", "\nRen: hi\n", "\nAssistant: x", "\nalice: y", "\nalice: 3",
    "@alice ", " @Big Al", "@(al)", ":soup:", " :dance: ", ":smile:", ":nope:", "{{char}}: ",
    "done.Tomori: more", "\n---\n", "<br>", "</think>", "\n> \n",
)  # fmt: skip
ENDINGS: dict[str, Callable[[TextEngine], list[Event]]] = {
    "finish": lambda engine: engine.finish(),
    "stop": lambda engine: engine.flush("stop"),
    "tool call": lambda engine: engine.flush("tool_call", trim_incomplete_clause=True),
    "discard": lambda engine: engine.discard(),
}

_OF_FEW_SNIPPETS = 0.8


def labelled_text(rng: random.Random) -> str:
    if rng.random() < _OF_FEW_SNIPPETS:
        return few_snippets(rng, PIECES)
    out = [rng.choice(OPENINGS)]
    for _ in range(rng.randint(1, 6)):
        out.append(rng.choice(PIECES) if rng.random() < 0.6 else "")
        out.append(random_text(rng)[: rng.choice((10, 50, 300, 2000))])
    return "".join(out)


def persona_config(rng: random.Random) -> TextConfig:
    return replace(
        random_config(rng),
        persona=replace(TOMORI, is_alter=rng.random() < 0.2),
        known=KNOWN,
        emojis=EMOJIS,
        recent_bot_messages=("x <:soup:111111111111111111>",),
        participant_guard_enabled=rng.random() < 0.7,
        llm_stop_speaker_pattern_enabled=rng.random() < 0.3,
        registered_speaker_guard_enabled=rng.random() < 0.2,
        emoji_usage_enabled=rng.random() < 0.8,
        uncensor_sanitize_enabled=rng.random() < 0.3,
        uncensor_unicode_space_enabled=rng.random() < 0.3,
        starts_in_thought=rng.random() < 0.1,
        output_prefill=rng.choice(PREFILLS) if rng.random() < 0.4 else None,
        prefill_visible=rng.random() < 0.8,
    )


def broken_with_persona(text: str, config: TextConfig, rng: random.Random) -> list[str]:
    """L1, L2 and L4, whichever way the stream ends."""
    name = rng.choice(list(ENDINGS))

    def events(chunks: list[str]) -> list[Event]:
        engine = TextEngine(config)
        made = [event for chunk in chunks for event in engine.feed(chunk)]
        return made + ENDINGS[name](engine)

    whole = events([text])
    broken = [*limit(config, whole), *fences(whole)]
    for chunks in (list(text), pieces_of(text, rng), pieces_of(text, rng)):
        other = events(chunks)
        for expected, got in zip([*whole, None], [*other, None], strict=False):
            if expected != got:
                shown = [described(event) if event else "nothing" for event in (expected, got)]
                broken.append(f"L2 {name}: {shown[0]} != {shown[1]}")
                break
    return broken
