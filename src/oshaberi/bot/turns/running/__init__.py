"""Runs the turns that were admitted.

- `queue_runner`: in each channel one job after the other.
- `job_runner`: one job, when a slot is free: each persona's turn, those that an answer calls, and
  the buttons under the answers.
- `turn`: one turn, from an admitted message to its outcome; `turn_journal`: its entry in the
  journal.
- `greeting`: what a persona says where it is called for the first time.
- `quiet_lines`: messages beside its answer, which are no part of it; `tool_questions`: whether a
  tool may run; `working_line`: what the bot does just now.
- `preview`: what a model would read in a turn.
"""
