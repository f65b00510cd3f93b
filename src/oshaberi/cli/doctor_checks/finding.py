"""One result of a check: what was checked, its state, and what to do about it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

State = Literal["good", "note", "bad"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. `bad` means that the bot cannot work; a `note` is only worth knowing."""

    name: str
    state: State
    text: str
    advice: str = ""

    def as_record(self) -> dict[str, Any]:
        return asdict(self)


def good(name: str, text: str) -> Finding:
    return Finding(name, "good", text)


def note(name: str, text: str, advice: str = "") -> Finding:
    return Finding(name, "note", text, advice)


def bad(name: str, text: str, advice: str) -> Finding:
    return Finding(name, "bad", text, advice)
