"""Learns from a refused request, and changes the next attempt.

- `request_negotiation`: one request and its attempts; each refusal changes the next.
- `refusal`: the refused request with its error. `refusal_rules` turn it into lessons, with
  `thinking_lessons` for how a model is told to think; `named_parameters` finds the fields that an
  error names. `capabilities.learned_limits` remembers the lessons.
- `parameter_fallback`: if no rule matches the error, the request is repeated with fewer parameters.
"""
