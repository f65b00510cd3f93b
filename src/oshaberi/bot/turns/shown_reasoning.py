"""Shows the model's thoughts in the channel: one silent message, as subtext or spoiler.

Pure. The message begins with a mark, so that the bot recognises it in the history and leaves it out
of the conversation (spec 04 O6). So does the title of a logged thought. Nothing in it can end its
own markup or ping anybody.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from oshaberi.secret_redaction import redact
from oshaberi.text.measure import grapheme_edge, utf16_len, utf16_offset

MARK = "💭"
SUBTEXT = "-# "
SPOILER = "||"

_MARKUP = re.compile(r"([\\*_~|`\[\]<>#])")
_NO_CALL = "@\u200b"


def shown_thoughts(thoughts: Sequence[str], display: str, limit: int) -> str:
    """Return the message with the thoughts, or an empty text if there are none."""
    lines = [line for text in thoughts for line in _lines(text, limit + 1)]
    if not lines or display not in ("subtext", "spoiler"):
        return ""
    if display == "subtext":
        return _fitting(lines, limit, SUBTEXT, "")
    return _fitting(lines, limit, "", SPOILER)


def is_logged_thought(title: str) -> bool:
    """Return whether an embed with this title belongs to the thought log."""
    return title.startswith(MARK)


def is_shown_thought(text: str) -> bool:
    return text.lstrip().startswith((f"{SUBTEXT}{MARK}", f"{SPOILER}{MARK}"))


def _lines(text: str, most: int) -> list[str]:
    plain = (line.strip() for line in redact(text, most).splitlines())
    return [_MARKUP.sub(r"\\\1", line).replace("@", _NO_CALL) for line in plain if line]


def _fitting(lines: Sequence[str], limit: int, before: str, around: str) -> str:
    """Return as many lines as fit, the last one cut if necessary."""
    longest = limit - 2 * utf16_len(around)
    out = f"{before}{MARK} "
    for number, line in enumerate(lines):
        seam = f"\n{before}" if number else ""
        if utf16_len(out + seam + line) <= longest:
            out += seam + line
            continue
        rest = _cut(line, longest - utf16_len(out + seam) - 1)
        out = f"{out}{seam}{rest}…" if rest else f"{_cut(out, longest - 1)}…"
        break
    return f"{around}{out}{around}"


def _cut(text: str, units: int) -> str:
    """Cut the text, but not after a single backslash, which would escape what follows."""
    if units <= 0:
        return ""
    cut = text[: grapheme_edge(text, 0, utf16_offset(text, 0, units))]
    slashes = len(cut) - len(cut.rstrip("\\"))
    return cut[:-1] if slashes % 2 else cut
