"""What the bot does by itself: a due schedule happens.

- `due_schedules`: waits for what is due, takes it in one process only, and lets the bot speak.
- `schedule_words`: what a reminder says, and what the model is told about a task.
"""
