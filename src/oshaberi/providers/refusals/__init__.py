"""Learns from a refused request, and changes the next attempt.

- `negotiation`: one request and its attempts; each refusal changes the next.
- `reading`: the refused request, and the fields that its error names. `rules` turn it into lessons.
- `search`: what to leave out if no rule matches, and how to find out what is really refused.

`capabilities.learned` remembers all of it, for a day.
"""
