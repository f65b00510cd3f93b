"""How long something is kept at most is said twice: where it is set, and where it is deleted."""

from __future__ import annotations

import pytest

from oshaberi.bot.config.all_settings import DECLARED
from oshaberi.bot.storage.repositories import messages, usage


@pytest.mark.parametrize(
    ("setting", "days"),
    [
        ("retention_usage_days", usage.KEPT_DAYS),
        ("retention_turns_days", messages.TURNS_KEPT_DAYS),
        ("retention_turns_days", messages.MESSAGES_KEPT_DAYS),
    ],
)
def test_nothing_is_deleted_before_the_longest_period_that_can_be_set(
    setting: str, days: int
) -> None:
    assert DECLARED[setting].about["high"] == days
