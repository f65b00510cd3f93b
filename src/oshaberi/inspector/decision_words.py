"""The wording for each kind of decision, as tables."""

from __future__ import annotations

DEGREES = (
    "the messages are as long as they may be",
    "one message per line, sent at once",
    "one message per line, typed",
    "one message per sentence, typed casually",
)
STATUS = {
    "completed": "The model finished and everything it said has been dealt with.",
    "function_call": "The model asked for a tool; the turn goes on after it.",
    "error": "It ended in an error.",
    "timeout": "The model fell silent for too long.",
    "stopped_by_user": "It was stopped.",
    "follow_up_interrupt": "The user wrote again, so this answer gave way.",
    "empty_response": "There was nothing to show.",
}
STOPS = {
    "user_request": "A user asked for it.",
    "system_request": "The system asked for it.",
    "speaker_guard": "The model had begun to speak for somebody else.",
    "send_message_limit": "The limit of messages per response (send_message_limit) was reached.",
    "flush_limit": "The limit of messages per response (max_flush_count) was reached.",
    "channel_unavailable": "The channel cannot be written to.",
}
FATES = {
    "modifier": "labels",
    "own_name": "the persona's own name",
    "duplicate_emoji": "emoji used a moment ago",
    "unresolved_shortcode": "names of emoji that do not exist",
    "rule": "rules that Discord cannot draw",
    "stray": "stray punctuation",
    "speaker_guard": "words put into somebody else's mouth",
    "stop": "the stop came first",
    "follow_up": "the user wrote again first",
    "uncertain": "nobody can say whether it arrived",
    "channel_unavailable": "the channel cannot be written to",
    "send_message_limit": "over the limit of messages",
    "flush_limit": "over the limit of messages",
}

BOUNDARIES = {
    "newline": "The line ends",
    "period": "The sentence ends",
    "code_open": "A code block begins, so what stands before it leaves",
    "code_close": "The code block is complete",
    "overflow": "There is too much text without a place to stop, so it is cut here",
    "attachment": "An attachment follows, so what stands before it leaves",
    "tool_call": "The model calls a tool, so everything leaves first",
    "stop": "The stream is stopped, so everything leaves",
    "final": "The text is over; what was left",
}
TRANSFORMS = {
    "modifiers": "The label only says who speaks, so it goes",
    "emoji_repeats": "A recent message already used this emoji, so it goes",
    "tags": "A leftover think tag goes",
    "breaks": "<br> is a line break",
    "uncensor": "Disguised or invisible characters become plain ones",
    "own_name": "The persona need not announce itself: its own name goes",
    "shortcodes": "Emoji names become emoji, or go if no emoji has that name",
    "rules": "Discord draws no rules and no empty quotes, so the line only parts paragraphs",
    "mentions": "Somebody here has that name, so it becomes a mention",
    "speaker_guard": "The model begins to speak for somebody else; from here on nothing is shown",
    "humanize": "Typed casually, as degree 3 does",
    "auto_close": "What the last line opened and never closed is closed",
}
WITHHELD = {
    "stray": "is a stray fragment of punctuation and is kept back",
    "speaker_guard": "comes after the guard's cut and is kept back",
    "incomplete_clause": "is half a clause and is kept back",
    "follow_up": "is dropped: the user has written again",
}
CAPTURED = {
    "thought": "A think block is taken out",
    "details": "A details block is taken out",
    "stray close": "A think block closes that was never opened; what came before was a thought",
}
RELEASES = {
    "H1": "{} has been closed meanwhile: what it held together stays together.",
    "H2": "{} was not closed before a blank line, a block or the end: it was just a character.",
    "H3": "Nothing closed {} for too long, so it was just a character.",
}
BLOCKS = {"table": "The table is complete", "trimmed": "Half a clause is left over"}
CUTS = {
    "one line each": "Each line is a message",
    "one sentence each": "Each sentence is a message",
    "longer than a message": "It is too long for one message",
}
ENDS = {
    "newline": "Ended at the newline",
    "period": "Ended with the sentence",
    "code_open": "Ended where a code block begins",
    "code_close": "A whole code block",
    "overflow": "Cut here because it was getting too long",
    "attachment": "Ended before what follows it",
    "tool_call": "Sent before the tool was called",
    "stop": "What was there when it was stopped",
    "final": "Ended with the text",
}
"""Of one message, in the inspector: where it ends."""
KEPT_BACK = {
    "modifier": "The label only says who speaks",
    "own_name": "The persona need not announce itself",
    "duplicate_emoji": "A recent message already used this emoji",
    "unresolved_shortcode": "No emoji has this name",
    "emoji_disabled": "Custom emoji are switched off",
    "uncensor": "Invisible characters",
    "rule": "Discord draws no rules and no empty quotes",
    "break": "Only a line break is left of it",
    "stray": "A stray fragment of punctuation",
    "incomplete_clause": "Half a clause",
    "speaker_guard": "Words put into somebody else's mouth",
}
"""Why a stretch of text was withheld, in the inspector."""


def fate_told(fate: str | None) -> str:
    """Why a text was not delivered."""
    if fate is not None and fate.isdigit():
        return f"Discord refused it with code {fate}"
    return FATES.get(fate or "", (fate or "unknown").replace("_", " "))
