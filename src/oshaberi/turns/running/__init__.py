"""Runs the turns that were admitted.

- `queue_runner`: in each channel one job after the other.
- `turn_slot_wait`: waits until a job may run.
- `turn_runner`: runs a job: each persona's turn in order; `self_triggers`: the personas that an
  answer calls.
- `no_answer_reasons`: why a job produced no answer.
- `turn`: one turn, from an admitted message to its outcome.
- `turn_journal`: the journal entry of a turn.
"""
