"""What a refused request teaches, and how it is asked again.

- `request_negotiation`: one request and its attempts; each refusal changes the next.
- `refusal`: the refused request with its error. It teaches by `refusal_rules`, with
  `thinking_lessons` for how a model is told to think; `named_parameters` finds the fields that an
  error names. `capabilities.learned_limits` remembers the lessons.
- `parameter_fallback`: if no rule knows the error, the request is repeated with fewer parameters.
"""
