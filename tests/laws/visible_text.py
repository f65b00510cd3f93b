"""What a text means, read slowly and all at once: the reference the laws compare with.

Written from spec 05 alone. Where the specification leaves a text open, the reference says None
and the checks fall back on weaker but certain statements.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import regex

BLOCK_MARK = "\ue000"
"""Stands for a code block in text whose blocks were taken out."""

UNSEEN = r"[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]"
"""What nobody sees: white space, controls, format characters, and letters that have no form."""
_UNSEEN_SIGN = regex.compile(rf"(?!\s){UNSEEN}")

_PAIR = re.compile("([\ud800-\udbff])([\udc00-\udfff])")
_LONE = re.compile("[\ud800-\udfff]")
_UNSURE_JOIN = re.compile("[\r\ud800-\udbff]\0+[\n\udc00-\udfff]")
_FENCE = re.compile("`{3,}")
_RUN = re.compile("`+")
_FAMILY = "think|thinking|reasoning|details"
_TAG_LIKE = re.compile(rf"<[\s/]*[^\s<>]*?(?:{_FAMILY})[^<>\n]*>?", re.IGNORECASE)
_TAG = re.compile(
    rf"<(?P<close>/?)(?P<space>\w+:)?(?P<name>{_FAMILY})(?P<rest>(?:[^\S\n][^<>\n]*)?)>",
    re.IGNORECASE,
)
_SUMMARY = re.compile(r"<summary>.*?</summary>", re.IGNORECASE | re.DOTALL)
_LONE_SUBTEXT = re.compile(r"^[ \t]*-#[ \t]*$", re.MULTILINE)


def is_unseen_sign(char: str) -> bool:
    """Whether nobody sees it, although it is no white space."""
    return _UNSEEN_SIGN.fullmatch(char) is not None


def normalise(text: str) -> str:
    """Line ends, surrogate halves and NULs, as spec 05 begins."""
    text = text.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n")
    text = _PAIR.sub(lambda m: _joined(m[1], m[2]), text)
    return _LONE.sub("\ufffd", text)


def _joined(high: str, low: str) -> str:
    return chr(0x10000 + ((ord(high) - 0xD800) << 10) + ord(low) - 0xDC00)


@dataclass(frozen=True, slots=True)
class Visible:
    """V, and what was captured on the way to it."""

    text: str
    exact: bool
    """Offsets into `text` are those of the engine: no seam, no joined line."""
    thoughts: tuple[str, ...] = ()
    details: tuple[str, ...] | None = ()


def visible(text: str) -> Visible | None:
    """V of a whole text; None where the specification leaves it open."""
    if _UNSURE_JOIN.search(text):
        return None
    plain = normalise(text)
    alike, tags = _outside(plain, _TAG_LIKE), _outside(plain, _TAG)
    if not any(m[0].endswith(">") for m in alike):
        return Visible(plain, exact=not _LONE_SUBTEXT.search(plain))
    if len(alike) != len(tags) or not all(_is_plain(plain, m) for m in tags):
        return None
    return _captured(plain, tags)


def _outside(plain: str, pattern: re.Pattern[str]) -> list[re.Match[str]]:
    """C4: what stands in a fence is text."""
    found = list(pattern.finditer(plain))
    code = blocks(plain) if found and "```" in plain else []
    return [m for m in found if not any(b.start <= m.start() < b.end for b in code)]


def _is_plain(plain: str, tag: re.Match[str]) -> bool:
    """Whether it is a tag that the specification spells out, with no inline code about."""
    line = plain[plain.rfind("\n", 0, tag.start()) + 1 :].partition("\n")[0]
    is_details = tag["name"].lower() == "details"
    return (
        len(tag[0]) <= 200
        and "`" not in line
        and (not tag["rest"] or (is_details and not tag["close"]))
        and not (tag["space"] and is_details)
    )


def _captured(plain: str, tags: list[re.Match[str]]) -> Visible | None:
    shown: list[str] = []
    thoughts: list[str] = []
    details: list[str] = []
    at = i = 0
    thought_seen = nested = False
    while i < len(tags):
        tag = tags[i]
        shown.append(plain[at : tag.start()])
        is_details = tag["name"].lower() == "details"
        if tag["close"]:
            if not is_details and not thought_seen:
                return None  # C3 asks what the current segment is
            at, i = tag.end(), i + 1
        elif is_details:
            end = _details_end(tags, i)
            if end is None:
                return None
            nested = nested or end - i > 1
            details.append(_SUMMARY.sub("", _inside(plain, tags, i, end)))
            at, i = (tags[end].end() if end < len(tags) else len(plain)), end + 1
        else:
            thought_seen = True
            end = next((k for k in range(i + 1, len(tags)) if _closes_thought(tags[k])), len(tags))
            thoughts.append(_inside(plain, tags, i, end))
            at, i = (tags[end].end() if end < len(tags) else len(plain)), end + 1
        thought_seen = thought_seen or not is_details
    shown.append(plain[at:])
    if any("`" in text for text in (*thoughts, *details)):
        return None  # code that is taken out changes what is code
    return Visible(
        _seamed(shown),
        exact=False,
        thoughts=tuple(t.strip() for t in thoughts if t.strip()),
        details=None if nested else tuple(" ".join(d.split()) for d in details if d.strip()),
    )


def _closes_thought(tag: re.Match[str]) -> bool:
    return bool(tag["close"]) and tag["name"].lower() != "details"


def _inside(plain: str, tags: list[re.Match[str]], opener: int, closer: int) -> str:
    end = tags[closer].start() if closer < len(tags) else len(plain)
    return plain[tags[opener].end() : end]


def _details_end(tags: list[re.Match[str]], opener: int) -> int | None:
    depth = 0
    for k in range(opener, len(tags)):
        if tags[k]["name"].lower() != "details":
            return None  # a think tag inside details: not said which wins
        depth += -1 if tags[k]["close"] else 1
        if depth == 0:
            return k
    return len(tags)


def _seamed(parts: list[str]) -> str:
    """C6: non-space on both sides of a seam becomes one space, two spaces one."""
    text = parts[0]
    for part in parts[1:]:
        if text and part and not text[-1].isspace() and not part[0].isspace():
            text += " "
        elif text.endswith(" ") and part.startswith(" "):
            part = part[1:]
        text += part
    return text


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: `text[start:end]`, with the line's text before it and what is inside."""

    start: int
    end: int
    prefix: str
    inside: str
    closed: bool

    @property
    def quoted(self) -> bool:
        return ">" in self.prefix and not self.prefix.strip("> \t")

    def readings(self) -> list[list[str]]:
        """The code lines as they must go out; more than one where the indent is open."""
        first, *rest = self.inside.split("\n")
        if self.quoted:
            marks = self.prefix.count(">")
            some, every = rf"(?:[ ]?>){{0,{marks}}} ?", rf"(?:(?:[ ]?>){{{marks}}} ?)?"
            lacking = ("", every, some, "[> ]*")  # which, is not said
            ways = [[_unquoted(line, self.prefix, lack) for line in rest] for lack in lacking]
        elif not self.prefix.strip(" \t"):
            ways = [[line[_behind(line, 0, self.prefix) :] for line in rest]]
        elif self.prefix.isspace():
            ways = [rest]  # another space is no indentation
        else:
            ways = [rest, [line[_behind(line, 0, self.prefix) :] for line in rest]]
        return [_without_closing_line([first, *way]) for way in ways]


def _without_closing_line(lines: list[str]) -> list[str]:
    return lines[:-1] if len(lines) > 1 and not lines[-1].strip() else lines


def _behind(line: str, at: int, blanks: str) -> int:
    """Behind the white space at `at`, no wider than `blanks`; a tab goes to a column of four."""
    width = len(blanks.expandtabs(4))
    end = at
    while line[end : end + 1] in (" ", "\t") and len(line[at : end + 1].expandtabs(4)) <= width:
        end += 1
    return end


def _unquoted(line: str, prefix: str, lacking: str) -> str:
    """`lacking`: what goes from a line that lacks part of the quote mark."""
    first, *others = prefix.split(">")
    at = _behind(line, 0, first)
    for blanks in others:
        if line[at : at + 1] != ">":
            return re.sub(f"^{lacking}", "", line)
        at = _behind(line, at + 1, blanks)
    return line[at:]


def blocks(text: str) -> list[Block]:
    """Every fenced block of V, as B1 and B2 say: runs of three or more, wherever they stand."""
    found: list[Block] = []
    runs = list(_FENCE.finditer(text))
    k = 0
    while k < len(runs):
        opener = runs[k]
        size = len(opener[0])
        k += 1
        while k < len(runs) and len(runs[k][0]) < size:
            k += 1
        closer = runs[k] if k < len(runs) else None
        k += 1
        line = text.rfind("\n", 0, opener.start()) + 1
        inside_end = closer.start() if closer else len(text)
        found.append(
            Block(
                start=opener.start(),
                end=closer.end() if closer else len(text),
                prefix=text[line : opener.start()],
                inside=text[opener.end() : inside_end],
                closed=closer is not None,
            )
        )
    return found


def fences_are_open_to_reading(found: list[Block]) -> bool:
    """Whether an unpaired backtick before a fence makes it unclear if the fence is one."""
    return any("`" in b.prefix and _unpaired(b.prefix) for b in found)


def _unpaired(line: str) -> bool:
    sizes = [len(m[0]) for m in _RUN.finditer(line)]
    while sizes:
        size = sizes.pop(0)
        if size not in sizes:
            return True
        del sizes[: sizes.index(size) + 1]
    return False


def without_blocks(text: str, found: list[Block]) -> str:
    """The prose of V: each block, with the quote mark or indent before it, is one mark."""
    parts: list[str] = []
    at = 0
    for block in found:
        prefix = block.prefix if block.quoted else ""
        before = text[at : max(at, block.start - len(prefix))]
        parts += [before, f"\n{BLOCK_MARK}\n"]
        at = block.end
    parts.append(text[at:])
    return "".join(parts)
