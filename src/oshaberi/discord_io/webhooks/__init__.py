"""Messages under another name and avatar.

- `managed_webhooks`: finds or creates one webhook per channel.
- `webhook_http`: sends webhook requests, each exactly once.
- `reply_notice`: the line that says what a webhook message answers.
"""
