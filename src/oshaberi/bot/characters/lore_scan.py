"""Decides which entries of lorebooks wake, why, and which of them fit.

`scan` is a function of the messages alone. Nothing about earlier turns is stored: whether an entry
is still awake (sticky) or tired (cooldown) follows from the messages, and dice are derived from
their ids. So a restart changes nothing, and `/lore test` shows what a turn would do.

The work grows with keys × letters, so the whole search has a time limit, and so has each pattern,
which otherwise does not match. Call it in a thread.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

import regex

from oshaberi.bot.characters.lorebooks import Lorebook, LoreEntry
from oshaberi.bot.characters.macros import hidden_keys
from oshaberi.errors import Sentence
from oshaberi.providers.request.token_estimate import Count, text_tokens
from oshaberi.text.normalize.pieces import is_spaced_letter

SCAN_DEPTH = 6
"""How many messages are searched if a book does not say. People write in short ones."""
MOST_STEPS = 5
"""How often entries may wake each other in a chain."""
MOST_REPLAYED = 60
"""How many messages back an entry can have woken and still be awake or tired."""
PATTERN_S = 0.02
PATTERNS_S = 0.5
"""How long one pattern may search, and how long all that took too long may search together."""
SEARCH_S = 1.0
"""How much processor time a scan may take until nothing more is searched."""
MOST_TEXT = 40_000
"""How many characters are searched at most, the newest ones."""
STILL_AWAKE = Sentence("it is still awake")
NAMED_BY_LORE = Sentence("another entry names it")


@dataclass(frozen=True, slots=True)
class ScannedMessage:
    id: int
    text: str
    """With the name in front: `Alice: hello`."""


@dataclass(frozen=True, slots=True)
class WokenEntry:
    """An entry that wakes, and why, for people."""

    book: str
    entry: LoreEntry
    why: Sentence
    score: int = 0
    """How many of its keys were mentioned, for groups that choose by score."""
    is_still_awake: bool = False


@dataclass(frozen=True, slots=True)
class LoreScan:
    """What woke, in the order of the prompt; and what woke but is left out, and why."""

    woken: tuple[WokenEntry, ...] = ()
    left_out: tuple[WokenEntry, ...] = ()


def scan(
    books: Sequence[Lorebook],
    messages: Sequence[ScannedMessage],
    budget: int,
    count: Count = text_tokens,
    *,
    greeting: int | None = None,
) -> LoreScan:
    """Return the entries that the newest message wakes. `budget` is in tokens.

    `greeting` is the number of the greeting with which the character began here, if it greeted.
    """
    search = _Search(messages)
    able = [(book, [one for one in book.entries if _is_able(one, greeting)]) for book in books]
    found: list[tuple[int, WokenEntry]] = []
    for book, entries in able:
        found += ((0, one) for one in _first(book, entries, search))
    found += _recursive(able, found, search)
    chosen, lost = _one_of_each_group(found, search.newest_id)
    woken, over = _within(books, chosen, budget, count)
    woken.sort(key=lambda one: (one.entry.order, one.entry.number))
    return LoreScan(tuple(woken), (*lost, *over))


def _is_able(entry: LoreEntry, greeting: int | None) -> bool:
    is_on = entry.is_enabled and not entry.never and bool(entry.content)
    return is_on and entry.greeting in (None, greeting)


def _first(book: Lorebook, able: Sequence[LoreEntry], search: _Search) -> Iterator[WokenEntry]:
    """Yield what the messages wake."""
    last = len(search.messages) - 1
    for entry in able:
        if entry.is_constant:
            why: Sentence | None = Sentence("it is always there")
        elif entry.needs_lore or len(search.messages) <= entry.delay:
            continue
        elif entry.sticky or entry.cooldown:
            why = _timed(book, entry, search)
        else:
            why = _wakes_at(book, entry, search, last)
        if why is not None:
            score = _score(entry, search.window(last, _depth(book, entry)), search)
            yield WokenEntry(book.name, entry, why, score, why == STILL_AWAKE)


def _timed(book: Lorebook, entry: LoreEntry, search: _Search) -> Sentence | None:
    """Replay the last messages, for an entry that stays awake or must rest."""
    awake_until, tired_until, last = -1, -1, len(search.messages) - 1
    why: Sentence | None = None
    for at in range(max(0, last + 1 - MOST_REPLAYED), last + 1):
        if at <= awake_until:
            why = STILL_AWAKE
            continue
        why = None
        if at > tired_until and (why := _wakes_at(book, entry, search, at)) is not None:
            awake_until = at + entry.sticky
            tired_until = awake_until + entry.cooldown
    return why


def _wakes_at(book: Lorebook, entry: LoreEntry, search: _Search, at: int) -> Sentence | None:
    """Return why the message at this place wakes the entry."""
    if at < 0 or (at + 1) % entry.every:
        return None
    why = _matches(entry, search.window(at, _depth(book, entry)), search)
    if why is None or not _is_lucky(entry, search.messages[at].id):
        return None
    return why


def _depth(book: Lorebook, entry: LoreEntry) -> int:
    return next(one for one in (entry.scan_depth, book.scan_depth, SCAN_DEPTH) if one is not None)


def _score(entry: LoreEntry, text: str, search: _Search) -> int:
    """Return how many keys of an entry in a group were mentioned, secondary keys included."""
    if not entry.groups:
        return 0
    further = entry.secondary if entry.logic in ("any", "all") else ()
    return sum(search.is_in(key, entry, text) for key in (*entry.keys, *further))


def _matches(entry: LoreEntry, text: str, search: _Search) -> Sentence | None:
    """Return why the text wakes the entry."""
    key = search.first_in(entry.keys, entry, text)
    if key is None or search.first_in(entry.excluded, entry, text) is not None:
        return None
    if not entry.secondary:
        return Sentence("{key} was said", key=key)
    second = [search.is_in(one, entry, text) for one in entry.secondary]
    fits = {
        "any": any(second),
        "all": all(second),
        "not_any": not any(second),
        "not_all": not all(second),
    }
    return (
        Sentence("{key} was said, and its further keys fit", key=key) if fits[entry.logic] else None
    )


def _is_lucky(entry: LoreEntry, message_id: int) -> bool:
    if entry.probability >= 100:
        return True
    chance = Random(f"{message_id} {entry.number} {entry.content[:100]}")
    return chance.random() * 100 < entry.probability


def _recursive(
    books: Sequence[tuple[Lorebook, Sequence[LoreEntry]]],
    found: Sequence[tuple[int, WokenEntry]],
    search: _Search,
) -> list[tuple[int, WokenEntry]]:
    """Return the entries that other awake entries wake, step by step."""
    awake = {(one.book, one.entry.number) for _step, one in found}
    newest = [one for _step, one in found]
    more: list[tuple[int, WokenEntry]] = []
    for step in range(1, MOST_STEPS + 1):
        text = _told([one for one in newest if one.entry.wakes_lore])
        newest = []
        for book, able in books if text else ():
            for entry in able if book.is_recursive else ():
                if (book.name, entry.number) in awake or not entry.is_woken_by_lore:
                    continue
                if _matches(entry, text, search) and _is_lucky(entry, search.newest_id):
                    awake.add((book.name, entry.number))
                    score = _score(entry, text, search)
                    newest.append(WokenEntry(book.name, entry, NAMED_BY_LORE, score))
        more += ((step, one) for one in newest)
        if not newest:
            break
    return more


def _told(woken: Sequence[WokenEntry]) -> str:
    return "\n".join(f"{one.entry.content}\n{hidden_keys(one.entry.content)}" for one in woken)[
        :MOST_TEXT
    ]


def _one_of_each_group(
    found: Sequence[tuple[int, WokenEntry]], seed: int
) -> tuple[list[tuple[int, WokenEntry]], list[WokenEntry]]:
    """Keep one entry of each group."""
    groups: dict[str, list[WokenEntry]] = {}
    for _step, one in found:
        for label in one.entry.groups:
            groups.setdefault(label, []).append(one)
    gone: set[int] = set()
    for label, named in groups.items():
        members = [one for one in named if id(one) not in gone]
        if members:
            winner = _winner(members, Random(f"{seed} {label}"))
            gone |= {id(one) for one in members if one is not winner}
    why = Sentence("another of its group was chosen")
    kept = [(step, one) for step, one in found if id(one) not in gone]
    lost = [WokenEntry(one.book, one.entry, why) for _step, one in found if id(one) in gone]
    return kept, lost


def _winner(members: Sequence[WokenEntry], chance: Random) -> WokenEntry:
    """Return the entry that stays: one that is already awake, one that overrides, or one by weight.

    Entries that are chosen by score lose to one with a higher score.
    """
    most = max(one.score for one in members)
    members = [one for one in members if one.is_still_awake] or [
        one for one in members if not one.entry.scores_group or one.score == most
    ]
    best = [one for one in members if one.entry.group_wins]
    if best:
        return max(best, key=lambda one: one.entry.order)
    return chance.choices(members, [one.entry.group_weight for one in members])[0]


def _within(
    books: Sequence[Lorebook],
    found: Sequence[tuple[int, WokenEntry]],
    budget: int,
    count: Count,
) -> tuple[list[WokenEntry], list[WokenEntry]]:
    """Fill the budget: constant entries first, then by step and order. Equal texts count once.

    Entries that ignore a full context come after all others.
    """
    rooms = {book.name: book.token_budget for book in books}
    kept: list[WokenEntry] = []
    over: list[WokenEntry] = []
    texts: set[str] = set()
    for _step, one in sorted(found, key=_rank):
        if one.entry.content in texts:
            continue
        cost = count(one.entry.content)
        room = rooms.get(one.book)
        if cost > budget or (room is not None and cost > room):
            over.append(WokenEntry(one.book, one.entry, Sentence("there is no room for it")))
            continue
        texts.add(one.entry.content)
        budget -= cost
        if room is not None:
            rooms[one.book] = room - cost
        kept.append(one)
    return kept, over


def _rank(found: tuple[int, WokenEntry]) -> tuple[bool, bool, int, int]:
    step, one = found
    entry = one.entry
    order = entry.order if entry.priority is None else entry.priority
    return entry.gives_way, not entry.is_constant, step, -order


class _Search:
    """Looks for keys in the messages. Patterns have a time limit."""

    def __init__(self, messages: Sequence[ScannedMessage]) -> None:
        self.messages = messages[-MOST_REPLAYED - 100 :]
        self._left_s = PATTERNS_S
        self._ends_s = time.thread_time() + SEARCH_S
        self._folded: dict[str, str] = {}
        self._windows: dict[tuple[int, int], str] = {}

    @property
    def newest_id(self) -> int:
        return self.messages[-1].id if self.messages else 0

    def window(self, at: int, depth: int) -> str:
        """Return the text of `depth` messages up to this one."""
        known = self._windows.get((at, depth))
        if known is None:
            seen = self.messages[max(0, at + 1 - depth) : at + 1]
            known = "\n".join(one.text for one in seen)[-MOST_TEXT:]
            self._windows[at, depth] = known
        return known

    def first_in(
        self, keys: Sequence[str | regex.Pattern[str]], entry: LoreEntry, text: str
    ) -> str | None:
        """Return the first key that occurs in the text, as people wrote it."""
        for key in keys:
            if self.is_in(key, entry, text):
                return key if isinstance(key, str) else f"/{key.pattern}/"
        return None

    def is_in(self, key: str | regex.Pattern[str], entry: LoreEntry, text: str) -> bool:
        if time.thread_time() > self._ends_s:
            return False
        if not isinstance(key, str):
            return self._fits(key, text)
        if not entry.is_case_sensitive:
            key, text = key.casefold(), self._fold(text)
        if entry.whole_words is False:
            return key in text
        return _has_word(text, key)

    def _fold(self, text: str) -> str:
        folded = self._folded.get(text)
        if folded is None:
            folded = self._folded[text] = text.casefold()
        return folded

    def _fits(self, pattern: regex.Pattern[str], text: str) -> bool:
        if self._left_s <= 0:
            return False
        try:
            return pattern.search(text, timeout=PATTERN_S, concurrent=True) is not None
        except TimeoutError:
            self._left_s -= PATTERN_S
            return False


def _has_word(text: str, key: str) -> bool:
    """Return whether the text has the key as a whole word. Japanese and Chinese have no spaces."""
    at = text.find(key) if key else -1
    while at >= 0:
        end = at + len(key)
        before = at > 0 and is_spaced_letter(text[at - 1]) and is_spaced_letter(key[0])
        after = end < len(text) and is_spaced_letter(text[end]) and is_spaced_letter(key[-1])
        if not before and not after:
            return True
        at = text.find(key, at + 1)
    return False
