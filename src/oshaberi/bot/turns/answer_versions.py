"""The versions of an answer: kept when it is written again, shown in place of each other, edited.

Another version is written into the existing messages. If it has too many for them, some are joined;
only if that does not help are messages added, and only at the end of the channel. Which version
counts is stored first, so that a restart can finish the change after a crash.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Sequence
from datetime import datetime

from oshaberi.bot.conversation.answer_buttons import (
    VersionPlace,
    place_among,
    rows_under,
    shown_number,
)
from oshaberi.bot.conversation.messages import PostedAnswer, PostedMessage, TurnChannel
from oshaberi.bot.conversation.turn_config import EffectiveSettings
from oshaberi.bot.storage import Database
from oshaberi.bot.storage.records import AnswerKey, AnswerVersion, TurnRecord
from oshaberi.bot.storage.repositories.messages import TURNS_PER_CHANNEL
from oshaberi.bot.turns.control_reply import (
    EDITED,
    EMPTY,
    NO_SUCH_VERSION,
    NO_TEXT,
    REFUSED,
    SHOWN,
    TOO_LONG_HERE,
    ControlReply,
)
from oshaberi.delivery.exactly_once import ExactlyOnceSender
from oshaberi.delivery.outcomes import Delivered
from oshaberi.delivery.response import ResponseState
from oshaberi.delivery.sink import Post, SinkError
from oshaberi.delivery.waits import InterruptibleWaits
from oshaberi.events import Message
from oshaberi.languages import in_language
from oshaberi.languages.current_language import channel_language
from oshaberi.text.config import TextConfig
from oshaberi.text.engine import TextEngine
from oshaberi.text.measure import has_visible, utf16_len

log = logging.getLogger(__name__)

MOST_TEXT = 4000
"""The longest text that Discord's form takes."""


def laid_out(texts: Sequence[str], slots: int, limit: int) -> tuple[str, ...]:
    """Return the texts as at most `slots` messages if that is possible, else as few as possible.

    Only neighbours are joined, and no more than necessary. No text is cut.
    """
    ends, need = [0] * len(texts), [0] * (len(texts) + 1)
    size, end = 0, len(texts)
    for start in reversed(range(len(texts))):
        size += utf16_len(texts[start]) + 1
        while size - 1 > limit and end > start + 1:
            end -= 1
            size -= utf16_len(texts[end]) + 1
        ends[start], need[start] = end, need[end] + 1
    laid: list[str] = []
    start = 0
    while start < len(texts):
        end = start + 1 if need[start + 1] < slots - len(laid) else ends[start]
        laid.append("\n".join(texts[start:end]))
        start = end
    return tuple(laid)


def split(text: str, limit: int) -> tuple[str, ...]:
    """Return a text as one message, or split by the usual rules if it is too long."""
    if utf16_len(text) <= limit:
        return (text,) if has_visible(text) else ()
    plain = TextConfig(
        humanizer_degree=0,
        max_single_message_length=limit,
        participant_guard_enabled=False,
        llm_stop_speaker_pattern_enabled=False,
        registered_speaker_guard_enabled=False,
    )
    engine = TextEngine(plain)
    events = [*engine.feed(text), *engine.finish()]
    return tuple(one.text for one in events if isinstance(one, Message))


def key_of(turn: TurnRecord) -> AnswerKey | None:
    """Return the key that the versions of an answer share; None if it does not answer a message."""
    if turn.asked_id is None:
        return None
    return AnswerKey(turn.channel_id, turn.asked_id, turn.persona)


class AnswerVersions:
    """Keeps, shows and edits versions.

    The caller has checked permissions, and holds the channel.
    """

    def __init__(self, db: Database) -> None:
        self._db = db

    async def place(self, turn: TurnRecord) -> VersionPlace | None:
        """Return which of its versions an answer shows; None if there is only one."""
        key = key_of(turn)
        if key is None:
            return None
        has_words = turn.status not in ("error", "timeout", "empty_response")
        return place_among(await self._db.versions.of(key), has_newest=has_words)

    async def place_of_message(self, message_id: int) -> VersionPlace | None:
        turn = await self._db.turns.of_message(message_id)
        return None if turn is None else await self.place(turn)

    async def keep(self, turn_channel: TurnChannel, turn: TurnRecord, most: int) -> None:
        """Store an answer before it is deleted and written again, if versions are kept."""
        key = key_of(turn)
        if key is None:
            return
        if most <= 1:
            await self._db.versions.forget(key)
            return
        whole = await self._db.turns.whole(turn)
        kept = await self._db.versions.of(key)
        posted = await turn_channel.posted(_ids(whole))
        left = await self._left(whole, kept, posted)
        await self._db.versions.keep(key, _owner(turn), left, shown=None, most=most - 1)

    async def forget(self, turn: TurnRecord) -> None:
        """Delete the other versions of an answer that is being deleted."""
        key = key_of(turn)
        if key is not None:
            await self._db.versions.forget(key)

    async def show(
        self,
        turn_channel: TurnChannel,
        turn: TurnRecord,
        number: int,
        settings: EffectiveSettings,
    ) -> ControlReply:
        """Write a version into the messages that show the present one."""
        key = key_of(turn)
        kept = () if key is None else await self._db.versions.of(key)
        wanted = next((one for one in kept if one.number == number), None)
        if key is None or (wanted is None and number != shown_number(kept)):
            return NO_SUCH_VERSION
        if wanted is None or (wanted.is_shown and wanted.is_applied):
            return SHOWN
        whole = await self._db.turns.whole(turn)
        try:
            posted = await turn_channel.posted(_ids(whole))
            fitting = await self._fitting(posted, _slots(posted), wanted.texts, settings)
            if fitting is None:
                return TOO_LONG_HERE
            if not wanted.is_shown:
                left = await self._left(whole, kept, posted)
                most = settings.turn.answer_versions
                await self._db.versions.keep(
                    key, _owner(turn), left, shown=number, most=max(most, len(kept) + 1)
                )
            ids = await self._write(turn_channel, _slots(posted), fitting, posted)
        except SinkError as error:
            log.warning("channel %s: a version was not shown whole: %s", key.channel_id, error)
            return REFUSED
        words = (wanted.answered or "\n".join(wanted.texts), wanted.details)
        await self._note(turn_channel, whole, ids, words, wanted.undelivered)
        await self._db.versions.note_applied(key)
        await self.renew_buttons(turn_channel, turn, settings, ids, max(_ids(whole)))
        return SHOWN

    async def finish(
        self, turn_channel: TurnChannel, key: AnswerKey, settings: EffectiveSettings
    ) -> None:
        """Finish a change to another version that a crash interrupted."""
        kept = await self._db.versions.of(key)
        newest = await self._db.turns.newest(key.channel_id, TURNS_PER_CHANNEL)
        turn = next((one for one in newest if key_of(one) == key and one.message_ids), None)
        if turn is None:
            await self._db.versions.note_applied(key)
        elif any(not one.is_applied for one in kept):
            await self.show(turn_channel, turn, shown_number(kept), settings)

    async def edit(
        self,
        turn_channel: TurnChannel,
        turn: TurnRecord,
        message_id: int,
        text: str,
        settings: EffectiveSettings,
    ) -> ControlReply:
        """Replace the text of one message. If it becomes too long for one, it becomes several."""
        limit = settings.stream.text.max_single_message_length
        pieces = split(text.strip(), limit)
        if not pieces:
            return EMPTY
        whole = await self._db.turns.whole(turn)
        try:
            posted = await turn_channel.posted(_ids(whole))
            spoken = [one for one in _slots(posted) if one.text and not one.has_more]
            at = next((i for i, one in enumerate(spoken) if one.id == message_id), None)
            if at is None:
                return NO_TEXT
            texts = [one.text for one in spoken]
            texts[at : at + 1] = pieces
            fitting = await self._fitting(posted, spoken, texts, settings)
            if fitting is None:
                return TOO_LONG_HERE
            ids = await self._write(turn_channel, spoken, fitting, posted)
        except SinkError as error:
            log.warning("channel %s: an edit was not made whole: %s", turn.channel_id, error)
            return REFUSED
        undelivered = "\n".join(part.undelivered for part in whole if part.undelivered)
        moments = _moments(whole)
        _answered, details = await self._db.memory.answer_at(turn.channel_id, moments)
        await self._note(turn_channel, whole, ids, ("\n".join(texts), details), undelivered)
        await self.renew_buttons(turn_channel, turn, settings, ids, max(_ids(whole)))
        return EDITED

    async def renew_buttons(
        self,
        turn_channel: TurnChannel,
        turn: TurnRecord,
        settings: EffectiveSettings,
        ids: Sequence[int],
        last_before: int,
    ) -> None:
        """Put the buttons under the last message, and remove them elsewhere."""
        mode = settings.turn.answer_buttons
        if mode == "off" or not ids:
            return
        if last_before != ids[-1] and last_before in ids:
            await turn_channel.set_buttons(last_before, ())
        with in_language(channel_language(settings.turn.language, turn_channel.locale)):
            rows = rows_under(mode, ids[-1], await self.place(turn))
        await turn_channel.set_buttons(ids[-1], rows)

    async def _left(
        self, whole: Sequence[TurnRecord], kept: Sequence[AnswerVersion], posted: PostedAnswer
    ) -> AnswerVersion | None:
        """Return the version that is shown now; None if it is unknown or empty.

        While a change is unfinished, the channel shows a mixture, and the stored version counts.
        """
        if any(not one.is_applied for one in kept):
            return None
        texts = await self._texts(posted)
        if not texts:
            return None
        channel_id = whole[0].channel_id
        answered, details = await self._db.memory.answer_at(channel_id, _moments(whole))
        undelivered = "\n".join(part.undelivered for part in whole if part.undelivered)
        return AnswerVersion(shown_number(kept), texts, answered, details, undelivered)

    async def _texts(self, posted: PostedAnswer) -> tuple[str, ...]:
        """Return the texts of an answer.

        A table that was drawn as a picture is kept as its source.
        """
        slots = _slots(posted)
        drawn = await self._db.tables.sources([one.id for one in slots if one.has_more])
        texts = (one.text or _as_code(drawn.get(one.id, "")) for one in slots)
        return tuple(one for one in texts if one)

    async def _fitting(
        self,
        posted: PostedAnswer,
        slots: Sequence[PostedMessage],
        texts: Sequence[str],
        settings: EffectiveSettings,
    ) -> tuple[str, ...] | None:
        """Return the messages to write; None if there is no room for them."""
        limit = settings.stream.text.max_single_message_length
        fitting = laid_out(texts, len(slots), limit)
        if not slots or not fitting:
            return None
        further = fitting[len(slots) :]
        if not further:
            return fitting
        # The messages after it may be ours, from a change that a crash interrupted.
        ours = [one for one in posted.after if one is not None]
        is_end = len(ours) == len(posted.after)
        is_ours = tuple(one.text for one in ours) == further[: len(ours)]
        for one in ours:
            is_ours = is_ours and await self._db.turns.of_message(one.id) is None
        return fitting if is_end and is_ours else None

    async def _write(
        self,
        turn_channel: TurnChannel,
        slots: Sequence[PostedMessage],
        texts: Sequence[str],
        posted: PostedAnswer,
    ) -> list[int]:
        """Write the texts into the messages. Return the ids of the answer's messages."""
        for slot, text in zip(slots, texts, strict=False):
            if slot.text != text or slot.has_more:
                await turn_channel.rewrite(slot, text)
        surplus = [slot.id for slot in slots[len(texts) :]]
        if surplus:
            # Their deletion must not look as if somebody had deleted the answer.
            await self._db.turns.unlink(surplus)
            await turn_channel.delete(surplus)
        kept = [one.id for one in posted.messages if one.id not in surplus]
        found = [] if len(texts) <= len(slots) else [one for one in posted.after if one]
        kept += [one.id for one in found]
        for text in texts[len(slots) + len(found) :]:
            kept.append(await _send(turn_channel, text, slots[-1]))
        return sorted(kept)

    async def _note(
        self,
        turn_channel: TurnChannel,
        whole: Sequence[TurnRecord],
        ids: Sequence[int],
        words: tuple[str, str],
        undelivered: str,
    ) -> None:
        """Store the messages and the text that the answer now consists of."""
        channel_id = turn_channel.channel_id
        await self._db.turns.replace_messages(whole, ids, undelivered)
        await self._db.memory.replace_answer(channel_id, _moments(whole), *words)
        changed = sorted({*_ids(whole), *ids})
        await self._db.summaries.forget_messages(channel_id, changed)


async def _send(turn_channel: TurnChannel, text: str, like: PostedMessage) -> int:
    """Send one more message of an answer, exactly once, with the name and avatar of the others."""
    post = Post(secrets.token_hex(8), text, face=like.face, silent=True)
    waits, sink = InterruptibleWaits(), turn_channel.sink(None)
    try:
        outcome = await ExactlyOnceSender(sink, waits, ResponseState()).deliver(post)
    finally:
        waits.close()
    if not isinstance(outcome, Delivered) or outcome.sent.id is None:
        raise SinkError("a further message of the version was not sent")
    return outcome.sent.id


def _slots(posted: PostedAnswer) -> tuple[PostedMessage, ...]:
    return tuple(one for one in posted.messages if not one.is_about)


def _as_code(source: str) -> str:
    return f"```md\n{source}\n```" if source and "```" not in source else source


def _ids(whole: Sequence[TurnRecord]) -> list[int]:
    return sorted({one for part in whole for one in part.message_ids})


def _moments(whole: Sequence[TurnRecord]) -> list[datetime]:
    return [part.at for part in whole if part.at is not None]


def _owner(turn: TurnRecord) -> tuple[int, int]:
    return turn.server_id, turn.user_id
