"""Step 06 for prose: the ordered table of normalizers (spec 06).

Only those that can have an effect for a configuration are made; a line with nothing to do costs
about a microsecond.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from oshaberi.events import Identity
from oshaberi.text.config import TextConfig
from oshaberi.text.copied_state import CopiedState
from oshaberi.text.decision_observer import Observer
from oshaberi.text.measure import has_visible
from oshaberi.text.normalize.emoji import EmojiShortcodes, emoji_repeats
from oshaberi.text.normalize.html_tags import HtmlBreaks, StrayTags
from oshaberi.text.normalize.mentions import mention_handles
from oshaberi.text.normalize.own_name import own_name
from oshaberi.text.normalize.pieces import Normalizer, SegmentWork, TextPiece
from oshaberi.text.normalize.render_modifiers import RenderModifiers
from oshaberi.text.normalize.rule_lines import RuleLines
from oshaberi.text.normalize.speaker_guard import speaker_guard
from oshaberi.text.normalize.uncensor import uncensor
from oshaberi.text.normalize.webhook_names import SpriteUsernames, SpriteUsernameState


@dataclass(frozen=True, slots=True)
class NormalizerRow:
    """One rule: its step in the specification, its name, and the inspector's words for it.

    `kept_back` has the reasons with which it takes text away, each with the words for such text.
    """

    step: str
    name: str
    explanation: str
    make: Callable[[TextConfig], Normalizer | None]
    """Makes the rule; returns None if it can have no effect with these settings."""
    kept_back: tuple[tuple[str, str], ...] = ()


def _of_persona(_config: TextConfig) -> None:
    """Make nothing: `Normalizers` makes this rule, which remembers the speaker across segments."""


# In the order in which they are applied. Cleaning (S4) first makes the lines and letters what a
# reader would see, so that labels and shortcodes are found in them; it ends with the lines that
# the others may have emptied.
NORMALIZERS: Final[tuple[NormalizerRow, ...]] = (
    NormalizerRow(
        "S2",
        "modifiers",
        "The label only says who speaks, so it is removed",
        _of_persona,
        (("modifier", "The label only says who speaks"),),
    ),
    NormalizerRow(
        "S3",
        "emoji_repeats",
        "A recent message already used this emoji, so it is removed",
        emoji_repeats,
        (("duplicate_emoji", "A recent message already used this emoji"),),
    ),
    NormalizerRow("S4", "tags", "A leftover think tag is removed", StrayTags),
    NormalizerRow("S4", "breaks", "<br> is a line break", HtmlBreaks),
    NormalizerRow(
        "S4",
        "uncensor",
        "Disguised or invisible characters become plain ones",
        uncensor,
        (("uncensor", "Invisible characters"),),
    ),
    NormalizerRow(
        "S4",
        "own_name",
        "The persona's own name at the start of a line is removed",
        own_name,
        (("own_name", "The persona's own name at the start of a line"),),
    ),
    NormalizerRow(
        "S4",
        "shortcodes",
        "Emoji names become emoji, or are removed if no emoji has that name",
        EmojiShortcodes,
        (
            ("unresolved_shortcode", "No emoji has this name"),
            ("emoji_disabled", "Custom emoji are switched off"),
        ),
    ),
    NormalizerRow(
        "S4",
        "rules",
        "Discord shows no rules and no empty quotes, so the line is only a paragraph break",
        RuleLines,
        (("rule", "Discord shows no rules and no empty quotes"),),
    ),
    NormalizerRow(
        "S5", "mentions", "Somebody here has that name, so it becomes a mention", mention_handles
    ),
    NormalizerRow(
        "S7",
        "speaker_guard",
        "The model begins to speak for somebody else; from here on nothing is shown",
        speaker_guard,
        (("speaker_guard", "Text that speaks for somebody else"),),
    ),
)
_FOR_TOOLS: Final = ("S3", "S4", "S5")
_FOR_TABLES: Final = ("emoji_repeats", "shortcodes", "mentions")

_FENCE: Final = re.compile(r"`{3,}")
_ASCII: Final = r"A-Za-z0-9 \n,.!?'\"()"
_LETTERS: Final = (
    r"\u00c0-\u024f\u0391-\u03c9\u0410-\u044f"  # Latin, Greek, Cyrillic
    r"\u3041-\u3096\u30a1-\u30fc\u4e00-\u9fff\uac00-\ud7a3"  # kana, Han, Hangul
    r"…–—’“”。、！？「」『』（）"
)
_PLAIN: Final = re.compile(f"[{_ASCII}{_LETTERS}]+")
"""Text in which no rule finds anything: no label, tag, emoji, mention, rule line or disguise."""
_PLAIN_ASCII: Final = re.compile(f"[{_ASCII}]+")
"""The same pattern for text that may have disguised letters."""
_LONGER_THAN_THE_RULES: Final = 80
"""Reading this much text takes as long as asking all the rules."""


@dataclass(frozen=True, slots=True)
class SpeakingState:
    """The persona's identity and sprite, kept from one stream to the next."""

    active: Identity | None = None
    face: SpriteUsernameState = field(default_factory=SpriteUsernameState)


class Normalizers(CopiedState):
    """Applies the rules to a segment and remembers who is speaking."""

    def __init__(
        self,
        config: TextConfig,
        observer: Observer | None = None,
        carried: SpeakingState | None = None,
    ) -> None:
        carried = carried or SpeakingState()
        self._observer = observer
        self.faces = SpriteUsernames(config.persona, carried.face)
        self._owed: Identity | None = None  # a label was written, but its line has not arrived yet
        self._modifiers: RenderModifiers | None = None
        made = _make_rules(config)
        if config.persona is not None:
            self._modifiers = RenderModifiers(config, config.persona, carried.active)
            made["modifiers"] = self._modifiers
        self._named = [(row.name, made[row.name]) for row in NORMALIZERS if row.name in made]
        self._steps = [step for _, step in self._named]
        self._plain = _PLAIN_ASCII if "uncensor" in made else _PLAIN
        self._knows_text_alone = self._modifiers is None and observer is None
        self._table_steps = [made[name] for name in _FOR_TABLES if name in made]

    def leaves(self, text: str) -> bool:
        """Return whether `text`, which has no outer white space, certainly stays unchanged."""
        is_short = len(text) < _LONGER_THAN_THE_RULES
        return is_short and self._knows_text_alone and self._plain.fullmatch(text) is not None

    def run(self, work: SegmentWork) -> None:
        """Apply every rule to a prose segment, in place."""
        if self._observer is None:
            for step in self._steps:
                step.apply(work)
        else:
            self._run_observed(work, self._observer)
        for piece in work.pieces:
            if self._owed is not None or not has_visible(piece.text):
                self._drop_empty(work)
                break

    @property
    def unchanging(self) -> list[Normalizer]:
        """Return the rules that remember nothing from one segment to the next."""
        return [step for _, step in self._named if step is not self._modifiers]

    def block_identity(self, ends_line: bool) -> Identity | None:
        """Return the identity of a code block or table at this point."""
        return self._modifiers.block_identity(ends_line) if self._modifiers else None

    def clean_table(self, source: str) -> tuple[str, list[tuple[str, str]]]:
        """Resolve emoji and mentions in a table's Markdown, line by line.

        Returns the new source, and what was removed.
        """
        if ":" not in source and "@" not in source:
            return source, []
        cleaned: list[str] = []
        removed: list[tuple[str, str]] = []
        for line in source.split("\n"):
            if ":" in line or "@" in line:
                work = _apply(self._table_steps, line)
                removed += work.withheld
                cleaned.append(work.pieces[0].text)
            else:
                cleaned.append(line)
        return "\n".join(cleaned), removed

    def carry(self) -> SpeakingState:
        """Return the state for the turn's next stream."""
        active = self._modifiers.active if self._modifiers else None
        return SpeakingState(active, self.faces.state)

    def _run_observed(self, work: SegmentWork, observer: Observer) -> None:
        before = _text_of(work)
        for name, step in self._named:
            step.apply(work)
            after = _text_of(work)
            if after != before:
                observer.transform(name, before, after)
            before = after

    def _drop_empty(self, work: SegmentWork) -> None:
        """Drop empty pieces. A label alone on its line labels the next text."""
        kept = []
        for piece in work.pieces:
            if not has_visible(piece.text):
                self._owed = piece.identity if piece.labelled else self._owed
                continue
            if self._owed is not None:
                piece.labelled = piece.labelled or piece.identity == self._owed
                self._owed = None
            kept.append(piece)
        work.pieces = kept


def cleaned_text(text: str, config: TextConfig) -> str:
    """Apply S3, S4 and S5 to text that tools send, so that it looks like a normal reply."""
    made = _make_rules(config)
    rows = [row for row in NORMALIZERS if row.step in _FOR_TOOLS]
    steps = [made[row.name] for row in rows if row.name in made]
    out = []
    at = 0
    for start, end in _fenced(text):
        out += [_cleaned_prose(text[at:start], steps, at == 0), text[start:end]]
        at = end
    out.append(_cleaned_prose(text[at:], steps, at == 0))
    return "".join(out)


def _make_rules(config: TextConfig) -> dict[str, Normalizer]:
    """Create the rules that can have an effect, except those with state over segments."""
    made: dict[str, Normalizer] = {}
    for row in NORMALIZERS:
        rule = row.make(config)
        if rule is not None:
            made[row.name] = rule
    return made


def _text_of(work: SegmentWork) -> str:
    return "\n".join(piece.text for piece in work.pieces)


def _apply(steps: Iterable[Normalizer], text: str, line_start: bool = True) -> SegmentWork:
    work = SegmentWork([TextPiece(text, line_start=line_start)])
    for step in steps:
        step.apply(work)
    return work


def _cleaned_prose(text: str, steps: Iterable[Normalizer], is_first: bool) -> str:
    """Clean prose. The white space around it stays, as it separates prose and code."""
    core = text.strip()
    if not core:
        return text
    start = text.index(core)
    line_start = is_first or "\n" in text[:start]
    cleaned = _apply(steps, core, line_start).pieces[0].text
    return text[:start] + cleaned + text[start + len(core) :]


def _fenced(text: str) -> list[tuple[int, int]]:
    """Return the fenced code. A fence that is never closed reaches to the end."""
    spans = []
    opener: re.Match[str] | None = None
    for run in _FENCE.finditer(text):
        if opener is None:
            opener = run
        elif len(run[0]) >= len(opener[0]):
            spans.append((opener.start(), run.end()))
            opener = None
    if opener is not None:
        spans.append((opener.start(), len(text)))
    return spans
