"""`python -m tests.laws.fuzz --seconds N`: the laws over random text for as long as asked.

Each failing text is made small and written as a scene file; the exit status is 1 if there is any.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import re
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path

import click

from oshaberi import TextConfig, TextEngine

from .early_endings import broken_around_an_ending
from .engine_feeding import MakeEngine
from .law_checks import all_broken
from .law_configs import random_config
from .persona_texts import broken_with_persona, labelled_text, persona_config
from .real_documents import corpus_slice
from .text_grammar import few_snippets, random_text
from .text_shrinking import shrink

_REPORT_SECONDS = 10
_MOST_OF_A_KIND = 3
_WITH_PERSONA = 0.2
_OF_FEW_SNIPPETS = 0.8
_LONGEST_SECONDS = 20
_PARTICULARS = re.compile(r"\s*[:'\"\d(].*", re.DOTALL)


def kind(broken: str) -> str:
    """What a broken law is, without its particulars: so that shrinking keeps to it."""
    law, _, what = broken.partition(" ")
    return f"{law} {_PARTICULARS.sub('', what)}"


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Ends an endless loop, where the system can; in processor time, for others may be busy."""

    def give_up(*_: object) -> None:
        raise TimeoutError(f"more than {seconds} s")

    before = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _drawn(rng: random.Random) -> str:
    """Mostly short texts: they take a tenth of the time, and find as much."""
    if rng.random() < _OF_FEW_SNIPPETS:
        return few_snippets(rng)
    return random_text(rng) if rng.random() < 0.7 else corpus_slice(rng)


class Fuzzer:
    """One worker: texts, checks, failures of each kind made small and written once or thrice."""

    def __init__(self, seed: int, out: Path, make: MakeEngine = TextEngine) -> None:
        self.seed = seed
        self.out = out
        self.make = make
        self.count = 0
        self.failures = 0
        self.kinds: dict[str, int] = {}

    def run(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        report = time.monotonic() + _REPORT_SECONDS
        while time.monotonic() < end:
            self.one(self.count)
            if time.monotonic() > report:
                report += _REPORT_SECONDS
                click.echo(f"seed {self.seed}: {self.count} texts, {self.failures} failures")

    def one(self, number: int) -> None:
        rng = random.Random(f"{self.seed}/{number}")
        if rng.random() < _WITH_PERSONA:
            text, config = labelled_text(rng), persona_config(rng)
        else:
            text = _drawn(rng)
            config = random_config(rng)
        self.count += 1
        broken = self._broken(text, config)
        if broken:
            self.failures += 1
            self._keep(text, config, broken[0], number)

    def _broken(self, text: str, config: TextConfig) -> list[str]:
        try:
            with patience(_LONGEST_SECONDS):
                if config.persona:
                    return broken_with_persona(text, config, random.Random(len(text)))
                rng = random.Random(len(text))
                broken = all_broken(self.make, text, config, rng)
                return broken or broken_around_an_ending(text, config, rng)
        except Exception as error:  # a crash of the engine is a finding like any other
            return [f"XX crash {type(error).__name__}: {error}"]

    def _keep(self, text: str, config: TextConfig, first: str, number: int) -> None:
        what = kind(first)
        self.kinds[what] = self.kinds.get(what, 0) + 1
        if self.kinds[what] > _MOST_OF_A_KIND:
            return

        end = time.monotonic() + _LONGEST_SECONDS

        def fails(smaller: str) -> bool:
            return time.monotonic() < end and any(
                kind(b) == what for b in self._broken(smaller, config)
            )

        small = shrink(text, fails)
        path = self.out / f"{self.seed}-{number}.json"
        path.write_text(scene(small, config, self._broken(small, config), path.stem))
        click.echo(f"{path}: {first}")


def scene(text: str, config: TextConfig, broken: list[str], name: str) -> str:
    """A scene file (spec 10) with what was broken beside it."""
    plain = TextConfig()
    changed = {
        f.name: getattr(config, f.name)
        for f in fields(config)
        if getattr(config, f.name) != getattr(plain, f.name) and f.name != "seed"
    }
    about = {"name": name, "config": changed, "seed": config.seed, "chunks": [text]}
    return json.dumps({**about, "broken": broken}, indent=1, default=asdict)


def work(seed: int, seconds: float, out: Path) -> tuple[int, int, dict[str, int]]:
    fuzzer = Fuzzer(seed, out)
    fuzzer.run(seconds)
    return fuzzer.count, fuzzer.failures, fuzzer.kinds


@click.command()
@click.option("--seconds", type=float, default=60, show_default=True)
@click.option("--seed", type=int, default=None, help="Default: the time.")
@click.option("--jobs", type=int, default=2, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=None, help="Where failures go.")
def main(seconds: float, seed: int | None, jobs: int, out: Path | None) -> None:
    """Random trouble and real Markdown through random configurations and every law."""
    first = int(time.time()) if seed is None else seed
    folder = out or Path(tempfile.mkdtemp(prefix="oshaberi-fuzz-"))
    folder.mkdir(parents=True, exist_ok=True)
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        results = pool.starmap(work, [(first + k, seconds, folder) for k in range(jobs)])
    texts = sum(count for count, _, _ in results)
    failures = sum(failed for _, failed, _ in results)
    kinds: dict[str, int] = {}
    for _, _, found in results:
        for name, count in found.items():
            kinds[name] = kinds.get(name, 0) + count
    click.echo(f"{texts} texts ({texts / seconds:.0f} per second), {failures} failures")
    for name, count in sorted(kinds.items(), key=lambda item: -item[1]):
        click.echo(f"{count:7} {name}")
    if failures:
        click.echo(f"see {folder}")
        raise SystemExit(1)


if __name__ == "__main__":
    main()
