"""`async with Stage() as stage:` runs a Discord on loopback, on a free port."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from aiohttp import web

from discord_stage.access_guard import guarded
from discord_stage.cdn.file_server import FileServer
from discord_stage.control.api import ControlApi, ControlExtension
from discord_stage.control.live_feed import LiveFeed
from discord_stage.errors import StageProblemsError, StageTimeoutError
from discord_stage.gateway.gateway_sessions import SessionHub
from discord_stage.gateway.gateway_socket import Gateway
from discord_stage.kept_world import KeptWorld
from discord_stage.page import Page, PageExtension
from discord_stage.people_actions import PeopleActions
from discord_stage.requests.injected_faults import Fault, Faults
from discord_stage.requests.request_log import RequestRecord
from discord_stage.rest import ENDPOINTS
from discord_stage.rest.pipeline import PREFIX, RequestPipeline
from discord_stage.rules.messages import REQUEST_MOST
from discord_stage.scaled_loop import scale_of
from discord_stage.server_log import SERVER_LOG
from discord_stage.state import Settings, StageClock, StageState
from discord_stage.world.world_state import Key, World
from discord_stage.world_changes import channel_changes

T = TypeVar("T")
HOST = "127.0.0.1"
IDLE_S = 1e6
POLL_S = 0.02
"""How often a condition is checked. It may depend on the bot, whose changes the stage cannot
see."""
PATIENCE_S = 30.0
"""The longest wait. Only a failing test waits that long."""
LOOK_S = 0.005
QUIET_LOOKS = 20
"""How many quiet checks in a row are needed. Together they take longer than a handler in another
process needs to send a request."""
RECENT = 12


class Stage:
    """A running stage. Give it a world, a description of one, or nothing for a small one.

    `url` and `token` are for the bot, `page_url` is for a browser, `control_token` for the control
    API, to which `extensions` add actions; `page_extensions` add scripts to the page (you can add
    both later too). In the file `keep_in` messages outlive the stage: the next one with the same
    described world continues from there, unless it is `fresh`. `people` act, `fault` and `gateway`
    break things, `world` and `requests` show what happened.
    """

    def __init__(
        self,
        world: World | Mapping[str, object] | None = None,
        settings: Settings | None = None,
        *,
        port: int = 0,
        control_token: str | None = None,
        extensions: Mapping[str, ControlExtension] | None = None,
        page_extensions: Mapping[str, PageExtension] | None = None,
        keep_in: Path | None = None,
        fresh: bool = False,
    ) -> None:
        self.world = world if isinstance(world, World) else World.described(world)
        self.settings = settings or Settings()
        self.control_token = control_token or secrets.token_urlsafe(24)
        self.extensions: dict[str, ControlExtension] = dict(extensions or {})
        self.page_extensions: dict[str, PageExtension] = dict(page_extensions or {})
        self._port = port
        self._keep_in = keep_in
        self._fresh = fresh
        self._kept: KeptWorld | None = None
        self._runner: web.AppRunner | None = None
        self._watching: asyncio.Task[None] | None = None
        self.state: StageState
        self.gateway: SessionHub
        self.people: PeopleActions
        self.feed: LiveFeed

    async def __aenter__(self) -> Stage:
        loop = asyncio.get_running_loop()
        self.state = StageState(
            self.world, self.settings, StageClock(loop.time), loop_scale=scale_of(loop)
        )
        self.gateway = SessionHub(self.state)
        self.people = PeopleActions(self.state)
        self.feed = LiveFeed(self.state, self.gateway, self.control_token)
        self._runner = web.AppRunner(
            self._application(),
            access_log=None,
            logger=SERVER_LOG,
            shutdown_timeout=0.5 * self.state.loop_scale,
            # If we closed an idle connection, the client's next request could already be under way.
            keepalive_timeout=IDLE_S,
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, HOST, self._port)
        await site.start()
        _host, port = self._runner.addresses[0][:2]
        self.state.url = f"http://{HOST}:{port}"
        if self._keep_in is not None:
            self._kept = KeptWorld(self.state, self._keep_in)
            # Without an await since the server listens: nobody sees the world before.
            self._kept.begin(fresh=self._fresh)
        self._watching = asyncio.create_task(self.feed.watch())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.state.closing.set()
        self.gateway.drop(1001)
        self.feed.close()
        if self._watching is not None:
            self._watching.cancel()
        if self._runner is not None:
            await self._runner.cleanup()
        if self._kept is not None:
            await self._kept.close()

    def _application(self) -> web.Application:
        pipeline = RequestPipeline(self.state, self.gateway)
        cdn, page = FileServer(self.state), Page(self.page_extensions)
        control = ControlApi(
            self.state,
            self.gateway,
            self.people,
            self.control_token,
            self.extensions,
            self.page_extensions,
        )
        application = web.Application(
            middlewares=[guarded(self.state)], client_max_size=4 * REQUEST_MOST
        )
        add = application.router.add_route
        add("GET", "/gw/", Gateway(self.state, self.gateway).serve)
        for endpoint in ENDPOINTS:
            add(endpoint.method, PREFIX + endpoint.path, partial(pipeline.serve, endpoint))
        cdn.add_to(application.router)
        application.router.add_get("/stage/feed", self.feed.serve)
        application.router.add_get("/stage/{action}", control.read)
        application.router.add_post("/stage/{action}", control.act)
        page.add_to(application.router)
        add("*", "/{path:.*}", pipeline.unknown)
        return application

    @property
    def url(self) -> str:
        return self.state.url

    @property
    def page_url(self) -> str:
        """Return the URL for a browser. The page removes the token from the address bar at once."""
        return f"{self.state.url}/?token={self.control_token}"

    @property
    def token(self) -> str:
        return self.world.application.token

    @property
    def requests(self) -> list[RequestRecord]:
        return self.state.request_log.records

    def calls(self, pattern: str) -> list[RequestRecord]:
        """Return the requests whose `METHOD /path` matches: `POST /channels/*/messages`."""
        return self.state.request_log.calls(pattern)

    @property
    def faults(self) -> Faults:
        return self.state.faults

    def fault(self, fault: Fault) -> Fault:
        """Add a fault that applies from now on."""
        return self.state.faults.add(fault)

    def delete_channel(self, channel: Key) -> None:
        channel_changes.delete_channel(self.state, self.world.channel(channel))

    def revoke_webhook(self, webhook_id: int) -> None:
        channel_changes.delete_webhook(self.state, self.world.webhooks[webhook_id])

    def deny(self, channel: Key, permission: str) -> None:
        """Take a permission from the bot: `stage.deny("general", "send_messages")`."""
        channel_changes.deny(self.state, self.world.channel(channel), permission)

    def advance_clock(self, seconds: float) -> None:
        """Move the stage's clock forward, in Discord's seconds.

        Signed URLs and tokens of interactions expire, rate limits and slow mode end.
        """
        self.state.clock.advance(seconds)

    async def wait_for(self, predicate: Callable[[], T], timeout_s: float = PATIENCE_S) -> T:
        """Wait until the predicate holds, and return its value. It is checked at every change."""
        try:
            async with self._timeout(timeout_s):
                while not (found := predicate()):
                    await self._change()
        except TimeoutError:
            raise StageTimeoutError(self._report(timeout_s)) from None
        return found

    async def settled(self, timeout_s: float = PATIENCE_S) -> None:
        """Wait until all requests are answered, all events are read, and nothing new happens.

        It does not notice a handler of the bot that sleeps: use `wait_for` for its effect.
        """
        try:
            async with self._timeout(timeout_s):
                while not await self._quiet():
                    pass
        except TimeoutError:
            raise StageTimeoutError(self._report(timeout_s)) from None

    async def _quiet(self) -> bool:
        """Return whether nothing was requested or sent for a moment.

        It counts several checks instead of wall time: while a process is suspended, it has not
        been quiet.
        """
        while self.state.request_log.running:
            await self._change()
        await self.gateway.caught_up()
        before = self._activity()
        for _ in range(QUIET_LOOKS):
            await asyncio.sleep(LOOK_S * self.state.loop_scale)
            if self._activity() != before:
                return False
        return True

    def _activity(self) -> tuple[int, int]:
        return len(self.requests), self.gateway.dispatched()

    async def _change(self) -> None:
        try:
            async with self._timeout(POLL_S):
                await self.state.changes.wait()
        except TimeoutError:
            return

    def _timeout(self, seconds: float) -> asyncio.Timeout:
        """Return a timeout in wall seconds, even on a loop that runs faster."""
        return asyncio.timeout(seconds * self.state.loop_scale)

    def _report(self, timeout_s: float) -> str:
        recent = [f"  {r.name} → {r.status} {r.code or ''}" for r in self.requests[-RECENT:]]
        lines = "\n".join(recent) or "  none"
        return f"did not happen within {timeout_s} s. The last requests:\n{lines}"

    @property
    def problems(self) -> list[str]:
        """Return why the test will fail at its end. A test that expects this clears the list."""
        return self.state.request_log.problems

    def check(self) -> None:
        """Raise if the bot used a route that the stage lacks, or raised, or if the stage failed."""
        if self.state.request_log.problems:
            raise StageProblemsError("\n".join(self.state.request_log.problems))
