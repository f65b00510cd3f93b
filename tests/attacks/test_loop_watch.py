"""The measure itself: what freezes a loop is seen, and what breathes is not."""

from __future__ import annotations

import asyncio

import pytest

from tests.attacks.loop_watch import computing_at_most, memory_at_most, watched_loop


def compute(rounds: int) -> int:
    return sum(number * number for number in range(rounds))


async def compute_in_steps(steps: int, rounds: int) -> None:
    for _ in range(steps):
        compute(rounds)
        await asyncio.sleep(0)


def test_a_step_that_computes_long_is_found() -> None:
    with pytest.raises(AssertionError, match="compute_in_steps"), watched_loop(0.02):
        asyncio.run(compute_in_steps(1, 2_000_000))


def test_a_loop_that_breathes_is_not() -> None:
    with watched_loop():
        asyncio.run(compute_in_steps(100, 20_000))


def test_a_block_without_a_loop_is_no_proof() -> None:
    with pytest.raises(AssertionError, match="no event loop"), watched_loop():
        compute(10)


def test_a_long_computation_is_found() -> None:
    with pytest.raises(AssertionError, match="processor time"), computing_at_most(0.02):
        compute(2_000_000)


def test_memory_is_found() -> None:
    with pytest.raises(AssertionError, match="MB"), memory_at_most(1):
        bytes(5_000_000)
    with memory_at_most(10):
        bytes(5_000_000)
