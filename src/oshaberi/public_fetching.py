"""Fetches public URLs, with limits: never from a private network, every redirect checked.

Use it for every URL from outside: it does not connect to addresses inside your network.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import aiohttp
    from yarl import URL

Address = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Awaitable[Sequence[Address]]]
Allowed = Callable[[Address], bool]
Look = Callable[[bytearray], None]

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PIECE = 65_536
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_CLOUD_INSIDES = frozenset({IPv4Address("168.63.129.16")})
"""Addresses that look public but belong to the cloud itself: Azure's wire server."""


class FetchRefusedError(Exception):
    """Why something is not fetched. The text is ours and contains no address, header or secret."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A server's answer, with the final URL after redirects."""

    url: str
    content_type: str
    charset: str | None
    encoding: str
    """The compression, although nobody asked for one; mostly empty."""
    body: bytes = field(repr=False)


def is_public(address: Address) -> bool:
    """Return whether an address is on the public internet (and not one of our own)."""
    if isinstance(address, IPv6Address):
        inner = _embedded(address)
        if inner is not None:
            return is_public(inner)
        if address not in _GLOBAL_UNICAST or address.sixtofour or address.teredo:
            return False
    return address.is_global and not address.is_multicast and address not in _CLOUD_INSIDES


def _embedded(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address that is embedded in an IPv6 address."""
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped


async def resolve_host(host: str, port: int) -> list[Address]:
    """Return all addresses of a host, as the system resolves it (decimal and hex forms too)."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [ip_address(entry[4][0]) for entry in found]


class PublicWeb:
    """Fetches URLs. `allowed` and `resolve` are for tests and closed networks."""

    def __init__(
        self,
        *,
        max_bytes: int,
        max_redirects: int = 3,
        allowed: Allowed = is_public,
        resolve: Resolve = resolve_host,
    ) -> None:
        self._max_bytes = max_bytes
        self._max_redirects = max_redirects
        self._allowed = allowed
        self._resolve = resolve

    async def get(self, url: str, accept: str, look: Look | None = None) -> Fetched:
        """Fetch a URL. `look` may refuse it early.

        Raises FetchRefusedError, or OSError if the network fails.
        """
        import aiohttp

        pins = _pins()
        connector = aiohttp.TCPConnector(resolver=pins, use_dns_cache=False, force_close=True)
        jar = aiohttp.DummyCookieJar()
        headers = {"Accept": accept, "Accept-Encoding": "identity"}
        try:
            # Decompressing would let a small answer grow.
            async with aiohttp.ClientSession(
                connector=connector, cookie_jar=jar, headers=headers, auto_decompress=False
            ) as session:
                return await self._follow(session, pins, url, look)
        except aiohttp.ClientError:
            raise FetchRefusedError("the server does not answer") from None

    async def _follow(
        self, session: aiohttp.ClientSession, pins: Any, url: str, look: Look | None
    ) -> Fetched:
        """Follow redirects. Every URL is checked like the first."""
        at = _parsed(url)
        for _hop in range(self._max_redirects + 1):
            await self._pin(at, pins)
            async with session.get(at, allow_redirects=False) as response:
                if response.status not in _REDIRECTS:
                    return _fetched(at, response, await self._body(response, look))
                at = _next(at, response.headers.get("Location", ""))
        raise FetchRefusedError("too many redirects")

    async def _pin(self, url: URL, pins: Any) -> None:
        """Resolve the host once and connect only to that address, since the answer may change."""
        host, port = url.host or "", url.port or 0
        try:
            addresses = await self._resolve(host, port)
        except (OSError, UnicodeError):
            raise FetchRefusedError("no such host") from None
        if not addresses:
            raise FetchRefusedError("no such host")
        if not all(self._allowed(address) for address in addresses):
            raise FetchRefusedError("the address is not public")
        pins.addresses = addresses

    async def _body(self, response: aiohttp.ClientResponse, look: Look | None) -> bytes:
        if response.status != 200:
            raise FetchRefusedError(f"the server answers {response.status}")
        if (response.content_length or 0) > self._max_bytes:
            raise self._too_large()
        body = bytearray()
        async for piece in response.content.iter_chunked(_PIECE):
            body += piece
            if len(body) > self._max_bytes:
                raise self._too_large()
            if look is not None:
                look(body)
        return bytes(body)

    def _too_large(self) -> FetchRefusedError:
        return FetchRefusedError(f"it is larger than {self._max_bytes / 1_048_576:.0f} MB")


def _fetched(url: URL, response: aiohttp.ClientResponse, body: bytes) -> Fetched:
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    return Fetched(str(url), response.content_type, response.charset, encoding, body)


def _pins() -> Any:
    """Return a resolver that knows only the addresses that were checked."""
    from aiohttp.abc import AbstractResolver, ResolveResult

    class Pins(AbstractResolver):
        addresses: Sequence[Address] = ()

        async def resolve(
            self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
        ) -> list[ResolveResult]:
            known = [_result(host, port, address) for address in self.addresses]
            return [one for one in known if family in (socket.AF_UNSPEC, one["family"])]

        async def close(self) -> None:
            """Do nothing: nothing is open."""

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


def _parsed(url: str) -> URL:
    """Parse a URL with the parser that is used to connect, so that both read it alike."""
    from yarl import URL

    try:
        return _checked(URL(url.strip()))
    except (ValueError, TypeError):
        raise FetchRefusedError("the address is malformed") from None


def _next(at: URL, location: str) -> URL:
    from yarl import URL

    if not location:
        raise FetchRefusedError("the redirect leads nowhere")
    try:
        return _checked(at.join(URL(location)))
    except (ValueError, TypeError):
        raise FetchRefusedError("the redirect leads nowhere") from None


def _checked(url: URL) -> URL:
    if url.scheme not in ("http", "https"):
        raise FetchRefusedError("only http and https addresses are fetched")
    if not url.host:
        raise FetchRefusedError("the address is malformed")
    if url.raw_user is not None or url.raw_password is not None:
        raise FetchRefusedError("the address carries a name or a password")
    return url
