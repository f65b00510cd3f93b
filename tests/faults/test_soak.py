"""A short soak; the long one is `python -m tests.faults.soak`."""

from __future__ import annotations

import pytest

from tests.faults.soak import soak


@pytest.mark.slow
def test_two_hundred_messages_with_random_faults() -> None:
    tally = soak(messages=200, channels=5, speed=100.0)
    assert tally.clean, str(tally)
    assert (tally.expected, tally.arrived) == (200, 200)
    assert tally.struck > 0
