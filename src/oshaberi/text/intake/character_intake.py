"""Cleans incoming text: one kind of newline, whole characters, no NUL (spec 05)."""

from __future__ import annotations

import re
from typing import Final

from oshaberi.text.copied_state import CopiedState

# Raw patterns: mypyc compiles no literal that holds half a character.
_ODD: Final = re.compile(r"[\r\0\ud800-\udfff]")
_MAY_GO_ON: Final = re.compile(r"[\r\ud800-\udbff]\Z")
_PAIR: Final = re.compile(r"[\ud800-\udbff][\udc00-\udfff]")
_LONE: Final = re.compile(r"[\ud800-\udfff]")


class CharacterIntake(CopiedState):
    """Cleans characters. Holds back at most one: a carriage return or a high surrogate."""

    def __init__(self) -> None:
        self._kept = ""

    def feed(self, text: str) -> str:
        if self._kept:
            text = self._kept + text
            self._kept = ""
        if not _is_odd(text):
            return text
        text = text.replace("\0", "")
        self._kept = text[-1:] if _MAY_GO_ON.match(text, len(text) - 1) else ""
        return _plain(text[: len(text) - len(self._kept)])

    def finish(self) -> str:
        kept, self._kept = self._kept, ""
        return _plain(kept)


def _is_odd(text: str) -> bool:
    if text.isascii():
        return "\r" in text or "\0" in text
    return _ODD.search(text) is not None


def _plain(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)
    return _LONE.sub("\ufffd", text)
