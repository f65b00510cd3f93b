"""The one call that most programs need: `deliver`, and its companions `delivery` and `stop`.

- `call`: the call itself, its options and its result.
- `model_streams`: reads what the caller hands over: text, chunks, or the stream of a model's SDK.

Use the names that `oshaberi` exports.
"""
