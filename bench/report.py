"""What was measured, as aligned tables and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from bench import growth, tokens
from bench.growth import Growth
from bench.memory import Measured
from bench.tokens import TokenCost

_FLAG = "<<<"


def token_table(costs: Sequence[TokenCost]) -> str:
    head = ["text", "json µs"]
    for degree in tokens.DEGREES:
        head += [f"d{degree} µs", "×json"]
    rows = [_token_row(cost) for cost in costs]
    title = (
        "Per 4-character token, and as a ratio to json.loads of its chunk "
        f"({_FLAG} at degree 2: over {tokens.REAL_LIMIT} on real text, {tokens.WORST_LIMIT:g} else)"
    )
    return _table(title, [*head, ""], rows)


def growth_table(found: Sequence[Growth]) -> str:
    sizes = sorted({size for one in found for size in one.cost_ns})
    head = ["shape", "degree", "fed", *(f"{size / 1000:g} kB" for size in sizes), "growth", ""]
    title = f"Nanoseconds per character as the text grows ({_FLAG}: over {growth.LIMIT})"
    return _table(title, head, [_growth_row(one, sizes) for one in found])


def memory_table(found: Sequence[Measured]) -> str:
    rows = [[one.what, f"{one.value:,.1f}", one.unit] for one in found]
    return _table("Memory", ["what", "value", ""], rows)


def token_json(cost: TokenCost) -> dict[str, object]:
    ratios = {degree: cost.ratio(degree) for degree in tokens.DEGREES}
    return asdict(cost) | {"ratio": ratios, "flagged": cost.flagged}


def growth_json(one: Growth) -> dict[str, object]:
    return asdict(one) | {"flagged": one.flagged}


def _token_row(cost: TokenCost) -> list[str]:
    row = [cost.text, f"{cost.json_us:.2f}"]
    for degree in tokens.DEGREES:
        row += [f"{cost.engine_us[degree]:.2f}", f"{cost.ratio(degree):.2f}"]
    return [*row, _FLAG if cost.flagged else ""]


def _growth_row(one: Growth, sizes: Sequence[int]) -> list[str]:
    costs = [f"{one.cost_ns[size]:.0f}" if size in one.cost_ns else "" for size in sizes]
    flag = _FLAG if one.flagged else ""
    return [one.shape, str(one.degree), one.way, *costs, f"{one.ratio:.2f}", flag]


def _table(title: str, head: list[str], rows: list[list[str]]) -> str:
    """The first column to the left, numbers to the right."""
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    shown = [
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    return "\n".join([title, "", shown[0], "-" * max(map(len, shown)), *shown[1:], ""])
