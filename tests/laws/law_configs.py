"""The configurations under which the laws are tried: nothing for step 06 to do but cleaning."""

from __future__ import annotations

import random
from typing import NamedTuple

from oshaberi.text.config import TextConfig


class Sizes(NamedTuple):
    message: int
    buffer: int
    hold: int


DEFAULT = Sizes(1950, 1000, 500)
TINY = Sizes(100, 100, 50)


def config(
    degree: int, *, tiny: bool = False, mode: str = "lines", many: bool = True
) -> TextConfig:
    """`many` lifts the budget of messages, so that lines are not packed."""
    sizes = TINY if tiny else DEFAULT
    return TextConfig(
        humanizer_degree=degree,
        paragraph_mode=mode,
        emoji_preserve_unresolved_shortcodes=True,
        max_flush_count=1000 if many else 40,
        max_single_message_length=sizes.message,
        flush_buffer_size=sizes.buffer,
        hold_limit=sizes.hold,
    )


ALL = {
    f"degree {degree}, {mode}, {'tiny' if tiny else 'default'}": config(
        degree, tiny=tiny, mode=mode, many=mode == "lines"
    )
    for degree in range(4)
    for mode in ("lines", "blocks")
    for tiny in (False, True)
}


def random_config(rng: random.Random) -> TextConfig:
    """For the fuzz: also odd sizes in between, and small budgets."""
    odd = Sizes(rng.randint(100, 400), rng.randint(100, 400), rng.randint(50, 200))
    mixed = Sizes(*(rng.choice(pair) for pair in zip(DEFAULT, TINY, strict=True)))
    sizes = rng.choice((DEFAULT, DEFAULT, TINY, odd, mixed))
    return TextConfig(
        humanizer_degree=rng.randrange(4),
        paragraph_mode=rng.choice(("lines", "blocks")),
        aggregate_join=rng.choice(("blank_line", "preserve")),
        emoji_preserve_unresolved_shortcodes=rng.random() < 0.7,
        max_flush_count=rng.choice((1, 8, 40, 1000)),
        whole_above_chars=rng.choice((0, 0, rng.randint(1, 1000))),
        seed=rng.randrange(100),
        max_single_message_length=sizes.message,
        flush_buffer_size=sizes.buffer,
        hold_limit=sizes.hold,
    )
