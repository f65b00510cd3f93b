"""The actions of people: write, edit, react, press buttons, run commands, submit modals.

The same permissions and limits apply to them as on Discord: an action that Discord would refuse
raises RefusalError.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from discord_stage.errors import StageError
from discord_stage.interactions import interaction_flow
from discord_stage.interactions.data import (
    command_data,
    component,
    message_menu_data,
    user_menu_data,
)
from discord_stage.interactions.entered_values import modal_data
from discord_stage.interactions.targets import PostedFile, ResolvedTargets
from discord_stage.refusals import refusal
from discord_stage.rules.messages import Upload, read_draft
from discord_stage.state import StageState
from discord_stage.world.permissions import Permission
from discord_stage.world.records import (
    Channel,
    Guild,
    Interaction,
    InteractionType,
    Json,
    MessageType,
    StageMessage,
    User,
)
from discord_stage.world.world_state import Key
from discord_stage.world_changes import (
    channel_changes,
    member_changes,
    message_posting,
    reaction_changes,
)

MessageKey = int | StageMessage
NO_JOIN_MESSAGES = 1 << 0
"""A flag of the system channel."""


class PeopleActions:
    """The actions. `user` defaults to the first member of the first guild who is not a bot."""

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
        """Write a message, only once per `nonce`. In a DM channel its user writes."""
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
        draft.refuse_empty()
        guild = self._state.world.guild_of(place)
        message_posting.check_filters(guild, draft.content or "")
        message_posting.check_automod(guild, place, who, draft.content or "")
        message_posting.check_slowmode(self._state, place, person)
        return message_posting.post(self._state, place, message_posting.PostAuthor(who), draft)

    def join(self, user: str, *, guild: Key | None = None, invite: str | None = None) -> User:
        """Let a new or known user join the first guild, or the guild of an invite.

        The guild's system channel announces it.
        """
        place = self._guild(guild) if invite is None else self._invited(invite)
        person = member_changes.new_user(self._state, user)
        member_changes.join(self._state, place, person)
        self._welcome(place, person)
        return person

    def _welcome(self, guild: Guild, person: User) -> None:
        channel = self._state.world.channels.get(int(guild.changed.get("system_channel_id") or 0))
        if channel is None or guild.changed.get("system_channel_flags", 0) & NO_JOIN_MESSAGES:
            return
        author, kind = message_posting.PostAuthor(person.id), MessageType.MEMBER_JOINED
        message_posting.post(self._state, channel, author, read_draft({}, []), kind=kind)

    def leave(self, user: Key, *, guild: Key | None = None) -> None:
        """Let a user leave the guild. Their messages stay."""
        who = self._state.world.user(user).id
        member_changes.leave(self._state, self._guild(guild), who)

    def _guild(self, guild: Key | None) -> Guild:
        world = self._state.world
        return next(iter(world.guilds.values())) if guild is None else world.guild(guild)

    def _invited(self, code: str) -> Guild:
        for guild in self._state.world.guilds.values():
            invite = guild.invites.get(code)
            if invite is not None:
                invite["uses"] += 1
                if invite["max_uses"] and invite["uses"] >= invite["max_uses"]:
                    del guild.invites[code]
                return guild
        raise StageError(f"there is no invite {code!r}")

    def dm(self, content: str, *, user: Key | None = None) -> StageMessage:
        """Write to the bot in a direct message."""
        who = self._who(user)
        return self.post(self._state.world.dm_with(who).id, content, user=who)

    def edit(self, message: MessageKey, content: str) -> StageMessage:
        item = self._message(message)
        message_posting.edit(self._state, item, read_draft({"content": content}, []))
        return item

    def delete(self, message: MessageKey) -> None:
        message_posting.remove(self._state, self._message(message))

    def type(self, channel: Key, *, user: Key | None = None) -> None:
        place, who = self._place(channel), self._who(user)
        if not self._state.world.permissions_of(who, place) & Permission.VIEW_CHANNEL:
            raise refusal(50001)
        channel_changes.start_typing(self._state, place, who)

    def react(self, message: MessageKey, emoji: str, *, user: Key | None = None) -> None:
        """Add a reaction: a character, or the name of a guild's emoji."""
        name, number = self._emoji(emoji)
        reaction_changes.add(self._state, self._message(message), self._who(user), name, number)

    def unreact(self, message: MessageKey, emoji: str, *, user: Key | None = None) -> None:
        name, number = self._emoji(emoji)
        reaction_changes.remove(self._state, self._message(message), self._who(user), name, number)

    def vote(self, message: MessageKey, answer: str, *, user: Key | None = None) -> None:
        """Vote in a poll, for an answer given by its text or its number."""
        reaction_changes.vote(self._state, self._message(message), self._who(user), answer)

    def press(
        self,
        message: MessageKey,
        button: str,
        *,
        user: Key | None = None,
        values: Sequence[Key] | None = None,
    ) -> Interaction:
        """Press a button, given by its label or custom id, or choose `values` in a menu.

        Options of a menu are given by value or label; people, roles and channels by name or id.
        """
        item = self._message(message)
        data = component(item, button, values, self._targets(item.channel_id, user))
        return self._begin(InteractionType.COMPONENT, item.channel_id, user, data, item)

    def run(
        self,
        command: str,
        options: Mapping[str, object] | None = None,
        *,
        channel: Key | None = None,
        user: Key | None = None,
        user_install: bool = False,
    ) -> Interaction:
        """Run a slash command, given by its name, with subcommands after spaces.

        People, channels and roles among the options are given by name or id, a file as
        `PostedFile`. With `user_install` the app is installed for the user only.
        """
        place = self._where(channel)
        data = command_data(self._state.world, command, options or {}, self._targets(place, user))
        kind = InteractionType.COMMAND
        return self._begin(kind, place, user, data, user_install=user_install)

    def choose(self, entry: str, message: MessageKey, *, user: Key | None = None) -> Interaction:
        """Choose an entry in the context menu of a message ("Apps" in Discord)."""
        item = self._message(message)
        targets = self._targets(item.channel_id, user)
        data = message_menu_data(self._state.world, entry, item, targets)
        return self._begin(InteractionType.COMMAND, item.channel_id, user, data)

    def choose_for_person(
        self, entry: str, person: Key, *, channel: Key | None = None, user: Key | None = None
    ) -> Interaction:
        """Choose an entry in the context menu of a person ("Apps" in Discord)."""
        place = self._where(channel)
        data = user_menu_data(self._state.world, entry, person, self._targets(place, user))
        return self._begin(InteractionType.COMMAND, place, user, data)

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
        """Type into an option, with other options filled in. The answer has `choices`."""
        filled, place = {**(options or {}), option: typed}, self._where(channel)
        targets = self._targets(place, user)
        data = command_data(self._state.world, command, filled, targets, focused=option)
        return self._begin(InteractionType.AUTOCOMPLETE, place, user, data)

    def submit(self, asked: Interaction, values: Mapping[str, object]) -> Interaction:
        """Submit the modal that answered `asked`. Fields are given by custom id or label.

        A menu takes names or ids, an upload `PostedFile`s, a checkbox True or False.
        """
        if asked.modal is None:
            raise StageError("this interaction was not answered with a modal")
        data = modal_data(asked.modal, values, self._targets(asked.channel_id, asked.user_id))
        source = None
        if asked.message_id is not None:
            source = self._state.world.messages[asked.channel_id].get(asked.message_id)
        place = asked.channel_id
        return self._begin(InteractionType.MODAL, place, asked.user_id, data, source)

    def _targets(self, channel: Key, user: Key | None) -> ResolvedTargets:
        world, guild = self._state.world, self._state.world.guild_of(self._place(channel))
        return ResolvedTargets(world, self._state.attachment_urls, guild, self._who(user))

    def _begin(
        self,
        kind: InteractionType,
        channel: Key,
        user: Key | None,
        data: Json,
        message: StageMessage | None = None,
        *,
        user_install: bool = False,
    ) -> Interaction:
        place, who = self._place(channel), self._who(user)
        if not self._state.world.permissions_of(who, place) & Permission.VIEW_CHANNEL:
            raise refusal(50001)
        return interaction_flow.begin(
            self._state, kind, who, place, data, message, user_install=user_install
        )

    def somebody(self, user: Key | None = None) -> User:
        """Return the user, or the default one."""
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
