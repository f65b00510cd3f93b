"""From a message that is due to a known outcome.

- `webhook_identity`: under which name and picture it goes out.
- `message_poster`: chooses the bot's own account, the webhook, or the fallback.
- `exactly_once`: sends, repeats and looks for the message until its outcome is known;
  `send_attempts`: how often and how long.
- `message_edits`: edits and deletes; `sink_requests` makes the single requests of both;
  `slow_mode_wait` waits where Discord asks for it.
- `error_code_recovery`: what each Discord error code means; `send_outcome`: how a send can end.
- `outcome_handling`: what follows from an outcome for the messages that still wait.
- `message_limit_overrun`: what happens beyond the message limit; `overflow_file` collects the rest.
- `stream_notices`: the error, timeout and limit embeds.
"""
