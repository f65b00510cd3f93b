"""What was measured, as aligned tables and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from bench import adapters, growth, reader, stops, streams, tokens
from bench.adapters import AdapterCost
from bench.growth import Growth
from bench.memory import Measured
from bench.reader import ReaderView
from bench.stops import Stops
from bench.streams import Cost, Load
from bench.tokens import TokenCost

_FLAG = "<<<"


def token_table(costs: Sequence[TokenCost]) -> str:
    head = ["text", "json µs"]
    for degree in tokens.DEGREES:
        head += [f"d{degree} µs", "×json"]
    rows = [_token_row(cost) for cost in costs]
    title = (
        "Per 4-character token, and as a ratio to json.loads of its chunk "
        f"({_FLAG}: over {tokens.REAL_LIMIT} on real text, {tokens.WORST_LIMIT:g} else)"
    )
    return aligned_table(title, [*head, ""], rows)


def growth_table(found: Sequence[Growth]) -> str:
    sizes = sorted({size for one in found for size in one.cost_ns})
    head = ["shape", "degree", "fed", *(f"{size / 1000:g} kB" for size in sizes), "growth", ""]
    over = sum(one.flagged for one in found)
    title = (
        f"Nanoseconds per character as the text grows ({_FLAG}: over {growth.LIMIT}): "
        f"{len(found)} rows, {over} over it, the highest {max(one.ratio for one in found):.2f}"
    )
    return aligned_table(title, head, [_growth_row(one, sizes) for one in found])


def memory_table(found: Sequence[Measured]) -> str:
    rows = [[one.what, f"{one.value:,.1f}", one.unit] for one in found]
    return aligned_table("Memory", ["what", "value", ""], rows)


def stream_tables(costs: Sequence[Cost], loads: Sequence[Load]) -> str:
    return f"{_cost_table(costs)}\n{_load_table(loads)}"


def stop_table(found: Sequence[Stops]) -> str:
    head = ["stopped during", "stops", "p50 ms", "p99 ms", "max ms", "closed ms", "late", ""]
    title = (
        "From a stop to the result, the provider closed, and requests that left too late "
        f"({_FLAG}: {stops.LIMIT_MS:g} ms or more; after a send counted from its answer)"
    )
    return aligned_table(title, head, [_stop_row(one) for one in found])


def adapter_table(costs: Sequence[AdapterCost]) -> str:
    head = ["family", "json µs", "bytes µs", "×json", "socket µs", "×json", ""]
    title = (
        "Adapters, per 4-character token: from bytes to a Chunk, and from the socket, "
        f"SDK included ({_FLAG} bytes: over {adapters.LIMIT:g} × json.loads of the event)"
    )
    return aligned_table(title, head, [_adapter_row(cost) for cost in costs])


def reader_table(views: Sequence[ReaderView]) -> str:
    head = [
        "degree",
        "first s",
        "last s",
        "worst s",
        "silence s",
        "requests",
        "refused",
        "removed",
        "",
    ]
    count = max((view.documents for view in views), default=0)
    title = (
        f"What a reader sees of {count} documents at {reader.TOKENS_PER_SECOND:g} tokens/s through "
        "Discord's limits: first text, last text after the model's end, longest silence (medians); "
        "refused of all requests; letters that were shown and removed "
        f"({_FLAG}: late, over {reader.MOST_REFUSED:.0%} refused or {reader.MOST_REMOVED} removed)"
    )
    return aligned_table(title, head, [_reader_row(view) for view in views])


def token_json(cost: TokenCost) -> dict[str, object]:
    ratios = {degree: cost.ratio(degree) for degree in tokens.DEGREES}
    return asdict(cost) | {"ratio": ratios, "flagged": cost.flagged}


def adapter_json(cost: AdapterCost) -> dict[str, object]:
    return asdict(cost) | {"ratio": cost.ratio, "flagged": cost.flagged}


def reader_json(view: ReaderView) -> dict[str, object]:
    return asdict(view) | {"refused_share": view.refused_share, "flagged": view.flagged}


def growth_json(one: Growth) -> dict[str, object]:
    return asdict(one) | {"flagged": one.flagged}


def cost_json(cost: Cost) -> dict[str, object]:
    return asdict(cost) | {"ratio": cost.ratio}


def stop_json(one: Stops) -> dict[str, object]:
    return asdict(one) | {"flagged": one.flagged}


def _cost_table(costs: Sequence[Cost]) -> str:
    head = ["degree", "bare µs", "ours µs", "json µs", "×json", "stream µs", "stream kB"]
    rows = [
        [
            str(cost.degree),
            *(f"{us:.2f}" for us in (cost.bare_us, cost.ours_us, cost.json_us, cost.ratio)),
            f"{cost.stream_us:.0f}",
            f"{cost.stream_bytes / 1000:.1f}",
        ]
        for cost in costs
    ]
    title = (
        "A token's way from provider to sink: a bare loop, ours above it, json.loads of its chunk; "
        "and what a stream costs to begin and end, and holds"
    )
    return aligned_table(title, head, rows)


def _load_table(loads: Sequence[Load]) -> str:
    head = [
        "degree",
        "streams",
        "clock",
        "CPU %",
        "waited %",
        "lag p50 ms",
        "p99 ms",
        "tokens/s",
        "messages",
        "",
    ]
    title = (
        f"Streams of {streams.TOKENS_PER_SECOND:g} tokens/s at once "
        f"({_FLAG}: lag p99 of {streams.LAG_LIMIT_MS:g} ms or more; "
        "waited: others had the processor)"
    )
    return aligned_table(title, head, [_load_row(load) for load in loads])


def _load_row(load: Load) -> list[str]:
    return [
        "bare" if load.degree is None else str(load.degree),
        f"{load.streams}",
        load.clock,
        f"{load.cpu_share * 100:.0f}",
        f"{load.waited_share * 100:.0f}",
        f"{load.lag_p50_ms:.1f}",
        f"{load.lag_p99_ms:.1f}",
        f"{load.tokens_per_second:.0f}",
        str(load.messages),
        ("highest" if load.highest else "") if load.in_time else _FLAG,
    ]


def _stop_row(one: Stops) -> list[str]:
    times = (one.p50_ms, one.p99_ms, one.max_ms, one.closed_max_ms)
    shown = [f"{ms:.2f}" for ms in times]
    flag = _FLAG if one.flagged else ""
    return [one.situation, str(one.count), *shown, str(one.late_requests), flag]


def _reader_row(view: ReaderView) -> list[str]:
    times = (view.first_s, view.last_s, view.worst_last_s, view.silence_s)
    return [
        view.mode,
        *(f"{seconds:.2f}" for seconds in times),
        f"{view.requests:g}",
        f"{view.refused} of {view.all_requests}",
        str(view.removed),
        _FLAG if view.flagged else "",
    ]


def _token_row(cost: TokenCost) -> list[str]:
    row = [cost.text, f"{cost.json_us:.2f}"]
    for degree in tokens.DEGREES:
        row += [f"{cost.engine_us[degree]:.2f}", f"{cost.ratio(degree):.2f}"]
    return [*row, _FLAG if cost.flagged else ""]


def _adapter_row(cost: AdapterCost) -> list[str]:
    own = [f"{cost.bytes_us:.2f}", f"{cost.ratio:.2f}"]
    all_of_it = [f"{cost.socket_us:.2f}", f"{cost.socket_us / cost.json_us:.2f}"]
    flag = _FLAG if cost.flagged else ""
    return [cost.family, f"{cost.json_us:.2f}", *own, *all_of_it, flag]


def _growth_row(one: Growth, sizes: Sequence[int]) -> list[str]:
    costs = [f"{one.cost_ns[size]:.0f}" if size in one.cost_ns else "" for size in sizes]
    flag = _FLAG if one.flagged else ""
    return [one.shape, str(one.degree), one.way, *costs, f"{one.ratio:.2f}", flag]


def aligned_table(title: str, head: list[str], rows: list[list[str]]) -> str:
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
