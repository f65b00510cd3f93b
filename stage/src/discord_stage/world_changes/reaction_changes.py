"""Reactions and polls: added, removed, voted in, ended."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from discord_stage.errors import StageError
from discord_stage.payloads import record_payloads
from discord_stage.payloads.message_payloads import emoji_of
from discord_stage.refusals import bad_form, refusal
from discord_stage.state import StageState
from discord_stage.world.ids import iso, number_in
from discord_stage.world.records import Emoji, Json, Poll, Reaction, StageMessage

# Polls: created from a form, voted in by people, ended by their author.


HOURS = 24
"""How many hours a poll runs if its form does not say."""


def new_poll(form: Json) -> Poll:
    if not form["question"].get("text"):
        raise bad_form(("poll", "question", "text"), "BASE_TYPE_REQUIRED", "This field is required")
    ends = datetime.now(UTC) + timedelta(hours=form.get("duration") or HOURS)
    answers = [_media(answer["poll_media"]) for answer in form["answers"]]
    multiple = form.get("allow_multiselect") is True
    return Poll({"text": form["question"]["text"]}, answers, iso(ends), multiple)


def _media(form: Json) -> Json:
    emoji = form.get("emoji")
    shown: Json = {"text": form["text"]} if form.get("text") else {}
    if emoji:
        number = None if emoji.get("id") is None else str(emoji["id"])
        shown["emoji"] = {"id": number, "name": emoji.get("name")}
    return shown


def poll_of(message: StageMessage) -> Poll:
    if message.poll is None:
        raise refusal(520001)
    return message.poll


def vote(state: StageState, message: StageMessage, user_id: int, answer: str) -> None:
    """Vote. `answer` is its text or number. If a poll allows one answer, the vote moves."""
    poll = poll_of(message)
    number = _number(poll, answer)
    if poll.ended:
        raise StageError("the poll is over")
    if not poll.multiple:
        for other, voters in poll.votes.items():
            if user_id in voters and other != number:
                voters.remove(user_id)
                _announce(state, "MESSAGE_POLL_VOTE_REMOVE", message, user_id, other)
    voters = poll.votes.setdefault(number, [])
    if user_id not in voters:
        voters.append(user_id)
        _announce(state, "MESSAGE_POLL_VOTE_ADD", message, user_id, number)


def _number(poll: Poll, answer: str) -> int:
    for number, media in enumerate(poll.answers, 1):
        if answer in (str(number), media.get("text")):
            return number
    known = ", ".join(repr(media.get("text")) for media in poll.answers)
    raise StageError(f"the poll has no answer {answer!r}; it has {known}")


def _announce(
    state: StageState, name: str, message: StageMessage, user_id: int, answer: int
) -> None:
    channel = state.world.channels[message.channel_id]
    data: Json = {
        "user_id": str(user_id),
        "channel_id": str(channel.id),
        "message_id": str(message.id),
        "answer_id": answer,
    }
    data |= {"guild_id": str(channel.guild_id)} if channel.guild_id else {}
    state.emit(name, data, guild_id=channel.guild_id, channel_id=channel.id)


# Adds and removes reactions, for the bot and for people.


REACTIONS_MOST = 20


def parse(text: str) -> tuple[str, int | None]:
    """Parse `name:id` for a custom emoji; any other text is the character itself."""
    name, colon, digits = text.rpartition(":")
    number = number_in(digits) if colon else None
    return (text, None) if number is None else (name.removeprefix("a:"), number)


def find(message: StageMessage, name: str, number: int | None) -> Reaction | None:
    for reaction in message.reactions:
        same = reaction.id == number if number is not None else reaction.name == name
        if same:
            return reaction
    return None


def add(
    state: StageState, message: StageMessage, user_id: int, name: str, number: int | None
) -> None:
    channel = state.world.channels[message.channel_id]
    if channel.thread is not None and channel.thread.archived:
        raise refusal(50083)
    reaction = find(message, name, number) or _new(state, message, name, number)
    if user_id in reaction.users:
        return
    reaction.users.append(user_id)
    fields = _by(state, reaction, user_id)
    guild = state.world.guild_of(channel)
    if guild is not None and user_id in guild.members:
        fields["member"] = record_payloads.member(guild.members[user_id])
    if not message.webhook_id:
        fields["message_author_id"] = str(message.author_id)
    announce(state, "MESSAGE_REACTION_ADD", message, fields)


def _new(state: StageState, message: StageMessage, name: str, number: int | None) -> Reaction:
    if len(message.reactions) >= REACTIONS_MOST:
        raise refusal(30010)
    emoji = _custom(state, number)
    # A standard emoji is never an ASCII word. There is no list here: it changes every year.
    if (number is not None and emoji is None) or (number is None and name.isascii()):
        raise refusal(10014)
    reaction = Reaction(emoji.name if emoji else name, number, bool(emoji and emoji.animated))
    message.reactions.append(reaction)
    return reaction


def _custom(state: StageState, number: int | None) -> Emoji | None:
    if number is None:
        return None
    for guild in state.world.guilds.values():
        if number in guild.emojis:
            return guild.emojis[number]
    return state.world.application_emojis.get(number)


def remove(
    state: StageState, message: StageMessage, user_id: int, name: str, number: int | None
) -> None:
    reaction = find(message, name, number)
    if reaction is None or user_id not in reaction.users:
        return
    reaction.users.remove(user_id)
    if not reaction.users:
        message.reactions.remove(reaction)
    announce(state, "MESSAGE_REACTION_REMOVE", message, _by(state, reaction, user_id))


def _by(state: StageState, reaction: Reaction, user_id: int) -> Json:
    assert user_id in state.world.users
    return {"user_id": str(user_id), "emoji": emoji_of(reaction), "burst": False, "type": 0}


def announce(state: StageState, name: str, message: StageMessage, fields: Json) -> None:
    channel = state.world.channels[message.channel_id]
    data: Json = {"channel_id": str(channel.id), "message_id": str(message.id)} | fields
    data |= {"guild_id": str(channel.guild_id)} if channel.guild_id else {}
    state.emit(name, data, guild_id=channel.guild_id, channel_id=channel.id)
