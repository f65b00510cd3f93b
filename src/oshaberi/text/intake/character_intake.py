"""Cleans incoming text: one kind of newline, whole characters, no NUL (spec 05)."""

from __future__ import annotations

import re

_ODD = re.compile("[\r\0\ud800-\udfff]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_LONE = re.compile("[\ud800-\udfff]")


class CharacterIntake:
    """Holds back at most one character: a `\\r`, or the first half of a surrogate pair."""

    def __init__(self) -> None:
        self._kept = ""

    def feed(self, text: str) -> str:
        text = self._kept + text
        if _ODD.search(text) is None:
            self._kept = ""
            return text
        text = text.replace("\0", "")
        self._kept = text[-1:] if text[-1:] == "\r" or "\ud800" <= text[-1:] <= "\udbff" else ""
        return _plain(text[: len(text) - len(self._kept)])

    def finish(self) -> str:
        kept, self._kept = self._kept, ""
        return _plain(kept)


def _plain(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)
    return _LONE.sub("\ufffd", text)
