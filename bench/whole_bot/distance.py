"""`python -m bench.whole_bot.distance`: what it costs if PostgreSQL is far away.

One bot answers the same question again and again, over a proxy that delays what it passes on. Near
and far take turns in one run, so that only their difference counts, whatever else the machine does.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import click
from sqlalchemy.engine import make_url

from bench.whole_bot.bench_stage import AskedQuestion
from bench.whole_bot.bot_runs import BotOnStage, bot_on_stage, oshaberi_on
from bench.whole_bot.load_modes import answered
from bench.whole_bot.postgres_server import postgres_server

FAR_S = 0.025
"""The way to the database and the way back take this long each."""
MOST_LATER_MS = 150.0
_GROUP = "one"
_UNCOUNTED = 2
"""The first questions prepare statements on new connections."""


class DelayingProxy:
    """A proxy in front of PostgreSQL. `delay_s` is for each direction and may be changed."""

    def __init__(self, socket_path: str) -> None:
        self._socket_path = socket_path
        self.delay_s = 0.0
        self.sent = 0
        """How often a client sent something: what it sends without waiting counts once."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, questions = await asyncio.open_unix_connection(self._socket_path)
        relays = [
            asyncio.create_task(self._relay(reader, questions, is_client=True)),
            asyncio.create_task(self._relay(answers, writer, is_client=False)),
        ]
        await asyncio.wait(relays, return_when=asyncio.FIRST_COMPLETED)
        for relay in relays:
            relay.cancel()
        for one in (writer, questions):
            one.close()

    async def _relay(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_client: bool
    ) -> None:
        """Pass on everything in order, each piece after the delay; several may be under way."""
        loop = asyncio.get_running_loop()
        with suppress(OSError):
            while said := await reader.read(65536):
                self.sent += is_client
                if self.delay_s:
                    loop.call_later(self.delay_s, writer.write, said)
                else:
                    writer.write(said)


@asynccontextmanager
async def delaying_proxy(url: str) -> AsyncIterator[tuple[DelayingProxy, str]]:
    """The proxy, and the database's URL through it. The host of `url` is a socket's folder."""
    given = make_url(url)
    proxy = DelayingProxy(f"{given.query['host']}/.s.PGSQL.5432")
    server = await asyncio.start_server(proxy.serve, "127.0.0.1")
    port = server.sockets[0].getsockname()[1]
    here = given.set(host="127.0.0.1", port=port, query={"ssl": "disable"})
    try:
        yield proxy, here.render_as_string(hide_password=False)
    finally:
        server.close()


@dataclass(frozen=True, slots=True)
class Measured:
    """One answer: milliseconds to its first and last message, and what was sent until then."""

    first_ms: float
    done_ms: float
    sent_before_first: int
    sent: int


@dataclass(frozen=True, slots=True)
class DistanceReport:
    """Medians of the answers, near and far."""

    near: Measured
    far: Measured
    answers: int

    @property
    def first_later_ms(self) -> float:
        return self.far.first_ms - self.near.first_ms

    @property
    def done_later_ms(self) -> float:
        return self.far.done_ms - self.near.done_ms

    def __str__(self) -> str:
        return (
            f"{self.answers} answers near and far ({1000 * FAR_S:.0f} ms each way), medians: first "
            f"message after {self.near.first_ms:.0f} and {self.far.first_ms:.0f} ms "
            f"({self.first_later_ms:+.0f}), last after {self.near.done_ms:.0f} and "
            f"{self.far.done_ms:.0f} ms ({self.done_later_ms:+.0f}); packets to the database "
            f"before the first message {self.far.sent_before_first:g}, in all {self.far.sent:g}"
        )


async def run_distance(url: str, answers: int, lines: int, folder: Path) -> DistanceReport:
    async with delaying_proxy(url) as (proxy, far_url):
        bot = oshaberi_on("postgres", far_url)
        async with bot_on_stage(bot, {_GROUP: 1}, folder) as running:
            found: dict[float, list[Measured]] = {0.0: [], FAR_S: []}
            for number in range(_UNCOUNTED + answers):
                for delay_s, measured in found.items():
                    proxy.delay_s = delay_s
                    one = await _answer(running, proxy, lines)
                    if number >= _UNCOUNTED:
                        measured.append(one)
            proxy.delay_s = 0.0
            return DistanceReport(_median(found[0.0]), _median(found[FAR_S]), answers)


async def _answer(running: BotOnStage, proxy: DelayingProxy, lines: int) -> Measured:
    await running.bot.quiet()
    before = proxy.sent
    asked = running.stage.ask(f"{_GROUP}-0", lines)
    while asked.first_at is None:
        await asyncio.sleep(0.001)
    first = proxy.sent
    await answered([asked])
    await running.bot.quiet()
    return Measured(
        1000 * (asked.first_at - asked.asked_at),
        _done_ms(asked),
        first - before,
        proxy.sent - before,
    )


def _done_ms(asked: AskedQuestion) -> float:
    return 1000 * ((asked.done_at or float("inf")) - asked.asked_at)


def _median(found: Sequence[Measured]) -> Measured:
    rows = [asdict(one) for one in found]
    middle = {name: statistics.median(row[name] for row in rows) for name in rows[0]}
    return Measured(**middle)


@click.command()
@click.option("--answers", type=click.IntRange(1, 100), default=9, show_default=True)
@click.option("--lines", type=click.IntRange(1, 20), default=3, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def main(answers: int, lines: int, as_json: bool) -> None:
    """Answer questions with a PostgreSQL that is near and one that is far away, in turns."""
    with (
        postgres_server() as url,
        tempfile.TemporaryDirectory(prefix="oshaberi-distance-") as folder,
    ):
        report = asyncio.run(run_distance(url, answers, lines, Path(folder)))
    click.echo(json.dumps(asdict(report)) if as_json else str(report))
    sys.exit(0 if report.first_later_ms <= MOST_LATER_MS else 1)


if __name__ == "__main__":
    main()
