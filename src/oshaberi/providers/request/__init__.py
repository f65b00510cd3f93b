"""Step 01: what a model is asked, independent of its API.

- `model_request`: one request; `context_items`: its messages, tools and tool results; `endpoint`:
  where the model is; `known_capabilities`: what it can do; `answer_budgets`: how much it may say.
- `request_preparation`: fits a request to an endpoint, with `context_window` and `history_trimming`
  (length) and `image_fetching` (pictures).
- `chat_dialogue`, `attachments_as_text`, `history_as_text`, `call_ids`, `sampling`, `stop_strings`,
  `thinking_levels`: what all families need to build a body.
"""
