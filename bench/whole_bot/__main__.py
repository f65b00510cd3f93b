"""`python -m bench.whole_bot`: the whole bot under load, beside the least that a bot can do."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click

from bench.whole_bot import bot_runs, caching, installed_size, scale, starts
from bench.whole_bot.bot_figures import BotFigures
from bench.whole_bot.bot_runs import BARE, BenchedBot, oshaberi_on
from bench.whole_bot.bot_tables import figures_json, first_message_goals, tables
from bench.whole_bot.goals import Goal, goal_table
from bench.whole_bot.load_modes import AtOnce, Chatter, Day, LoadMode
from bench.whole_bot.postgres_server import postgres_server
from bench.whole_bot.stack_summary import py_spy_path, summary

MODES = ("start", "at-once", "chatter", "day", "caching")
DATABASES = ("sqlite", "postgres")
AT_ONCE = (25, 100, 200)
MOST_AT_ONCE = 800
FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.option(
    "--only", multiple=True, type=click.Choice(MODES), help="A mode, or several; else all."
)
@click.option(
    "--at-once",
    multiple=True,
    type=click.IntRange(1, MOST_AT_ONCE),
    metavar="N",
    help=f"So many questions at the same moment, at most {MOST_AT_ONCE}; may be given again.",
)
@click.option("--lines", type=click.IntRange(1, 50), default=8, show_default=True)
@click.option("--database", multiple=True, type=click.Choice(DATABASES), help="Else both.")
@click.option(
    "--bare/--no-bare", default=True, help="Measure the bare bot too; it does by default."
)
@click.option("--statements", is_flag=True, help="Only list one turn's statements, in order.")
@click.option(
    "--profile",
    type=FILE,
    metavar="FILE",
    help="Only write py-spy's stacks there, and sum them up.",
)
@click.option(
    "--scale", "grow", is_flag=True, help="Only measure how the costs grow with what the bot knows."
)
@click.option("--plot", type=FILE, metavar="FILE", help="Draw what --scale found, as SVG.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def main(
    only: tuple[str, ...],
    at_once: tuple[int, ...],
    lines: int,
    database: tuple[str, ...],
    bare: bool,
    statements: bool,
    profile: Path | None,
    grow: bool,
    plot: Path | None,
    as_json: bool,
) -> None:
    """The whole bot under load; stage, model server and bot are processes of their own.

    \b
    Examples:
      python -m bench.whole_bot --only at-once --at-once 100 --database sqlite
      python -m bench.whole_bot --only chatter
      python -m bench.whole_bot --only caching
      python -m bench.whole_bot --only at-once --at-once 800 --lines 4
      python -m bench.whole_bot --scale --plot docs/pictures/scale.svg
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was started ends with us
    if grow:
        sys.exit(1 if _show_growth(plot) else 0)
    asked = at_once or AT_ONCE
    with _bots(database or DATABASES) as bots, _folder() as folder:
        if statements:
            for bot in bots:
                click.echo(_statements(bot, lines, folder / bot.name))
            return
        if profile is not None:
            click.echo(_profile(bots[0], AtOnce(asked[0], lines), folder, profile))
            return
        modes = chosen_modes(only or MODES, asked, lines)
        all_bots = [*([BARE] if bare else []), *bots]
        goals = [] if "start" not in (only or MODES) else _start_goals(all_bots, folder)
        goals += [] if "caching" not in (only or MODES) else _cache_goals(folder)
        found = asyncio.run(_measured(all_bots, modes, folder)) if modes else []
    goals += first_message_goals(found)
    if as_json:
        click.echo(json.dumps([figures_json(one, found) for one in found], indent=1))
    elif found:
        click.echo(tables(found))
    if goals:
        click.echo(goal_table(goals), err=as_json)
    sys.exit(1 if any(one.faults for one in found) else 0)


def _start_goals(bots: Sequence[BenchedBot], folder: Path) -> list[Goal]:
    """Measure starts, and print what was found to standard error: it may be JSON that follows."""
    begun = asyncio.run(starts.measure_starts(bots, folder / "starts"))
    sizes = installed_size.installed_packages()
    _say(starts.start_table(begun))
    _say(installed_size.size_table(sizes))
    return [*starts.start_goals(begun), installed_size.size_goal(sizes)]


def _cache_goals(folder: Path) -> list[Goal]:
    """Measure a conversation, and print what was found to standard error, too."""
    found = asyncio.run(caching.measure_caching(folder / "caching"))
    _say(caching.cache_table(found))
    return caching.cache_goals(found)


def _show_growth(plot: Path | None) -> bool:
    """Return whether something costs more than in proportion to what the bot knows."""
    with _folder() as folder:
        found = asyncio.run(scale.measure_growth(folder))
    click.echo(scale.growth_table(found))
    if plot is not None:
        plot.write_text(scale.drawn(found), encoding="utf-8")
    return any(one.faster_than_linear() for one in found)


def chosen_modes(names: Sequence[str], at_once: Sequence[int], lines: int) -> list[LoadMode]:
    modes: list[LoadMode] = []
    if "at-once" in names:
        modes += [AtOnce(count, lines) for count in at_once]
    if "chatter" in names:
        modes.append(Chatter())
    if "day" in names:
        modes.append(Day())
    return modes


async def _measured(
    bots: Sequence[BenchedBot], modes: Sequence[LoadMode], folder: Path
) -> list[BotFigures]:
    """In the order of the modes, so that the bots stand below each other."""
    found: list[BotFigures] = []
    for bot in bots:
        found += await bot_runs.run_bot(bot, modes, folder / bot.name, _say)
    order = {mode.name: place for place, mode in enumerate(modes)}
    return sorted(found, key=lambda one: order[one.mode])


@contextmanager
def _bots(databases: Sequence[str]) -> Iterator[list[BenchedBot]]:
    with ExitStack() as stack:
        folder = stack.enter_context(_folder())
        urls = {"sqlite": f"sqlite:///{folder / 'bot.db'}"}
        if "postgres" in databases:
            urls["postgres"] = stack.enter_context(postgres_server())
        yield [oshaberi_on(name, urls[name]) for name in dict.fromkeys(databases)]


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="oshaberi-bench-") as folder:
        yield Path(folder)


def _statements(bot: BenchedBot, lines: int, folder: Path) -> str:
    texts = asyncio.run(bot_runs.statements_of_one_turn(bot, lines, folder))
    numbered = [f"{number:4}  {text}" for number, text in enumerate(texts, 1)]
    return "\n".join([f"{bot.name}: one turn of {lines} lines", "", *numbered, ""])


def _profile(bot: BenchedBot, mode: AtOnce, folder: Path, file: Path) -> str:
    program = py_spy_path()
    if program is None:
        raise click.UsageError("--profile needs py-spy: pip install py-spy")
    asyncio.run(bot_runs.profile(bot, mode, folder, program, file))
    return summary(file.read_text(encoding="utf-8"))


def _say(text: str) -> None:
    click.echo(text, err=True)


if __name__ == "__main__":
    main()
