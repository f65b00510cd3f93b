"""The settings of the process: where it stores data, its addresses, what it connects to."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from oshaberi.bot.config.toml_tables import McpServerEntry, ModelEntry, PersonaEntry
from oshaberi.bot.conversation.turn_config import ids, strings
from oshaberi.errors import ConfigError
from oshaberi.providers.request.answer_budgets import (
    MOST_ARGUMENT_BYTES,
    MOST_BODY_BYTES,
    MOST_TEXT_BYTES,
    MOST_THOUGHT_BYTES,
    AnswerBudgets,
)
from oshaberi.text.config import check_fields, choice, number, switch

MOST_SHARDS = 16_384
NO_HOME = Path("/nonexistent")
"""Used for a user without a name, as in a container: if `data_dir` is not set, creating this
fails."""


def data_home(environ: Mapping[str, str]) -> Path:
    """Return the folder where programs keep their data (XDG)."""
    named = environ.get("XDG_DATA_HOME", "")
    if Path(named).is_absolute():
        return Path(named) / "oshaberi"
    home = Path(environ["HOME"]) if environ.get("HOME") else _home_of_user()
    return home / ".local" / "share" / "oshaberi"


def _home_of_user() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        return NO_HOME


def _here() -> Path:
    return data_home(os.environ)


def _text(what: str, **about: Any) -> Any:
    """Declare an optional text. If it may contain a secret, `repr` leaves it out."""
    hidden = about.keys() & {"secret", "url"}
    return field(default=None, repr=not hidden, metadata={"text": True, "what": what, **about})


def _path(what: str, otherwise: str) -> Mapping[str, object]:
    return {"path": True, "what": what, "otherwise": otherwise}


def _table(what: str, allowed: str) -> Mapping[str, object]:
    return {"table": allowed, "what": what}


@dataclass(frozen=True, slots=True)
class ProcessConfig:
    """The settings of the running program, as opposed to those of one answer."""

    discord_token: str | None = _text(
        "the bot's token; without one the bot runs on the local stage", secret=True
    )
    discord_api_url: str | None = _text(
        "a proxy that keeps Discord's limits for several processes, for example "
        "`http://localhost:8080`; without one Discord is asked directly",
        url=True,
    )
    data_dir: Path = field(
        default_factory=_here,
        metadata=_path(
            "where the database and the key file are", "`oshaberi` in the user's data folder (XDG)"
        ),
    )
    database_url: str = _text(
        "`sqlite:///…` or `postgresql://…`", url=True, otherwise="a SQLite file in `data_dir`"
    )
    redis_url: str | None = _text("Redis, if the bot runs in several processes", url=True)
    secret_key_file: Path = field(
        default=cast(Path, None),
        metadata=_path(
            "file with the key that encrypts stored API keys, unless `OSHABERI_SECRET_KEY` is set",
            "`secret.key` in `data_dir`",
        ),
    )
    instance: str = _text(
        "name of this process; must be the same after a restart",
        otherwise='`main`, or made from its shards, or with `shards = "auto"` the host\'s name',
    )
    shutdown_grace_s: int = number(
        20, 0, 600, "seconds that running answers get to end when the bot is shut down"
    )
    max_question_age_s: int = number(
        600, 0, 86_400, "after a restart, questions older than this many seconds are not answered"
    )
    discord_outage_patience_s: int = number(
        3600,
        0,
        86_400,
        "while Discord does not answer, answers and questions are kept for this many seconds; "
        "then the person is told",
    )
    max_simultaneous_turns: int = number(
        200, 1, 10_000, "maximum number of answers that are written at once; further questions wait"
    )
    max_wait_s: int = number(
        120,
        1,
        3600,
        "a question that has waited this many seconds gets a notice to try again later",
    )
    max_answer_text_bytes: int = number(
        MOST_TEXT_BYTES, 10_000, 100_000_000, "an answer ends after this many bytes of text"
    )
    max_answer_thought_bytes: int = number(
        MOST_THOUGHT_BYTES, 10_000, 100_000_000, "an answer ends after this many bytes of thoughts"
    )
    max_answer_argument_bytes: int = number(
        MOST_ARGUMENT_BYTES,
        10_000,
        100_000_000,
        "an answer ends after this many bytes of arguments for tools",
    )
    max_answer_body_bytes: int = number(
        MOST_BODY_BYTES,
        100_000,
        1_000_000_000,
        "an answer ends after this many bytes of any kind; a token takes about 300",
    )
    shards: str = choice(
        "fixed",
        ("auto", "fixed"),
        "`auto`: all processes share the shards by leases in Redis; `fixed`: this one has "
        "`shard_ids`",
    )
    shard_ids: tuple[int, ...] = ids("the shards of this process; empty means all")
    shard_count: int = number(0, 0, MOST_SHARDS, "number of shards of the bot; 0 asks Discord")
    log_level: str = choice(
        "info", ("debug", "info", "warning", "error"), "how much is logged; `debug` is everything"
    )
    log_format: str = choice("text", ("text", "json"), "plain lines, or JSON objects")
    health_port: int = number(
        0, 0, 65_535, "port for `/health`, `/ready`, `/metrics` and the status page; 0 is off"
    )
    health_host: str = _text(
        "address on which that port is open; `0.0.0.0` means all", otherwise="`127.0.0.1`"
    )
    status_token: str | None = _text(
        "password of the status page at `/` of that port, at least 16 characters; without one the "
        "page is off",
        secret=True,
    )
    otel_endpoint: str | None = _text(
        "an OpenTelemetry collector that takes OTLP over HTTP, for example "
        "`http://localhost:4318`; without one turns are not traced",
        url=True,
    )
    retention_turns_days: int = number(
        180, 1, 180, "for how many days the bot stores which messages it answered, and how"
    )
    retention_facts_days: int = number(
        0, 0, 3650, "for how many days facts are remembered; 0 means until they are deleted"
    )
    retention_usage_days: int = number(
        62, 1, 62, "for how many days daily counts of requests and tokens are stored"
    )
    retention_left_servers_days: int = number(
        30, 0, 3650, "days after which the data of a server that the bot left is deleted; 0: never"
    )
    retention_backups_days: int = number(
        14,
        0,
        3650,
        "days after which the copies of a SQLite file beside it, made before a migration or by "
        "`oshaberi db restore`, are deleted; 0: never",
    )
    stage_port: int = number(8420, 0, 65_535, "port of the local stage; 0 takes any free one")
    models: tuple[ModelEntry, ...] = field(
        default=(),
        metadata=_table(
            "each has `provider`, `model` and optionally `base_url`, `api_keys` or `api_key_env`, "
            "`headers`, `region` and `project` (of a cloud), `params`, `price` (`input`, `output`, "
            "`cached`, `cache_write`: dollars for a million tokens), `window`, "
            "`max_output_tokens`, `images`, `thinking`, `prefill`, `reemits`, `pictures`, "
            "`search`, `sources`, `cache`, `text` (see below); "
            "they are tried in order",
            "a list of tables",
        ),
    )
    allow_local_models: bool = switch(
        False,
        "whether `/model` may choose models on the bot's own machine or network; those in `models` "
        "may always be there",
    )
    persona: PersonaEntry | None = field(
        default=None,
        metadata=_table(
            "has a `name` and optionally `prompt`, `aliases`, `triggers`, `avatar_url`, "
            "`age_restricted`, and a table `options` (`/persona set`)",
            "a table",
        ),
    )
    mcp_servers: Mapping[str, McpServerEntry] = field(
        default_factory=dict,
        metadata=_table(
            "each has `command`, `args`, `env`, `cwd`, or `url`, `headers`; "
            "and optionally `permission`, `timeout_ms`",
            "tables by name",
        ),
    )
    server_limits: Mapping[str, int] = field(
        default_factory=dict,
        metadata=_table(
            "by setting, the most that a server's admins may choose with `/config`",
            "a table of whole numbers",
        ),
    )
    tools: tuple[str, ...] = strings("Python modules whose tools the model may use")

    def __post_init__(self) -> None:
        shards = "-".join(map(str, self.shard_ids))
        self._fill("database_url", f"sqlite:///{self.data_dir / 'oshaberi.db'}")
        self._fill("secret_key_file", self.data_dir / "secret.key")
        self._fill("health_host", "127.0.0.1")
        own = socket.gethostname() if self.shards == "auto" else "main"
        self._fill("instance", f"shards-{shards}" if shards else own)
        check_fields(self)
        if any(ord(sign) < 32 or ord(sign) == 127 for sign in self.discord_token or ""):
            what = "has a line break or another control character in it; copy it again"
            raise ConfigError(f"discord_token: {what}")
        self._check_address("discord_api_url", "http://localhost:8080")
        self._check_address("otel_endpoint", "http://localhost:4318")
        if self.status_token is not None and len(self.status_token) < SHORTEST_STATUS_TOKEN:
            raise ConfigError(f"status_token: has fewer than {SHORTEST_STATUS_TOKEN} characters")
        self._check_shards()

    @property
    def answer_budgets(self) -> AnswerBudgets:
        return AnswerBudgets(
            self.max_answer_text_bytes,
            self.max_answer_thought_bytes,
            self.max_answer_argument_bytes,
            self.max_answer_body_bytes,
        )

    def _check_shards(self) -> None:
        if self.shards == "auto" and self.redis_url is None:
            raise ConfigError("shards: auto needs redis_url, where the processes share the shards")
        if self.shards == "auto" and self.shard_ids:
            raise ConfigError("shard_ids: must be empty with shards = auto")
        wrong = [shard for shard in self.shard_ids if shard >= self.shard_count]
        if wrong:
            allowed = f"below shard_count, {self.shard_count}"
            raise ConfigError(f"shard_ids: {wrong[0]} is not {allowed}")

    def _check_address(self, key: str, example: str) -> None:
        address = getattr(self, key)
        if address is None:
            return
        try:
            parts = urlsplit(address)
            is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
        except ValueError:
            is_address = False
        if not is_address:
            raise ConfigError(f"{key}: {address!r} is not an address like {example}")

    def _fill(self, key: str, value: object) -> None:
        if getattr(self, key) is None:
            object.__setattr__(self, key, value)


SHORTEST_STATUS_TOKEN = 16
