"""A server that cannot be asked: one sentence each, on real sockets, for several HTTP libraries."""

from __future__ import annotations

import asyncio
import datetime
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from oshaberi.providers.first_words import NoAnswerError, first_words
from oshaberi.providers.model_listing import list_models
from oshaberi.providers.registry import connect

PROVIDERS = ("openai", "openai-responses", "anthropic", "google", "novelai")
KEY = "sk-0123456789abcdef"
PROBLEMS = {
    "dead": "nothing listens there",
    "unknown host": "there is no host of this name: correct the address",
    "https to a plain port": "begin the address with http://",
    "http to a TLS port": "begin the address with https://",
    "self-signed": "the certificate of the server is not trusted",
}


def certificate(folder: Path) -> ssl.SSLContext:
    """A certificate that nobody knows."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    file = folder / "both.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    file.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(file)
    return context


@asynccontextmanager
async def ports(folder: Path) -> AsyncIterator[tuple[int, int]]:
    """A plain port and one with TLS. Both answer 404 in words of their own."""

    async def answer(_request: web.Request) -> web.Response:
        return web.Response(status=404, text="404 page not found")

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    for context in (None, certificate(folder)):
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    try:
        yield runner.addresses[0][1], runner.addresses[1][1]
    finally:
        await runner.cleanup()


async def told_by(provider: str, address: str) -> str:
    adapter = connect(provider, "m", api_key=KEY, base_url=address)
    try:
        await first_words(adapter)
    except NoAnswerError as error:
        return str(error)
    finally:
        await adapter.aclose()
    return "it answered"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_each_has_its_sentence(provider: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with ports(tmp_path) as (plain, tls):
            addresses = {
                "dead": "http://127.0.0.1:9/v1",
                "unknown host": "http://no-such-host.invalid/v1",
                "https to a plain port": f"https://127.0.0.1:{plain}/v1",
                "http to a TLS port": f"http://127.0.0.1:{tls}/v1",
                "self-signed": f"https://127.0.0.1:{tls}/v1",
            }
            for name, address in addresses.items():
                told = await told_by(provider, address)
                assert PROBLEMS[name] in told, name
                assert address in told, name
                assert ("is the server running?" in told) == (name == "dead")
                offered = await list_models("openai", address, KEY)
                assert PROBLEMS[name] in offered.reason
            if provider.startswith("openai"):
                told = await told_by(provider, f"http://127.0.0.1:{plain}/x")
                assert told == (
                    "HTTP 404: the server has no such API at this address "
                    f"(at http://127.0.0.1:{plain}/x)"
                )

    asyncio.run(main())
