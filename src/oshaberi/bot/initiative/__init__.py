"""What the bot does by itself: a due schedule happens, a persona begins to talk.

- `due_schedules`: waits for what is due, takes it in one process only, and lets the bot speak.
- `openings`: lets a persona begin to talk, by `opening_rules`.
- `schedule_words`: what a reminder says, and what the model is told about a task.
"""
