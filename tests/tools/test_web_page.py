"""Web pages: real sockets on loopback, reached through names that only these tests know."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import ip_address
from typing import Any

import pytest
from aiohttp import web

from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.bot.tools import ToolBox, builtin_tools
from oshaberi.bot.tools.builtin import web as module
from oshaberi.bot.tools.builtin.web import page_text, web_page_tool
from oshaberi.chunks import ToolCall
from oshaberi.providers.request.model_request import ToolResult
from oshaberi.public_fetching import Address, resolve_host
from tests.tools.fake_tool_context import context

HOME = ip_address("127.0.0.1")
ON = TurnConfig(web_page_tool_enabled=True)
Serve = Callable[[web.Request], Awaitable[web.StreamResponse]]
PAGE = """<!doctype html><html><head><title>Tea &amp;
 more</title><style>p { color: red }</style></head>
<body><nav>Home</nav><h1>Green  tea</h1><p>One<br>two <b>three</b>.</p>
<script>alert("</p>")</script><ul><li>a<li>b</ul><table><tr><td>1<td>2</table>
<!-- hidden --><noscript>no</noscript><p hidden>&lt;end&gt;"""


async def loopback(_host: str, _port: int) -> list[Address]:
    return [HOME]


async def asked(box: ToolBox, url: str) -> ToolResult:
    (result,) = await box.run(
        [ToolCall("read_web_page", {"url": url})],
        context(turn=ON),
        timeout_ms=60_000,
        result_limit_chars=5000,
    )
    return result


def read(serve: Serve, url: str = "http://tea.test:PORT/a", **options: Any) -> ToolResult:
    options = {"allowed": lambda address: address == HOME, "resolve": loopback, **options}
    box = ToolBox([web_page_tool(**options)])

    async def main() -> ToolResult:
        app = web.Application()
        app.router.add_get("/{path:.*}", serve)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        try:
            return await asked(box, url.replace("PORT", str(runner.addresses[0][1])))
        finally:
            await runner.cleanup()

    return asyncio.run(main())


def constant(body: bytes | str, kind: str = "text/html", **headers: str) -> Serve:
    content = body.encode() if isinstance(body, str) else body

    async def serve(_request: web.Request) -> web.StreamResponse:
        return web.Response(body=content, headers={"Content-Type": kind, **headers})

    return serve


def test_it_is_there_only_if_enabled() -> None:
    box = ToolBox(builtin_tools())
    assert "read_web_page" not in {one.name for one in box.declarations(context())}
    assert "read_web_page" in {one.name for one in box.declarations(context(turn=ON))}


def test_the_text_of_a_page() -> None:
    title, text = page_text(PAGE)
    assert title == "Tea & more"
    assert text == "Home\nGreen tea\nOne\ntwo three.\na\nb\n1 2\n<end>"


@pytest.mark.parametrize(
    "html", ["", "<", "<b", "<!--", "<![CDATA[", "&#xd800;", "<a " * 9, "</p>"]
)
def test_broken_pages_are_read_too(html: str) -> None:
    page_text(html + "<p>x")


def test_a_page_is_read() -> None:
    result = read(constant(PAGE))
    assert not result.is_error
    title, url, empty, *text = result.content.split("\n")
    assert (title, empty, text[0]) == ("Tea & more", "", "Home")
    assert url.startswith("http://tea.test:")


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        ("käse".encode("latin-1"), "text/plain; charset=iso-8859-1", "käse"),
        ('<meta charset="shift_jis">茶'.encode("shift_jis"), "text/html", "茶"),
        ("käse".encode(), "text/plain; charset=nonsense", "käse"),
        (b"k\xffse", "text/plain", "k\ufffdse"),
        (b'{"a": 1}', "application/json", '{"a": 1}'),
        (b"<a>1</a>", "application/atom+xml", "<a>1</a>"),
        (b"", "text/html", "(there is no text on this page)"),
    ],
)
def test_kinds_and_charsets(body: bytes, kind: str, text: str) -> None:
    assert read(constant(body, kind)).content.endswith(f"\n\n{text}")


def test_a_page_that_is_compressed_though_nobody_asked() -> None:
    packed = constant(gzip.compress(PAGE.encode()), **{"Content-Encoding": "gzip"})
    assert "Green tea" in read(packed).content
    bomb = constant(gzip.compress(b"x" * 50_000_000), "text/plain", **{"Content-Encoding": "gzip"})
    assert len(read(bomb).content) <= 5000


@pytest.mark.parametrize(
    ("serve", "words"),
    [
        (constant(b"\x89PNG", "image/png"), "there is no page, but image/png"),
        (constant(b"x" * 3_000_000, "text/plain"), "it is larger than 2 MB"),
        (constant(b"x", **{"Content-Encoding": "zstd"}), "compressed in a strange way: zstd"),
        (constant(b"no gzip at all", **{"Content-Encoding": "gzip"}), "the page is damaged"),
    ],
)
def test_what_is_not_read(serve: Serve, words: str) -> None:
    result = read(serve)
    assert result.is_error
    assert result.content.endswith(words)


def test_a_server_that_never_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    async def serve(_request: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(module, "TIMEOUT_S", 0.05)
    assert read(serve).content == "the page cannot be read: it took too long"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("file:///etc/passwd", "only http and https addresses are fetched"),
        ("http://user:pass@tea.test/", "the address carries a name or a password"),
        ("http://127.0.0.1:PORT/", "the address is not public"),
        ("http://[::1]:PORT/", "the address is not public"),
        ("http://169.254.169.254/latest/meta-data", "the address is not public"),
        ("http://2130706433:PORT/", "the address is not public"),
        ("javascript:alert(1)", "only http and https addresses are fetched"),
    ],
)
def test_nothing_private_is_asked(url: str, words: str) -> None:
    seen: list[str] = []

    async def serve(request: web.Request) -> web.StreamResponse:
        seen.append(request.path)
        return web.Response()

    box = ToolBox(builtin_tools())
    assert asyncio.run(asked(box, url.replace("PORT", "80"))).content.endswith(words)
    from oshaberi.public_fetching import is_public

    assert read(serve, url, allowed=is_public, resolve=resolve_host).content.endswith(words)
    assert seen == []


def test_a_redirect_is_checked_like_the_first_address() -> None:
    seen: list[str] = []

    async def serve(request: web.Request) -> web.StreamResponse:
        seen.append(request.host.partition(":")[0])
        inside = f"http://inside.test:{request.url.port}/"
        return web.Response(status=302, headers={"Location": inside})

    async def resolve(host: str, _port: int) -> Sequence[Address]:
        return [HOME if host == "tea.test" else ip_address("10.0.0.1")]

    result = read(serve, resolve=resolve)
    assert result.content == "the page cannot be read: the address is not public"
    assert seen == ["tea.test"]
