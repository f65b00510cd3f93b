"""Requests that no proper client sends, made from a seed: odd paths, names, ids and bodies.

They are written to the socket as they are: a client library would mend or refuse half of them.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

import pytest

from discord_stage import Stage
from discord_stage.access_guard import HEADER
from discord_stage.rest import ENDPOINTS

TEXTS = (
    "",
    " ",
    "\0",
    "a\0b",
    "x" * 300,
    "n" * 5000,
    "9" * 21,
    "9" * 5000,
    "0",
    "-1",
    "1.5",
    "1e9",
    "²",
    "٣",
    "１２",
    "..",
    "../../../etc/passwd",
    "a/b",
    "%00",
    "general",
    "mika",
    "smile:1",
    "smile:" + "9" * 5000,
    "\ud800",
    "\r\nX: y",
    "<svg onload=x>",
    "🎉",
    "@original",
    "@me",
    "__class__",
    "[x](y",
    "data:image/png;base64,%%%",
    "http://[::1",
)
VALUES: tuple[object, ...] = (
    *TEXTS,
    None,
    True,
    0,
    -1,
    1.5,
    10**18,
    10**40,
    10**4000,
    float("nan"),
    float("inf"),
    [],
    [None],
    [[]],
    {},
    {"": ""},
    [{"type": 1, "components": [{"type": 2, "custom_id": []}]}],
    [{"name": "a", "content": "%%%"}],
    [{"name": None, "content": ""}],
    {"message_id": "9" * 5000},
    {"message_id": "²", "channel_id": []},
    {"parse": [[]], "users": ["9" * 5000, "²"]},
)
KEYS = (
    *("content", "embeds", "components", "attachments", "nonce", "allowed_mentions", "flags"),
    *("message_reference", "username", "avatar_url", "thread_name", "name", "avatar", "type"),
    *("channel_id", "recipient_id", "permission_overwrites", "rate_limit_per_user", "archived"),
    *("auto_archive_duration", "applied_tags", "messages", "allow", "nick", "data", "message"),
    *("options", "parent_id", "description", "channel", "user", "reply_to", "files", "emoji"),
    *("button", "values", "command", "entry", "option", "typed", "interaction", "kind", "route"),
    *("call", "times", "attempt", "chance", "after", "status", "code", "retry_after_s", "via"),
    *("delay_s", "permission", "on", "do", "count", "resumable", "webhook", "speed", "use"),
    *("model", "base_url", "degree", "id", "before", "limit", "topic", "invitable", "locked"),
)
KINDS = ("application/json", "application/json; charset=klingon", "multipart/form-data", "a", "")
RAW_BODIES = (
    b"",
    b"{",
    b"\xff\xfe",
    b"nonsense",
    b"[" * 100_000,
    b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    b"[" * 700 + b"]" * 700,
    b'{"content": ' + b"9" * 5000 + b"}",
    b'{"content": "x", "components": ' + b'[{"components": ' * 400 + b"[]" + b"}]" * 400 + b"}",
    b"--b\r\n\r\n",
    b'--b\r\nContent-Disposition: form-data; name="payload_json"\r\n\r\n'
    + b"[" * 90_000
    + b"\r\n--b--\r\n",
    b'--b\r\nContent-Disposition: form-data; name="files[0]"; filename="\0"\r\n\r\nx\r\n--b--\r\n',
    b"--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\n\r\nx\r\n--c--\r\n--b--\r\n",
)
TARGETS = (
    *("*", "//", "/%00", "/%", "/%zz", "/%ff%fe", "/..%2f..%2fetc/passwd", "/page/%00.js"),
    *("/page/..%2f..%2f__init__.py", "/page/" + "x" * 5000 + ".js", "/page/" + "x/" * 3000),
    *("http://127.0.0.1/", "http://[::1", "/?" + "a=" * 3000, "/#", "/\x01", "/" + "y" * 20_000),
    *("/cdn/avatars/" + "9" * 5000 + ".svg", "/cdn/emojis/" + "9" * 5000 + ".svg"),
    *("/cdn/avatars/%D9%A3.svg", "/cdn/attachments/1/%C2%B2/x", "/cdn/faces/%00.svg?mood=%00"),
    *("/cdn/attachments/1/" + "9" * 5000 + "/x", "/cdn/twemoji/%00.svg"),
    *("/cdn/twemoji/" + "a" * 5000 + ".svg", "/cdn/faces/" + "x" * 5000 + ".svg"),
    *("/channels/%00", "/stage/%00", "/stage/" + "z" * 5000, "/api/v10/%00", "/gw/", "/stage/feed"),
)
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")


@dataclass(frozen=True, slots=True)
class OddRequest:
    method: str
    target: str
    heads: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    def __str__(self) -> str:
        return f"{self.method} {self.target[:120]} {self.body[:200]!r}"


class OddRequests:
    """`one()` is the next. The same seed makes the same ones.

    `sound` are the control actions, each with values that it takes.
    """

    def __init__(self, stage: Stage, seed: int, sound: SoundActions | None = None) -> None:
        self._stage = stage
        self._random = random.Random(seed)
        self._sound = SOUND if sound is None else sound
        self._actions = ACTIONS if sound is None else tuple(sound)

    def one(self) -> OddRequest:
        make = self._random.choice(
            (self._rest, self._rest, self._control, self._acting, self._anywhere)
        )
        return make()

    def one_action(self) -> OddRequest:
        """The next, of those to the control API."""
        return self._random.choice((self._control, self._acting))()

    def _rest(self) -> OddRequest:
        endpoint = self._random.choice(ENDPOINTS)
        path = re.sub(r"\{(\w+)\}", lambda found: self._segment(found[1]), endpoint.path)
        heads = (("Authorization", f"Bot {self._stage.token}"), *self._kind())
        return OddRequest(endpoint.method, f"/api/v10{path}{self._query()}", heads, self._body())

    def _control(self) -> OddRequest:
        method = self._random.choice(("GET", "POST"))
        action = self._random.choice((*self._actions, _quoted(self._text())))
        heads = ((HEADER, self._stage.control_token), *self._kind())
        body = self._body() if method == "POST" else b""
        return OddRequest(method, f"/stage/{action}{self._query()}", heads, body)

    def _acting(self) -> OddRequest:
        """What an action takes, but for one value that is odd."""
        action = self._random.choice(tuple(self._sound))
        message = next((m for there in self._stage.world.messages.values() for m in there), 1)
        sound = self._sound[action]
        said = {key: str(message) if value == NEWEST else value for key, value in sound}
        said[self._random.choice((*said, "user", "channel"))] = self._value()
        heads = ((HEADER, self._stage.control_token), ("Content-Type", "application/json"))
        return OddRequest("POST", f"/stage/{action}", heads, json.dumps(said).encode())

    def _anywhere(self) -> OddRequest:
        method, target = self._random.choice(METHODS), self._random.choice(TARGETS)
        return OddRequest(method, target, self._kind(), self._body())

    def _segment(self, name: str) -> str:
        world = self._stage.world
        there: dict[str, Sequence[int | str]] = {
            "channel_id": list(world.channels),
            "guild_id": list(world.guilds),
            "user_id": list(world.users),
            "application_id": [world.application.id],
            "message_id": [m for there in world.messages.values() for m in there],
            "webhook_id": [*world.webhooks, world.application.id],
            "token": [hook.token for hook in world.webhooks.values()],
        }
        known = there.get(name)
        if known and self._random.random() < 0.7:
            return str(self._random.choice(known))
        return _quoted(self._text())

    def _text(self) -> str:
        return self._random.choice(TEXTS)

    def _query(self) -> str:
        if self._random.random() < 0.6:
            return ""
        keys = ("limit", "before", "after", "around", "thread_id", "wait", "channel", "user", "id")
        chosen = self._random.sample((*keys, "message"), 3)
        pairs = [f"{k}={_quoted(self._text()[:3000])}" for k in chosen]
        return f"?{'&'.join(pairs)}"

    def _kind(self) -> tuple[tuple[str, str], ...]:
        kind = "application/json"
        if self._random.random() < 0.15:
            kind = self._random.choice((*KINDS, "multipart/form-data; boundary=b"))
        return (("Content-Type", kind),)

    def _body(self) -> bytes:
        if self._random.random() < 0.25:
            return self._random.choice(RAW_BODIES)
        keys = self._random.sample(KEYS, self._random.randint(1, 6))
        said = {key: self._value() for key in keys}
        return json.dumps(said if self._random.random() < 0.9 else [said]).encode()

    def _value(self) -> object:
        world = self._stage.world
        there = [m for messages in world.messages.values() for m in messages]
        sound = (*ACTIONS, "general", "mika", *map(str, there[:3]), "hang", "close")
        return self._random.choice((*VALUES, *sound))


NEWEST = "(a message)"
SoundActions = Mapping[str, tuple[tuple[str, object], ...]]
SOUND: SoundActions = {
    "post": (
        *(("channel", "general"), ("content", "x"), ("nonce", "n"), ("reply_to", NEWEST)),
        ("files", [{"name": "a.txt", "content": "aGk=", "alt": "a"}]),
    ),
    "dm": (("content", "x"), ("user", "mika")),
    "open_dm": (("user", "mika"),),
    "edit": (("message", NEWEST), ("content", "y")),
    "type": (("channel", "general"), ("user", "mika")),
    "react": (("message", NEWEST), ("emoji", "🎉"), ("user", "mika")),
    "unreact": (("message", NEWEST), ("emoji", "🎉"), ("user", "mika")),
    "press": (("message", NEWEST), ("button", "Go"), ("values", ["a"]), ("user", "mika")),
    "run": (("command", "go"), ("options", {"text": "x"}), ("channel", "general")),
    "choose": (("entry", "Look"), ("message", NEWEST), ("user", "mika")),
    "complete": (("command", "go"), ("option", "text"), ("typed", "x"), ("options", {})),
    "submit": (("interaction", "1"), ("values", {})),
    "fault": (
        *(("kind", "status"), ("route", "POST /x"), ("call", 1), ("times", 1), ("chance", 0.5)),
        *(("delay_s", 0.0), ("status", 500), ("retry_after_s", 1.0), ("channel", "general")),
    ),
    "rate_limits": (("on", False),),
    "gateway": (("do", "redeliver"), ("count", 1)),
    "change": (("do", "lose_permission"), ("channel", "general"), ("permission", "attach_files")),
}


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="surrogatepass")


ACTIONS = (
    *("world", "messages", "requests", "interactions", "problems", "post", "dm", "open_dm"),
    *("edit", "delete", "type", "react", "unreact", "press", "run", "choose", "complete"),
    *("submit", "fault", "clear_faults", "rate_limits", "gateway", "change", "extensions"),
    *("page_extensions", "prompts", "answering"),
)


def broken(stage: Stage, caplog: pytest.LogCaptureFixture) -> list[str]:
    """What went wrong inside the stage."""
    logged = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    return logged + [text for text in stage.state.request_log.problems if "broke" in text]


async def answered(stage: Stage, request: OddRequest) -> int:
    """The status of the answer; 0 if the connection was closed without one."""
    place = urlsplit(stage.url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port, limit=2**24)
    heads = [("Host", place.netloc), ("Content-Length", str(len(request.body))), *request.heads]
    lines = [f"{request.method} {request.target} HTTP/1.1", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in heads]
    try:
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + request.body)
        await writer.drain()
        first = await reader.readline()
        return int(first.split()[1]) if first else 0
    except ConnectionError:
        return 0
    finally:
        writer.close()
