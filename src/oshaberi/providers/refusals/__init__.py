"""Learns from a refused request, and changes the next attempt.

- `negotiation`: one request and its attempts; each refusal changes the next.
- `reading`: the refused request, the fields that its error names, and what to leave out if no
  rule matches. `rules` turn it into lessons; `capabilities.learned` remembers them.
"""
