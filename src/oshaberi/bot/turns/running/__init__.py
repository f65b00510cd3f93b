"""Runs the turns that were admitted.

- `queue_runner`: in each channel one job after the other, when a slot is free: each persona's turn,
  and those that an answer calls.
- `turn`: one turn, from an admitted message to its outcome.
- `turn_journal`: its entry in the journal.
- `greeting`: what a persona says where it is called for the first time.
- `turn_buttons`: the buttons under its answer.
- `quiet_lines`: messages beside its answer, which are no part of it; `tool_questions`: whether a
  tool may run.
- `preview`: what a model would read in a turn.
"""
