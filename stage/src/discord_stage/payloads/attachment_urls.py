"""The URLs of attachments: signed, valid for a day, and signed anew in every payload.

Discord does the same for its CDN: `ex` and `is` are times in hexadecimal, `hm` is the signature. In
embeds and avatars of webhooks a URL may be given without them.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from discord_stage.world.records import Attachment, Json

LIFETIME_S = 24 * 60 * 60
_FOLDER = "/cdn/attachments/"
_PICTURES = ("image", "thumbnail", "video", "author", "footer")
"""The parts of an embed that have an address of a file."""
_ADDRESSES = ("url", "icon_url")


class AttachmentUrls:
    """Writes, signs and checks URLs. `now` is the stage's clock, in Unix time."""

    def __init__(self, base: Callable[[], str], now: Callable[[], float]) -> None:
        self._base = base
        self._now = now
        self._key = secrets.token_bytes(32)

    def of(self, channel_id: int, item: Attachment) -> str:
        """Return the URL of an attachment, with a new signature."""
        name = quote(item.filename, safe="")
        return self._signed(f"{_FOLDER}{channel_id}/{item.id}/{name}")

    def fresh(self, url: str) -> str:
        """Return a URL of our own attachments with a new signature, and any other as it is."""
        path = self._path(url)
        return url if path is None else self._signed(path)

    def fresh_embed(self, embed: Json) -> Json:
        """Return the embed with new signatures in it."""
        return embed | {
            key: part | {a: self.fresh(part[a]) for a in _ADDRESSES if isinstance(part.get(a), str)}
            for key, part in embed.items()
            if key in _PICTURES and isinstance(part, dict)
        }

    def attachment_id(self, url: str) -> int | None:
        """Return the id in a URL of our own attachments; None if it is another URL."""
        parts = (self._path(url) or "").removeprefix(_FOLDER).split("/")
        return int(parts[1]) if len(parts) == 3 and parts[1].isdecimal() else None

    def is_current(self, path: str, query: Mapping[str, str]) -> bool:
        """Return whether the query signs this path and has not expired."""
        expires, issued = query.get("ex", ""), query.get("is", "")
        try:
            is_late = int(expires, 16) <= self._now()
        except ValueError:
            return False
        signature = query.get("hm", "").encode("utf-8", "replace")
        right = self._signature(path, expires, issued).encode()
        return not is_late and hmac.compare_digest(signature, right)

    def is_renderable(self, url: str) -> bool:
        """Return whether Discord shows a URL of its own: with a current signature or none."""
        query = urlsplit(url).query
        return not query or self.is_current(self._path(url) or "", dict(parse_qsl(query)))

    def _path(self, url: str) -> str | None:
        """Return the path of a URL of our own attachments."""
        start = self._base() + _FOLDER
        return urlsplit(url).path if self._base() and url.startswith(start) else None

    def _signed(self, path: str) -> str:
        now = int(self._now())
        expires, issued = f"{now + LIFETIME_S:x}", f"{now:x}"
        signature = self._signature(path, expires, issued)
        return f"{self._base()}{path}?ex={expires}&is={issued}&hm={signature}&"

    def _signature(self, path: str, expires: str, issued: str) -> str:
        # Clients may quote a path differently.
        text = f"{unquote(path)}?ex={expires}&is={issued}".encode("utf-8", "replace")
        return hmac.new(self._key, text, hashlib.sha256).hexdigest()
