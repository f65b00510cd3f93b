"""Explains the engine's decisions in sentences (for `oshaberi explain` and the inspector).

Each segment is a step, followed by the changes to it and the messages it became.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from oshaberi import Decision, Details, Identity, Message, SpeakerStop, Table, Thought, Withheld
from oshaberi.inspector.decision_words import (
    BLOCKS,
    BOUNDARIES,
    CAPTURED,
    CUTS,
    HELD,
    ORPHANS,
    RELEASES,
    SHARES_A_MESSAGE,
    SPEAKER_STOP,
    TRANSFORMS,
    WITHHELD,
)
from oshaberi.inspector.engine_recorder import Entry
from oshaberi.terminal_output import counted

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
    teller.tell_what_waited()
    return teller.steps


class _Teller:
    def __init__(self) -> None:
        self.steps: list[ExplainedStep] = []
        self._messages = 0
        self._held = False
        self._releases: list[str] = []
        self._explained: set[str] = set()
        self._segments: list[ExplainedStep] = []

    def tell_what_waited(self) -> None:
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
                pass  # told where it was captured
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
    """Say which name a message has, and why if it is unusual."""
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
