"""When something is to happen: time zones, recurrences, and times as people write them. Pure.

Nothing here reads a clock, a database or Discord: `initiative` lets due schedules happen.

- `zones`: the name of a time zone, or what it must be if it is nine o'clock there now.
- `recurrence`: when a recurring schedule happens next, over changes of the clocks and leap days.
- `cron_fields`: the five fields of a crontab line.
- `time_words`, `times_of_day`: the words of written times, and what a clock shows.
- `written_times`: "tomorrow at nine", "every monday 17:30", `0 9 * * 1`, 明日9時.
- `schedule_rules`: what may be scheduled, and what becomes of a schedule that is late.
- `planning`: what somebody asks to be scheduled becomes a record, or is refused.
"""
