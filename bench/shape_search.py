"""`python -m bench.shape_search`: looks for short strings that cost most when they are repeated.

Climbs from random strings: one part is changed at a time, and what costs more is kept. The table
of `bench.shapes` has what was found. Long texts (`--size 40000`) show what grows too.
"""

from __future__ import annotations

import gc
import random
import time
from functools import partial

import click

from bench.engines import cut, play, text_engine
from bench.shapes import Shape
from bench.timing import best_in_turns
from bench.tokens import DEGREES, chunk_json, load

_MARKS = '* ** _ ~~ || | ` `` ``` ( ) [ ]( ] < <: > " “ ” „ 「 」 « » （ ） . , ! ? … ...'
_SIGNS = "。 ！ 、 : :// / - # -# @ --- \\[ a A 1 é 漢 か 😀 🇯 e.g. Mr. a.m. https:// <@1> <:a:1>"
_PARTS = (
    *f"{_MARKS} {_SIGNS} <br> <think> </think>".split(),
    *("\n", "\n\n", " ", "\t", "\r", ">>> ", "- ", "1. ", "Name: x"),
)
_BEFORE = ("", "", "", "(", "- ", "> ", "`", "https://a")
_PATIENCE = 25

Found = tuple[tuple[str, ...], str]
"""The parts of the repeated string, and what stands before it."""


def cost(found: Found, size: int, rounds: int = 2) -> float:
    """The dearest degree, as a multiple of `json.loads` of the chunks."""
    parts, before = found
    tokens = cut(Shape("".join(parts), before).of(size))
    events = [chunk_json(token) for token in tokens]
    jobs = [partial(load, events), *(partial(play, text_engine, d, tokens) for d in DEGREES)]
    base, *engines = best_in_turns(jobs, rounds)
    return max(engines) / base


def changed(found: Found, rng: random.Random) -> Found:
    parts, before = list(found[0]), found[1]
    place, way = rng.randrange(len(parts)), rng.random()
    if way < 0.4:
        parts[place] = rng.choice(_PARTS)
    elif way < 0.6 and len(parts) < 8:
        parts.insert(place, rng.choice(_PARTS))
    elif way < 0.9 and len(parts) > 1:
        del parts[place]
    else:
        before = rng.choice(_BEFORE)
    return tuple(parts), before


def climbed(rng: random.Random, size: int, end: float) -> tuple[float, Found]:
    """The top of one hill."""
    best: Found = tuple(rng.choices(_PARTS, k=rng.randint(1, 5))), rng.choice(_BEFORE)
    dearest, tried = cost(best, size), 0
    while tried < _PATIENCE and time.monotonic() < end:
        other = changed(best, rng)
        found = cost(other, size)
        tried += 1
        if found > dearest * 1.01:
            best, dearest, tried = other, found, 0
    return cost(best, size, rounds=5), best


@click.command()
@click.option("--seconds", type=float, default=60, show_default=True)
@click.option("--seed", type=int, default=None, help="Default: the time.")
@click.option("--size", type=int, default=5000, show_default=True, help="Characters of each text.")
def main(seconds: float, seed: int | None, size: int) -> None:
    """Look for the dearest repeated strings, and print the twenty worst."""
    rng = random.Random(int(time.time()) if seed is None else seed)
    end = time.monotonic() + seconds
    gc.collect()
    gc.freeze()  # so that the collections before each measurement are quick
    hills = []
    while time.monotonic() < end:
        hills.append(climbed(rng, size, end))
    for ratio, (parts, before) in sorted(hills, reverse=True)[:20]:
        click.echo(f"{ratio:6.2f} x  {''.join(parts)!r}" + (f" after {before!r}" if before else ""))


if __name__ == "__main__":
    main()
