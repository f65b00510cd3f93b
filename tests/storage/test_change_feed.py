"""Which cached values are old: after a change here, after one elsewhere, and while nobody tells."""

from __future__ import annotations

import pytest

from oshaberi.bot.storage.changes import FRESH_SECONDS, ChangeFeed, StoredChange

CHANGE = StoredChange("settings", 7)


def test_a_change_elsewhere_counts_and_our_own_is_not_counted_again() -> None:
    one, other = ChangeFeed(FRESH_SECONDS), ChangeFeed(FRESH_SECONDS)
    before = other.stamp("settings", 7)
    other.hear_encoded(other.encode(CHANGE))
    assert other.stamp("settings", 7) == before
    other.hear_encoded(one.encode(CHANGE).encode())
    assert other.stamp("settings", 7) != before
    assert other.stamp("personas", 7) == before
    assert other.stamp("settings", 8) == before


@pytest.mark.parametrize(
    "said", ["", "[", "7", "[]", '["settings", 7]', '["moods", 7, "x"]', '["settings", null, "x"]']
)
def test_words_of_others_are_ignored(said: str) -> None:
    feed = ChangeFeed(None)
    before = feed.stamp("settings", 7)
    feed.hear_encoded(said)
    assert feed.stamp("settings", 7) == before


def test_a_connection_may_have_missed_something_before_it_was_made() -> None:
    feed = ChangeFeed(FRESH_SECONDS)
    assert feed.fresh_s == FRESH_SECONDS
    before = feed.stamp("keys", "user 3")
    feed.note_connected()
    assert feed.stamp("keys", "user 3") != before
    assert feed.fresh_s is None
    feed.note_disconnected()
    assert feed.fresh_s == FRESH_SECONDS
