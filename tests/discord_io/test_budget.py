"""Discord's global limit as one budget: messages first, typing only while there is plenty."""

from __future__ import annotations

import asyncio

import pytest

from discord_stage import Fault, Settings
from oshaberi.clocks import loop_time_s
from oshaberi.delivery.sink import Post, WireState
from oshaberi.discord_io.requests.limits import (
    KEPT_ROOMS,
    PER_SECOND,
    KnownRooms,
    RequestBudget,
    RequestRank,
    is_exempt,
    rank_of,
)
from oshaberi.virtual_time import run_virtual

from .sink_harness import SinkHarness, run_with_sinks

NEEDED, REACTION, TYPING = RequestRank
SEND = "POST /channels/*/messages"
SHOW_TYPING = "POST /channels/*/typing"


def now() -> float:
    return asyncio.get_running_loop().time()


async def left_at(
    budget: RequestBudget, ranks: list[RequestRank], answer_s: float = 0.0
) -> list[tuple[float, int]]:
    """When each request left, in the order of leaving, with its rank."""
    left: list[tuple[float, int]] = []

    async def one(rank: RequestRank) -> None:
        await budget.turn(rank)
        left.append((now(), rank))
        await asyncio.sleep(answer_s)
        budget.answered(loop_time_s())

    await asyncio.gather(*(one(rank) for rank in ranks))
    await budget.close()
    return left


def test_no_second_has_more_than_its_budget() -> None:
    left = run_virtual(left_at(RequestBudget(10), [NEEDED] * 35))
    times = [at for at, _rank in left]
    assert times == sorted(times)
    assert times[-1] == pytest.approx(3.0, abs=0.1)
    assert all(later - at >= 1.0 - 1e-9 for at, later in zip(times, times[10:], strict=False))


def test_a_request_counts_until_a_second_after_its_answer() -> None:
    """Wherever in between Discord counts it."""
    left = run_virtual(left_at(RequestBudget(10), [NEEDED] * 30, answer_s=0.5))
    times = [at for at, _rank in left]
    assert [times[0], times[10], times[20]] == pytest.approx([0, 1.5, 3.0], abs=0.05)


def test_a_request_that_is_never_answered_does_not_count_for_ever() -> None:
    async def main() -> None:
        budget = RequestBudget(1)
        await budget.turn()
        await budget.turn()
        assert now() == pytest.approx(10.0, abs=0.05)

    run_virtual(main())


def test_what_is_needed_leaves_before_reactions_and_typing() -> None:
    ranks = [TYPING, REACTION, NEEDED] * 10
    left = run_virtual(left_at(RequestBudget(1), [NEEDED, *ranks]))
    assert [rank for _at, rank in left] == [NEEDED] * 11 + [REACTION] * 10 + [TYPING] * 10


def test_who_gives_up_costs_nothing() -> None:
    async def main() -> None:
        budget = RequestBudget(1)
        await budget.turn()
        budget.answered(loop_time_s())
        given_up = asyncio.create_task(budget.turn())
        waiting = asyncio.create_task(budget.turn())
        await asyncio.sleep(0.5)
        given_up.cancel()
        await waiting
        assert now() == pytest.approx(1.0, abs=0.05)
        assert budget.waiting == 0

    run_virtual(main())


def test_typing_is_left_out_first() -> None:
    async def main() -> None:
        budget = RequestBudget()
        assert budget.allows(TYPING)
        for _ in range(PER_SECOND // 2 + 1):
            await budget.turn()
        assert not budget.allows(TYPING)
        assert budget.allows(REACTION)
        for _ in range(PER_SECOND // 2 + 1):
            budget.answered(loop_time_s())
        crowd = asyncio.create_task(left_at(budget, [NEEDED] * 3 * PER_SECOND))
        await asyncio.sleep(0.1)
        assert not budget.allows(REACTION)
        assert budget.allows(NEEDED)
        await crowd
        await asyncio.sleep(1)
        assert budget.allows(TYPING)

    run_virtual(main())


def test_without_a_limit_nobody_waits() -> None:
    left = run_virtual(left_at(RequestBudget(0), [TYPING] * 500))
    assert {at for at, _rank in left} == {0.0}


class Allowance:
    """Two at a time, until it fails."""

    def __init__(self, fails_from: float) -> None:
        self.asked = 0
        self._fails_from = fails_from

    async def take(self, wanted: int) -> tuple[int, float]:
        self.asked += 1
        if now() >= self._fails_from:
            raise OSError("away")
        return min(wanted, 2), 1.0


def test_an_allowance_that_fails_is_replaced_by_the_own_budget() -> None:
    async def main() -> None:
        budget = RequestBudget(5)
        budget.shared = allowance = Allowance(fails_from=2.0)
        left = await left_at(budget, [NEEDED] * 19)
        assert [at for at, _rank in left] == pytest.approx(
            [0] * 2 + [1] * 2 + [2] * 5 + [3] * 5 + [4] * 5, abs=0.1
        )
        assert allowance.asked == 3, "it is not asked with every request"

    run_virtual(main())


@pytest.mark.parametrize(
    ("path", "rank", "exempt"),
    [
        ("/api/v10/channels/1/typing", TYPING, False),
        ("/api/v10/channels/1/messages/2/reactions/x/@me", REACTION, False),
        ("/api/v10/channels/1/messages", NEEDED, False),
        ("/api/v10/channels/1/webhooks", NEEDED, False),
        ("/api/v10/webhooks/1", NEEDED, False),
        ("/api/v10/webhooks/1/token", NEEDED, True),
        ("/api/v10/interactions/1/token/callback", NEEDED, True),
    ],
)
def test_requests_are_told_apart(path: str, rank: RequestRank, exempt: bool) -> None:
    assert rank_of(path) is rank
    assert is_exempt(path) is exempt


def test_rooms_are_not_kept_for_ever() -> None:
    async def main() -> None:
        rooms = KnownRooms()
        headers = {
            "X-RateLimit-Limit": "5",
            "X-RateLimit-Remaining": "4",
            "X-RateLimit-Reset-After": "5.0",
        }
        for channel in range(KEPT_ROOMS + 1):
            rooms.note("send", channel, headers, 1.0)
        rooms.note("send", 1, {}, 1.0)
        assert rooms.of("send", 0) is None
        assert rooms.of("send", None) is None
        there = rooms.of("send", 1)
        assert there is not None
        assert there.remaining == 4

    run_virtual(main())


# -- against the stage -------------------------------------------------------------------------


def test_every_request_of_the_client_takes_part() -> None:
    """Also those that discord.py makes by itself: none is refused by the global limit."""

    async def scenario(harness: SinkHarness) -> None:
        channel = harness.channel("general")
        posted = [harness.stage.people.post("general", f"m{n}", user="mika") for n in range(120)]
        await asyncio.gather(*(channel.fetch_message(message.id) for message in posted))
        assert {call.status for call in harness.stage.calls("GET /channels/*/messages/*")} == {200}

    run_with_sinks(scenario, settings=Settings(), speed=1.0)


def test_one_typing_request_serves_until_a_message_comes() -> None:
    async def scenario(harness: SinkHarness) -> None:
        sink = harness.bot.client_state.sink(harness.channel("general"))
        for _ in range(3):
            await sink.typing(1000)
        assert len(harness.stage.calls(SHOW_TYPING)) == 1
        await sink.send(Post("n-1", "hi"), WireState(now()))
        await sink.typing(None)
        assert len(harness.stage.calls(SHOW_TYPING)) == 2
        await asyncio.sleep(8)
        await sink.typing(None)
        assert len(harness.stage.calls(SHOW_TYPING)) == 3

    run_with_sinks(scenario, speed=20.0)


def test_typing_that_failed_is_shown_again() -> None:
    async def scenario(harness: SinkHarness) -> None:
        harness.stage.fault(Fault(kind="status", route=SHOW_TYPING, status=503))
        sink = harness.bot.client_state.sink(harness.channel("general"))
        with pytest.raises(Exception, match="503"):
            await sink.typing(1000)
        await sink.typing(1000)
        assert len(harness.stage.calls(SHOW_TYPING)) == 2

    run_with_sinks(scenario)
