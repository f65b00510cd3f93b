"""What is written down about a delivery.

- `delivery_record`: counts, history and state of one stream's messages, in memory.
- `character_ledger`: every visible character was delivered, or has the reason why it was not.
- `send_journal`: each message is stored before it is sent, and marked afterwards.
"""
