"""Replaces `@handle` by `<@id>` for the people of the conversation (spec 06 S5)."""

from __future__ import annotations

from typing import Final

from oshaberi.text.atoms import code_limit, protected
from oshaberi.text.config import Known, TextConfig
from oshaberi.text.normalize.pieces import Normalizer, SegmentWork, is_spaced_letter

_EVERYBODY: Final = frozenset(("everyone", "here"))
_NOT_BEFORE: Final = frozenset("_@/<")


class MentionHandles(Normalizer):
    """Tries the lengths of handles, longest first, so the number of people costs nothing."""

    def __init__(self, config: TextConfig, handles: list[tuple[str, Known]]) -> None:
        self._limit = code_limit(config.hold_limit)
        self._ids: dict[str, set[str]] = {}
        lengths = set()
        for handle, one in handles:
            self._ids.setdefault(handle.casefold(), set()).add(str(one.id))
            lengths.add(len(handle))
        self._lengths = sorted(lengths, reverse=True)

    def apply(self, work: SegmentWork) -> None:
        for piece in work.pieces:
            if "@" in piece.text:
                piece.text = self._resolved(piece.text)

    def _resolved(self, text: str) -> str:
        out = []
        done = at = 0
        for start, end in [*protected(text, self._limit), (len(text), len(text))]:
            while (sign := text.find("@", at, start)) >= 0:
                stop, ids = self._longest(text, sign)
                if ids is not None and len(ids) == 1:
                    out.append(f"{text[done:sign]}<@{next(iter(ids))}>")
                    done = stop
                at = max(stop, sign + 1)
            at = end
        out.append(text[done:])
        return "".join(out)

    def _longest(self, text: str, sign: int) -> tuple[int, set[str] | None]:
        """Return the end of the longest handle after the `@` at `sign`, and its owners."""
        if sign and (text[sign - 1] in _NOT_BEFORE or is_spaced_letter(text[sign - 1])):
            return sign, None
        bracketed = text.startswith("(", sign + 1)
        start = sign + 2 if bracketed else sign + 1
        for length in self._lengths:
            end = start + length
            ids = self._ids.get(text[start:end].casefold())
            if ids is None or end > len(text):
                continue
            if bracketed and text.startswith(")", end):
                return end + 1, ids
            if not bracketed and not _goes_on(text, end):
                return end, ids
        return sign, None


def mention_handles(config: TextConfig) -> MentionHandles | None:
    """Make the rule, if somebody can be mentioned."""
    handles = [(handle, one) for one in config.known for handle in _handles(one)]
    return MentionHandles(config, handles) if handles else None


def _handles(one: Known) -> list[str]:
    """Return the names by which somebody can be mentioned: none without an account."""
    if one.kind != "user" or one.id is None or not one.id.isdecimal():
        return []
    names = [name.strip().removeprefix("@") for name in one.names]
    return [name for name in names if name and name.casefold() not in _EVERYBODY]


def _goes_on(text: str, end: int) -> bool:
    """Return whether the word continues after `end`, so that this is not the handle."""
    after = text[end : end + 1]
    if after in ("", "/", "_"):
        return after != ""  # `@scope/pkg` is a package
    if after == ".":
        return is_spaced_letter(text[end + 1 : end + 2])
    if is_spaced_letter(after):
        return True
    # Particles and honorifics are hiragana; within katakana or Han the same script goes on.
    script = _script(after)
    return script is not None and script == _script(text[end - 1])


def _script(char: str) -> str | None:
    if "\u30a0" <= char <= "\u30ff":
        return "katakana"
    return "han" if "\u3400" <= char <= "\u9fff" else None
