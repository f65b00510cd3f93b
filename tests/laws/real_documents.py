"""Real Markdown, already on the machine: package descriptions and documents beside the code.

The order is fixed, so that a failing slice can be found again.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

_SUFFIXES = frozenset((".md", ".rst", ".txt"))
_LARGEST = 200_000


@cache
def documents() -> tuple[str, ...]:
    """Every text, once, shortest names first, at most so large."""
    texts = dict.fromkeys(text for text in (*_descriptions(), *_files()) if len(text) > 40)
    return tuple(text[:_LARGEST] for text in texts)


def _descriptions() -> Iterator[str]:
    found = {dist.metadata["Name"]: dist for dist in metadata.distributions()}
    for name in sorted(found):
        yield str(found[name].metadata.json.get("description", ""))


def _files() -> Iterator[str]:
    root = Path(__file__).parents[2]
    packages = Path(metadata.distribution("pytest").locate_file(""))  # type: ignore[arg-type]
    found = [*packages.rglob("*"), *root.glob("*.md"), *root.glob("docs/**/*.md")]
    for path in sorted(p for p in found if p.suffix in _SUFFIXES and p.is_file()):
        yield path.read_text(encoding="utf-8", errors="replace")


def corpus_slice(rng: random.Random, longest: int = 3000) -> str:
    """A window of some document: begins at a line, ends anywhere."""
    text = rng.choice(documents())
    start = rng.randrange(len(text))
    start = text.rfind("\n", 0, start) + 1
    return text[start : start + rng.randint(20, longest)]
