"""Images by address: real sockets on loopback, reached through names that only these tests know."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Awaitable, Callable, Sequence
from io import BytesIO
from ipaddress import ip_address

import pytest
from aiohttp import web
from PIL import Image

from oshaberi.providers.images import preparation
from oshaberi.providers.images.fetching import (
    Address,
    ImageCache,
    ImageFetcher,
    ImageLimits,
    image_key,
    image_type,
    is_public,
    prepare_image,
    resolve_host,
    shared_fetcher,
)
from oshaberi.providers.request.model_request import ImagePart, TextPart
from oshaberi.public_fetching import FetchRefusedError
from tests.providers.picture_files import flat_jpeg, flat_png, noisy_png

HOME = ip_address("127.0.0.1")
Serve = Callable[[web.Request], Awaitable[web.StreamResponse]]


def picture(kind: str = "PNG", size: tuple[int, int] = (40, 20), mode: str = "RGB") -> bytes:
    out = BytesIO()
    Image.new(mode, size, "orange").save(out, kind)
    return out.getvalue()


def moving(kind: str) -> bytes:
    frames = [Image.new("RGB", (30, 30), colour) for colour in ("red", "blue")]
    out = BytesIO()
    frames[0].save(out, kind, save_all=True, append_images=frames[1:])
    return out.getvalue()


async def loopback(_host: str, _port: int) -> list[Address]:
    return [HOME]


def here_only(address: Address) -> bool:
    return address == HOME


class Web:
    """A server on loopback that answers as a test says, and keeps what was asked."""

    def __init__(self, serve: Serve) -> None:
        self.asked: list[str] = []
        self._serve = serve

    async def fetch(self, url: str, fetcher: ImageFetcher) -> ImagePart | TextPart:
        app = web.Application()
        app.router.add_get("/{path:.*}", self._answer)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            return await fetcher.fetch(url.replace("PORT", str(runner.addresses[0][1])))
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(f"{request.host.partition(':')[0]}{request.path}")
        return await self._serve(request)


def constant(body: bytes, **headers: str) -> Serve:
    async def serve(_request: web.Request) -> web.StreamResponse:
        return web.Response(body=body, headers=headers)

    return serve


def fetched(
    serve: Serve,
    url: str = "http://pictures.test:PORT/a.png",
    limits: ImageLimits | None = None,
) -> ImagePart | TextPart:
    fetcher = ImageFetcher(limits, allowed=here_only, resolve=loopback)
    return asyncio.run(Web(serve).fetch(url, fetcher))


def refused(url: str, *addresses: str) -> str:
    """The note for an address that must not even be connected to."""

    async def resolve(host: str, port: int) -> Sequence[Address]:
        return [ip_address(one) for one in addresses] or await resolve_host(host, port)

    server = Web(constant(picture()))
    note = asyncio.run(server.fetch(url, ImageFetcher(resolve=resolve)))
    assert server.asked == []
    return reason(note)


def reason(found: ImagePart | TextPart) -> str:
    assert isinstance(found, TextPart)
    start, end = "[image could not be read: ", "]"
    assert found.text.startswith(start)
    assert found.text.endswith(end)
    return found.text.removeprefix(start).removesuffix(end)


# -- what is taken -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_a_small_image_comes_as_it_is(kind: str) -> None:
    body = picture(kind)
    assert fetched(constant(body)) == ImagePart(data=body, mime=f"image/{kind.lower()}")


def test_bytes_tell_the_type_and_not_the_header() -> None:
    found = fetched(constant(picture(), **{"Content-Type": "text/html"}))
    assert isinstance(found, ImagePart)
    assert found.mime == "image/png"


@pytest.mark.parametrize(("mode", "mime_type"), [("RGB", "image/jpeg"), ("RGBA", "image/png")])
def test_a_large_image_is_made_smaller(mode: str, mime_type: str) -> None:
    body = picture(size=(900, 300), mode=mode)
    found = fetched(constant(body), limits=ImageLimits(max_side_px=90))
    assert isinstance(found, ImagePart)
    with Image.open(BytesIO(found.data or b"")) as seen:
        assert (found.mime, seen.size) == (mime_type, (90, 30))


@pytest.mark.parametrize("kind", ["GIF", "WEBP"])
def test_of_a_moving_image_the_first_frame_is_taken(kind: str) -> None:
    found = fetched(constant(moving(kind)))
    assert isinstance(found, ImagePart)
    with Image.open(BytesIO(found.data or b"")) as seen:
        red, green, blue = seen.convert("RGB").getpixel((10, 10))  # type: ignore[misc]
    assert found.mime == "image/jpeg"
    assert red > 200 > 60 > max(green, blue)


# -- what is not ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"<html>" + b" " * 100, "it is not a PNG, JPEG, GIF or WebP"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "it is not a PNG, JPEG, GIF or WebP"),
        (b"", "it is not a PNG, JPEG, GIF or WebP"),
        (picture()[:60], "it is damaged"),
        (picture("JPEG")[:200], "it is damaged"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 64, "it is damaged"),
    ],
)
def test_what_is_no_image_becomes_a_note(body: bytes, words: str) -> None:
    assert reason(fetched(constant(body))) == words


def test_damage_never_raises() -> None:
    rng = random.Random(5)
    bodies = [picture(kind, (64, 64)) for kind in ("PNG", "JPEG", "GIF", "WEBP")]
    broken = []
    for _ in range(60):
        body = bytearray(rng.choice(bodies))
        for _ in range(rng.randint(1, 12)):
            body[rng.randrange(len(body))] = rng.randrange(256)
        broken.append(bytes(body[: rng.randint(1, len(body))]))
    queue = iter(broken)

    async def serve(_request: web.Request) -> web.StreamResponse:
        return web.Response(body=next(queue))

    async def main() -> list[ImagePart | TextPart]:
        fetcher = ImageFetcher(allowed=here_only, resolve=loopback)
        server = Web(serve)
        return [await server.fetch("http://pictures.test:PORT/", fetcher) for _ in broken]

    words = {reason(one) for one in asyncio.run(main()) if isinstance(one, TextPart)}
    assert "it is damaged" in words
    assert words <= {
        "it is damaged",
        "it is not a PNG, JPEG, GIF or WebP",
        "it has too many pixels",
    }


def test_too_many_bytes_said_and_unsaid() -> None:
    limits = ImageLimits(max_bytes=2 * 1_048_576)
    body = picture() + b"\0" * (3 * 1_048_576)

    async def unsaid(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        for start in range(0, len(body), 65_536):
            await response.write(body[start : start + 65_536])
        return response

    assert reason(fetched(constant(body), limits=limits)) == "it is larger than 2 MB"
    assert reason(fetched(unsaid, limits=limits)) == "it is larger than 2 MB"


def test_too_many_pixels() -> None:
    body = picture(size=(2000, 2000))
    assert reason(fetched(constant(body), limits=ImageLimits(max_pixels=1_000_000))) == (
        "it has too many pixels"
    )


def test_a_bomb_that_pillow_itself_refuses() -> None:
    body = bytearray(picture())
    body[16:24] = (60_000).to_bytes(4, "big") * 2
    assert reason(fetched(constant(bytes(body)))) in ("it has too many pixels", "it is damaged")


def test_compressed_answers_do_not_grow_here() -> None:
    body = b"\x1f\x8b" + b"\0" * 100
    found = fetched(constant(body, **{"Content-Encoding": "gzip"}))
    assert reason(found) == "it is not a PNG, JPEG, GIF or WebP"


def test_a_server_that_never_answers() -> None:
    async def serve(_request: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    assert reason(fetched(serve, limits=ImageLimits(timeout_s=0.05))) == "it took too long"


def test_a_status_is_told() -> None:
    async def serve(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=404)

    assert reason(fetched(serve)) == "the server answers 404"


def test_nobody_listens() -> None:
    fetcher = ImageFetcher(allowed=here_only, resolve=loopback)
    found = asyncio.run(fetcher.fetch("http://pictures.test:1/a.png"))
    assert reason(found) == "the server does not answer"


# -- where it may not go -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.8.8.8",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.100.100.200",
        "168.63.129.16",
        "0.0.0.0",
        "255.255.255.255",
        "224.0.0.1",
        "192.0.2.1",
        "198.18.0.1",
        "::",
        "::1",
        "::7f00:1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "2002:7f00:1::",
        "2001:0:7f00:1::",
        "fe80::1",
        "fe80::1%eth0",
        "fc00::1",
        "fd00:ec2::254",
        "ff02::1",
        "2001:db8::1",
    ],
)
def test_not_public(address: str) -> None:
    assert not is_public(ip_address(address))
    assert refused("http://pictures.test:PORT/a.png", address) == "the address is not public"


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_public(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "127.1"],
)
def test_every_spelling_of_home(host: str) -> None:
    assert refused(f"http://{host}:PORT/a.png") == "the address is not public"


def test_one_private_address_among_public_ones_is_enough() -> None:
    assert refused("http://x.test:PORT/", "8.8.8.8", "10.0.0.1") == "the address is not public"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("file:///etc/passwd", "only http and https addresses are fetched"),
        ("ftp://x.test/a.png", "only http and https addresses are fetched"),
        ("data:image/png;base64,AAAA", "only http and https addresses are fetched"),
        ("/a.png", "only http and https addresses are fetched"),
        ("", "only http and https addresses are fetched"),
        ("http://user:pass@x.test/a.png", "the address carries a name or a password"),
        ("http://user@x.test/a.png", "the address carries a name or a password"),
        ("http://:@x.test/a.png", "the address carries a name or a password"),
        ("http://x.test:99999/a.png", "the address is malformed"),
        ("http://[::1/a.png", "the address is malformed"),
        ("http:///a.png", "the address is malformed"),
    ],
)
def test_addresses_that_are_not_asked(url: str, words: str) -> None:
    assert refused(url, "8.8.8.8") == words


def test_a_host_that_does_not_exist() -> None:
    async def resolve(_host: str, _port: int) -> Sequence[Address]:
        raise OSError("no")

    found = asyncio.run(ImageFetcher(resolve=resolve).fetch("http://x.test/a.png"))
    assert reason(found) == "no such host"


def test_the_checked_address_is_the_one_connected_to() -> None:
    """A name that changes its mind after the check is asked only once."""
    answers = iter([[HOME], [ip_address("10.0.0.1")]])
    asked: list[str] = []

    async def resolve(host: str, _port: int) -> Sequence[Address]:
        asked.append(host)
        return next(answers)

    fetcher = ImageFetcher(allowed=here_only, resolve=resolve)
    found = asyncio.run(Web(constant(picture())).fetch("http://x.test:PORT/a.png", fetcher))
    assert isinstance(found, ImagePart)
    assert asked == ["x.test"]


# -- redirects -----------------------------------------------------------------------------------


def redirecting(*locations: str) -> Serve:
    """`/0` leads to the first, `/1` to the second; everything else is the picture."""

    async def serve(request: web.Request) -> web.StreamResponse:
        step = request.path.strip("/")
        if step.isdigit() and int(step) < len(locations):
            location = locations[int(step)].replace("PORT", str(request.url.port))
            return web.Response(status=302, headers={"Location": location} if location else {})
        return web.Response(body=picture())

    return serve


def test_redirects_are_followed() -> None:
    hops = redirecting("/1", "http://other.test:PORT/2", "//third.test:PORT/a.png")
    assert isinstance(fetched(hops, "http://pictures.test:PORT/0"), ImagePart)


@pytest.mark.parametrize(
    ("locations", "words"),
    [
        (["/1", "/2", "/3", "/4"], "too many redirects"),
        (["/0"], "too many redirects"),
        ([""], "the redirect leads nowhere"),
        (["http://[::1/"], "the redirect leads nowhere"),
        (["file:///etc/passwd"], "only http and https addresses are fetched"),
        (["http://u:p@x.test/"], "the address carries a name or a password"),
    ],
)
def test_redirects_that_are_not(locations: list[str], words: str) -> None:
    assert reason(fetched(redirecting(*locations), "http://pictures.test:PORT/0")) == words


def test_a_redirect_into_the_private_network() -> None:
    inside = ip_address("169.254.169.254")

    async def resolve(host: str, _port: int) -> Sequence[Address]:
        return [inside if host == "169.254.169.254" else HOME]

    server = Web(redirecting("http://169.254.169.254:PORT/latest/meta-data"))
    fetcher = ImageFetcher(allowed=here_only, resolve=resolve)
    found = asyncio.run(server.fetch("http://pictures.test:PORT/0", fetcher))
    assert reason(found) == "the address is not public"
    assert server.asked == ["pictures.test/0"]


def test_types_by_their_first_bytes() -> None:
    kinds = {kind: image_type(picture(kind)[:16]) for kind in ("PNG", "JPEG", "GIF", "WEBP", "BMP")}
    assert kinds == {
        "PNG": "image/png",
        "JPEG": "image/jpeg",
        "GIF": "image/gif",
        "WEBP": "image/webp",
        "BMP": None,
    }


# -- what it may cost ----------------------------------------------------------------------------


def test_all_models_share_one_fetcher() -> None:
    async def main() -> bool:
        return shared_fetcher() is shared_fetcher()

    assert asyncio.run(main())


def test_a_screenshot_of_a_large_screen_is_seen() -> None:
    found = prepare_image(flat_png(3840, 2160, clear=True), ImageLimits())
    with Image.open(BytesIO(found.data or b"")) as seen:
        assert seen.size == (1536, 864)


@pytest.mark.parametrize("size", [(3071, 3071), (8000, 8000), (60_000, 900), (9000, 3)])
def test_every_jpeg_of_a_camera_is_seen(size: tuple[int, int]) -> None:
    found = prepare_image(flat_jpeg(*size), ImageLimits())
    with Image.open(BytesIO(found.data or b"")) as seen:
        assert max(seen.size) == 1536


def test_a_photograph_is_seen_as_the_camera_was_held() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    out = BytesIO()
    photograph = Image.new("RGB", (2000, 1000), "blue")
    photograph.paste("red", (0, 0, 1000, 1000))
    photograph.save(out, "JPEG", exif=exif)
    found = prepare_image(out.getvalue(), ImageLimits())
    with Image.open(BytesIO(found.data or b"")) as seen:
        assert seen.size == (768, 1536)
        red, _green, blue = seen.getpixel((300, 100))  # type: ignore[misc]
        assert red > 200 > blue


def test_many_bytes_become_fewer() -> None:
    raw = noisy_png(1500, 1500)
    limits = ImageLimits()
    assert len(raw) > limits.max_sent_bytes
    found = prepare_image(raw, limits)
    assert len(found.data or b"") <= limits.max_sent_bytes


def test_a_jpeg_of_a_thousand_scans_does_not_take_an_hour() -> None:
    raw = flat_jpeg(64, 64)
    with pytest.raises(FetchRefusedError, match="damaged"):
        prepare_image(raw[:-2] + b"\xff\xda\x00\x02" * 1000 + raw[-2:], ImageLimits())


def test_a_gif_whose_frame_is_larger_than_its_screen_is_measured_by_the_frame() -> None:
    raw = bytearray(picture("GIF"))
    frame = raw.index(b"\x2c")
    raw[frame + 5 : frame + 9] = b"\x00\x20" * 2
    with pytest.raises(FetchRefusedError, match="pixels"):
        prepare_image(bytes(raw), ImageLimits())


def test_a_moving_png_shows_its_first_frame() -> None:
    found = prepare_image(moving("PNG"), ImageLimits())
    assert found.mime == "image/jpeg"
    with Image.open(BytesIO(found.data or b"")) as seen:
        assert getattr(seen, "n_frames", 1) == 1


def test_one_picture_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a thread of its own, not in those that everything else needs."""
    at_once: list[int] = []
    threads: set[str] = set()
    running = 0

    def slow(raw: bytes, limits: ImageLimits) -> ImagePart:
        nonlocal running
        running += 1
        at_once.append(running)
        threads.add(threading.current_thread().name)
        found = prepare_image(raw, limits)
        running -= 1
        return found

    monkeypatch.setattr(preparation, "prepare_image", slow)

    async def main() -> None:
        jobs = (preparation.prepare_in_turn(picture(), ImageLimits()) for _ in range(8))
        await asyncio.gather(*jobs)

    asyncio.run(main())
    assert at_once == [1] * 8
    assert len(threads) == 1
    assert threads.pop().startswith("pictures")


# -- what is kept --------------------------------------------------------------------------------


def test_a_new_signature_does_not_make_a_new_picture() -> None:
    place = "https://cdn.discordapp.com/attachments/1/2/a.png"
    assert image_key(f"{place}?ex=1&is=2&hm=3&") == image_key(f"{place}?ex=4&is=5&hm=6") == place
    assert image_key(f"{place}?size=64&ex=1") != image_key(place)
    assert image_key("http://[::1/") == "http://[::1/"


def test_the_cache_is_bounded_in_pictures_and_bytes() -> None:
    cache = ImageCache(most_images=3, most_bytes=100)
    for number in range(5):
        cache.keep(f"http://x.test/{number}", ImagePart(data=b"x" * 30, mime="image/png"))
    assert [cache.get(f"http://x.test/{n}") is not None for n in range(5)] == [
        False,
        False,
        True,
        True,
        True,
    ]
    cache.keep("http://x.test/large", ImagePart(data=b"x" * 90, mime="image/png"))
    cache.keep("http://x.test/large", ImagePart(data=b"x" * 90, mime="image/png"))
    assert cache.get("http://x.test/4") is None
    assert cache.get("http://x.test/large") is not None


def test_a_failure_that_may_pass_is_tried_again() -> None:
    answers = iter([web.Response(status=503), web.Response(body=picture())])

    async def serve(_request: web.Request) -> web.StreamResponse:
        return next(answers)

    async def main() -> list[ImagePart | TextPart]:
        fetcher = ImageFetcher(allowed=here_only, resolve=loopback)
        server = Web(serve)
        return [await server.fetch("http://pictures.test:PORT/", fetcher) for _ in range(2)]

    first, second = asyncio.run(main())
    assert reason(first) == "the server answers 503"
    assert isinstance(second, ImagePart)
