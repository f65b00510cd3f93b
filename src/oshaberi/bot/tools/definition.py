"""What a tool is, and what it knows when it runs.

A tool has a name that every provider accepts, a schema, a permission and a function. Its context
says for whom it runs, where, and with which permissions. Text that a tool writes to the channel is
cleaned like the model's own (spec 06, S3 to S5), and then goes through the plug-ins of the entry
point group `oshaberi.tool_text`: functions that take a text and return it changed.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from oshaberi.clocks import utc_now
from oshaberi.delivery.attachments import DeliveryPlugIns
from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.response import ResponseState
from oshaberi.errors import ConfigError, OshaberiError
from oshaberi.plug_in_loading import load_plug_ins, plug_in_error
from oshaberi.text.normalize.table import cleaned_text

if TYPE_CHECKING:
    from oshaberi.bot.conversation.messages import IncomingMessage, TurnChannel
    from oshaberi.bot.conversation.turn_config import TurnConfig
    from oshaberi.bot.storage import Database
    from oshaberi.delivery.sink import Sink

log = logging.getLogger(__name__)

Permission = Literal["everyone", "manage_messages", "manage_server"]
PERMISSIONS: tuple[Permission, ...] = ("everyone", "manage_messages", "manage_server")
Approver = Literal["asker", "manage_messages", "manage_server"]
"""Who may allow a tool that asks first. `asker`: the person who asked, and members with Manage
Messages."""
APPROVERS: tuple[Approver, ...] = ("asker", "manage_messages", "manage_server")
"""Ordered from the most people to the fewest."""
ToolText = Callable[[str], str]
BUILT_IN = "built-in"
GROUP = "oshaberi.tool_text"
LONGEST = 64
_VALID = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_STRANGE = re.compile(r"[^A-Za-z0-9_-]+")
_MARK = 8


class ToolDefinitionError(OshaberiError):
    """A function cannot be a tool. The message names the function, the mistake and the remedy."""


class ToolFailedError(OshaberiError):
    """Raised by a tool on purpose. Its text goes to the model as an error."""


def _default_turn() -> TurnConfig:
    from oshaberi.bot.conversation.turn_config import TurnConfig

    return TurnConfig()


@dataclass(frozen=True, slots=True)
class ToolContext:
    """For whom and where a tool runs. A turn makes one context and passes it to every call.

    `stream` is the configuration of the turn's streams (with its persona), and `response` is the
    response that they share: what a tool posts is cleaned, limited and counted like the rest of the
    answer.
    """

    turn_channel: TurnChannel
    incoming: IncomingMessage
    store: Database | None = None
    """The bot's database, if there is one."""
    turn: TurnConfig = field(default_factory=_default_turn)
    stream: StreamConfig = field(default_factory=StreamConfig)
    response: ResponseState = field(default_factory=ResponseState)
    now: Callable[[], datetime] = utc_now
    """The current time, with its time zone."""
    sink_for: Callable[[IncomingMessage], Sink] | None = None
    """Where a reply to a message goes; None: `turn_channel.sink`."""
    plug_ins: DeliveryPlugIns = field(default_factory=DeliveryPlugIns)
    tool_text: Mapping[str, ToolText] = field(default_factory=dict)
    posting: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False, compare=False)
    """The lock of tools that write into the channel, so that they do so one after the other."""
    user_id: int = 0
    """The person for whom the tool runs, even if a persona asked. By default the author of
    `incoming`."""

    memory_of: int = 0
    """The persona whose own memory the tools use; 0: the memory of all personas."""

    is_addressed: bool = True
    """Whether a person has just addressed the bot. False if it speaks by itself, answers by chance
    or answers another persona."""

    persona_allows: tuple[str, ...] = ()
    """The persona's own list of the only tools that it uses; empty means all."""
    persona_blocks: tuple[str, ...] = ()
    """The tools that the persona does not use."""
    ask: AskForTools | None = None
    """Asks a person about tools that must not run without permission; None: nobody can be asked."""
    watch: WatchTool | None = None
    """Is notified of each tool that runs."""

    def __post_init__(self) -> None:
        if not self.user_id:
            object.__setattr__(self, "user_id", self.incoming.user_id)

    @property
    def persona_name(self) -> str:
        """Return the name of the persona that speaks; empty if there is none."""
        persona = self.stream.text.persona
        return "" if persona is None else persona.name

    @property
    def permissions(self) -> frozenset[Permission]:
        """Return what the asking person may do."""
        author = self.incoming.said.author
        if author.can_manage_server:
            return frozenset(PERMISSIONS)
        if author.can_manage_messages:
            return frozenset({"everyone", "manage_messages"})
        return frozenset({"everyone"})

    def allows(self, permission: Permission) -> bool:
        """Return whether the asking person has this permission."""
        return permission in self.permissions

    def plugged_text(self, text: str) -> str:
        """Return a tool's text after the plug-ins. The stream that sends it cleans it later."""
        return apply_plug_ins(text, self.tool_text)

    def cleaned_text(self, text: str) -> str:
        """Return a tool's text as it would be in an answer: emoji, mentions, names, plug-ins.

        This is for a tool that does not send its text through a stream.
        """
        return self.plugged_text(cleaned_text(text, self.stream.text))

    def sink(self, answering: IncomingMessage) -> Sink:
        """Return where a reply to this message goes."""
        return (self.sink_for or self.turn_channel.sink)(answering)


def installed_tool_text() -> Mapping[str, ToolText]:
    """Return the installed plug-ins for text that tools write into the channel."""
    return load_plug_ins(GROUP)


def apply_plug_ins(text: str, plug_ins: Mapping[str, ToolText]) -> str:
    """Return the text after all plug-ins, in alphabetical order. Skips a plug-in that fails."""
    for name, change in plug_ins.items():
        try:
            changed = change(text)
            if not isinstance(changed, str):
                raise TypeError(f"it returned {changed!r}, which is no text")
        except (Exception, SystemExit) as error:
            # Whatever a plug-in raises, the text is more important.
            log.error("%s", plug_in_error(GROUP, name, error))
        else:
            text = changed
    return text


RunTool = Callable[[ToolContext, Mapping[str, Any]], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class AskedCall:
    """A call of a tool that asks first. `shown` are its arguments for people, without secrets."""

    name: str
    approver: Approver
    shown: str = field(default="", repr=False)


WatchTool = Callable[[str], Callable[[bool], None]]
"""Called with the name of a tool that starts. It returns a function that is called when the tool
has ended, with whether it failed."""
AskForTools = Callable[[Sequence[AskedCall]], Awaitable[str]]
"""Asks about all these calls at once. Returns why they may not run; empty if they may."""


def has_store(context: ToolContext) -> bool:
    """Return whether there is a database; for `offered` of tools that need one."""
    return context.store is not None


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool. `parameters` is the JSON schema of an object. `run` returns text or a JSON value."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: RunTool
    permission: Permission = "everyone"
    timeout_ms: int | None = None
    """None means the setting `tool_timeout_ms`."""
    source: str = BUILT_IN
    """`built-in`, the Python module, or the name of the MCP server."""
    strict: bool = False
    """Whether the model's API should enforce the schema, if it can."""
    offered: Callable[[ToolContext], bool] | None = None
    """Decides whether the tool is offered in this turn; None means always."""
    asks: Approver | None = None
    """Who has to allow each use; None means that the tool does not ask."""


def is_valid(name: str) -> bool:
    """Return whether all APIs accept a name: 64 letters, digits, `_` and `-`, no digit first."""
    return _VALID.fullmatch(name) is not None


def valid_name(name: str) -> str:
    """Return the nearest valid name. A shortened name gets a suffix that keeps it unique."""
    plain = _STRANGE.sub("_", name) or "tool"
    if not (plain[0].isalpha() or plain[0] == "_"):
        plain = f"_{plain}"
    if len(plain) <= LONGEST:
        return plain
    mark = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:_MARK]
    return f"{plain[: LONGEST - _MARK - 1]}_{mark}"


def by_name(ours: Sequence[Tool], theirs: Iterable[Tool]) -> dict[str, Tool]:
    """Map names to tools.

    Our tools keep their names; another tool of the same name gets its source as a prefix.
    """
    _check_ours(ours)
    named = {one.name: one for one in ours}
    theirs = tuple(theirs)
    shared = Counter([*named, *(valid_name(one.name) for one in theirs)])
    for one in theirs:
        plain = valid_name(one.name)
        name = plain if shared[plain] == 1 else valid_name(f"{one.source}_{one.name}")
        named[_free(name, named)] = one
    return named


def _free(name: str, taken: dict[str, Tool]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = valid_name(f"{name[: LONGEST - 4]}_{number}")
    return free


def _check_ours(ours: Sequence[Tool]) -> None:
    for name, count in Counter(one.name for one in ours).items():
        if count > 1:
            sources = ", ".join(one.source for one in ours if one.name == name)
            raise ConfigError(f"tools: {name!r} is there twice ({sources}); rename one of them")
