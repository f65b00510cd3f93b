"""Images by address, for a model to see: fetched with limits, never from a private network.

Whatever goes wrong becomes a note in words, never an exception (spec 01).
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING, Any

from oshaberi.providers.context import ImagePart, TextPart

if TYPE_CHECKING:
    import aiohttp
    from PIL import Image
    from yarl import URL

Address = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Awaitable[Sequence[Address]]]
Allowed = Callable[[Address], bool]

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PIECE = 65_536
_KEPT_AS_THEY_ARE = frozenset({"image/png", "image/jpeg", "image/webp"})
_JPEG_QUALITY = 88
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_CLOUD_INSIDES = frozenset({IPv4Address("168.63.129.16")})
"""Addresses that look public and are the cloud's own: Azure's wire server."""


@dataclass(frozen=True, slots=True)
class ImageLimits:
    """How much an image may cost."""

    max_bytes: int = 10 * 1024 * 1024
    max_pixels: int = 40_000_000
    max_side_px: int = 1536
    timeout_s: float = 10.0
    max_redirects: int = 3


class _RefusedError(Exception):
    """Why an image is not taken. Its words are ours: no address, no header, no secret."""


def is_public(address: Address) -> bool:
    """Whether everybody on the internet means the same machine by it (and not our own)."""
    if isinstance(address, IPv6Address):
        inner = _embedded(address)
        if inner is not None:
            return is_public(inner)
        if address not in _GLOBAL_UNICAST or address.sixtofour or address.teredo:
            return False
    return address.is_global and not address.is_multicast and address not in _CLOUD_INSIDES


def _embedded(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that an IPv6 one stands for."""
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped


async def resolve_host(host: str, port: int) -> list[Address]:
    """All addresses of a host, as the system resolves it (decimal and hex forms too)."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [ip_address(entry[4][0]) for entry in found]


class ImageFetcher:
    """Fetches images. `allowed` and `resolve` are there for tests and for closed networks."""

    def __init__(
        self,
        limits: ImageLimits | None = None,
        *,
        allowed: Allowed = is_public,
        resolve: Resolve = resolve_host,
    ) -> None:
        self._limits = limits or ImageLimits()
        self._allowed = allowed
        self._resolve = resolve

    async def fetch(self, url: str) -> ImagePart | TextPart:
        """The image at an address, small enough; or a note that says why not."""
        try:
            async with asyncio.timeout(self._limits.timeout_s):
                raw = await self._download(url)
                return await asyncio.to_thread(prepare_image, raw, self._limits)
        except _RefusedError as refusal:
            return _note(str(refusal))
        except TimeoutError:
            return _note("it took too long")
        except ImportError as error:
            return _note(f"{error.name} is not installed; install oshaberi[images]")
        except (OSError, ValueError):
            return _note("the server does not answer")

    async def _download(self, url: str) -> bytes:
        import aiohttp

        pins = _pins()
        connector = aiohttp.TCPConnector(resolver=pins, use_dns_cache=False, force_close=True)
        jar = aiohttp.DummyCookieJar()
        try:
            # Decompressing would let a small answer grow; nobody compresses images twice.
            async with aiohttp.ClientSession(
                connector=connector, cookie_jar=jar, auto_decompress=False
            ) as session:
                return await self._follow(session, pins, url)
        except aiohttp.ClientError:
            raise _RefusedError("the server does not answer") from None

    async def _follow(self, session: aiohttp.ClientSession, pins: Any, url: str) -> bytes:
        """Every hop is checked like the first."""
        at = _parsed(url)
        for _hop in range(self._limits.max_redirects + 1):
            await self._pin(at, pins)
            headers = {"Accept": "image/*", "Accept-Encoding": "identity"}
            async with session.get(at, allow_redirects=False, headers=headers) as response:
                if response.status not in _REDIRECTS:
                    return await self._body(response)
                at = _next(at, response.headers.get("Location", ""))
        raise _RefusedError("too many redirects")

    async def _pin(self, url: URL, pins: Any) -> None:
        """Look the host up once, and connect to nothing else: the answer may change."""
        host, port = url.host or "", url.port or 0
        try:
            addresses = await self._resolve(host, port)
        except (OSError, UnicodeError):
            raise _RefusedError("no such host") from None
        if not addresses:
            raise _RefusedError("no such host")
        if not all(self._allowed(address) for address in addresses):
            raise _RefusedError("the address is not public")
        pins.addresses = addresses

    async def _body(self, response: aiohttp.ClientResponse) -> bytes:
        if response.status != 200:
            raise _RefusedError(f"the server answers {response.status}")
        most = self._limits.max_bytes
        if (response.content_length or 0) > most:
            raise _RefusedError(_too_large(most))
        body = bytearray()
        async for piece in response.content.iter_chunked(_PIECE):
            body += piece
            if len(body) > most:
                raise _RefusedError(_too_large(most))
            if len(body) >= _MAGIC_LENGTH and image_type(bytes(body[:_MAGIC_LENGTH])) is None:
                raise _RefusedError("it is not a PNG, JPEG, GIF or WebP")
        return bytes(body)


def _note(reason: str) -> TextPart:
    return TextPart(f"[image could not be read: {reason}]")


def _too_large(most: int) -> str:
    return f"it is larger than {most / 1_048_576:.0f} MB"


def _pins() -> Any:
    """A resolver that knows only the addresses that were checked."""
    from aiohttp.abc import AbstractResolver, ResolveResult

    class Pins(AbstractResolver):
        addresses: Sequence[Address] = ()

        async def resolve(
            self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
        ) -> list[ResolveResult]:
            known = [_result(host, port, address) for address in self.addresses]
            return [one for one in known if family in (socket.AF_UNSPEC, one["family"])]

        async def close(self) -> None:
            """Nothing is open."""

    def _result(host: str, port: int, address: Address) -> ResolveResult:
        family = socket.AF_INET if address.version == 4 else socket.AF_INET6
        return ResolveResult(
            hostname=host,
            host=str(address),
            port=port,
            family=family,
            proto=0,
            flags=socket.AI_NUMERICHOST,
        )

    return Pins()


# -- addresses -----------------------------------------------------------------------------------


def _parsed(url: str) -> URL:
    """Read by the same parser that connects, so that nothing is understood in two ways."""
    from yarl import URL

    try:
        return _checked(URL(url.strip()))
    except (ValueError, TypeError):
        raise _RefusedError("the address is malformed") from None


def _next(at: URL, location: str) -> URL:
    from yarl import URL

    if not location:
        raise _RefusedError("the redirect leads nowhere")
    try:
        return _checked(at.join(URL(location)))
    except (ValueError, TypeError):
        raise _RefusedError("the redirect leads nowhere") from None


def _checked(url: URL) -> URL:
    if url.scheme not in ("http", "https"):
        raise _RefusedError("only http and https addresses are fetched")
    if not url.host:
        raise _RefusedError("the address is malformed")
    if url.raw_user is not None or url.raw_password is not None:
        raise _RefusedError("the address carries a name or a password")
    return url


# -- pictures ------------------------------------------------------------------------------------

_MAGIC_LENGTH = 16
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def image_type(start: bytes) -> str | None:
    """What the first bytes say; what a server says about them is not asked."""
    for magic, mime_type in _MAGIC:
        if start.startswith(magic):
            return mime_type
    return "image/webp" if start[:4] == b"RIFF" and start[8:12] == b"WEBP" else None


def prepare_image(raw: bytes, limits: ImageLimits) -> ImagePart:
    """A still image within the limits. Bytes that already are one stay as they are."""
    from PIL import Image

    mime_type = image_type(raw[:_MAGIC_LENGTH])
    if mime_type is None:
        raise _RefusedError("it is not a PNG, JPEG, GIF or WebP")
    try:
        with Image.open(BytesIO(raw), formats=("PNG", "JPEG", "GIF", "WEBP")) as image:
            return _prepared(image, raw, mime_type, limits)
    except _RefusedError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise _RefusedError("it has too many pixels") from None
    except Exception:
        # Decoders raise whatever they stumble over: struct.error, IndexError, SyntaxError, ...
        raise _RefusedError("it is damaged") from None


def _prepared(image: Image.Image, raw: bytes, mime_type: str, limits: ImageLimits) -> ImagePart:
    width, height = image.size
    if width * height > limits.max_pixels:
        raise _RefusedError("it has too many pixels")
    # JPEG decodes at a fraction of its size for a fraction of the cost.
    image.draft(None, (limits.max_side_px, limits.max_side_px))
    image.load()
    fits = max(width, height) <= limits.max_side_px
    if fits and mime_type in _KEPT_AS_THEY_ARE and getattr(image, "n_frames", 1) == 1:
        return ImagePart(data=raw, mime=mime_type)
    return _redrawn(image, limits.max_side_px)


def _redrawn(image: Image.Image, max_side_px: int) -> ImagePart:
    from PIL import ImageOps

    still = ImageOps.exif_transpose(image)
    clear = still.mode in ("RGBA", "LA", "PA") or "transparency" in still.info
    drawn = still.convert("RGBA" if clear else "RGB")
    drawn.thumbnail((max_side_px, max_side_px))
    out = BytesIO()
    if clear:
        drawn.save(out, "PNG")
    else:
        drawn.save(out, "JPEG", quality=_JPEG_QUALITY)
    kind = "image/png" if clear else "image/jpeg"
    return ImagePart(data=out.getvalue(), mime=kind)
