"""A service that is away is told from a request that fails; messages wait for its return."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

import pytest

from oshaberi.delivery.exactly_once import PATIENCE_SECONDS
from oshaberi.delivery.recording_sink import RecordingSink, ScriptedFault
from oshaberi.delivery.service_outage import DOUBT_SECONDS, LAST_PAUSE_SECONDS, ServiceOutage
from oshaberi.delivery.sink import Post, Sent, SinkAwayError, WireState
from oshaberi.virtual_time import run_virtual

from ..stream.scripted_streams import Played, play

HOUR_S = 3600.0


class Service:
    """A service that can be probed."""

    def __init__(self) -> None:
        self.problem: str | None = None
        self.probes: list[float] = []
        self.outage = ServiceOutage(self.probe, HOUR_S)

    async def probe(self) -> str | None:
        self.probes.append(asyncio.get_running_loop().time())
        return self.problem


def test_a_request_that_fails_alone_is_no_outage() -> None:
    async def main() -> None:
        service = Service()
        for _ in range(5):
            service.outage.failed("HTTP 500")
        await service.outage.resolved()
        assert (service.outage.count, len(service.probes)) == (0, 1)
        service.outage.check()

    run_virtual(main())


def test_an_answer_makes_a_probe_needless() -> None:
    async def main() -> None:
        service = Service()
        service.outage.failed("HTTP 500")
        await asyncio.sleep(DOUBT_SECONDS / 2)
        service.outage.answered()
        await asyncio.sleep(DOUBT_SECONDS * 2)
        assert service.probes == []

    run_virtual(main())


def test_an_outage_ends_with_the_first_probe_that_is_answered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        service = Service()
        outage, service.problem = service.outage, "HTTP 503"
        outage.failed("HTTP 500")
        await asyncio.sleep(DOUBT_SECONDS + 0.1)
        assert outage.is_away
        assert outage.problem() == "no answers for 0 s (HTTP 503)"
        with pytest.raises(SinkAwayError, match="HTTP 503"):
            outage.check()
        await asyncio.sleep(HOUR_S)
        service.problem = None
        began = asyncio.get_running_loop().time()
        await outage.resolved()
        assert asyncio.get_running_loop().time() - began <= LAST_PAUSE_SECONDS
        assert (outage.is_away, outage.problem(), outage.count) == (False, None, 1)
        assert HOUR_S / LAST_PAUSE_SECONDS <= len(service.probes) <= HOUR_S / 8
        assert outage.seconds_since(0.0) == pytest.approx(HOUR_S, abs=LAST_PAUSE_SECONDS + 1)

    run_virtual(main())
    assert [one.split(":")[0].split(",")[0] for one in caplog.messages] == [
        "Discord is away",
        "Discord answers again",
    ]


def test_any_answer_ends_an_outage() -> None:
    async def main() -> None:
        service = Service()
        service.problem = "no answer"
        service.outage.failed("no answer")
        await asyncio.sleep(60)
        assert service.outage.is_away
        service.outage.answered()
        assert not service.outage.is_away
        await service.outage.resolved()
        # A failure at the same moment does not make the probes run without a pause.
        service.outage.failed("no answer")
        before = len(service.probes)
        await asyncio.sleep(60)
        assert len(service.probes) - before < 20
        await service.outage.close()

    run_virtual(main())


# -- messages ------------------------------------------------------------------------------------


class AwaySink(RecordingSink):
    """A channel behind a service that is away from one time to another (seconds of the loop)."""

    def __init__(
        self,
        away: tuple[float, float],
        faults: Sequence[ScriptedFault] = (),
        patience_s: float = HOUR_S,
        readable: bool = True,
    ) -> None:
        super().__init__(faults, readable=readable)
        self._away = away
        self._patience_s = patience_s
        self.looks = 0

    def _check(self) -> None:
        began, ended = self._away
        if began <= asyncio.get_running_loop().time() < ended:
            raise SinkAwayError("away", self._patience_s)

    async def send(self, post: Post, wire: WireState) -> Sent:
        self._check()
        return await super().send(post, wire)

    async def open_webhook(self) -> None:
        self._check()
        await super().open_webhook()

    async def find_arrivals(self, post: Post, since: float) -> Sequence[Sent]:
        self.looks += 1
        self._check()
        return await super().find_arrivals(post, since)


ALTER = {"persona": {"name": "Ren", "is_alter": True, "avatar_url": "https://x.test/ren"}}


def delivered(make: Callable[[], AwaySink], text: dict[str, object] | None = None) -> Played:
    return play("one\ntwo\nthree", text=text or {}, sink=make)


@pytest.mark.parametrize("text", [{}, ALTER], ids=["bot", "webhook"])
def test_messages_wait_much_longer_than_they_are_tried(text: dict[str, object]) -> None:
    played = delivered(partial(AwaySink, (0.0, 1800.0)), text=text)
    assert played.messages == ["one", "two", "three"]
    assert played.result.status == "completed"
    assert played.times[0] >= 1_800_000
    vias = {record["via"] for record in played.of("message")}
    assert vias == {"webhook" if text else "bot"}, "nobody speaks for the webhook meanwhile"


def test_beyond_the_patience_the_answer_is_undelivered() -> None:
    played = delivered(partial(AwaySink, (0.0, 1800.0), patience_s=600.0))
    assert played.messages == []
    assert played.result.status == "error"
    assert played.result.undelivered == "one\ntwo\nthree"
    assert set(played.result.ledger.sums()) == {"error"}, "nothing of it was sent: no doubt"


def test_an_attempt_before_the_outage_is_looked_for_after_it() -> None:
    """Its answer was lost, and its nonce is forgotten by now."""
    sinks: list[AwaySink] = []

    def make() -> AwaySink:
        sinks.append(AwaySink((0.5, 1800.0), [ScriptedFault("send", 1, "reset_after_write")]))
        return sinks[0]

    played = delivered(make)
    assert played.messages == ["one", "two", "three"]
    assert sinks[0].looks > 0


def test_without_a_history_it_is_uncertain_then() -> None:
    faults = [ScriptedFault("send", 1, "reset_after_write")]
    played = delivered(partial(AwaySink, (0.5, 1800.0), faults, readable=False))
    assert played.messages == ["one", "two", "three"]
    assert played.result.undelivered == "one"


def test_after_an_outage_a_message_is_tried_as_long_as_ever() -> None:
    faults = [ScriptedFault("send", number, "http_503") for number in range(1, 9)]
    played = delivered(partial(AwaySink, (0.5, 1800.0), faults))
    assert played.messages == ["one", "two", "three"]
    assert 1_800_000 < played.times[0] < (1800 + PATIENCE_SECONDS) * 1000
