"""Spec 05, semantic hold: the effect of each marker, with one handler per kind.

Whether a marker opens or closes depends on its neighbours and on what is open, so nothing is
scanned twice. A handler returns where reading continues, or WAIT for the next character.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from oshaberi.text.atoms import DISCORD_TOKEN
from oshaberi.text.markers.open_markers import OpenMarkers

MARKS: Final = '*~|()（）"「」『』“”„«»《》[]\\<'
WAIT: Final = -1

_TOKEN_MAX: Final = 130
_RUN: Final = {mark: re.compile(re.escape(mark) + "+") for mark in "*~|"}
_TOKEN_STOP: Final = re.compile(r"[<>\n]")
_OPENING: Final = frozenset("([{（［【「『《〈«“„‘'*_~|—–")
_SAD_EYES: Final = frozenset(":=;")
_MIRRORED_EYES: Final = frozenset(":;")
_LATEX: Final = ("\\begin", "\\end")
_REST: Final = {"*": "**", "**": "*"}
_OPENERS_OF: Final = {
    "）": "（", "」": "「", "』": "『", "》": "《", "”": "“„", "“": "„", "«": "»", "»": "«",
}  # fmt: skip


def is_unspaced(char: str) -> bool:
    """Return whether `char` is Han, kana or Hangul: markers may touch letters there."""
    return (
        "\u3040" <= char <= "\u30ff"
        or "\u3400" <= char <= "\u9fff"
        or "\uac00" <= char <= "\ud7af"
        or "\u3005" <= char <= "\u3007"
        or "\uff66" <= char <= "\uff9f"
        or "\uf900" <= char <= "\ufaff"
        or "\U00020000" <= char <= "\U0003ffff"
    )


def _paren(open_markers: OpenMarkers, text: str, at: int, final: bool) -> int:
    after = text[at + 1 : at + 3]
    if not final and (not after or after in _MIRRORED_EYES):
        return WAIT
    if not (_sad_face(text, at) or _mirrored_face(after)):
        open_markers.push("(", at)
    return at + 1


def _paren_close(open_markers: OpenMarkers, _text: str, at: int, _final: bool) -> int:
    open_markers.round_closed(at + 1)
    return at + 1


def _quote(open_markers: OpenMarkers, text: str, at: int, final: bool) -> int:
    if open_markers.open['"']:
        open_markers.close('"', at + 1)
        return at + 1
    if at + 1 == len(text) and not final:
        return WAIT
    if _edge_before(text, at) and _solid(text, at + 1):
        open_markers.push('"', at)
    return at + 1


def _bracket_open(open_markers: OpenMarkers, text: str, at: int, _final: bool) -> int:
    open_markers.push(text[at], at)
    return at + 1


def _bracket_close(open_markers: OpenMarkers, text: str, at: int, _final: bool) -> int:
    for opener in _OPENERS_OF[text[at]]:
        if open_markers.open[opener]:
            open_markers.close(opener, at + 1)
            break
    return at + 1


def _either(open_markers: OpenMarkers, text: str, at: int, final: bool) -> int:
    """Read a quotation mark that closes in one language and opens in another: `“ « »`."""
    mark = text[at]
    for opener in _OPENERS_OF[mark]:
        if open_markers.open[opener]:
            open_markers.close(opener, at + 1)
            return at + 1
    if at + 1 == len(text) and not final:
        return WAIT
    if _solid(text, at + 1) and (mark == "“" or _edge_before(text, at)):
        open_markers.push(mark, at)
    return at + 1


def _link_text(open_markers: OpenMarkers, _text: str, at: int, _final: bool) -> int:
    open_markers.labels.append(at)
    return at + 1


def _link_target(open_markers: OpenMarkers, text: str, at: int, final: bool) -> int:
    if not open_markers.has_links:
        return at + 1
    if at + 1 == len(text) and not final:
        return WAIT
    is_link = text.startswith("(", at + 1)
    open_markers.link_text_closed(is_link)
    return at + 1 + is_link


def _backslash(open_markers: OpenMarkers, text: str, at: int, final: bool) -> int:
    if len(text) - at < 6 and not final and _may_be_latex(text[at:]):
        return WAIT
    if text.startswith("\\[", at):
        open_markers.push("\\]", at)
    elif text.startswith("\\begin", at):
        open_markers.push("\\end", at)
    elif text.startswith("\\]", at) and open_markers.open["\\]"]:
        open_markers.close("\\]", at + 2)
    elif text.startswith("\\end", at) and open_markers.open["\\end"]:
        open_markers.close("\\end", at + 4)
    escaped = text[at + 1 : at + 2]
    return at + 2 if escaped and escaped in MARKS else at + 1


def _token(open_markers: OpenMarkers, text: str, at: int, final: bool) -> int:
    """Read `<…>`: a custom emoji, a mention, a timestamp; anything else is text."""
    following = text[at + 1 : at + 2]
    if following and following not in "a:@#t/":
        return at + 1
    stop = _TOKEN_STOP.search(text, at + 1, at + _TOKEN_MAX)
    if stop is None and len(text) - at < _TOKEN_MAX and not final:
        return WAIT
    token = DISCORD_TOKEN.match(text, at) if stop and text[stop.start()] == ">" else None
    if token is None:
        return at + 1
    open_markers.spans.append((at, token.end(), True))
    return token.end()


def _run(open_markers: OpenMarkers, text: str, at: int, final: bool) -> int:
    """Read `*`, `**`, `***`, `~~` or `||`. Longer runs are decoration."""
    mark = text[at]
    end = at + 1
    if text[end : end + 1] == mark and (found := _RUN[mark].match(text, at)):
        end = found.end()
    if end - at < 4 and not _decided(text, end, final):
        return WAIT
    kind = text[at:end]
    if kind not in open_markers.open or text[at - 1 : at] == mark:
        return end
    if mark == "*":
        return _stars(open_markers, text, at, end)
    _pair_run(open_markers, text, at, end)
    return end


def _pair_run(open_markers: OpenMarkers, text: str, at: int, end: int) -> None:
    kind = text[at:end]
    solid_after = _solid(text, end)
    if open_markers.open[kind]:
        # For Discord the next bars end a spoiler, wherever they are.
        if kind == "||" or solid_after or _solid_before(text, at):
            open_markers.close(kind, end)
    elif solid_after and (kind == "||" or not _stretches_vowel(text, at)):
        open_markers.push(kind, at)


def _stars(open_markers: OpenMarkers, text: str, at: int, end: int) -> int:
    kind = text[at:end]
    if kind == "*" and text.startswith("_*", end):
        return end + 2
    if _solid_before(text, at) and _close_stars(open_markers, kind, end):
        return end
    if not open_markers.open[kind] and _star_opens(text, at, end):
        open_markers.push(kind, at)
    return end


def _close_stars(open_markers: OpenMarkers, kind: str, end: int) -> bool:
    """Close emphasis. `***` also closes a bold and an italic that were opened apart."""
    if kind in _REST and not open_markers.open[kind] and open_markers.open["***"]:
        open_markers.shorten("***", _REST[kind])
        return True
    kinds = (kind,) if kind != "***" else ("***", "*", "**")
    closed = False
    for kind in kinds:
        if open_markers.open[kind]:
            open_markers.close(kind, end)
            closed = True
    return closed


def _decided(text: str, end: int, final: bool) -> bool:
    """Return whether enough follows the run: one character, or two for a possible `*_*`."""
    if final or end + 1 < len(text):
        return True
    return end < len(text) and text[end] != "_"


def _solid(text: str, at: int) -> bool:
    return at < len(text) and not text[at].isspace()


def _solid_before(text: str, at: int) -> bool:
    return at > 0 and not text[at - 1].isspace()


def _edge_before(text: str, at: int) -> bool:
    """Return whether a word can begin at `at`."""
    return at == 0 or text[at - 1].isspace() or text[at - 1] in _OPENING


def _stretches_vowel(text: str, at: int) -> bool:
    """Return whether `~~` stretches a vowel: `おはよ~~`.

    It does after kana, and after a letter of a spaced script, where no strikethrough can open.
    """
    before = text[at - 1] if at else " "
    if not before.isalnum() and before not in "ー～":
        return False
    kana = "\u3040" <= before <= "\u30ff" or "\uff66" <= before <= "\uff9f"
    return kana or not is_unspaced(before)


def _star_opens(text: str, at: int, end: int) -> bool:
    if not _solid(text, end):
        return False
    before, after = text[at - 1] if at else " ", text[end]
    if not before.isalnum():
        return True
    if not after.isalnum():
        return is_unspaced(before) and after in _OPENING
    return is_unspaced(before) or is_unspaced(after)


def _sad_face(text: str, at: int) -> bool:
    """Return whether the `(` is part of `:(`, `>:(`, `=(`, `:-(` or `:'(` at the end of a word."""
    eyes = at - 1
    if eyes > 0 and text[eyes] in "-'":
        eyes -= 1
    if eyes < 0 or text[eyes] not in _SAD_EYES:
        return False
    return not text[at + 1 : at + 2].isalnum()


def _mirrored_face(after: str) -> bool:
    """Return whether what follows a `(` makes it a smile: `(:` or `(;` at the end of a word."""
    return after[:1] in _MIRRORED_EYES and not after[1:].strip()


def _may_be_latex(tail: str) -> bool:
    return len(tail) < 2 or any(word.startswith(tail) for word in _LATEX)


# Each reads the marker at a position, and returns where reading continues, or WAIT. The last
# argument says that the text ends here.
MARK_HANDLERS: Final[dict[str, Callable[[OpenMarkers, str, int, bool], int]]] = {
    "(": _paren,
    ")": _paren_close,
    '"': _quote,
    "[": _link_text,
    "]": _link_target,
    "\\": _backslash,
    "<": _token,
    **dict.fromkeys("*~|", _run),
    **dict.fromkeys("（「『《„", _bracket_open),
    **dict.fromkeys("）」』》”", _bracket_close),
    **dict.fromkeys("“«»", _either),
}
