"""Questions of tools that ask first: what waits for a person, and who may decide.

A question lives in the process that runs its turn, and no longer than the turn. Its buttons carry a
random key; an unknown key belongs to a question that is over.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, cast

from oshaberi.bot.conversation.messages import Person
from oshaberi.bot.tools.definition import APPROVERS, Approver, AskedCall

PREFIX = "oshaberi:tool:"
ID_PATTERN = PREFIX + r"(?P<action>allow|refuse|show):(?P<key>[0-9a-f]{16})"

Action = Literal["allow", "refuse", "show"]


def id_of_button(action: Action, key: str) -> str:
    return f"{PREFIX}{action}:{key}"


def pressed_action(custom_id: str) -> tuple[Action, str] | None:
    """Split a button's id into action and question key; None if it is another button."""
    found = re.fullmatch(ID_PATTERN, custom_id)
    return None if found is None else (cast(Action, found["action"]), found["key"])


def _key() -> str:
    return secrets.token_hex(8)


@dataclass(slots=True, eq=False)
class ToolQuestion:
    """A question about the calls of one round. `asker_id` is the person for whom the tools run."""

    channel_id: int
    asker_id: int
    calls: tuple[AskedCall, ...]
    key: str = field(default_factory=_key)
    verdict: asyncio.Future[bool] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    @property
    def approver(self) -> Approver:
        """Return who decides: the smallest group that one of the tools names."""
        return max((one.approver for one in self.calls), key=APPROVERS.index)

    def may_decide(self, person: Person, *, is_owner: bool = False) -> bool:
        """Return whether a person may decide. `is_owner`: they own the bot."""
        if is_owner or person.can_manage_server:
            return True
        if self.approver == "manage_server":
            return False
        is_asker = self.approver == "asker" and person.id == self.asker_id
        return is_asker or person.can_manage_messages

    def decide(self, *, allowed: bool) -> bool:
        """Decide the question. Return False if somebody already had."""
        if self.verdict.done():
            return False
        self.verdict.set_result(allowed)
        return True


class ToolQuestions:
    """The questions that wait in this process."""

    def __init__(self) -> None:
        self._waiting: dict[str, ToolQuestion] = {}

    @contextmanager
    def waiting(
        self, channel_id: int, asker_id: int, calls: Sequence[AskedCall]
    ) -> Iterator[ToolQuestion]:
        """Keep a new question open during the block."""
        question = ToolQuestion(channel_id, asker_id, tuple(calls))
        self._waiting[question.key] = question
        try:
            yield question
        finally:
            del self._waiting[question.key]

    def find(self, key: str, channel_id: int) -> ToolQuestion | None:
        """Return a waiting question of this channel; None if it is over."""
        found = self._waiting.get(key)
        return found if found is not None and found.channel_id == channel_id else None
