"""`python -m tests.laws.engine_digests SEED FIRST COUNT`: what the engine made of random texts.

Prints a digest for each text: of its events, previews and decisions, step by step. Another build of
the engine (another PYTHONPATH) prints the same lines, or it behaves differently. With `--show` the
steps themselves are printed.
"""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Iterator

import click

from oshaberi import Decision, TextConfig, TextEngine
from oshaberi.text import engine as text_engine

from .engine_feeding import pieces_of
from .law_configs import random_config
from .persona_texts import labelled_text, persona_config
from .real_documents import corpus_slice
from .text_grammar import few_snippets, random_text

_WITH_PERSONA = 0.25
_LOOKS = 0.05


def drawn(rng: random.Random) -> tuple[str, TextConfig]:
    if rng.random() < _WITH_PERSONA:
        return labelled_text(rng), persona_config(rng)
    text = rng.choice((few_snippets, random_text, random_text, corpus_slice))(rng)
    return text, random_config(rng)


def steps(seed: int, number: int) -> Iterator[str]:
    """One stream in random pieces, looked at in between and ended in one of three ways."""
    rng = random.Random(f"{seed}/{number}")
    text, config = drawn(rng)
    decisions: list[Decision] = []
    engine = TextEngine(config, observe=decisions.append if rng.random() < 0.5 else None)
    yield f"{text!r} {config!r}"
    for piece in pieces_of(text, rng):
        if events := engine.feed(piece):
            yield repr(events)
        if rng.random() < _LOOKS:
            yield f"preview {engine.preview()!r}"
    ending = rng.random()
    if ending < 0.8:
        yield repr(engine.finish())
    elif ending < 0.9:
        trim, only_whole = rng.random() < 0.5, rng.random() < 0.3
        yield repr(engine.flush("stop", trim_incomplete_clause=trim, only_whole=only_whole))
    else:
        yield repr(engine.discard())
    yield f"{engine.carry()!r} {decisions!r}"


def digest(seed: int, number: int) -> str:
    told = "\n".join(steps(seed, number))
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@click.command()
@click.argument("seed", type=int)
@click.argument("first", type=int)
@click.argument("count", type=int)
@click.option("--show", is_flag=True, help="Print the steps of each text.")
def main(seed: int, first: int, count: int, show: bool) -> None:
    """The first line says which build this is: the file of its engine."""
    sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    click.echo(text_engine.__file__)
    for number in range(first, first + count):
        if show:
            for step in steps(seed, number):
                click.echo(step)
        else:
            click.echo(f"{number} {digest(seed, number)}")


if __name__ == "__main__":
    main()
