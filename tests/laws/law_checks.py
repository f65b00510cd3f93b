"""One function per law over (text, config, events). Each returns what is broken, and where."""

from __future__ import annotations

import random
import re
import unicodedata
from collections import Counter
from itertools import pairwise

import regex

from oshaberi.events import Details, Event, Message, Table, Thought, Withheld
from oshaberi.text.config import TextConfig

from .allowed_differences import BREAK
from .code_matching import match_code, pieces, prose_texts
from .engine_feeding import Engine, MakeEngine, described, pieces_of, run, shown
from .expected_atoms import atoms, cuts_cluster, in_huge_cluster, near_atoms, utf16
from .message_alignment import Aligner, Alignment, Held
from .visible_text import (
    BLOCK_MARK,
    UNSEEN,
    Visible,
    blocks,
    fences_are_open_to_reading,
    normalise,
    visible,
    without_blocks,
)

STRAY = frozenset(".,!?;:。！？、，…")
SECRET = "zqsecret"
"""The grammar writes this word inside closed thoughts only."""
_RUN = re.compile("`+")
_WORD = re.compile(r"(?<![^\s])[A-Za-z]{4,19}(?![^\s])")
_UNBROKEN = re.compile(r"\S+")
_TAGS = re.compile(
    r"</?(?:[\w.-]{1,32}:)?(?:think|thinking|reasoning|details)(?:[^\S\n][^<>\n]*)?>", re.IGNORECASE
)
_SUMMARY = re.compile(r"<summary>.*?(</summary>|$)", re.IGNORECASE | re.DOTALL)
_FENCES_MOST = 48
"""What the fences of a message may take: two of them, their line ends, and a language tag."""
_CODE_SEAM = re.compile(r"\n```\n```[^\n`]*\n")
_FOREIGN = re.compile("[\0\r\ud800-\udfff]")
_UNSEEN = regex.compile(UNSEEN)
_JOINERS = "\u200d\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"


def limit(config: TextConfig, events: list[Event]) -> list[str]:
    """L1: visible, trimmed, within the limit, no stray fragment."""
    broken = []
    alone = sum(1 for _ in shown(events)) == 1
    for event in events:
        if not isinstance(event, Message):
            continue
        text = event.text
        where = f"{text[:60]!r}"
        if not any(_is_visible(c) for c in text):
            broken.append(f"L1 nothing visible in {where}")
        if text != text.strip():
            broken.append(f"L1 outer whitespace in {where}")
        if utf16(text) > config.max_single_message_length:
            broken.append(f"L1 {utf16(text)} units in {where}")
        if len(text) <= 2 and STRAY.issuperset(text) and not alone:
            broken.append(f"L1 stray fragment {where}")
        if _FOREIGN.search(text):
            broken.append(f"L1 cannot be sent: {where}")
    return broken


def _is_visible(char: str) -> bool:
    return _UNSEEN.fullmatch(char) is None


def split_invariance(
    make: MakeEngine, text: str, config: TextConfig, events: list[Event], rng: random.Random
) -> list[str]:
    """L2: the same events, letter by letter and in random pieces."""
    broken = []
    for name, chunks in (("per character", list(text)), ("random cuts", pieces_of(text, rng))):
        other = run(make, config, chunks)
        if other != events:
            broken.append(f"L2 {name}: {_first_difference(events, other)}")
    return broken


def _first_difference(a: list[Event], b: list[Event]) -> str:
    for one, two in zip(a, b, strict=False):
        if one != two:
            return f"{described(one)} != {described(two)}"
    longer, name = (a, "whole") if len(a) > len(b) else (b, "cut")
    return f"only {name}: {described(longer[min(len(a), len(b))])}"


def conservation(text: str, config: TextConfig, events: list[Event]) -> list[str]:
    """L3, L4 and L5, by one walk along V; words counted where V is open to reading."""
    seen = visible(text)
    if seen is None:
        return [*words_counted(text, config, events), *fences(events)]
    found = blocks(seen.text)
    if fences_are_open_to_reading(found):
        return [*words_counted(text, config, events), *fences(events)]
    broken = [*fences(events), *captures(seen, events)]
    if broken:
        return broken
    out, proses = pieces([t for _, t in shown(events)])
    code = match_code(found, out, config.max_single_message_length)
    if code.problem:
        return [f"L4 {code.problem}"]
    prose = without_blocks(seen.text, found)
    aligner = Aligner(
        source=prose,
        outputs=prose_texts(proses, code.heads),
        held=_held(seen, prose, events),
        limit=config.max_single_message_length,
        buffer=config.flush_buffer_size,
        loosely=config.humanizer_degree == 3,
        packed=_may_pack(config, len(proses)),
        hold=config.hold_limit,
    )
    walk = aligner.align()
    if walk.problem:
        return [f"L3 {walk.problem}"]
    kept = atoms(prose, config.max_single_message_length, config.hold_limit)
    return _cuts(prose, walk, kept, config) or [
        f"L3 a word cut in two: {prose[max(0, at - 20) : at]!r} | {prose[at : at + 20]!r}"
        for at in walk.inner
        if not aligner.may_cut(at, kept, at in walk.full)
    ]


def _may_pack(config: TextConfig, messages: int) -> bool:
    """Whether several lines may share a message (spec 07, degree 0 and budget)."""
    whole = config.humanizer_degree == 0 or config.whole_above_chars > 0
    return whole or 2 * (messages + 1) >= config.max_flush_count


def _held(seen: Visible, prose: str, events: list[Event]) -> list[Held]:
    """Withholdings, with their place in V where their span is all of them."""
    held = []
    for event in events:
        if not isinstance(event, Withheld):
            continue
        text = event.text.strip()
        at = None
        if seen.exact and BLOCK_MARK not in prose:
            start, end = event.span
            at = _place_of(text, seen.text[start:end], start)
        if event.reason == "stray" and at is None:
            held += [Held(char) for char in text]  # from lines that others may stand between
        else:
            held.append(Held(text, at, in_line=event.reason == "rule"))
    return [h for h in held if h.text]


def _place_of(text: str, segment: str, start: int) -> int | None:
    """Where the withheld `text` begins, if it is all of the segment at `start` but its breaks."""
    without_breaks = BREAK.sub(_blanked, segment)
    for reading in (segment, without_breaks):
        if reading.split() == text.split():
            return start + len(reading) - len(reading.lstrip())
    return None


def _cuts(
    prose: str, walk: Alignment, kept: list[tuple[int, int]], config: TextConfig
) -> list[str]:
    """L5: no message begins inside an atom or a cluster."""
    broken = []
    for at in walk.starts:
        for start, end in kept:
            if start < at < end:
                broken.append(f"L5 cut {prose[start:at]!r} | {prose[at:end]!r}")
    size = config.max_single_message_length
    near = near_atoms(prose, size, config.hold_limit) if walk.inner else []
    broken += [
        f"L5 cut inside a cluster: {prose[max(0, at - 8) : at]!r} | {prose[at : at + 8]!r}"
        for at in walk.inner
        if cuts_cluster(prose, at, size, near)
    ]
    return broken


def clusters(text: str, config: TextConfig, events: list[Event]) -> list[str]:
    """L5, for any text at all: a message begins with a joiner only if a line or word did, or
    behind a control character, or inside a cluster that no message can hold."""
    plain = normalise(text)
    broken = []
    for _, message in shown(events):
        first = message[:1]
        joins = first in _JOINERS or unicodedata.category(first or " ") in ("Mn", "Me")
        if not joins or regex.search(rf"(?:^|[\s`>\p{{GCB=CN}}]){regex.escape(first)}", plain):
            continue
        size = config.max_single_message_length
        kept = near_atoms(plain, size, config.hold_limit)
        if not in_huge_cluster(plain, message, size, kept):
            broken.append(f"L5 begins inside a cluster: {message[:20]!r}")
    return broken


def words_counted(text: str, config: TextConfig, events: list[Event]) -> list[str]:
    """L3, weakly: every short plain word of the text is somewhere in the events.

    A tag parts words, unless it stands in code: then a line without a blank may be too long for a
    message, and be cut inside the word.
    """
    plain = normalise(text)
    words = _TAGS.sub(_blanked, _SUMMARY.sub(_blanked, plain))
    room = config.max_single_message_length - _FENCES_MOST
    too_long = [run for run in _UNBROKEN.finditer(plain) if utf16(run[0]) > room]
    wanted: Counter[str] = Counter()
    cuttable: set[str] = set()
    for found in _WORD.finditer(words):
        word = found[0].casefold()
        wanted[word] += 1
        if any(run.start() <= found.start() < run.end() for run in too_long):
            cuttable.add(word)
    texts = [e.text for e in events if isinstance(e, Message | Thought | Details | Withheld)]
    texts += [e.source for e in events if isinstance(e, Table)]
    everything = "\n".join(texts).casefold()
    sewn = _CODE_SEAM.sub("", everything)
    went_out = {word: (sewn if word in cuttable else everything).count(word) for word in wanted}
    return [
        f"L3 the word {word!r} is there {count}×, went out {went_out[word]}×"
        for word, count in wanted.items()
        if went_out[word] < count
    ]


def _blanked(found: re.Match[str]) -> str:
    return " " * len(found[0])


def captures(seen: Visible, events: list[Event]) -> list[str]:
    """C1, C2: the insides of captured blocks, and only they, become thoughts and details."""
    broken = []
    thoughts = tuple(e.text.strip() for e in events if isinstance(e, Thought))
    if thoughts != seen.thoughts:
        broken.append(f"L3 thoughts {thoughts!r}, not {seen.thoughts!r}")
    details = tuple(" ".join(e.text.split()) for e in events if isinstance(e, Details))
    if seen.details is not None and details != seen.details:
        broken.append(f"L3 details {details!r}, not {seen.details!r}")
    return broken


def thoughts_stay_hidden(text: str, events: list[Event]) -> list[str]:
    """C1: the grammar's secret word is inside thoughts; with no code about, none may show."""
    if SECRET not in text:
        return []
    seen = visible(text)
    if SECRET in seen.text if seen else "`" in text:
        return []
    leaks = [t for _, t in shown(events) if SECRET in t]
    return [f"L3 a thought leaked: {leak[:60]!r}" for leak in leaks]


def fences(events: list[Event]) -> list[str]:
    """L4: in each message fences are three backticks, and as many close as open."""
    broken = []
    for event in events:
        if isinstance(event, Message) and "```" in event.text:
            sizes = [len(m[0]) for m in _RUN.finditer(event.text)]
            if sum(1 for s in sizes if s >= 3) % 2:
                broken.append(f"L4 unbalanced fence in {event.text[:60]!r}")
            if max(sizes) > 3:
                broken.append(f"L4 a run of {max(sizes)} backticks in {event.text[:60]!r}")
    return broken


def spans(text: str, config: TextConfig, events: list[Event]) -> list[str]:
    """Segments in order, disjoint, one span each, and together all that is visible of V."""
    known: dict[int, tuple[int, int]] = {}
    broken = []
    last = -1
    for event in events:
        if not isinstance(event, Message | Table | Withheld):
            continue
        if config.humanizer_degree == 0 and isinstance(event, Withheld):
            known.setdefault(event.segment, event.span)
            continue
        if known.setdefault(event.segment, event.span) != event.span:
            broken.append(f"span: segment {event.segment} has {known[event.segment]}, {event.span}")
        if event.segment < last:
            broken.append(f"span: segment {event.segment} after {last}")
        last = max(last, event.segment)
    ordered = [known[n] for n in sorted(known)]
    if config.humanizer_degree > 0:
        broken += _overlaps(ordered)
    return broken or _uncovered(text, ordered)


def _overlaps(ordered: list[tuple[int, int]]) -> list[str]:
    return [
        f"span: {one} and {two} overlap or are out of order"
        for one, two in pairwise(ordered)
        if one[1] > two[0]
    ]


def _uncovered(text: str, ordered: list[tuple[int, int]]) -> list[str]:
    seen = visible(text)
    if seen is None or not seen.exact:
        return []
    bare, at = [], 0
    for start, end in [*sorted(ordered), (len(seen.text), len(seen.text))]:
        if end > len(seen.text):
            return [f"span: {(start, end)} ends behind V ({len(seen.text)})"]
        gap = seen.text[at : max(at, start)]
        if any(_is_visible(c) for c in gap):
            bare.append(f"span: in no segment: {gap[:60]!r} at {at}")
        at = max(at, end)
    return bare


def bounded_hold(make: MakeEngine, text: str, config: TextConfig) -> list[str]:
    """L6: fed letter by letter, the engine never sits on more than the bound."""
    plain = normalise(text)
    if config.humanizer_degree == 0 or _may_be_held_longer(plain):
        return []
    bound = 100 + max(config.flush_buffer_size + 700, config.max_single_message_length + 200)
    engine = make(config)
    sent = messages = 0
    for fed, char in enumerate(plain, start=1):
        for event in engine.feed(char):
            if isinstance(event, Message | Withheld):
                sent = max(sent, event.span[1])
                messages += isinstance(event, Message)
        if messages >= config.max_flush_count // 2 - 1:  # the next one may be packed
            break
        if fed - sent > bound and len(plain[sent:fed].strip()) > bound:
            if 0 < config.whole_above_chars < fed and _is_filling(plain[sent:fed], bound, config):
                continue
            return [f"L6 {fed - sent} characters held from {plain[sent : sent + 40]!r}"]
    return []


def _is_filling(held: str, bound: int, config: TextConfig) -> bool:
    """A long answer fills a message before it leaves, and blank lines take no room in it."""
    return sum(map(len, held.split())) <= bound + config.max_single_message_length


def _may_be_held_longer(plain: str) -> bool:
    """Code, tables and captured blocks; also V that is not the text itself."""
    return "```" in plain or "<" in plain or ("|" in plain and "-" in plain) or "-#" in plain


def closed_after(engine: Engine, error: type[Exception]) -> list[str]:
    """After the stream ended: nothing more, and a clear error for a further feed."""
    broken = []
    rest = engine.finish()
    if rest:
        broken.append(f"closed: a second finish gave {described(rest[0])}")
    try:
        engine.feed("more")
    except error:
        return broken
    return [*broken, "closed: fed after the end without an error"]


def all_broken(make: MakeEngine, text: str, config: TextConfig, rng: random.Random) -> list[str]:
    """Every law at once, for the long fuzz."""
    events = run(make, config, [text])
    return [
        *limit(config, events),
        *split_invariance(make, text, config, events, rng),
        *conservation(text, config, events),
        *clusters(text, config, events),
        *thoughts_stay_hidden(text, events),
        *spans(text, config, events),
        *bounded_hold(make, text, config),
    ]
