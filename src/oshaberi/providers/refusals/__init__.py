"""Learns from a refused request, and changes the next attempt.

- `negotiation`: one request and its attempts; each refusal changes the next. Also what to leave out
  if no rule matches and the error names nothing, and how later requests find out what is refused.
- `named_fields`: the refused request, and the fields and tools that its error names.
- `lesson_rules`: turns a refusal into lessons.

`capabilities.learned` remembers all of it, for a day.
"""
