"""How memory and processor time grow with what the bot knows: channels, personas, messages, text.

Each size is a start of its own, with everything there before it. Nothing may cost more than in
proportion: the last step is compared with the steps before it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from bench.report import aligned_table
from bench.whole_bot.bench_stage import BenchStage, bench_world, channels
from bench.whole_bot.bot_runs import WARM_UP, environment, oshaberi_on
from bench.whole_bot.child_processes import BenchProcess
from bench.whole_bot.load_modes import AtOnce
from bench.whole_bot.starts import at_rest
from discord_stage import Settings, Stage
from oshaberi.bot.storage import Database, SecretVault
from oshaberi.bot.storage.records import PersonaRecord

SIZES: dict[str, tuple[float, ...]] = {
    "channels known": (10, 100, 1_000, 10_000),
    "personas": (10, 100, 1_000),
    "stored messages": (1_000, 10_000, 100_000),
    "history, MB": (0.1, 1, 10),
}
ASKED = AtOnce(questions=10, lines=3)
TOLERANCE = 1.5
"""How many times what is in proportion the last step may cost."""
NOISE = {"ready_cpu_s": 0.3, "turn_cpu_ms": 10.0, "rest_mb": 3.0, "answered_mb": 5.0}
"""Two runs of the same size differ by as much."""
MESSAGE_CHARS = 1_900


@dataclass(frozen=True, slots=True)
class ScalePoint:
    """What one size costs."""

    size: float
    ready_cpu_s: float
    turn_cpu_ms: float
    rest_mb: float
    answered_mb: float


@dataclass(frozen=True, slots=True)
class Growth:
    """The costs of one dimension, the smallest size first."""

    what: str
    points: Sequence[ScalePoint]

    def faster_than_linear(self) -> list[str]:
        """Return the names of what the last step made dearer than in proportion."""
        return [
            name
            for name, noise in NOISE.items()
            if is_faster_than_linear(
                [(point.size, getattr(point, name)) for point in self.points], noise
            )
        ]


def is_faster_than_linear(found: Sequence[tuple[float, float]], noise: float) -> bool:
    """Compare the last value with the line through the first and the one before the last."""
    (first, base), (before, value), (last, newest) = found[0], found[-2], found[-1]
    in_proportion = max(value - base, 0.0) * (last - first) / (before - first)
    return newest - base > TOLERANCE * in_proportion + noise


async def measure_growth(folder: Path, sizes: dict[str, tuple[float, ...]] = SIZES) -> list[Growth]:
    found = []
    for what, chosen in sizes.items():
        points = [
            await _point(what, size, folder / f"{what.split(',')[0].replace(' ', '-')}-{size:g}")
            for size in chosen
        ]
        found.append(Growth(what, points))
    return found


async def _point(what: str, size: float, folder: Path) -> ScalePoint:
    folder.mkdir(parents=True)
    bot = oshaberi_on("sqlite", f"sqlite:///{folder / 'bot.db'}")
    known = round(size) - ASKED.channels if what == "channels known" else 0
    groups = {"asked": ASKED.channels, "warm": WARM_UP.channels} | (
        {"more": known} if known else {}
    )
    async with (
        Stage(bench_world(groups), Settings(rate_limits=False)) as server,
        BenchProcess.started("bench.whole_bot.token_server", folder, {}) as model,
    ):
        await _prepare(what, size, server, folder)
        environ = environment(bot, server, model.greeting, folder)
        environ["OSHABERI_DISCORD_API_URL"] = server.url
        async with BenchProcess.started(bot.module, folder, environ) as process:
            ready_s = process.cpu_s()
            await at_rest(process)
            rest_mb, stage = process.memory_mb(), BenchStage(server)
            await WARM_UP.play(stage, "warm")
            await at_rest(process)
            before_s = process.cpu_s()
            await ASKED.play(stage, "asked")
            await at_rest(process)
            turn_ms = (process.cpu_s() - before_s) * 1000 / ASKED.questions
            return ScalePoint(size, ready_s, turn_ms, rest_mb, process.memory_mb())


async def _prepare(what: str, size: float, server: Stage, folder: Path) -> None:
    """Put everything there before the bot starts, its database included."""
    vault = SecretVault.from_environment_or_file(folder / "secret.key")
    async with Database.open(f"sqlite:///{folder / 'bot.db'}", vault) as db:
        if what == "personas":
            (guild_id, *_) = server.world.guilds
            for number in range(round(size)):
                name = f"Persona {number}"
                await db.personas.save(PersonaRecord(guild_id, name, f"You are {name}. " * 20))
    if what == "stored messages":
        _store_messages(round(size), server, folder / "bot.db")
    elif what == "history, MB":
        text = "word " * (MESSAGE_CHARS // 5)
        names = channels("asked", ASKED.channels)
        for number in range(round(size * 1_000_000 / MESSAGE_CHARS)):
            channel = names[number % len(names)]
            server.people.post(channel, text, user=f"person-of-{channel}")


def _store_messages(count: int, server: Stage, file: Path) -> None:
    """Messages that a persona said in the channels that will ask."""
    ids = [server.world.channel(name).id for name in channels("asked", ASKED.channels)]
    rows = ((number, ids[number % len(ids)]) for number in range(1, count + 1))
    with closing(sqlite3.connect(file)) as connection:
        statement = "INSERT INTO sprite_messages VALUES (?, ?, 'Mochi', 'happy', CURRENT_TIMESTAMP)"
        connection.executemany(statement, rows)
        connection.commit()


def growth_table(found: Sequence[Growth]) -> str:
    head = ["what", "how many", "CPU s to ready", "CPU ms per turn", "MB at rest", "after", ""]
    rows = []
    for one in found:
        faster = one.faster_than_linear()
        for point in one.points:
            is_last = point is one.points[-1]
            rows.append(
                [
                    one.what,
                    f"{point.size:,g}",
                    f"{point.ready_cpu_s:.2f}",
                    f"{point.turn_cpu_ms:.1f}",
                    f"{point.rest_mb:.0f}",
                    f"{point.answered_mb:.0f}",
                    f"<<< {', '.join(faster)}" if faster and is_last else "",
                ]
            )
    title = "How the costs grow (<<<: faster than in proportion)"
    return aligned_table(title, head, rows)


# The plot: a panel for each dimension, the sizes in powers of ten from left to right.

PANEL, HEIGHT, PAD = 230, 190, 44
BACK, TEXT, DIM, MEMORY, CPU = "#1e1f22", "#dbdee1", "#949ba4", "#5dade2", "#f5b041"


def drawn(found: Sequence[Growth]) -> str:
    """Return the plot as SVG: memory after the answers, and processor time per turn."""
    most_mb = max(point.answered_mb for one in found for point in one.points)
    most_ms = max(point.turn_cpu_ms for one in found for point in one.points)
    width = PANEL * len(found)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT + 40}" '
        f'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{HEIGHT + 40}" fill="{BACK}"/>',
        f'<text x="12" y="{HEIGHT + 28}" fill="{MEMORY}">memory after the answers, '
        f"up to {most_mb:.0f} MB</text>",
        f'<text x="{width // 2}" y="{HEIGHT + 28}" fill="{CPU}">processor time per turn, '
        f"up to {most_ms:.0f} ms</text>",
    ]
    for number, one in enumerate(found):
        parts += _panel(one, number * PANEL, most_mb, most_ms)
    return "\n".join([*parts, "</svg>", ""])


def _panel(one: Growth, left: int, most_mb: float, most_ms: float) -> list[str]:
    step = (PANEL - 2 * PAD) / max(1, len(one.points) - 1)
    floor = HEIGHT - PAD
    parts = [
        f'<text x="{left + PANEL / 2}" y="22" fill="{TEXT}" text-anchor="middle">'
        f"{escape(one.what)}</text>",
        f'<path d="M{left + PAD} {floor}h{PANEL - 2 * PAD}" stroke="{DIM}"/>',
    ]
    for colour, name, most in ((MEMORY, "answered_mb", most_mb), (CPU, "turn_cpu_ms", most_ms)):
        dots = [
            (left + PAD + at * step, floor - getattr(point, name) / most * (floor - 36))
            for at, point in enumerate(one.points)
        ]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in dots)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in dots]
    parts += [
        f'<text x="{left + PAD + at * step:.1f}" y="{floor + 18}" fill="{DIM}" '
        f'text-anchor="middle">{point.size:,g}</text>'
        for at, point in enumerate(one.points)
    ]
    return parts
