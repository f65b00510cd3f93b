"""Seconds of this thread's own processor time, so that a busy machine disturbs less.

What is compared is measured in turns, and the best of several rounds counts.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence

Job = Callable[[], object]

clock = time.thread_time


def seconds(job: Job) -> float:
    """One run, without the garbage collector."""
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        began = clock()
        job()
        return clock() - began
    finally:
        if enabled:
            gc.enable()


def best_in_turns(jobs: Sequence[Job], rounds: int) -> list[float]:
    """For each job its fastest run; all of them run once before any runs again."""
    best = [float("inf")] * len(jobs)
    for _ in range(rounds):
        for index, job in enumerate(jobs):
            best[index] = min(best[index], seconds(job))
    return best


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]
