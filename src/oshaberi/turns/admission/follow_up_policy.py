"""Applies `follow_up_policy` to a message that arrives while a turn runs (spec 04)."""

from __future__ import annotations

from typing import Literal

from oshaberi.turns.admission.channel_queue import ChannelQueue, QueuedJob


def queue_follow_up(job: QueuedJob, queue: ChannelQueue) -> Literal["wait", "interrupt"]:
    """Put the job into the queue. Return whether it interrupts the running turn.

    Only a new message interrupts, and only a turn of the same user. A message from before a restart
    waits in order of time, and a message that is answered by chance waits too.
    """
    policy = job.settings.turn.follow_up_policy
    if policy == "collect":
        queue.collect(job)
    elif job.arrival != "new":
        queue.put_in_order(job)
    elif policy == "interrupt" and queue.job.user_id == job.user_id and not job.is_uninvited:
        queue.put_first(job)
        return "interrupt"
    else:
        queue.waiting.append(job)
    return "wait"
