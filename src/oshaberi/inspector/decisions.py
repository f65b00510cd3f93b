"""Explains the engine's decisions in sentences (for `oshaberi explain` and the inspector)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from oshaberi import Decision, Details, Identity, Message, SpeakerStop, Table, Thought, Withheld
from oshaberi.inspector.engine_recorder import Entry
from oshaberi.terminal_output import counted
from oshaberi.text.normalize.table import NORMALIZERS

# The wording for each kind of decision, as tables.
#
# `decisions` chooses from them for `explain`, `message_origins` for the inspector.


DEGREES = (
    "as few messages as possible, sent at the end",
    "one message per line, sent at once",
    "one message per line, typed",
    "one message per sentence, typed casually",
)
STATUS = {
    "completed": "The model finished, and all of its text is accounted for.",
    "function_call": "The model called a tool; the turn goes on after it.",
    "error": "The stream ended with an error.",
    "timeout": "The model sent nothing for too long.",
    "stopped_by_user": "The answer was stopped.",
    "follow_up_interrupt": "The user wrote again, so this answer was interrupted.",
    "interrupted": "The process ended; the answer can go on after the restart.",
    "empty_response": "There was nothing to show.",
}
STOPS = {
    "user_request": "A user stopped it.",
    "system_request": "The bot itself stopped it.",
    "speaker_guard": "The model began to speak for somebody else.",
    "send_message_limit": "The limit of messages per response (send_message_limit) was reached.",
    "flush_limit": "The limit of messages per response (max_flush_count) was reached.",
    "channel_unavailable": "The channel cannot be written to.",
}
FATES = {
    "modifier": "labels",
    "own_name": "the persona's own name",
    "duplicate_emoji": "emoji that a recent message used",
    "unresolved_shortcode": "names of emoji that do not exist",
    "rule": "rules that Discord cannot draw",
    "stray": "stray punctuation",
    "speaker_guard": "text that speaks for somebody else",
    "silence": "the model's remark that it stays silent",
    "stop": "the answer was stopped before",
    "follow_up": "the user wrote again before",
    "uncertain": "it is unknown whether it arrived",
    "channel_unavailable": "the channel cannot be written to",
    "send_message_limit": "over the limit of messages",
    "flush_limit": "over the limit of messages",
}

BOUNDARIES = {
    "newline": "The line ends",
    "period": "The sentence ends",
    "code_open": "A code block begins; the text before it is complete",
    "code_close": "The code block is complete",
    "overflow": "The text is too long and has no boundary, so it is cut here",
    "attachment": "An attachment follows; the text before it is complete",
    "tool_call": "The model calls a tool; the text before it is complete",
    "stop": "The stream is stopped; the rest of the text",
    "final": "The text ends; the rest of it",
}
TRANSFORMS = {
    **{row.name: row.explanation for row in NORMALIZERS},
    "humanize": "Typed casually, as degree 3 does",
    "auto_close": "Markers that were opened and not closed are closed",
}
WITHHELD = {
    "stray": "is a stray fragment of punctuation and is kept back",
    "speaker_guard": "comes after the speaker guard stopped and is kept back",
    "incomplete_clause": "is half a clause and is kept back",
    "follow_up": "is dropped: the user has written again",
}
CAPTURED = {
    "thought": "A think block is taken out",
    "details": "A details block is taken out",
    "stray close": "The end of a think block that was never opened; what came before was a thought",
}
SPEAKER_STOP = "The stream is stopped: the next line speaks for {}."
SHARES_A_MESSAGE = "It waits, to share a message with what follows."
ORPHANS = {
    "joined": "The {} that waited is put in front.",
    "released": "The {} that waited is sent alone.",
    "waits": "This is only punctuation. It waits for the text that follows.",
}
"""A segment of nothing but punctuation."""
HELD = "A line or sentence ends after character {at}, but {marker} is still open, so it waits."
RELEASES = {
    "H1": "{} is closed: the lines in it stay together.",
    "H2": "{} was not closed before a blank line, a block or the end: it is an ordinary character.",
    "H3": "{} was not closed for too long: it is an ordinary character.",
}
BLOCKS = {"table": "The table is complete", "trimmed": "Half a clause is left over"}
CUTS = {
    "one line each": "Each line is a message",
    "one sentence each": "Each sentence is a message",
    "longer than a message": "It is too long for one message",
    "custom emoji": "A custom emoji stands alone, so that Discord shows it large",
}
ENDS = {
    "newline": "Ended at the newline",
    "period": "Ended at the end of a sentence",
    "code_open": "Ended where a code block begins",
    "code_close": "A whole code block",
    "overflow": "Cut here because it was getting too long",
    "attachment": "Ended before an attachment",
    "tool_call": "Sent before the tool was called",
    "stop": "The rest of the text, when the answer was stopped",
    "final": "Ended where the text ends",
}
"""Why a message ends where it does, for the inspector."""
KEPT_BACK = {
    **{reason: words for row in NORMALIZERS for reason, words in row.kept_back},
    "break": "Only a line break is left of it",
    "stray": "A stray fragment of punctuation",
    "incomplete_clause": "Half a clause",
    "silence": "The model says that it stays silent, and why",
}
"""Why a stretch of text was withheld, in the inspector."""


def describe_fate(fate: str | None) -> str:
    """Say why a text was not delivered."""
    if fate is not None and fate.isdigit():
        return f"Discord refused it with code {fate}"
    return FATES.get(fate or "", (fate or "unknown").replace("_", " "))


# Explains the engine's decisions in sentences (for `oshaberi explain` and the inspector).
#
# Each segment is a step, followed by the changes to it and the messages it became.


LONGEST_QUOTE = 120
_CUSTOM_EMOJI = re.compile(r"<a?:\w+:\d+>")


@dataclass(slots=True)
class ExplainedStep:
    """One numbered step: a sentence, and its consequences."""

    sentence: str
    notes: list[str] = field(default_factory=list)


def tell(entries: Iterable[Entry]) -> list[ExplainedStep]:
    """Explain a stream step by step."""
    teller = _Teller()
    for entry in entries:
        teller.hear(entry)
    teller.note_shared_messages()
    return teller.steps


class _Teller:
    def __init__(self) -> None:
        self.steps: list[ExplainedStep] = []
        self._messages = 0
        self._held = False
        self._releases: list[str] = []
        self._explained: set[str] = set()
        self._segments: list[ExplainedStep] = []

    def note_shared_messages(self) -> None:
        """Note that a segment without its own message shares one with a later segment."""
        for step in self._segments:
            if not step.notes:
                step.notes.append(SHARES_A_MESSAGE)

    def hear(self, entry: Entry) -> None:
        if isinstance(entry, Decision):
            self._decision(entry)
            return
        match entry:
            case Message() | Table():
                self._message(entry)
            case Thought() | Details():
                pass  # already described where it was captured
            case SpeakerStop(label):
                self._note(SPEAKER_STOP.format(quoted(label)))
            case Withheld(text, "follow_up"):
                self.steps.append(ExplainedStep(f"{quoted(text)} {WITHHELD['follow_up']}."))

    def _decision(self, decision: Decision) -> None:
        match decision.kind:
            case "hold":
                self._hold(decision)
            case "release":
                self._releases.append(RELEASES[decision.why].format(quoted(decision.what)))
                self._held = False
            case "boundary":
                self._boundary(decision)
            case "transform":
                self._transform(decision)
            case "orphan":
                self._orphan(decision)
            case "cut":
                self._note(f"{reason_to_cut(decision)}.")
            case "capture":
                self._capture(CAPTURED.get(decision.why, decision.why), decision.before)
            case "withhold":
                self._withhold(decision)

    # -- segments -------------------------------------------------------------------------------

    def _hold(self, decision: Decision) -> None:
        if not self._held:
            sentence = HELD.format(at=decision.at, marker=quoted(decision.what))
            self.steps.append(ExplainedStep(sentence))
        self._held = True

    def _boundary(self, decision: Decision) -> None:
        what = BLOCKS.get(decision.what, BOUNDARIES[decision.why])
        releases, self._releases = self._releases, []
        self.steps.append(ExplainedStep(f"{what}: {quoted(decision.after)}.", releases))
        self._segments.append(self.steps[-1])
        self._explained = set()

    def _transform(self, decision: Decision) -> None:
        because = TRANSFORMS.get(decision.why, decision.why)
        if not decision.after:
            self._note(f"{because}. Nothing is left.")
        else:
            change = f"{quoted(decision.before)} becomes {quoted(decision.after)}"
            self._note(f"{because}: {change}.")
        self._explained.add(decision.why)

    def _orphan(self, decision: Decision) -> None:
        if decision.before:
            self._note(ORPHANS["joined"].format(quoted(decision.before)))
        elif decision.why == "released":
            self._note(ORPHANS["released"].format(quoted(decision.after)))
        else:
            self._note(ORPHANS["waits"])

    def _withhold(self, decision: Decision) -> None:
        """Note withheld text, unless the rule that removed it is already noted."""
        told = decision.why not in WITHHELD or decision.why in self._explained
        if not told:
            self._note(f"{quoted(decision.before)} {WITHHELD[decision.why]}.")

    # -- what leaves and what is taken out ------------------------------------------------------

    def _message(self, event: Message | Table) -> None:
        self._messages += 1
        number = f"→ message {self._messages}{_face(event.identity)}"
        if isinstance(event, Table):
            size = f"{counted(len(event.header), 'column')}, {counted(len(event.rows), 'row')}"
            self._note(f"{number}: a table, {size}")
        else:
            self._note(f"{number}: {quoted(event.text)}")

    def _capture(self, sentence: str, text: str) -> None:
        self.steps.append(ExplainedStep(f"{sentence}: {quoted(text)}."))

    def _note(self, sentence: str) -> None:
        if not self.steps:
            self.steps.append(ExplainedStep("Before any text:"))
        self.steps[-1].notes.append(sentence)


def _face(identity: Identity | None) -> str:
    """Say under which name a message is sent, and why if the name is unusual."""
    if identity is None:
        return ""
    name = f", as {identity.username}"
    match identity.kind:
        case "sprite" if identity.username == identity.label:
            return (
                f"{name} (another name, because Discord would otherwise show the avatar before it)"
            )
        case "sprite":
            return f"{name} with the sprite {quoted(identity.sprite or '')}"
        case "identity_sprite":
            return f"{name} (a sprite with a name of its own)"
        case _:
            return f"{name} (somebody else's name and avatar, for this line)"


def reason_to_cut(decision: Decision) -> str:
    if _CUSTOM_EMOJI.search(decision.before):
        return CUTS["custom emoji"]
    return CUTS[decision.why]


def quoted(text: str) -> str:
    """Quote a text on one line, shortened in the middle."""
    flat = text.replace("\n", "⏎")
    if len(flat) > LONGEST_QUOTE:
        half = LONGEST_QUOTE // 2
        flat = f"{flat[:half]} … {flat[-half:]}"
    return f"“{flat}”"


def numbered(steps: Iterable[ExplainedStep]) -> Iterator[str]:
    for number, step in enumerate(steps, start=1):
        yield f"{number:3}. {step.sentence}"
        for note in step.notes:
            yield f"     {note}"
