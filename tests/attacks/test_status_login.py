"""Somebody who tries one token after another at the login of the status page."""

from __future__ import annotations

import pytest

from oshaberi.bot.status_page import routes
from oshaberi.bot.status_page.routes import (
    MOST_ADDRESSES,
    TRIES_OF_ALL,
    TRIES_OF_AN_ADDRESS,
    WINDOW_SECONDS,
    LoginThrottle,
)
from tests.attacks.loop_watch import memory_at_most
from tests.bot.test_status_page import TOKEN, WRONG, Visitor, visit


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now_s = [0.0]
    made = routes.PageLogin
    name = "oshaberi.bot.status_page.routes.PageLogin"
    monkeypatch.setattr(name, lambda token: made(token, lambda: now_s[0]))
    return now_s


def test_an_address_has_a_few_tries_a_minute(clock: list[float]) -> None:
    async def scenario(visitor: Visitor) -> None:
        for _ in range(TRIES_OF_AN_ADDRESS):
            assert (await visitor.post("/login", WRONG)).status == 403
        clock[0] += 20
        for token in (WRONG, TOKEN):
            refused = await visitor.post("/login", token)
            assert (refused.status, refused.headers["Retry-After"]) == (429, "40")
            assert "Try again in 40 s" in await refused.text()
            assert refused.cookies == {}
        clock[0] += 40
        assert (await visitor.post("/login", TOKEN)).status == 303
        assert (await visitor.get("/status.json")).status == 200

    visit(scenario)


@pytest.mark.usefixtures("clock")
def test_whoever_is_in_stays_in() -> None:
    async def scenario(visitor: Visitor) -> None:
        assert (await visitor.post("/login", TOKEN)).status == 303
        for _ in range(TRIES_OF_AN_ADDRESS + 1):
            answer = await visitor.post("/login", WRONG)
        assert answer.status == 429
        assert (await visitor.get("/status.json")).status == 200

    visit(scenario)


def test_all_addresses_together_have_tries_too() -> None:
    now_s = 0.0
    throttle = LoginThrottle(lambda: now_s)
    allowed = 0
    for number in range(10 * TRIES_OF_ALL):
        if not throttle.wait_s(f"address {number}"):
            allowed += 1
            throttle.note_wrong(f"address {number}")
    assert allowed == TRIES_OF_ALL
    assert throttle.wait_s("somebody else") == WINDOW_SECONDS
    assert throttle.wait_s(routes._THIS_MACHINE) == 0, "strangers lock nobody out here"
    now_s = WINDOW_SECONDS
    assert throttle.wait_s("somebody else") == 0


def test_the_table_of_addresses_is_bounded() -> None:
    now_s = 0.0
    throttle = LoginThrottle(lambda: now_s)
    with memory_at_most(2):
        for number in range(20 * MOST_ADDRESSES):
            now_s += WINDOW_SECONDS
            throttle.note_wrong(f"address {number}")
    assert len(throttle._windows) == MOST_ADDRESSES


@pytest.mark.parametrize(
    ("remote", "counted"),
    [
        ("127.0.0.1", "this machine"),
        ("::1", "this machine"),
        ("203.0.113.7", "203.0.113.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("fe80::1%eth0", "fe80::/64"),
        (None, "unknown"),
        ("", "unknown"),
    ],
)
def test_who_is_counted_together(remote: str | None, counted: str) -> None:
    class Request:
        def __init__(self) -> None:
            self.remote = remote

    assert routes._address(Request()) == counted  # type: ignore[arg-type]
