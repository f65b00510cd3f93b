"""Lorebooks: every form is read, and entries wake when they should."""

from __future__ import annotations

import time
from typing import Any

import pytest

from oshaberi.bot.characters import lore_scan
from oshaberi.bot.characters.cards import CardError
from oshaberi.bot.characters.lore_scan import LoreScan, ScannedMessage, scan
from oshaberi.bot.characters.lorebooks import Lorebook, as_sillytavern, book_from
from oshaberi.bot.storage.records import LorebookRecord
from oshaberi.bot.turns.services import lore_shelf


def entry(*keys: str, content: str = "", **more: Any) -> dict[str, Any]:
    filled = {"keys": list(keys), "content": content or f"About {' '.join(keys) or 'all'}."}
    return {"enabled": True, "insertion_order": 100, "extensions": {}, **filled, **more}


def book(*entries: dict[str, Any], **more: Any) -> Lorebook:
    return book_from({"name": "World", "extensions": {}, "entries": list(entries), **more})


def woken_by(found: Lorebook, *texts: str, budget: int = 1000) -> LoreScan:
    messages = [ScannedMessage(number, f"Alice: {text}") for number, text in enumerate(texts, 1)]
    return scan([found], messages, budget)


def contents(result: LoreScan) -> list[str]:
    return [one.entry.content for one in result.woken]


@pytest.mark.parametrize(
    ("key", "text", "wakes"),
    [
        ("tea", "some TEA please", True),
        ("tea", "a team", False),
        ("green tea", "green tea!", True),
        ("抹茶", "今日は抹茶が飲みたい", True),
        ("猫", "子猫がいる", True),
        ("cafe", "カフェcafeです", True),
        ("/t[ea]{2}s?/i", "TEAS", True),
        ("/tea/", "TEA", False),
        (r"/\u{62b9}茶/u", "抹茶", True),
        ("/(/", "(", False),
        ("", "anything", False),
    ],
)
def test_keys(key: str, text: str, wakes: bool) -> None:
    assert bool(contents(woken_by(book(entry(key, content="x")), text))) == wakes


def test_a_slow_pattern_does_not_match_and_all_together_get_half_a_second() -> None:
    slow = [entry(rf"/(a|a)*[^a]{{{n}}}$/") for n in range(1, 200)]
    begun = time.process_time()
    assert contents(woken_by(book(*slow), "a" * 5000)) == []
    assert time.process_time() - begun < 3


@pytest.mark.parametrize(
    ("logic", "text", "wakes"),
    [
        (0, "tea and cake", True),
        (0, "tea", False),
        (1, "tea and cake", True),
        (1, "tea, cake, milk", False),
        (2, "tea", True),
        (2, "tea and milk", False),
        (3, "tea, cake, milk", True),
        (3, "tea and cake", False),
    ],
)
def test_secondary_logic(logic: int, text: str, wakes: bool) -> None:
    one = entry("tea", selective=True, secondary_keys=["cake", "milk"])
    one["extensions"] = {"selectiveLogic": logic}
    assert bool(woken_by(book(one), text).woken) == wakes


def test_order_constant_disabled_and_why() -> None:
    found = woken_by(
        book(
            entry("tea", content="second", insertion_order=20),
            entry(content="always", constant=True, insertion_order=30),
            entry("tea", content="first", insertion_order=10),
            entry("tea", content="off", enabled=False),
            entry("tea", content=""),
            entry("tea", content="second", insertion_order=5),
        ),
        "tea",
    )
    assert contents(found)[:2] == ["first", "second"]
    assert "always" in contents(found)
    assert "off" not in contents(found)
    assert [str(one.why) for one in found.woken][:1] == ["tea was said"]


def test_the_budget_keeps_constants_and_high_orders() -> None:
    entries = [entry("tea", content=f"{n} " + "x" * 28, insertion_order=n) for n in range(5)]
    found = woken_by(book(*entries, entry(content="c" * 30, constant=True)), "tea", budget=30)
    assert [one.entry.order for one in found.woken] == [3, 4, 100]
    assert {str(one.why) for one in found.left_out} == {"there is no room for it"}
    assert len(found.left_out) == 3


def test_scan_depth() -> None:
    far = entry("tea", content="far", extensions={"scan_depth": 3})
    deep = book(far, entry("tea", content="near"), scan_depth=1)
    assert contents(woken_by(deep, "tea", "a", "b")) == ["far"]
    assert contents(woken_by(deep, "tea")) == ["far", "near"]


def test_entries_wake_each_other_within_a_bound() -> None:
    chain = [entry(f"k{n}", content=f"k{n + 1}") for n in range(20)]
    assert len(woken_by(book(*chain), "k0").woken) == 6
    assert len(woken_by(book(*chain, recursive_scanning=False), "k0").woken) == 1
    kept = [entry("a", content="b"), entry("b", extensions={"exclude_recursion": True})]
    assert len(woken_by(book(*kept), "a").woken) == 1
    quiet = [entry("a", content="b", extensions={"prevent_recursion": True}), entry("b")]
    assert len(woken_by(book(*quiet), "a").woken) == 1
    late = [entry("a", content="b"), entry("b", extensions={"delay_until_recursion": True})]
    assert len(woken_by(book(*late), "b").woken) == 0
    assert len(woken_by(book(*late), "a").woken) == 2


def test_sticky_cooldown_and_delay_count_messages() -> None:
    sticky = book(entry("tea", extensions={"sticky": 2, "scan_depth": 1}))
    told = ["tea", "a", "b", "c"]
    assert [bool(woken_by(sticky, *told[: n + 1]).woken) for n in range(4)] == [
        *(True, True, True, False)
    ]
    tired = book(entry("tea", extensions={"cooldown": 2, "scan_depth": 1}))
    assert [bool(woken_by(tired, *["tea"] * n).woken) for n in range(1, 6)] == [
        *(True, False, False, True, False)
    ]
    late = book(entry("tea", extensions={"delay": 2}))
    assert [bool(woken_by(late, *["tea"] * n).woken) for n in (1, 2, 3)] == [False, False, True]


def test_probability_is_thrown_by_the_message() -> None:
    rare = book(entry("tea", extensions={"probability": 30, "useProbability": True}))
    lucky = [bool(woken_by(rare, *["x"] * n, "tea").woken) for n in range(60)]
    assert 5 < sum(lucky) < 35
    assert lucky == [bool(woken_by(rare, *["x"] * n, "tea").woken) for n in range(60)]


def test_one_of_a_group() -> None:
    weather = [entry("sky", content=w, extensions={"group": "weather"}) for w in ("rain", "sun")]
    found = woken_by(book(*weather), "sky")
    assert len(found.woken) == 1
    assert [str(one.why) for one in found.left_out] == ["another of its group was chosen"]
    winner = entry("sky", content="snow", extensions={"group": "weather", "group_override": True})
    assert contents(woken_by(book(*weather, winner), "sky")) == ["snow"]


def test_group_scoring_keeps_those_with_most_keys() -> None:
    def one(content: str, *keys: str, **more: Any) -> dict[str, Any]:
        extensions = {"group": "g", "use_group_scoring": True, **more}
        return entry(*keys, content=content, extensions=extensions)

    poor, rich = one("poor", "tea"), one("rich", "tea", "cake", "milk")
    for number in range(10):  # whatever the weights would choose
        texts = [*["x"] * number, "tea with cake"]
        assert contents(woken_by(book(poor, rich, scan_depth=1), *texts)) == ["rich"]
    assert contents(woken_by(book(poor, rich), "coffee")) == []
    unscored = one("unscored", "tea", use_group_scoring=False, group_weight=10_000)
    found = woken_by(book(unscored, rich, poor), "tea with cake")
    assert len(found.woken) == 1
    assert [one.entry.content for one in found.left_out].count("poor") == 1
    second = one("second", "tea", selectiveLogic=0)
    second |= {"selective": True, "secondary_keys": ["cake", "milk"]}
    assert contents(woken_by(book(one("one", "tea"), second), "tea, cake, milk")) == ["second"]


def test_an_entry_in_several_groups_and_one_that_is_still_awake() -> None:
    both = entry("a", content="both", extensions={"group": "x, y", "group_override": True})
    x = entry("a", content="x", extensions={"group": "x"})
    y = entry("a", content="y", extensions={"group": "y"})
    assert contents(woken_by(book(x, both, y), "a")) == ["both"]
    stays = entry("old", content="stays", extensions={"group": "g", "sticky": 5, "scan_depth": 1})
    new = entry("new", content="new", extensions={"group": "g", "group_weight": 1000})
    assert contents(woken_by(book(stays, new), "old", "new")) == ["stays"]


def test_decorators_that_look_back() -> None:
    kept = book(entry("tea", content="@@keep_activate_after_match\nx"), scan_depth=1)
    assert contents(woken_by(kept, "hello")) == []
    assert contents(woken_by(kept, "tea", *["a"] * 40)) == ["x"]
    once = book(entry("tea", content="@@dont_activate_after_match\nx"), scan_depth=1)
    assert contents(woken_by(once, "tea")) == ["x"]
    assert contents(woken_by(once, "tea", "a", "tea")) == []


def test_an_entry_for_a_greeting() -> None:
    rain = book(entry("tea", content="@@is_greeting 1\nrain"))
    told = [ScannedMessage(1, "Alice: tea")]
    for greeting, wakes in ((1, True), (0, False), (None, False)):
        assert bool(scan([rain], told, 1000, greeting=greeting).woken) == wakes
    always = book(entry(content="@@is_greeting 0\nx", constant=True))
    assert not scan([always], told, 1000, greeting=None).woken


def test_an_entry_that_gives_way_is_the_first_without_room() -> None:
    way = entry(content="@@ignore_on_max_context\n" + "w" * 30, constant=True, insertion_order=900)
    found = woken_by(book(way, entry("tea", content="t" * 30)), "tea", budget=15)
    assert contents(found) == ["t" * 30]
    assert contents(woken_by(book(way), "tea", budget=15)) == ["w" * 30]


def test_a_fallback_counts_only_for_a_decorator_that_is_not_known() -> None:
    text = "@@role user\n@@@dont_activate\n@@new 1\n@@@newer\n@@@depth 3\n@@@role assistant\nx"
    [one] = woken_by(book(entry("tea", content=text)), "tea").woken
    assert (one.entry.role, one.entry.depth, one.entry.content) == ("user", 3, "x")
    text = "@@position nowhere\n@@@position after_desc\nx"
    [one] = woken_by(book(entry("tea", content=text)), "tea").woken
    assert one.entry.position == "after_char"


def test_an_outlet_of_sillytavern_is_read_and_written() -> None:
    silly = {"entries": {"0": {"key": ["tea"], "content": "x", "position": 7, "outletName": "w"}}}
    found = book_from(silly, "a")
    assert (found.entries[0].position, found.entries[0].outlet) == ("outlet", "w")
    assert as_sillytavern(found.data)["entries"]["0"].items() >= silly["entries"]["0"].items()


def test_decorators() -> None:
    text = "@@depth 2\n@@role assistant\n@@additional_keys cake\n@@exclude_keys milk\n@@new 1\nHi."
    found = woken_by(book(entry("tea", content=text)), "cake")
    [one] = found.woken
    assert (one.entry.content, one.entry.position, one.entry.depth) == ("Hi.", "depth", 2)
    assert one.entry.role == "assistant"
    assert contents(woken_by(book(entry("tea", content=text)), "tea with milk")) == []
    assert contents(woken_by(book(entry("tea", content="@@dont_activate\nx")), "tea")) == []
    assert contents(woken_by(book(entry(content="@@activate\nx")), "a")) == ["x"]


SILLY = {
    "entries": {
        "0": {
            "uid": 0,
            "key": ["tea"],
            "keysecondary": ["cake"],
            "comment": "Tea",
            "order": 50,
            "content": "Tea is hot.",
            "selective": True,
            "selectiveLogic": 2,
            "position": 4,
            "depth": 2,
            "role": 1,
            "disable": False,
            "sticky": 3,
            "addMemo": True,
        },
        "1": {"uid": 1, "key": ["off"], "content": "no", "disable": True, "newest": {"a": 1}},
    }
}


def test_sillytaverns_file_is_read_and_written() -> None:
    found = book_from(SILLY, "tea.json")
    first, second = found.entries
    assert (found.name, first.title, first.order, first.logic) == ("tea.json", "Tea", 50, "not_any")
    assert (first.position, first.depth, first.role, first.sticky) == ("depth", 2, "user", 3)
    assert not second.is_enabled
    written = as_sillytavern(found.data)
    for number, one in SILLY["entries"].items():
        assert written["entries"][number].items() >= one.items()
    assert book_from(written).entries == found.entries


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ([], "not an object"),
        ({}, "no entries"),
        ({"entries": [{}] * 2001}, "more than 2,000 entries"),
        ({"entries": [entry(*["k"] * 11_000)] * 2}, "more than 20,000 keys"),
        ({"entries": [entry("k" * 501)]}, "keys has more than 500 characters"),
        ({"entries": [entry(content="x" * 100_001)]}, "content has more than 100,000"),
    ],
)
def test_a_book_that_cannot_be_read_is_one_line(document: Any, reason: str) -> None:
    with pytest.raises(CardError, match=reason):
        book_from(document)


def test_nonsense_in_an_entry_is_harmless() -> None:
    wild = {
        "keys": [1, None, "tea"],
        "content": "x",
        "insertion_order": "first",
        "priority": "p",
        "extensions": {"position": [], "depth": "deep", "role": {}, "probability": -1},
        "secondary_keys": 5,
        "case_sensitive": "yes",
    }
    assert contents(woken_by(book_from({"entries": [wild, "no", 7]}), "tea")) == ["x"]


def test_a_large_book_takes_little_time() -> None:
    """2000 entries with ten keys each over long messages: bounded, and run in a thread."""
    large = book(*(entry(*(f"word{n}x{k}" for k in range(10))) for n in range(2000)))
    assert contents(woken_by(large, *["a long message " * 130] * 6)) == []


@pytest.mark.parametrize(
    "key",
    [
        r"/a{200000}/",
        r"/(?:ab){100000}/",
        r"/(?:ab){100000,}?c/",
        r"/(?:(?:ab){300}){300}c/",
        "/(?x)(?:ab){1#\n00000}/",
        "/(?ix)(?:ab) { 10 00 00 }/",
        r"/(?:ab){\u{31}00000}/",
    ],
)
def test_a_pattern_that_would_fill_the_memory_is_left_out(key: str) -> None:
    [one] = book(entry(key, content="x")).entries
    assert one.keys == ()


def test_ordinary_counts_stay() -> None:
    keys = (r"/\d{4}-\d{2}-\d{2}/", r"/(?:\d{1,3}\.){3}\d{1,3}/", r"/(?:foo).{0,500}(?:bar)/")
    [one] = book(entry(*keys, content="x")).entries
    assert len(one.keys) == len(keys)


def test_patterns_of_a_book_have_a_bound_together() -> None:
    keys = [f"/(?:a){{1500}}{number}/" for number in range(20)]
    [one] = book(entry(*keys, content="x")).entries
    assert 0 < len(one.keys) < len(keys)


def test_keys_that_nearly_match_everywhere_are_searched_for_a_bounded_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lore_scan, "SEARCH_S", 0.1)
    keys = ["a" * n for n in range(1, 201)]
    slow = [entry(*keys, content=f"{m}", extensions={"sticky": 1}) for m in range(2)]
    begun = time.process_time()
    assert contents(woken_by(book(*slow, scan_depth=100), *["a" * 2000] * 60)) == []
    assert time.process_time() - begun < 1


def test_patterns_that_are_just_fast_enough_are_searched_for_a_bounded_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lore_scan, "SEARCH_S", 0.1)
    slow = [entry(rf"/(?:a?){{{n}}}a{{20}}c{n}/", extensions={"sticky": 1}) for n in range(10, 60)]
    begun = time.process_time()
    assert contents(woken_by(book(*slow), *["a" * 2000] * 60)) == []
    assert time.process_time() - begun < 1


def test_patterns_of_a_server_have_a_bound_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lore_shelf, "MOST_PATTERNS", 100)
    records = [
        LorebookRecord(1, name, {"entries": [entry(key)]})
        for name, key in (("a", f"/{'x' * 60}/"), ("b", f"/{'y' * 60}/"), ("c", "tea"))
    ]
    assert [one.book.name for one in lore_shelf.placed(records)] == ["a", "c"]
