"""Draws docs/pictures/degree-*.svg: one answer, played through the pipeline at each degree.

`make generate` writes them; a test notices when they are not what comes out now.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

from oshaberi.delivery.config import POLICIES
from oshaberi.scenes import parse_scene
from oshaberi.scenes.playback import perform

HERE = Path(__file__).parent
ANSWER = """\
Sure! Green tea is easy, really. Boil some water (and let it cool
to about 80 degrees).
Then two minutes, no more:
```python
steep(tea="green", minutes=2)
```
Enjoy it while it's hot. :tea:
"""
TOKEN_CHARS, TOKEN_MS = 4, 60
WIDTH, GUTTER, PAD, LINE, COLUMNS = 720, 84, 12, 20, 66

BACK, BUBBLE, CODE, TEXT, DIM = "#1e1f22", "#313338", "#232428", "#dbdee1", "#949ba4"
FONT = "ui-monospace, 'JetBrains Mono', Menlo, Consolas, monospace"


def scene(degree: int) -> dict[str, Any]:
    """The answer as a model sends it: four characters at a time."""
    chunks: list[Any] = []
    for at in range(0, len(ANSWER), TOKEN_CHARS):
        chunks += [ANSWER[at : at + TOKEN_CHARS], {"type": "wait", "ms": TOKEN_MS}]
    config = {"humanizer_degree": degree}
    return {"name": f"degree {degree}", "seed": 4, "config": config, "chunks": chunks}


def records(degree: int) -> list[dict[str, Any]]:
    return perform(parse_scene(scene(degree), f"degree {degree}")).lines


def picture(degree: int) -> str:
    lines = records(degree)
    rows, y = [], 56
    for record in lines:
        height, drawn = _drawn(record, y)
        rows.append(drawn)
        y += height
    sent = lines[-1]["messages_sent"]
    last_ms = max(record["at_ms"] for record in lines if record["kind"] == "message")
    count = f"{sent} message{'' if sent == 1 else 's'}, the last after {last_ms / 1000:.1f} s"
    policy = POLICIES[degree]
    title = f"degree {degree} · {policy.name.lower()}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y + 8}" '
            f'viewBox="0 0 {WIDTH} {y + 8}" role="img" font-family="{FONT}" font-size="14">',
            f"<title>{title}: {count}</title>",
            f'<rect width="{WIDTH}" height="{y + 8}" rx="10" fill="{BACK}"/>',
            _text(20, 34, title, TEXT, ' font-weight="bold"'),
            _text(WIDTH - 20, 34, count, DIM, ' text-anchor="end"'),
            *filter(None, rows),
            "</svg>",
            "",
        ]
    )


def _drawn(record: Mapping[str, Any], y: int) -> tuple[int, str]:
    match record["kind"]:
        case "message":
            return _bubble(record, y)
        case "typing":
            told = f"● ● ●  types for {record['ms'] / 1000:.2f} s"
            return 30, _at(record, y + 19) + "\n" + _text(GUTTER + PAD, y + 19, told, DIM)
        case _:
            return 0, ""


def _bubble(record: Mapping[str, Any], y: int) -> tuple[int, str]:
    lines = list(_lines(record["content"]))
    height = LINE * len(lines) + PAD
    box = f'<rect x="{GUTTER}" y="{y}" width="{WIDTH - GUTTER - 20}" height="{height}" rx="8"'
    drawn = [f'{box} fill="{BUBBLE}"/>', _at(record, y + 21)]
    for number, (line, is_code) in enumerate(lines):
        top = y + PAD // 2 + LINE * number
        if is_code:
            width = WIDTH - GUTTER - 20 - 2 * PAD
            drawn.append(
                f'<rect x="{GUTTER + PAD}" y="{top}" width="{width}" height="{LINE}" '
                f'fill="{CODE}"/>'
            )
        drawn.append(_text(GUTTER + PAD + (6 if is_code else 0), top + 15, line, TEXT))
    return height + 6, "\n".join(drawn)


def _lines(content: str) -> Iterator[tuple[str, bool]]:
    """Line by line, fences left out as Discord does."""
    in_code = False
    for line in content.split("\n"):
        if line.startswith("```"):
            in_code = not in_code
        elif in_code or not line:
            yield line, in_code
        else:
            yield from ((part, False) for part in textwrap.wrap(line, COLUMNS))


def _at(record: Mapping[str, Any], y: int) -> str:
    return _text(GUTTER - 14, y, f"{record['at_ms'] / 1000:.1f} s", DIM, ' text-anchor="end"')


def _text(x: int, y: int, text: str, colour: str, more: str = "") -> str:
    return f'<text x="{x}" y="{y}" fill="{colour}" xml:space="preserve"{more}>{escape(text)}</text>'


def pictures() -> Iterator[tuple[Path, str]]:
    """Each picture: its file, and what it should hold."""
    for degree in range(len(POLICIES)):
        yield HERE / f"degree-{degree}.svg", picture(degree)
