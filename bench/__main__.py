"""`python -m bench`: measure the text engine, whole streams and adapters; print tables, or JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field

import click

from bench import (
    adapters,
    foreign_text,
    goals,
    growth,
    memory,
    reader,
    report,
    stops,
    streams,
    tokens,
)
from bench.engines import MakeEngine, text_engine
from bench.growth import Growth
from bench.readmes import readmes
from bench.shapes import SHAPES, Shape
from bench.taps import markdown_chunks
from bench.whole_bot.goals import Goal, goal_table

PARTS = ("tokens", "growth", "foreign", "memory", "streams", "stops", "adapters", "reader")


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured."""

    rounds: int
    plan: growth.Plan
    engines: int
    streamed: int
    token_size: int = 12_000
    crowd: streams.Plan = field(default_factory=streams.Plan)
    stops: int = 200
    documents: int = reader.DOCUMENTS


FULL = Effort(rounds=9, plan=growth.Plan(), engines=1000, streamed=1_000_000)
QUICK = Effort(
    rounds=5,
    plan=growth.Plan(sizes=(30_000, 240_000), rounds=1),
    engines=200,
    streamed=200_000,
    crowd=streams.Plan(seconds=3, tries=5, rounds=5),
    stops=40,
    documents=10,
)


class _Share(click.ParamType[tuple[int, int]]):
    """`2/3`: the second of three."""

    name = "share"

    def convert(
        self, value: object, param: click.Parameter | None, context: click.Context | None
    ) -> tuple[int, int]:
        number, _, shares = str(value).partition("/")
        if not (number.isdecimal() and shares.isdecimal() and 1 <= int(number) <= int(shares)):
            self.fail(f"{value!r} is not like 1/2", param, context)
        return int(number), int(shares)


SHARE = _Share()


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--quick", is_flag=True, help="Fewer rounds; growth from 30 to 240 kB only.")
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    help=f"A part ({', '.join(PARTS)}) or a shape, or several.",
)
@click.option(
    "--share",
    type=SHARE,
    default="1/1",
    metavar="N/M",
    help="Of the shapes, every M-th from the N-th on: M processes measure all of them.",
)
def main(as_json: bool, quick: bool, only: tuple[str, ...], share: tuple[int, int]) -> None:
    """What the text engine, whole streams and the adapters cost."""
    parts = [part for part in PARTS if part in only] or list(PARTS)
    names = [name for name in only if name not in PARTS]
    unknown = [name for name in names if name not in SHAPES]
    if unknown:
        known = f"{', '.join(PARTS)}, or a text shape of bench/shapes.py"
        raise click.BadParameter(f"{unknown[0]!r} is none of: {known}", param_hint="--only")
    number, shares = share
    shapes = {name: SHAPES[name] for name in list(names or SHAPES)[number - 1 :: shares]}
    if not shapes:
        raise click.BadParameter("no shape is left for this share", param_hint="--share")
    effort = QUICK if quick else FULL
    found: dict[str, list[dict[str, object]]] = {}
    reached: list[Goal] = []
    for number, part in enumerate(parts, start=1):
        click.echo(f"measuring {part} ({number} of {len(parts)})", err=True)
        table, found[part], part_goals = bench(part, text_engine, shapes, effort)
        reached += part_goals
        if not as_json:
            click.echo(table)
    if reached:
        found["goals"] = [asdict(goal) | {"missed": goal.is_missed} for goal in reached]
        if not as_json:
            click.echo(goal_table(reached))
    if as_json:
        click.echo(json.dumps(found, indent=1))


def bench(
    part: str, make: MakeEngine, shapes: Mapping[str, Shape], effort: Effort
) -> tuple[str, list[dict[str, object]], list[Goal]]:
    """One part's measurements, as a table and as values for JSON, and its goals."""
    if part == "tokens":
        texts = {name: shape.of(effort.token_size) for name, shape in shapes.items()}
        real = readmes()
        costs = tokens.run(make, real, texts, effort.rounds)
        token_goals = goals.token_goals(costs, list(real))
        return report.token_table(costs), [report.token_json(cost) for cost in costs], token_goals
    if part == "growth":
        length = len(shapes) * len(growth.DEGREES) * len(growth.WAYS)
        grown = _shown(growth.run(make, shapes, growth.DEGREES, effort.plan), length)
        return report.growth_table(grown), [report.growth_json(one) for one in grown], []
    if part == "foreign":
        grown = _shown(foreign_text.run(effort.plan), foreign_text.count())
        return report.growth_table(grown), [report.growth_json(one) for one in grown], []
    if part == "streams":
        crossing, loads = streams.run(effort.crowd, markdown_chunks())
        rows = [report.cost_json(cost) for cost in crossing] + [asdict(load) for load in loads]
        return report.stream_tables(crossing, loads), rows, goals.stream_goals(crossing, loads)
    if part == "stops":
        stopped = stops.run(effort.stops)
        return report.stop_table(stopped), [report.stop_json(one) for one in stopped], []
    if part == "adapters":
        paid = adapters.run(effort.token_size, effort.rounds)
        return report.adapter_table(paid), [report.adapter_json(cost) for cost in paid], []
    if part == "reader":
        views = reader.run(reader.documents()[: effort.documents])
        rows = [report.reader_json(view) for view in views]
        return report.reader_table(views), rows, goals.reader_goals(views)
    weighed = memory.run(make, effort.engines, effort.streamed, effort.rounds)
    return report.memory_table(weighed), [asdict(one) for one in weighed], []


def _shown(measuring: Iterator[Growth], length: int) -> list[Growth]:
    """The long part shows how far it is."""
    with click.progressbar(measuring, length=length, label="growth", file=sys.stderr) as bar:
        return list(bar)


if __name__ == "__main__":
    main()
