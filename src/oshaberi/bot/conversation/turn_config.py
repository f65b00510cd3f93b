"""The settings of a turn. `StreamConfig` has those for delivery, `TextConfig` those for text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from typing import Any
from unicodedata import category

from oshaberi.delivery.config import StreamConfig
from oshaberi.errors import Sentence
from oshaberi.languages.current_language import AUTO, DISCORD_LOCALES
from oshaberi.text.config import check_fields, choice, fraction, not_allowed, number, switch

MOST_COUNTED = 10**12
MOST_TEXTS = 20
LONGEST_TEXT = 100
LONGEST_INSTRUCTION = 2000
MOST_TOOLS = 250
LONGEST_TOOL = 100
MOST_IDS = 250
"""As many as fit into an option of a command, which holds 6000 characters."""
PROXY_BOTS = (466378653216014359, 431544605209788416)
"""PluralKit and Tupperbox."""


NO_EMOJI = "none"
"""The value of a setting that has no emoji."""
LONGEST_EMOJI = 20
_OWN_EMOJI = re.compile(r":\w{1,32}:|<a?:\w{1,32}:\d{1,20}>")
_WORD = re.compile(r"[A-Za-z\s]")
_SIGNS = frozenset({"So", "Sm", "Me"})
_PUNCTUATION = "‼⁉〰"
"""Emoji that Unicode counts as punctuation."""


def strings(what: str, default: tuple[str, ...] = ()) -> Any:
    """Declare a list of texts.

    Its size is limited for admins of a server, and so is each text's length.
    """
    about = {"strings": True, "server_most": MOST_TEXTS, "server_longest": LONGEST_TEXT}
    return field(default=default, metadata=about | {"what": what})


def tools(what: str) -> Any:
    """Declare a list of tools. One MCP server alone may have 128."""
    about = {"strings": True, "server_most": MOST_TOOLS, "server_longest": LONGEST_TOOL}
    return field(default=(), metadata=about | {"what": what})


def ids(what: str, mention: str = "", default: tuple[int, ...] = ()) -> Any:
    """Declare a list of ids. `mention` is `#` for channels, `@` for users, `@&` for roles."""
    about = {"ids": True, "server_most": MOST_IDS, "what": what, "mention": mention}
    return field(default=default, metadata=about)


def channel(what: str) -> Any:
    about = {"low": 0, "high": 2**63 - 1, "what": what, "mention": "#"}
    return field(default=0, metadata=about)


def name(what: str, default: str = "") -> Any:
    about = {"name": True, "server_longest": LONGEST_TEXT, "what": what}
    return field(default=default, metadata=about)


def emoji(what: str, default: str) -> Any:
    """Declare an emoji: Unicode, or one of the server's own by its name."""
    about = {"emoji": True, "name": True, "server_longest": LONGEST_TEXT, "what": what}
    return field(default=default, metadata=about)


def passage(what: str, longest: int) -> Any:
    """Declare a text that may have several lines."""
    return field(default="", metadata={"passage": True, "server_longest": longest, "what": what})


def quota(what: str, whose: str) -> Any:
    return number(
        0, 0, MOST_COUNTED, f"maximum number of {what} per {whose} and day; 0 is no limit"
    )


@dataclass(frozen=True, slots=True)
class TurnConfig:
    """Who is answered, with how much context, and what comes with the answer."""

    follow_up_policy: str = choice(
        "interrupt",
        ("interrupt", "queue", "collect"),
        "a message that arrives during an answer interrupts it, waits, or is collected",
    )
    burst_wait_ms: int = number(
        700,
        0,
        10_000,
        "a question is answered this many ms after the last message of its author; 0: at once",
    )
    burst_max_ms: int = number(
        8000,
        0,
        60_000,
        "longest wait while the author of a question is still typing, in ms after the first "
        "message",
    )
    answer_to_names: bool = switch(
        True,
        "answer who speaks to a persona by its name, as in `taro, how are you?` or `hey Taro!`",
    )
    attention_ms: int = number(
        0,
        0,
        3_600_000,
        "how long the bot goes on listening after it was spoken to, in ms; 0 is off",
    )
    attention_chance: float = fraction(
        0.8, "chance that it then answers a message that addresses nobody; falls with time"
    )
    interjection_chance: float = fraction(
        0.0, "chance that the bot answers any other message that addresses nobody"
    )
    own_threads: str = choice(
        "off",
        ("off", "request", "always"),
        "threads for single conversations: none; for who asks (`/talk`, `/branch`); for every "
        "question. In them, and with `always` in posts of forums, every message is answered",
    )
    own_threads_per_hour: int = number(
        6, 1, 60, "maximum number of threads that the bot opens for one user in an hour"
    )
    thread_names: str = choice(
        "model",
        ("model", "question"),
        "who names such a thread: the model, after its first answer; the question's first words",
    )
    continue_after_restart: bool = switch(
        True, "continue an answer that a restart cut off; `/continue` always can"
    )
    silence_markers: tuple[str, ...] = strings(
        "the model answers with one of these to say nothing; never shown", ("NO_REPLY",)
    )
    reply_mode: str = choice(
        "auto",
        ("off", "auto", "first", "all"),
        "which messages reply to the question: none; the first, if something else was said in "
        "between; the first; all. In direct messages only `all` replies",
    )
    language: str = choice(
        AUTO,
        (AUTO, "en", *DISCORD_LOCALES),
        "language of the bot's own public messages; `auto` uses the "
        "server's. Answers to commands are in the language of whoever uses them",
    )
    waiting_limit: int = number(10, 1, 100, "maximum number of messages that wait in a channel")
    reasoning_display: str = choice(
        "log", ("off", "log", "spoiler", "subtext"), "where the model's thoughts go"
    )
    working_line: str = choice(
        "off",
        ("off", "while", "keep"),
        "a line that says how long the model thinks and which tools run: none; one that is deleted "
        "with the end of the answer; one that stays",
    )
    status_reactions: bool = switch(False, "react with 👀 while working, then with ✅ or ⚠️")
    answer_buttons: str = choice(
        "off",
        ("off", "menu", "always"),
        "buttons under an answer: none; one that opens a menu; all, and one to stop it",
    )
    answer_versions: int = number(
        1,
        1,
        10,
        "how many versions of an answer are kept when it is written again; 1 keeps the newest",
    )
    answer_editing: str = choice(
        "off",
        ("off", "managers", "asker"),
        "who may edit what the bot said: nobody; members with Manage Messages; the asker too",
    )
    reaction_actions: bool = switch(
        False, "people act on an answer, or rate it, by reacting to it with one of these emoji"
    )
    reaction_delete: str = emoji("reaction that deletes an answer, or `none`", "❌")
    reaction_again: str = emoji("reaction that asks for an answer again, or `none`", "🔁")
    reaction_continue: str = emoji("reaction that continues an answer, or `none`", "▶️")
    reaction_good: str = emoji("reaction that calls an answer good, or `none`", "👍")
    reaction_bad: str = emoji("reaction that calls an answer bad, or `none`", "👎")
    reactions_in_context: bool = switch(False, "the model sees how people reacted to its messages")
    thought_log_channel_id: int = channel("channel in which thoughts are posted; 0 is none")
    picture_channel_id: int = channel(
        "channel in which the pictures of personas are kept; 0: the bot makes a hidden one"
    )
    llm_stop_strings: tuple[str, ...] = strings("stop the model where it writes one of these")
    speaker_guard_holdback_chars: int = number(
        32, 0, 256, "characters that are kept back to recognise a speaker's label"
    )
    max_function_call_iterations: int = number(
        100, 1, 1000, "maximum rounds of tools in one turn", server_high=100
    )
    max_consecutive_tool_errors: int = number(
        5, 1, 100, "end the turn after this many tool errors in a row"
    )
    tool_timeout_ms: int = number(60_000, 100, 600_000, "give up a tool after this many ms")
    tool_result_limit_chars: int = number(
        20_000,
        200,
        1_000_000,
        "cut a tool's result after this many characters",
        server_high=50_000,
    )
    history_messages: int = number(
        40, 0, 200, "how many earlier messages the model sees", server_high=100
    )
    summarise_history: bool = switch(
        True,
        "messages that do not fit into the model's window are summarised by the model instead of "
        "being dropped",
    )
    lore_budget_share: float = fraction(
        0.25, "share of the model's window that woken entries of lorebooks may fill"
    )
    short_memory_size: int = number(
        20, 0, 200, "how many exchanges of a channel are remembered", server_high=50
    )
    short_memory_days: int = number(30, 1, 3650, "for how many days they are remembered")
    cooldown_ms: int = number(0, 0, 3_600_000, "minimum time between two turns of one user, in ms")
    max_answering_personas: int = number(
        3, 1, 20, "maximum number of personas that answer one message", server_high=5
    )
    self_trigger_limit: int = number(
        3,
        0,
        20,
        "how often personas may answer each other before a person writes again",
        server_high=5,
    )
    persona_talk_enabled: bool = switch(
        False, "personas join in when another has spoken, as often as their talkativeness says"
    )
    answer_bots: tuple[int, ...] = ids("bots that are answered like people", "@")
    bot_rounds_limit: int = number(
        3,
        1,
        20,
        "how often bots are answered in a channel before a person writes again",
        server_high=5,
    )
    proxy_bots: tuple[int, ...] = ids(
        "bots that people speak through; their webhooks count as people", "@", PROXY_BOTS
    )
    auto_channels: tuple[int, ...] = ids(
        "channels and categories in which the bot answers every message that is not for others", "#"
    )
    answering_persona: str = name(
        "name of the persona that answers when no other is called; empty means the default persona"
    )
    channel_instruction: str = passage(
        "what the model is told in this channel, besides its persona; `/channel instruction` "
        "opens a form for it",
        LONGEST_INSTRUCTION,
    )
    allowed_users: tuple[int, ...] = ids(
        "answer only these users, and those with one of `allowed_roles`; empty means everybody", "@"
    )
    blocked_users: tuple[int, ...] = ids("never answer these users", "@")
    allowed_roles: tuple[int, ...] = ids(
        "answer only users with one of these roles, and `allowed_users`; empty means everybody",
        "@&",
    )
    blocked_roles: tuple[int, ...] = ids("never answer users with one of these roles", "@&")
    allowed_channels: tuple[int, ...] = ids(
        "answer only in these channels and categories; empty means everywhere", "#"
    )
    blocked_channels: tuple[int, ...] = ids("never answer in these channels and categories", "#")
    quota_requests_per_user_day: int = quota("requests to models", "user")
    quota_requests_per_channel_day: int = quota("requests to models", "channel")
    quota_requests_per_server_day: int = quota("requests to models", "server")
    quota_tokens_per_user_day: int = quota("tokens, read and written,", "user")
    quota_tokens_per_channel_day: int = quota("tokens, read and written,", "channel")
    quota_tokens_per_server_day: int = quota("tokens, read and written,", "server")
    allowed_tools: tuple[str, ...] = tools(
        "the only tools that the model gets, by name or as `files/*`; empty means all"
    )
    blocked_tools: tuple[str, ...] = tools(
        "tools that the model does not get, by name, as `files/*`, or `*` for all"
    )
    asking_tools: tuple[str, ...] = tools(
        "tools that ask a person before each use, besides those that always do"
    )
    tool_approver: str = choice(
        "asker",
        ("asker", "manage_messages", "manage_server"),
        "who may allow the tools of `asking_tools`: the person who asked (and members with Manage "
        "Messages); only members with Manage Messages; only those with Manage Server",
    )
    tool_question_ms: int = number(
        120_000, 5000, 600_000, "how long such a tool waits for a person, in ms"
    )
    web_page_tool_enabled: bool = switch(False, "the model may read web pages")
    search_tool_enabled: bool = switch(
        False,
        "the model may search the server's messages, as far as the asking person and everybody in "
        "the channel may read them",
    )
    schedules_per_user: int = number(
        10,
        0,
        100,
        "maximum number of reminders and tasks of one user; 0: nothing can be scheduled",
        server_high=25,
    )
    schedules_per_server: int = number(
        200,
        0,
        5000,
        "maximum number of reminders and tasks of a server",
        server_high=500,
    )
    schedule_shortest_minutes: int = number(
        60, 1, 10_080, "minimum time between two times of a recurring schedule, in minutes"
    )
    opening_after_minutes: int = number(
        0,
        0,
        43_200,
        "a persona begins to talk after so many minutes of silence or up to four times as many, at "
        "least 10; 0 is off",
    )
    welcome_enabled: bool = switch(
        False, "a persona welcomes members, where Discord announces that they have joined"
    )
    birthday_channel_id: int = channel(
        "channel in which a persona congratulates those who told their `/birthday`; 0 is none"
    )
    event_channel_id: int = channel(
        "channel in which a persona says that a scheduled event of the server begins; 0 is none"
    )
    follow_ups_enabled: bool = switch(
        False, "the model may decide to come back to a talk later, once"
    )
    schedule_tasks_enabled: bool = switch(
        False, "people may schedule tasks, which the model does when their time has come"
    )

    def __post_init__(self) -> None:
        check_fields(self)
        for setting in fields(self):
            value = getattr(self, setting.name)
            if "strings" in setting.metadata:
                object.__setattr__(self, setting.name, _checked_strings(setting.name, value))
            elif "ids" in setting.metadata:
                object.__setattr__(self, setting.name, _checked_ids(setting.name, value))
            elif "emoji" in setting.metadata:
                object.__setattr__(self, setting.name, _checked_emoji(setting.name, value))
            elif "name" in setting.metadata:
                object.__setattr__(self, setting.name, _checked_name(setting.name, value))
            elif "passage" in setting.metadata and not isinstance(value, str):
                raise not_allowed(setting.name, value, Sentence("a text, or nothing"))


@dataclass(frozen=True, slots=True)
class EffectiveSettings:
    """The settings that apply in one channel; `effective()` of `oshaberi.bot.config` makes them."""

    stream: StreamConfig
    turn: TurnConfig
    of_channel: frozenset[str] = frozenset()
    """The settings whose values come from the channel, its thread or its category."""


def _checked_strings(key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(
        isinstance(one, str) and one for one in value
    ):
        raise not_allowed(key, value, Sentence("a list of texts that are not empty"))
    return tuple(value)


def _checked_emoji(key: str, value: object) -> str:
    """Check only the form: which emoji exist changes with every version of Unicode."""
    text = value.strip() if isinstance(value, str) else ""
    is_own = _OWN_EMOJI.fullmatch(text) is not None
    has_sign = any(category(one) in _SIGNS or one in _PUNCTUATION for one in text)
    is_sign = len(text) <= LONGEST_EMOJI and has_sign and _WORD.search(text) is None
    if not (text == NO_EMOJI or is_own or is_sign):
        allowed = Sentence("an emoji, the name of one of the server's own (`:wave:`), or `none`")
        raise not_allowed(key, value, allowed)
    return text


def _checked_name(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise not_allowed(key, value, Sentence("a name"))
    return value.strip()


def _checked_ids(key: str, value: object) -> tuple[int, ...]:
    if not isinstance(value, list | tuple) or not all(type(one) is int for one in value):
        raise not_allowed(key, value, Sentence("a list of ids"))
    return tuple(value)
