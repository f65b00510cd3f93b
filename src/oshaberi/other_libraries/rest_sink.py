"""A sink over plain requests to Discord, which a Discord library makes, or which a token allows.

It sends text as the bot and does without anything more: a persona's name comes in bold before the
text, and a table is sent as aligned code.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp

from oshaberi.checked_json import bounded_seconds, parse_json, whole_count
from oshaberi.delivery.sink import (
    AmbiguousError,
    ArrivalUnknownError,
    DiscordRefusalError,
    Post,
    RequestKind,
    RequestRoom,
    Sent,
    SinkError,
    UnsentError,
    WebhookFace,
    WireState,
)
from oshaberi.foreign_bodies import PLAIN, BodyTooLargeError, PackedBodyError, answer_body

Json = dict[str, Any]
Request = Callable[[str, str, Mapping[str, Any], Json | None], Awaitable[Any]]
"""Makes one request: method, path with `{names}`, their values, body. Raises sink errors."""

MOST_BYTES = 1024 * 1024
MESSAGES = "/channels/{channel_id}/messages"
MESSAGE = "/channels/{channel_id}/messages/{message_id}"
TYPING = "/channels/{channel_id}/typing"

MESSAGE_GONE, NO_FILES, NO_WEBHOOKS_HERE, MISSING_ACCESS = 10008, 40005, 50024, 50001
EPHEMERAL, SUPPRESS_EMBEDS, SILENT = 1 << 6, 1 << 2, 1 << 12
NOTICE_COLOUR = 0xE67E22
_USER = re.compile(r"<@!?(\d{1,20})>")


def refusal(status: int, code: int, message: str) -> SinkError:
    """Return the error for an answer that is not a success."""
    if 400 <= status < 500 and code:
        return DiscordRefusalError(code, f"{code}: {message}")
    return AmbiguousError(f"HTTP {status} without an answer that says what became of it")


@dataclass(frozen=True, slots=True)
class Place:
    """The channel of a sink, and whom its messages may ping."""

    channel_id: int
    guild_id: int | None = None
    reply_to: int | None = None
    people: frozenset[int] = frozenset()
    name: str | None = None

    def url(self, message_id: int) -> str:
        return (
            f"https://discord.com/channels/{self.guild_id or '@me'}/{self.channel_id}/{message_id}"
        )


class RestSink:
    """A channel. The nonce makes it harmless that a library repeats a request by itself."""

    def __init__(self, request: Request, place: Place) -> None:
        self._request = request
        self._place = place

    @property
    def display_name(self) -> str | None:
        return self._place.name

    def room(self, _kind: RequestKind) -> RequestRoom | None:
        return None

    async def send(self, post: Post, _wire: WireState) -> Sent:
        body = self._body(post) | {"nonce": post.nonce, "enforce_nonce": True}
        if post.reply and self._place.reply_to is not None:
            reference = {"message_id": str(self._place.reply_to), "fail_if_not_exists": False}
            body["message_reference"] = reference
        return self._sent(await self._request("POST", MESSAGES, self._names(), body))

    async def edit(self, sent: Sent, post: Post, _wire: WireState) -> None:
        names = self._names(sent.id)
        await self._request("PATCH", MESSAGE, names, self._body(post))

    async def delete(self, sent: Sent, _wire: WireState) -> None:
        await self._request("DELETE", MESSAGE, self._names(sent.id), None)

    async def typing(self, ms: int | None) -> None:
        if ms != 0:
            await self._request("POST", TYPING, self._names(), None)

    async def reply_notice(self, _face: WebhookFace, _wire: WireState) -> Sent | None:
        return None

    async def open_webhook(self) -> None:
        raise DiscordRefusalError(NO_WEBHOOKS_HERE, "webhooks are used with discord.py only")

    async def forget_webhook(self) -> None:
        """Do nothing: there is none."""

    async def find_arrivals(self, _post: Post, _since: float) -> Sequence[Sent]:
        raise ArrivalUnknownError("the nonce is all that tells whether a message arrived")

    def _names(self, message_id: int | None = None) -> Json:
        return {"channel_id": self._place.channel_id, "message_id": message_id}

    def _body(self, post: Post) -> Json:
        if post.files:
            raise DiscordRefusalError(NO_FILES, "files are sent with discord.py only")
        pinged = {one for one in _USER.findall(post.content) if int(one) in self._place.people}
        flags = SILENT * post.silent | SUPPRESS_EMBEDS * post.suppress_embeds
        body: Json = {
            "content": post.content,
            "allowed_mentions": {"parse": [], "users": sorted(pinged), "replied_user": False},
            "flags": flags,
        }
        if post.embed is not None:
            embed = {"title": post.embed.title, "description": post.embed.description}
            colour = NOTICE_COLOUR if post.embed.colour is None else post.embed.colour
            body["embeds"] = [embed | {"color": colour}]
        return body

    def _sent(self, answer: Any) -> Sent:
        try:
            message_id = int(answer["id"])
        except (KeyError, TypeError, ValueError):
            raise AmbiguousError("a success without a message in it") from None
        return Sent(message_id, self._place.url(message_id))


# Interactions: the same, with a token.


ORIGINAL = "/messages/@original"
FOLLOW_UPS = "?wait=true"
TOKEN_OVER = frozenset({10015, 10062, 50027})


class TokenRequests:
    """Makes requests with a token. They have no nonce, so none of them is ever repeated."""

    def __init__(self, base_url: str, app_id: int, token: str) -> None:
        self._base_url = f"{base_url}/webhooks/{app_id}/{token}"
        self._session: aiohttp.ClientSession | None = None

    async def is_ephemeral(self, chosen: bool | None, *, is_deferred_here: bool) -> bool:
        """Return whether the answer is for one person: as chosen, or as the caller has answered."""
        if chosen is not None or is_deferred_here:
            return bool(chosen)
        try:
            original = await self.make("GET", ORIGINAL)
        except SinkError:
            return True  # unknown, so nothing is shown to everybody
        return bool(original.get("flags", 0) & EPHEMERAL)

    async def make(self, method: str, path: str, body: Json | None = None) -> Json:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=60.0), headers=PLAIN, auto_decompress=False
            )
        try:
            url = self._base_url + path
            async with self._session.request(method, url, json=body) as answer:
                content = await answer_body(answer, MOST_BYTES)
        except (BodyTooLargeError, PackedBodyError) as error:
            raise AmbiguousError(str(error)) from error
        except aiohttp.ClientConnectorError as error:
            raise UnsentError(f"no connection: {error}") from error
        except (aiohttp.ClientError, OSError) as error:
            raise AmbiguousError(f"no answer: {error!r}") from error
        told = _parsed(content)
        if answer.status == 429:
            wait_ms = round(1000 * (bounded_seconds(told.get("retry_after")) or 1.0))
            raise DiscordRefusalError(429, "rate limited", wait_ms)
        if not 200 <= answer.status < 300:
            raise refusal(
                answer.status, whole_count(told.get("code")) or 0, str(told.get("message"))
            )
        return told

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()


def _parsed(content: bytes) -> Json:
    try:
        value = parse_json(content) if content else {}
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


class InteractionRestSink(RestSink):
    """The answer to an interaction that has been deferred or answered.

    There is no way to check whether a follow-up arrived, so one with an unknown outcome is not sent
    again. When the token has expired, the answer continues in the channel, unless it is ephemeral.
    """

    def __init__(
        self,
        request: Request,
        place: Place,
        tokens: TokenRequests,
        *,
        is_waiting: bool,
        is_ephemeral: bool,
    ) -> None:
        super().__init__(request, place)
        self._tokens = tokens
        self._is_waiting = is_waiting
        self._is_ephemeral = is_ephemeral
        self._is_over = False
        self._doubted: set[str] = set()

    async def send(self, post: Post, wire: WireState) -> Sent:
        if not self._is_over:
            try:
                return await self._follow_up(post)
            except DiscordRefusalError as error:
                if error.code not in TOKEN_OVER:
                    raise
                if self._is_ephemeral:
                    words = "the interaction's token has expired; its answer is for one person"
                    raise DiscordRefusalError(MISSING_ACCESS, words) from error
                self._is_over = True
        return await super().send(post, wire)

    async def _follow_up(self, post: Post) -> Sent:
        if post.nonce in self._doubted:
            raise ArrivalUnknownError("nobody can say whether the follow-up arrived")
        body = self._body(post)
        if self._is_waiting:
            body["flags"] &= SUPPRESS_EMBEDS
            filled = self._sent(await self._tokens.make("PATCH", ORIGINAL, body))
            self._is_waiting = False
            return filled
        body["flags"] |= EPHEMERAL * self._is_ephemeral
        try:
            return self._sent(await self._tokens.make("POST", FOLLOW_UPS, body))
        except (DiscordRefusalError, UnsentError):
            raise
        except BaseException:
            self._doubted.add(post.nonce)
            raise

    async def edit(self, sent: Sent, post: Post, wire: WireState) -> None:
        if self._is_over:
            await super().edit(sent, post, wire)
            return
        await self._tokens.make("PATCH", f"/messages/{sent.id}", self._body(post))

    async def delete(self, sent: Sent, wire: WireState) -> None:
        if self._is_over:
            await super().delete(sent, wire)
            return
        await self._tokens.make("DELETE", f"/messages/{sent.id}")

    async def typing(self, _ms: int | None) -> None:
        """Show nothing: Discord shows that an answer is on its way."""

    async def close(self) -> None:
        """Remove a deferred answer that got no text, and close the connection."""
        try:
            if self._is_waiting and not self._is_over:
                self._is_waiting = False
                await self._tokens.make("DELETE", ORIGINAL)
        except SinkError:
            pass  # then Discord says after a while that there was no answer
        finally:
            await self._tokens.close()
