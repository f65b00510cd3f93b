"""Recovers what an ended process left unfinished, after a restart.

- `crash_recovery`: finishes or reports the messages in this process's journal;
  `unsent_post_recovery` finds each of them in its channel, or sends it.
- `question_recovery`: answers the questions that waited, or says why not.
- `orphaned_journals`: does both for a process that never came back.
"""
