"""The actions of people: write, edit, react, press buttons, run commands, submit modals.

They are bound by the same permissions and limits as anybody: what Discord would refuse them
raises RefusalError here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from oshaberi.stage.interactions import interaction_flow
from oshaberi.stage.interactions.interaction_data import (
    command_data,
    component,
    menu_data,
    modal_data,
)
from oshaberi.stage.interactions.interaction_flow import Interaction, InteractionType
from oshaberi.stage.rest.routes.channel_routes import start_typing
from oshaberi.stage.rules.api_refusals import refusal
from oshaberi.stage.rules.message_rules import Upload, read_draft
from oshaberi.stage.stage_errors import StageError
from oshaberi.stage.stage_state import StageState
from oshaberi.stage.world import message_posting, reaction_changes
from oshaberi.stage.world.discord_records import Channel, Json, StageMessage, User
from oshaberi.stage.world.permissions import Permission
from oshaberi.stage.world.world_state import Key

MessageKey = int | StageMessage


@dataclass(frozen=True, slots=True)
class PostedFile:
    """A file somebody attaches, with its alt text."""

    name: str
    content: bytes = field(repr=False)
    alt: str | None = None


class PeopleActions:
    """`user` defaults to the first member of the first guild who is not a bot."""

    def __init__(self, state: StageState) -> None:
        self._state = state

    def post(
        self,
        channel: Key,
        content: str = "",
        *,
        user: Key | None = None,
        reply_to: MessageKey | None = None,
        files: Mapping[str, bytes] | Sequence[PostedFile] = (),
        nonce: str | None = None,
    ) -> StageMessage:
        """Somebody writes, with the same `nonce` only once. In a DM channel that is its person."""
        place, who = self._place(channel), self._who(user)
        body: Json = {"content": content, "nonce": nonce, "enforce_nonce": True}
        if reply_to is not None:
            body["message_reference"] = {"message_id": str(self._message(reply_to).id)}
        named = _files(files)
        body["attachments"] = [{"id": str(i), "description": f.alt} for i, f in enumerate(named)]
        draft = read_draft(body, [Upload(i, f.name, f.content) for i, f in enumerate(named)])
        person = self._state.world.users[who]
        message_posting.may_post(self._state, place, person, draft)
        made = message_posting.made_before(self._state, who, draft)
        if made is not None:
            return made
        if draft.empty:
            raise refusal(50006)
        message_posting.check_filters(self._state.world.guild_of(place), draft.content or "")
        message_posting.check_slowmode(self._state, place, person)
        return message_posting.post(self._state, place, message_posting.PostAuthor(who), draft)

    def dm(self, content: str, *, user: Key | None = None) -> StageMessage:
        """Somebody writes to the bot alone."""
        who = self._who(user)
        return self.post(self._state.world.dm_with(who).id, content, user=who)

    def edit(self, message: MessageKey, content: str) -> StageMessage:
        item = self._message(message)
        message_posting.edit(self._state, item, read_draft({"content": content}, []))
        return item

    def delete(self, message: MessageKey) -> None:
        message_posting.remove(self._state, self._message(message))

    def type(self, channel: Key, *, user: Key | None = None) -> None:
        start_typing(self._state, self._place(channel), self._who(user))

    def react(self, message: MessageKey, emoji: str, *, user: Key | None = None) -> None:
        """A character, or the name of one of the guild's emoji."""
        name, number = self._emoji(emoji)
        reaction_changes.add(self._state, self._message(message), self._who(user), name, number)

    def unreact(self, message: MessageKey, emoji: str, *, user: Key | None = None) -> None:
        name, number = self._emoji(emoji)
        reaction_changes.remove(self._state, self._message(message), self._who(user), name, number)

    def press(
        self,
        message: MessageKey,
        button: str,
        *,
        user: Key | None = None,
        values: Sequence[str] | None = None,
    ) -> Interaction:
        """`button` is its label or custom id; `values` are for a menu."""
        item = self._message(message)
        data = component(item, button, values)
        return self._begin(InteractionType.COMPONENT, item.channel_id, user, data, item)

    def run(
        self,
        command: str,
        options: Mapping[str, object] | None = None,
        *,
        channel: Key | None = None,
        user: Key | None = None,
    ) -> Interaction:
        """A slash command: its name, with subcommands after spaces. People, channels and roles
        among the options are said by name or id."""
        data = command_data(self._state.world, command, options or {})
        return self._begin(InteractionType.COMMAND, self._where(channel), user, data)

    def choose(self, entry: str, message: MessageKey, *, user: Key | None = None) -> Interaction:
        """An entry of the menu of a message ("Apps" in Discord)."""
        item = self._message(message)
        data = menu_data(self._state.world, entry, item, self._state.url)
        return self._begin(InteractionType.COMMAND, item.channel_id, user, data)

    def complete(
        self,
        command: str,
        option: str,
        typed: str,
        *,
        options: Mapping[str, object] | None = None,
        channel: Key | None = None,
        user: Key | None = None,
    ) -> Interaction:
        """Somebody types into an option, with others filled in; `choices` come with the answer."""
        filled = {**(options or {}), option: typed}
        data = command_data(self._state.world, command, filled, focused=option)
        return self._begin(InteractionType.AUTOCOMPLETE, self._where(channel), user, data)

    def submit(self, asked: Interaction, values: Mapping[str, str]) -> Interaction:
        """Fill in the modal that answered `asked`: by custom id or label of each field."""
        if asked.modal is None:
            raise StageError("this interaction was not answered with a modal")
        data = modal_data(asked.modal, values)
        source = None
        if asked.message_id is not None:
            source = self._state.world.messages[asked.channel_id].get(asked.message_id)
        place = asked.channel_id
        return self._begin(InteractionType.MODAL, place, asked.user_id, data, source)

    def _begin(
        self,
        kind: InteractionType,
        channel: Key,
        user: Key | None,
        data: Json,
        message: StageMessage | None = None,
    ) -> Interaction:
        place, who = self._place(channel), self._who(user)
        if not self._state.world.permissions_of(who, place) & Permission.VIEW_CHANNEL:
            raise refusal(50001)
        return interaction_flow.begin(self._state, kind, who, place, data, message)

    def somebody(self, user: Key | None = None) -> User:
        """Who that is, or who acts when nobody is named."""
        if user is not None:
            return self._state.world.user(user)
        guilds = self._state.world.guilds.values()
        return next(m.user for g in guilds for m in g.members.values() if not m.user.bot)

    def _who(self, user: Key | None) -> int:
        return self.somebody(user).id

    def _where(self, channel: Key | None) -> Key:
        if channel is not None:
            return channel
        return next(c.id for c in self._state.world.channels.values() if c.type == 0)

    def _place(self, channel: Key) -> Channel:
        return self._state.world.channel(channel)

    def _message(self, message: MessageKey) -> StageMessage:
        if isinstance(message, StageMessage):
            return message
        for there in self._state.world.messages.values():
            if message in there:
                return there[message]
        raise StageError(f"there is no message {message}")

    def _emoji(self, text: str) -> tuple[str, int | None]:
        for guild in self._state.world.guilds.values():
            for emoji in guild.emojis.values():
                if text.strip(":") == emoji.name:
                    return emoji.name, emoji.id
        return text, None


def _files(files: Mapping[str, bytes] | Sequence[PostedFile]) -> list[PostedFile]:
    if isinstance(files, Mapping):
        return [PostedFile(name, content) for name, content in files.items()]
    return list(files)
