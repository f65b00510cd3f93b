"""Learns from a refused request, and changes the next attempt.

- `negotiation`: one request and its attempts; each refusal changes the next.
- `named_fields`: the refused request, and the fields and tools that its error names.
- `lesson_rules`: turn a refusal into lessons.
- `unnamed_fields`: what to leave out if no rule matches and the error names nothing, and how later
  requests find out what is really refused.

`capabilities.learned` remembers all of it, for a day.
"""
