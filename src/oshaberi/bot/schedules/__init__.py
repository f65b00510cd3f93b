"""When something is to happen: time zones, recurrences, and times as people write them. Pure.

Nothing here reads a clock, a database or Discord: `initiative` lets due schedules happen.

- `zones`: a time zone by its name, or by what the clocks there show now.
- `recurrence`: when a recurring schedule happens next, across clock changes and leap days.
- `cron_fields`: the five fields of a crontab line.
- `time_words`, `times_of_day`: the words of written times, and what a clock shows.
- `written_times`: "tomorrow at nine", "every monday 17:30", `0 9 * * 1`, 明日9時.
- `schedule_rules`: what may be scheduled, and what happens to a schedule that is late.
- `planning`: turns a request to schedule something into a record, or refuses it.
"""
