"""Posts the thought log: the model's thoughts, as embeds in another channel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from oshaberi.conversation.transcript_lines import plain_name
from oshaberi.conversation.turn_channel import TurnChannel
from oshaberi.conversation.turn_config import TurnConfig
from oshaberi.delivery.posting.stream_notices import DESCRIPTION_LIMIT
from oshaberi.delivery.posting.webhook_identity import face_of
from oshaberi.delivery.sink import Embed
from oshaberi.languages import translated
from oshaberi.secret_redaction import redact
from oshaberi.storage.stored_records import PersonaRecord
from oshaberi.stream.thought_collector import ThoughtLog
from oshaberi.turns.generation.engine_config import persona_of
from oshaberi.turns.shown_reasoning import MARK
from oshaberi.turns.turn_outcome import TurnOutcome

MOST_EMBEDS = 10


async def log_thoughts(
    turn_channel: TurnChannel, config: TurnConfig, persona: PersonaRecord, outcome: TurnOutcome
) -> None:
    """Post the thoughts of a turn, if there is a channel for them. This may take a while."""
    channel = config.thought_log_channel_id
    if not channel or channel == turn_channel.channel_id or config.reasoning_display == "off":
        return
    embeds = thought_embeds(persona.name, [result.thought_log for result in outcome.results])
    if embeds:
        await turn_channel.log_thoughts(channel, embeds, face_of(None, persona_of(persona)))


def thought_embeds(persona: str, logs: Sequence[ThoughtLog]) -> tuple[Embed, ...]:
    """Return one embed, or several if the text is long; none without thoughts."""
    body = _body(logs)
    if not body:
        return ()
    title = f"{MARK} " + translated("{persona} thought", persona=plain_name(persona))
    head = _head(logs)
    pieces = list(_pieces(body, DESCRIPTION_LIMIT - len(head) - 2))
    if len(pieces) > MOST_EMBEDS:
        pieces = [*pieces[: MOST_EMBEDS - 1], translated("… and more than can be shown here.")]
    first, *others = pieces
    return (Embed(title, f"{head}\n\n{first}"), *(Embed(f"{title} …", one) for one in others))


def _head(logs: Sequence[ThoughtLog]) -> str:
    """Write which model answered, how long it took, and a link to the answer."""
    models = dict.fromkeys(f"{log.model} ({log.provider})" for log in logs if log.model)
    seconds = sum(log.duration_ms for log in logs) / 1000
    url = next((log.first_reply_url for log in logs if log.first_reply_url), None)
    link = [translated("[the answer]({url})", url=url)] if url else []
    return " · ".join([*models, f"{seconds:.1f} s", *link])[:1000]


def _body(logs: Sequence[ThoughtLog]) -> str:
    summaries = [text for log in logs for text in log.of_kind("summary") if text.strip()]
    raw = [text for log in logs for text in log.of_kind("raw") if text.strip()]
    sections = []
    if summaries:
        sections.append("**Summary**\n" + "\n\n".join(summaries))
    if raw:
        sections.append("**Thoughts**\n" + "\n\n".join(raw))
    # More than is shown, so that the last embed can say that there is more.
    return redact("\n\n".join(sections), (MOST_EMBEDS + 1) * DESCRIPTION_LIMIT)


def _pieces(text: str, most: int) -> Iterator[str]:
    """Split the text; at the end of a line, if there is one in the last quarter."""
    while len(text) > most:
        at = text.rfind("\n", most * 3 // 4, most)
        at = at if at > 0 else most
        yield text[:at].rstrip()
        text = text[at:].lstrip("\n")
    if text.strip():
        yield text
