"""Real text that is already on the machine: the descriptions of installed packages."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata


def readmes() -> dict[str, list[str]]:
    """The Markdown ones, and the rest (mostly reStructuredText), each in order of name."""
    kinds: dict[str, list[str]] = {"markdown": [], "other readmes": []}
    for kind, text in _descriptions():
        kinds["markdown" if kind.startswith("text/markdown") else "other readmes"].append(text)
    return kinds


def _descriptions() -> Iterator[tuple[str, str]]:
    found = {dist.metadata["Name"]: dist for dist in metadata.distributions()}
    for name in sorted(found):
        about = found[name].metadata.json
        text = str(about.get("description", ""))
        if len(text) > 40:
            yield str(about.get("description_content_type", "")), text
