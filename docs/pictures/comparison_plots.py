"""Draws docs/pictures/compared-*.svg: the plots of docs/compared.md, from its tables.

`make generate` writes them. The figures are those of the page, so the two cannot disagree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parent / "compared.md"

WIDTH, NAMES, FIGURES, ROW, BAR, TOP = 760, 190, 90, 30, 16, 64
STYLE = """
  text { font: 13px system-ui, 'Segoe UI', sans-serif; fill: #1f2328 }
  .title { font-size: 15px; font-weight: 600 } .dim { fill: #59636e }
  .back { fill: #ffffff } .ours { fill: #5865f2 } .others { fill: #9aa4b2 }
  .ours-name { font-weight: 600 }
  .axis { stroke: #d1d9e0 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .dim { fill: #9198a1 } .back { fill: #0d1117 }
    .ours { fill: #7d88ff } .others { fill: #6b7580 } .axis { stroke: #30363d }
  }
"""


@dataclass(frozen=True, slots=True)
class Plot:
    """A column of a table of the page, as bars."""

    file: str
    table: str
    """The mark of the table in the page: `<!-- mark -->`."""
    column: str
    title: str
    note: str
    unit: str = ""
    most: float | None = None
    """Where the axis ends; None: at the largest figure."""


PLOTS = (
    Plot(
        "compared-whole.svg",
        "whole",
        "whole",
        "Texts delivered whole, of 1 800",
        "More is better. All letters are there, in order.",
        most=1800,
    ),
    Plot(
        "compared-engines.svg",
        "engines",
        "µs per token",
        "Cutting the text alone: µs of processor time per token",
        "Less is better. Only text processing, no sending.",
        unit=" µs",
    ),
    Plot(
        "compared-loops.svg",
        "loops",
        "µs per token",
        "The whole loop of one stream: µs of processor time per token",
        "Less is better. From the token to the send that does nothing.",
        unit=" µs",
    ),
    Plot(
        "compared-first.svg",
        "reader",
        "first text",
        "Seconds until the reader sees the first text",
        "Less is better. Median of 30 documents, 40 tokens a second.",
        unit=" s",
    ),
    Plot(
        "compared-last.svg",
        "reader",
        "last text",
        "Seconds from the model's end to the last text",
        "Less is better, but Oshaberi's degrees 2 and 3 take the time to type on purpose.",
        unit=" s",
    ),
)


def plots() -> Iterator[tuple[Path, str]]:
    page = PAGE.read_text(encoding="utf-8")
    for plot in PLOTS:
        yield HERE / plot.file, drawn(plot, figures(page, plot))


def figures(page: str, plot: Plot) -> list[tuple[str, float]]:
    """The rows of a table, as name and figure. A row without a figure there is left out."""
    header, _, *rows = table_rows(page, plot.table)
    column = header.index(plot.column)
    named = [(row[0], re.match(r"[\d .]*\d", row[column].replace(",", ""))) for row in rows]
    return [(name, float(found[0].replace(" ", ""))) for name, found in named if found]


def table_rows(page: str, mark: str) -> list[list[str]]:
    _, found, rest = page.partition(f"<!-- {mark} -->\n")
    assert found, f"docs/compared.md has no table <!-- {mark} -->"
    lines = rest.partition("<!-- end -->")[0].strip().splitlines()
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def drawn(plot: Plot, rows: Sequence[tuple[str, float]]) -> str:
    most = plot.most or max(figure for _, figure in rows)
    length = WIDTH - NAMES - FIGURES
    height = TOP + ROW * len(rows) + 14
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"'
        f' width="{WIDTH}" height="{height}" role="img" aria-label="{escape(plot.title)}">',
        f"<style>{STYLE}</style>",
        f'<rect class="back" width="{WIDTH}" height="{height}" rx="8"/>',
        f'<text class="title" x="16" y="26">{escape(plot.title)}</text>',
        f'<text class="dim" x="16" y="46">{escape(plot.note)}</text>',
        f'<line class="axis" x1="{NAMES}" x2="{NAMES}" y1="{TOP - 4}" y2="{height - 10}"/>',
    ]
    for number, (name, figure) in enumerate(rows):
        y = TOP + ROW * number
        ours = name.startswith("Oshaberi")
        bar = max(1.0, length * figure / most)
        kind, style = ("ours", "ours-name") if ours else ("others", "name")
        lines += [
            f'<text class="{style}" x="{NAMES - 10}" y="{y + 13}" text-anchor="end">'
            f"{escape(name)}</text>",
            f'<rect class="{kind}" x="{NAMES}" y="{y}" width="{bar:.1f}" height="{BAR}" rx="3"/>',
            f'<text class="{style}" x="{NAMES + bar + 8:.1f}" y="{y + 13}">'
            f"{figure:,.10g}{plot.unit}</text>",
        ]
    return "\n".join([*lines, "</svg>", ""])
