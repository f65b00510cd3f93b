"""Attaches to a running client, once, to see its requests and the messages that it receives.

Nothing has to be passed to the client when it is made, and no handler has to be called. The client
keeps its hook, so both live equally long; when the client is closed, the hook is removed.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import aiohttp
import discord

from oshaberi.discord_io.requests.limits import RequestBudget
from oshaberi.discord_io.requests.watch import RequestTrace, own_trace
from oshaberi.discord_io.sink import ClientState

_ATTRIBUTE = "_oshaberi_hook"


class ObservingTrace(RequestTrace):
    """Sees the requests of somebody else's client, but delays only our own."""

    def __init__(self) -> None:
        super().__init__(budget=RequestBudget(per_second=0))

    async def _turn(self) -> None:
        """Let the request pass. A `RequestSender` waits for the ban guard before it makes one."""


class ClientHook:
    """What is attached to one client, and the state of its sinks."""

    def __init__(self, client: discord.Client) -> None:
        self._client = client
        self._trace = own_trace(client) or ObservingTrace()
        self._session: aiohttp.ClientSession | None = None
        is_watched = self.watch()
        self.state = ClientState(client, trace=self._trace if is_watched else None)
        self._listening = asyncio.create_task(self._listen(), name="oshaberi listener")
        self._close_client = client.close
        client.close = self._close  # type: ignore[method-assign]

    def watch(self) -> bool:
        """Make sure that the trace belongs to the client's session, which a new login replaces.

        aiohttp reads the list of a session's traces at every request. Returns whether there is a
        session.
        """
        session = getattr(self._client.http, "_HTTPClient__session", None)
        if not isinstance(session, aiohttp.ClientSession):
            return False
        if session is not self._session and self._trace not in session.trace_configs:
            self._trace.freeze()
            session.trace_configs.append(self._trace)
        self._session = session
        return True

    async def _listen(self) -> None:
        """Look at every message. The check is called for each of them, and never ends the wait."""
        await self._client.wait_for("message", check=self._note)

    def _note(self, message: discord.Message) -> bool:
        self.state.note_message(message)
        return False

    async def _close(self) -> None:
        """Close our part, then the client."""
        self._detach()
        self._listening.cancel()
        with suppress(asyncio.CancelledError):
            await self._listening
        await self.state.close()
        await self._close_client()

    def _detach(self) -> None:
        for name in ("close", _ATTRIBUTE):
            self._client.__dict__.pop(name, None)
        if self._session is not None and self._trace is not own_trace(self._client):
            self._session.trace_configs.remove(self._trace)


def state_of(client: discord.Client) -> ClientState:
    """Return the state of a client's sinks. The first call attaches to the client."""
    hook: Any = client.__dict__.get(_ATTRIBUTE)
    if hook is None:
        hook = client.__dict__[_ATTRIBUTE] = ClientHook(client)
    hook.watch()
    state: ClientState = hook.state
    return state
