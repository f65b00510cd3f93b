"""Who may see the status page, and how it is served. What it shows: tests/status_page."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from yarl import URL

from oshaberi.bot.config import load
from oshaberi.bot.logs import RecentWarnings
from oshaberi.bot.logs.recent_warnings import MOST_KEPT
from oshaberi.bot.observability.health import health_endpoint
from oshaberi.bot.observability.metrics import BotMetrics
from oshaberi.bot.status_page import routes
from oshaberi.bot.status_page.routes import (
    COOKIE,
    CSRF_HEADER,
    MOST_BODY_BYTES,
    SESSION_SECONDS,
    StatusPage,
)
from oshaberi.bot.status_page.tool_switches import PageRefusedError, ToolSwitch
from oshaberi.errors import ConfigError
from oshaberi.turn_tracing import TurnIds, of_turn
from tests.bot.test_health import checks

TOKEN = "a token that nobody guesses"
WRONG = "a token that is not the one"
REPORT: dict[str, Any] = {"servers": []}
SERVER = 123
SWITCH = b'{"server": "123", "tool": "react", "offer": false}'

Visited = Callable[["Visitor"], Awaitable[None]]


class Visitor:
    """A browser without a window: it keeps cookies and follows nothing."""

    def __init__(
        self, session: aiohttp.ClientSession, url: str, switched: list[ToolSwitch]
    ) -> None:
        self.session = session
        self.url = url
        self.switched = switched
        """What the page has changed."""

    async def get(self, path: str, **options: Any) -> aiohttp.ClientResponse:
        answer = await self.session.get(f"{self.url}{path}", allow_redirects=False, **options)
        await answer.read()
        return answer

    async def post(
        self, path: str, token: str | None = None, **headers: str
    ) -> aiohttp.ClientResponse:
        form = {} if token is None else {"token": token}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = await self.session.post(
            f"{self.url}{path}", data=form, headers=named, allow_redirects=False
        )
        await answer.read()
        return answer

    async def csrf_token(self) -> str:
        token: str = (await (await self.get(f"/tools.json?server={SERVER}")).json())["csrf_token"]
        return token

    async def switch(self, body: bytes = SWITCH, /, **changed: str | None) -> tuple[int, str]:
        """Switch a tool as our page does, but for the headers in `changed`; None leaves one out."""
        headers: dict[str, str | None] = {
            "Content-Type": "application/json",
            "Origin": self.url,
            **{name.replace("_", "-"): value for name, value in changed.items()},
        }
        if CSRF_HEADER not in headers:
            headers[CSRF_HEADER] = await self.csrf_token()
        answer = await self.session.post(
            f"{self.url}/tools.json",
            data=body,
            headers={name: value for name, value in headers.items() if value is not None},
            skip_auto_headers=["Content-Type"],
        )
        said = await answer.json()
        [(kind, text)] = said.items()
        assert (kind == "told") == (answer.status == 200)
        return answer.status, text


@asynccontextmanager
async def visiting(token: str | None) -> AsyncIterator[Visitor]:
    async def report() -> dict[str, Any]:
        return REPORT

    async def read_tools(server_id: int) -> dict[str, Any]:
        if server_id != SERVER:
            raise PageRefusedError(404, "no such server")
        return {"tools": []}

    async def switch_tool(switch: ToolSwitch) -> str:
        if switch.server_id != SERVER or switch.tool != "react":
            raise PageRefusedError(404, "no such server or tool")
        switched.append(switch)
        return "done"

    switched: list[ToolSwitch] = []
    page = StatusPage(token, report, read_tools, switch_tool)
    jar = aiohttp.CookieJar(unsafe=True)  # the host is an address
    async with (
        health_endpoint(BotMetrics(), checks(), 0, more=page.add_to) as url,
        aiohttp.ClientSession(cookie_jar=jar) as session,
    ):
        yield Visitor(session, url, switched)


def visit(scenario: Visited, token: str | None = TOKEN) -> None:
    async def main() -> None:
        async with visiting(token) as visitor:
            await scenario(visitor)

    asyncio.run(main())


def test_without_a_token_the_page_is_off_and_says_how_to_switch_it_on() -> None:
    async def scenario(visitor: Visitor) -> None:
        answer = await visitor.get("/")
        assert answer.status == 404
        assert "OSHABERI_STATUS_TOKEN" in await answer.text()
        assert (await visitor.get("/status.json")).status == 404
        assert (await visitor.post("/login", TOKEN)).status == 404
        assert (await visitor.get("/health")).status == 200

    visit(scenario, None)


def test_whoever_gives_the_token_gets_in_until_they_log_out() -> None:
    async def scenario(visitor: Visitor) -> None:
        assert 'action="/login"' in await (await visitor.get("/")).text()
        assert (await visitor.get("/status.json")).status == 401
        entered = await visitor.post("/login", TOKEN)
        assert (entered.status, entered.headers["Location"]) == (303, "/")
        assert 'id="warnings"' in await (await visitor.get("/")).text()
        told = await visitor.get("/status.json")
        assert (told.status, await told.json()) == (200, REPORT)
        assert told.headers["Cache-Control"] == "no-store"
        cookie = entered.cookies[COOKIE].value
        await visitor.post("/logout")
        again = await visitor.get("/status.json", headers={"Cookie": f"{COOKIE}={cookie}"})
        assert again.status == 401

    visit(scenario)


def test_the_cookie_cannot_be_read_by_scripts_and_holds_no_token() -> None:
    async def scenario(visitor: Visitor) -> None:
        cookie = (await visitor.post("/login", TOKEN)).cookies[COOKIE]
        assert cookie["httponly"]
        assert (cookie["samesite"], cookie["path"]) == ("Strict", "/")
        assert int(cookie["max-age"]) == SESSION_SECONDS
        assert not cookie["secure"]
        assert TOKEN not in cookie.value
        secure = await visitor.post("/login", TOKEN, X_Forwarded_Proto="https")
        assert secure.cookies[COOKIE]["secure"]

    visit(scenario)


@pytest.mark.parametrize("given", [WRONG, "", TOKEN[:-1], f"{TOKEN} ", "\N{SNOWMAN}", None])
def test_a_wrong_token_is_refused(given: str | None, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(visitor: Visitor) -> None:
        for _ in range(3):
            answer = await visitor.post("/login", given)
            assert answer.status == 403
            assert answer.cookies == {}
            assert "That is not the token." in await answer.text()
        assert (await visitor.get("/status.json")).status == 401

    visit(scenario)
    [line] = [one for one in caplog.records if "wrong token" in one.getMessage()]
    assert line.levelno == logging.WARNING
    assert WRONG not in line.getMessage()


def test_a_token_in_the_address_or_in_a_header_is_not_looked_at() -> None:
    async def scenario(visitor: Visitor) -> None:
        assert (await visitor.get("/status.json", params={"token": TOKEN})).status == 401
        for header in (f"Bearer {TOKEN}", f"{COOKIE}={TOKEN}"):
            headers = {"Authorization": header, "Cookie": header}
            assert (await visitor.get("/status.json", headers=headers)).status == 401

    visit(scenario)


def test_a_form_of_another_page_does_not_log_in() -> None:
    async def scenario(visitor: Visitor) -> None:
        foreign = await visitor.post("/login", TOKEN, Origin="https://example.com")
        assert foreign.status == 403
        assert (await visitor.post("/login", TOKEN, Origin=visitor.url)).status == 303
        await visitor.post("/logout", Origin="https://example.com")
        assert (await visitor.get("/status.json")).status == 200

    visit(scenario)


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_form_in_a_sandbox_of_another_page_does_not_log_in_or_out(site: str) -> None:
    foreign = {"Origin": "null", "Sec_Fetch_Site": site}

    async def scenario(visitor: Visitor) -> None:
        assert (await visitor.post("/login", TOKEN, **foreign)).status == 403
        ours = {"Origin": "null", "Sec_Fetch_Site": "same-origin"}
        assert (await visitor.post("/login", TOKEN, **ours)).status == 303
        assert (await visitor.post("/logout", **foreign)).cookies == {}
        assert (await visitor.get("/status.json")).status == 200

    visit(scenario)


def test_a_browser_that_sends_no_session_keeps_its_cookie() -> None:
    async def scenario(visitor: Visitor) -> None:
        """Browsers send our cookie with no form of another site, and some say no more about it."""
        assert (await visitor.post("/logout", Origin="null")).cookies == {}

    visit(scenario)


FORM = "application/x-www-form-urlencoded"
PART = (
    b'--x\r\nContent-Disposition: form-data; name="token"\r\nContent-Type: text/plain; charset=odd'
)


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"Origin": "http://["}, b""),
        ({"Origin": "http://[x]"}, b""),
        ({"Content-Type": f"{FORM}; charset=odd"}, b"token=x"),
        ({"Content-Type": f"{FORM}; charset=hex"}, b"token=x"),
        ({"Content-Type": FORM}, b"token=\xff\xfe"),
        ({"Content-Type": FORM}, b"&" * 5000),
        ({"Content-Type": FORM, "Content-Encoding": "gzip"}, b"token=x"),
        ({"Content-Type": "multipart/form-data"}, b"token=x"),
        ({"Content-Type": "multipart/form-data; boundary=x"}, b"--x\r\nodd"),
        ({"Content-Type": "multipart/form-data; boundary=x"}, PART + b"\r\n\r\na\r\n--x--\r\n"),
    ],
)
def test_odd_forms_are_refused_and_leave_no_traceback(
    headers: dict[str, str], body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(visitor: Visitor) -> None:
        address = f"{visitor.url}/login"
        answer = await visitor.session.post(address, data=body, headers=headers)
        assert 400 <= answer.status < 500

    visit(scenario)
    assert [one.getMessage() for one in caplog.records if one.levelno > logging.WARNING] == []


def test_a_session_ends_after_twelve_hours(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 0.0
    made = routes.PageLogin
    monkeypatch.setattr(
        "oshaberi.bot.status_page.routes.PageLogin", lambda token: made(token, lambda: now_s)
    )

    async def scenario(visitor: Visitor) -> None:
        nonlocal now_s
        await visitor.post("/login", TOKEN)
        now_s = SESSION_SECONDS - 1
        assert (await visitor.get("/status.json")).status == 200
        now_s = SESSION_SECONDS
        assert (await visitor.get("/status.json")).status == 401

    visit(scenario)


def test_whoever_is_logged_in_switches_a_tool(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "oshaberi")

    async def scenario(visitor: Visitor) -> None:
        cookie = (await visitor.post("/login", TOKEN)).cookies[COOKIE].value
        assert await visitor.switch() == (200, "done")
        assert await visitor.switch(SWITCH.replace(b"false", b"true")) == (200, "done")
        assert visitor.switched == [
            ToolSwitch(SERVER, "react", offer=False),
            ToolSwitch(SERVER, "react", offer=True),
        ]
        mark = routes._digest(cookie).hex()[:8]
        start = f"the status page switched the tool react off in server 123 (session {mark}, from "
        assert caplog.messages[-2].startswith(start)
        assert "react on in server 123" in caplog.messages[-1]
        assert cookie not in caplog.text

    visit(scenario)


def test_without_a_session_no_tool_is_shown_or_switched() -> None:
    async def scenario(visitor: Visitor) -> None:
        assert (await visitor.get(f"/tools.json?server={SERVER}")).status == 401
        assert await visitor.switch(X_CSRF_Token="x") == (401, "log in at /")
        await visitor.post("/login", TOKEN)
        token = await visitor.csrf_token()
        await visitor.post("/logout")
        assert await visitor.switch(X_CSRF_Token=token) == (401, "log in at /")
        made_up = f"{COOKIE}=made-up"
        assert await visitor.switch(X_CSRF_Token=token, Cookie=made_up) == (401, "log in at /")
        assert visitor.switched == []

    visit(scenario)


def test_the_csrf_token_is_that_of_the_session() -> None:
    async def scenario(visitor: Visitor) -> None:
        await visitor.post("/login", TOKEN)
        of_another_session = await visitor.csrf_token()
        await visitor.post("/login", TOKEN)
        right = await visitor.csrf_token()
        for wrong in (None, "", right[:-1], f"{right}0", of_another_session, "\xe9", TOKEN):
            assert (await visitor.switch(X_CSRF_Token=wrong))[0] == 403
        assert visitor.switched == []
        assert await visitor.switch(X_CSRF_Token=right) == (200, "done")

    visit(scenario)


@pytest.mark.parametrize(
    "sender",
    [
        {"Origin": "https://example.com"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Origin": None},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": "none"},
        {"Sec_Fetch_Site": ""},
    ],
    ids=str,
)
def test_a_switch_from_another_page_is_refused(sender: dict[str, str | None]) -> None:
    """Even with the right cookie and token."""

    async def scenario(visitor: Visitor) -> None:
        await visitor.post("/login", TOKEN)
        assert (await visitor.switch(**sender))[0] == 403
        assert visitor.switched == []

    visit(scenario)


def test_a_proxy_may_give_us_another_name() -> None:
    """Browsers say then that it was our page: scripts cannot set this header."""

    async def scenario(visitor: Visitor) -> None:
        await visitor.post("/login", TOKEN)
        ours = {"Origin": "https://bot.example.com", "Sec_Fetch_Site": "same-origin"}
        assert await visitor.switch(**ours) == (200, "done")

    visit(scenario)


def test_only_a_post_switches() -> None:
    async def scenario(visitor: Visitor) -> None:
        await visitor.post("/login", TOKEN)
        headers = {CSRF_HEADER: await visitor.csrf_token(), "Origin": visitor.url}
        query = json.loads(SWITCH) | {"offer": "false"}
        for method in ("GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"):
            answer = await visitor.session.request(
                method, f"{visitor.url}/tools.json", params=query, data=SWITCH, headers=headers
            )
            assert answer.status == (200 if method in ("GET", "HEAD") else 405)
        assert visitor.switched == []

    visit(scenario)


def sent(**fields: object) -> bytes:
    return json.dumps(json.loads(SWITCH) | fields).encode()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (sent(tool="x" * MOST_BODY_BYTES), 413),
        (SWITCH + b" " * 50_000, 413),
        (b"", 400),
        (b"\xff\xfe", 400),
        (b"[" * MOST_BODY_BYTES, 400),
        (b"[1]", 400),
        (b"{}", 400),
        (sent(server=123), 400),
        (sent(tool=["react"]), 400),
        (sent(offer="false"), 400),
        (sent(offer=0), 400),
        (sent(server="124"), 404),
        (sent(server="-123"), 404),
        (sent(server="١23"), 404),
        (sent(server="1" * 900), 404),
        (sent(tool="no_such_tool"), 404),
        (sent(tool="\ud800"), 404),
    ],
    ids=lambda one: repr(one)[:40],
)
def test_odd_switches_are_refused_in_one_line(
    body: bytes, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(visitor: Visitor) -> None:
        await visitor.post("/login", TOKEN)
        found, text = await visitor.switch(body)
        assert found == status
        assert text
        assert "\n" not in text
        assert visitor.switched == []

    visit(scenario)
    assert [one.getMessage() for one in caplog.records if one.levelno > logging.WARNING] == []


def test_a_form_switches_nothing() -> None:
    """Other pages can send forms and plain text without asking the browser, but no JSON."""

    async def scenario(visitor: Visitor) -> None:
        await visitor.post("/login", TOKEN)
        for kind in (FORM, "text/plain", None):
            assert (await visitor.switch(Content_Type=kind))[0] == 415
        broken = {"Content_Encoding": "gzip"}
        assert 400 <= (await visitor.switch(**broken))[0] < 500
        assert visitor.switched == []

    visit(scenario)


@pytest.mark.parametrize("server", ["", "?server=", "?server=x", "?server=124", "?server=%00"])
def test_the_tools_of_an_unknown_server_are_not_shown(server: str) -> None:
    async def scenario(visitor: Visitor) -> None:
        await visitor.post("/login", TOKEN)
        assert (await visitor.get(f"/tools.json{server}")).status == 404

    visit(scenario)


def test_nothing_runs_but_files_of_ours() -> None:
    async def scenario(visitor: Visitor) -> None:
        for path in ("/", "/status/status.js", "/status/status.css", "/status/icon.svg"):
            answer = await visitor.get(path)
            assert answer.status == 200
            policy = answer.headers["Content-Security-Policy"]
            assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert "http" not in policy
            assert answer.headers["X-Content-Type-Options"] == "nosniff"

    visit(scenario)


@pytest.mark.parametrize(
    "path",
    ["status.html", "login.html", "..%2Fpage_login.py", "%00", "nothing.js", "%2Fetc%2Fpasswd"],
)
def test_other_files_are_not_served(path: str) -> None:
    async def scenario(visitor: Visitor) -> None:
        answer = await visitor.session.get(URL(f"{visitor.url}/status/{path}", encoded=True))
        assert answer.status == 404

    visit(scenario)


def test_a_short_token_is_refused() -> None:
    with pytest.raises(ConfigError, match="status_token: has fewer than 16 characters"):
        load(None, {"HOME": "/nowhere", "OSHABERI_STATUS_TOKEN": "short"})


def test_the_last_warnings_are_kept_with_their_ids_and_without_secrets() -> None:
    warnings, log = RecentWarnings((TOKEN,)), logging.getLogger("oshaberi.somewhere")
    with warnings.listening():
        log.info("not this")
        with of_turn(TurnIds(1, 2, 3, "ab12")):
            log.warning("refused: %s", TOKEN)
        for number in range(MOST_KEPT - 1):
            log.error("number %d", number)
    log.warning("not this either")
    newest, *_, oldest = warnings.newest_first()
    assert newest.text == f"number {MOST_KEPT - 2}"
    assert (oldest.level, oldest.part, oldest.text) == ("warning", "somewhere", "refused: [secret]")
    assert oldest.ids == {"server": "1", "channel": "2", "user": "3", "turn": "ab12"}
