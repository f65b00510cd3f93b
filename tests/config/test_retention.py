"""How long something is kept at most is said twice: where it is set, and where it is deleted."""

from __future__ import annotations

import pytest

from oshaberi.config.all_settings import DECLARED
from oshaberi.storage.repositories import (
    daily_usage_repository,
    message_repository,
    turn_repository,
)


@pytest.mark.parametrize(
    ("setting", "days"),
    [
        ("retention_usage_days", daily_usage_repository.KEPT_DAYS),
        ("retention_turns_days", turn_repository.KEPT_DAYS),
        ("retention_turns_days", message_repository.KEPT_DAYS),
    ],
)
def test_nothing_is_deleted_before_the_longest_period_that_can_be_set(
    setting: str, days: int
) -> None:
    assert DECLARED[setting].about["high"] == days
