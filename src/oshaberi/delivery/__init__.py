"""Step 07b: from the engine's messages to messages in a channel.

`deliverer` takes events and runs them through `queue` → `pacing` → `posting` to a `sink`;
before a message leaves, `typing_waits` and `bucket_waits` let it wait. `live` edits instead of
sending. `bookkeeping` keeps the ledger and the journal.
`stream_config` has the settings, `degree_policy` what each degree means, `notify_policy` which
messages notify, `response_state` what passes from stream to stream of one response.
"""
