"""Texts of any length that stress one thing each: a beginning, then a unit again and again."""

from __future__ import annotations

from typing import NamedTuple


class Shape(NamedTuple):
    unit: str
    before: str = ""

    def of(self, size: int) -> str:
        """Exactly `size` characters."""
        return (self.before + self.unit * (size // len(self.unit) + 1))[:size]


_PROSE = (
    "The lighthouse keeper wrote every evening, whether or not a ship had passed. "
    "Dr. Hale said it kept the dark honest; *she* only nodded.\n\n"
    "At 6 p.m. the lamp was lit, and the gulls (all nine of them) went quiet. "
    'Nobody asked why. "Because it is late," he would have said.\n\n'
)
_CODE = "def total(prices):\n    # add them up\n    return sum(p * 2 for p in prices)\n\n"
_TABLE_HEAD = "| name | price | note |\n|:---|---:|---|\n"

SHAPES: dict[str, Shape] = {
    "prose": Shape(_PROSE),
    "code": Shape(_CODE, "```python\n"),
    "code blocks": Shape(f"Look:\n```python\n{_CODE}```\n"),
    "code line": Shape("x", "```\n"),
    "quoted code": Shape("> x = [1, 2]\n", "> ```python\n"),
    "table": Shape("| lamp oil | 12 | by the barrel |\n", _TABLE_HEAD),
    "header pairs": Shape("| a | b |\n|---|---|\n"),
    "lines": Shape("a short line of words\n"),
    "a\\n": Shape("a\n"),
    "word": Shape("a"),
    "url": Shape("a/b-c?d=e&", "https://example.com/"),
    "urls": Shape("https://example.com/a "),
    "backticks": Shape("`"),
    "spans": Shape("`a` "),
    "*a": Shape("*a "),
    "**a": Shape("**a "),
    "_a": Shape("_a "),
    '"a': Shape('"a '),
    "`a": Shape("`a "),
    "(a\\n": Shape("(a\n"),
    "(": Shape("("),
    "open bracket": Shape(_PROSE, "("),
    "...\\n": Shape("...\n"),
    ".": Shape("."),
    "a.": Shape("a. "),
    "e.g.": Shape("e.g. 1.5 vs. Mr. J. R. "),
    "!?": Shape("Oh!? "),
    " .": Shape(" ."),
    "… ": Shape("… "),
    "…\\n": Shape("…\n"),
    "?[ in a url": Shape("?[", "https://a"),
    "... in a url": Shape("...://", "https://a"),
    "() in a url": Shape("(https://a" + "()" * 400 + "\n"),
    "\\n": Shape("\n"),
    "spaces": Shape(" "),
    "tabs": Shape("\ta\n"),
    "crlf": Shape("a\r\n"),
    "<": Shape("<"),
    "<.": Shape("<."),
    "<a!": Shape("<a!"),
    "<details": Shape("<details "),
    "<details>": Shape("<details>"),
    "<think": Shape("<think "),
    "think": Shape(_PROSE, "<think>"),
    "think blocks": Shape("<think>a</think>b\n"),
    "</think>": Shape("a</think>"),
    "[": Shape("["),
    "[a](": Shape("[a]("),
    "[a](b)": Shape("[a](b) "),
    "[a](\\n": Shape("[a](\n"),
    "[（\\n「": Shape("[（\n「"),
    "（\\n": Shape("（\n"),
    "*\\n`)](``": Shape("*\n`)](``"),
    "||": Shape("||"),
    "|": Shape("a | b\n"),
    "\\begin": Shape("\\begin"),
    "cjk": Shape("灯台守は毎晩、日記を書いた。船が通っても、通らなくても！"),
    "cjk quotes": Shape("「あ"),
    "“": Shape("“"),
    "！“": Shape("！“"),
    "！*": Shape("！*"),
    "）。": Shape("）。"),
    "。[": Shape("。["),
    "！:\\n": Shape("！:\n"),
    "\\n！「": Shape("\n！「"),
    "flags": Shape("\U0001f1ef\U0001f1f5"),
    "zalgo": Shape("\u0301\u0489\u033d", "a"),
    "zwj": Shape("\U0001f469\u200d"),
    "emoji": Shape("\U0001f600 ok "),
    "nested list": Shape("- a\n  - b\n    - c\n"),
    "numbered": Shape("1. first thing\n"),
    "quotes": Shape("> said\n"),
    ">>>": Shape(_PROSE.replace("\n\n", "\n"), ">>> "),
    "-#": Shape("-# "),
    "rules": Shape("---\n"),
    ":a:": Shape(":a:"),
    ":": Shape(":"),
    "@a": Shape("@a "),
    "<@1>": Shape("<@1>"),
    "Name: x": Shape("Name: x\n"),
    "[Name]: x": Shape("[Name]: x\n"),
    "surrogates": Shape("\ud83d"),
}
"""By name. The names show what is repeated, `\\n` for a line break."""
