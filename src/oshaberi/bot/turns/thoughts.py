"""The model's thoughts: shown in the channel, and logged in another channel.

In the channel they are one silent message, as subtext or spoiler; in the thought log they are
embeds. Both begin with a mark by which the bot recognises them in the history and leaves them out
of the conversation (spec 04 O6). Nothing in them can end its own markup or ping anybody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from oshaberi.bot.conversation.messages import TurnChannel
from oshaberi.bot.conversation.persona_options import options_of
from oshaberi.bot.conversation.transcript import MARK, SPOILER, SUBTEXT, plain_name
from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.bot.storage.records import PersonaRecord
from oshaberi.delivery.notices import DESCRIPTION_LIMIT
from oshaberi.delivery.sink import Embed, WebhookFace
from oshaberi.languages import translated
from oshaberi.secret_redaction import redact
from oshaberi.stream.model_output import ThoughtLog
from oshaberi.text.measure import grapheme_edge, utf16_len, utf16_offset

_MARKUP = re.compile(r"([\\*_~|`\[\]<>#])")
_NO_CALL = "@\u200b"


def shown_thoughts(thoughts: Sequence[str], display: str, limit: int) -> str:
    """Return the message with the thoughts, or an empty text if there are none."""
    lines = [line for text in thoughts for line in _lines(text, limit + 1)]
    if not lines or display not in ("subtext", "spoiler"):
        return ""
    if display == "subtext":
        return _fitting(lines, limit, SUBTEXT, "")
    return _fitting(lines, limit, "", SPOILER)


def is_logged_thought(title: str) -> bool:
    """Return whether an embed with this title belongs to the thought log."""
    return title.startswith(MARK)


def _lines(text: str, most: int) -> list[str]:
    plain = (line.strip() for line in redact(text, most).splitlines())
    return [_MARKUP.sub(r"\\\1", line).replace("@", _NO_CALL) for line in plain if line]


def _fitting(lines: Sequence[str], limit: int, before: str, around: str) -> str:
    """Return as many lines as fit, the last one cut if necessary."""
    longest = limit - 2 * utf16_len(around)
    out = f"{before}{MARK} "
    for number, line in enumerate(lines):
        seam = f"\n{before}" if number else ""
        if utf16_len(out + seam + line) <= longest:
            out += seam + line
            continue
        rest = _cut(line, longest - utf16_len(out + seam) - 1)
        out = f"{out}{seam}{rest}…" if rest else f"{_cut(out, longest - 1)}…"
        break
    return f"{around}{out}{around}"


def _cut(text: str, units: int) -> str:
    """Cut the text, but not after a single backslash, which would escape what follows."""
    if units <= 0:
        return ""
    cut = text[: grapheme_edge(text, 0, utf16_offset(text, 0, units))]
    slashes = len(cut) - len(cut.rstrip("\\"))
    return cut[:-1] if slashes % 2 else cut


# The thought log: the model's thoughts, as embeds in another channel.
MOST_EMBEDS = 10


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
    """Write the heading: which model answered, how long it took, and a link to the answer."""
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
    """Split the text, at the end of a line if there is one in the last quarter of a piece."""
    while len(text) > most:
        at = text.rfind("\n", most * 3 // 4, most)
        at = at if at > 0 else most
        yield text[:at].rstrip()
        text = text[at:].lstrip("\n")
    if text.strip():
        yield text


async def log_thoughts(
    turn_channel: TurnChannel,
    config: TurnConfig,
    persona: PersonaRecord,
    face: WebhookFace | None,
    logs: Sequence[ThoughtLog],
) -> None:
    """Post the thoughts of a turn, if there is a channel for them. This may take a while."""
    channel = config.thought_log_channel_id
    if not channel or channel == turn_channel.channel_id or config.reasoning_display == "off":
        return
    embeds = thought_embeds(persona.name, logs)
    if embeds:
        colour = options_of(persona).colour_number
        embeds = tuple(replace(one, colour=colour) for one in embeds)
        await turn_channel.log_thoughts(channel, embeds, face)
