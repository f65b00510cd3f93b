"""Polls: created from a form, voted in by people, ended by their author."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from oshaberi.stage.api_refusals import refusal
from oshaberi.stage.form_errors import bad_form
from oshaberi.stage.stage_errors import StageError
from oshaberi.stage.stage_state import StageState
from oshaberi.stage.world.discord_records import Json, Poll, StageMessage
from oshaberi.stage.world.snowflakes import iso

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
