"""From the engine's events to messages that wait, in the order of the text.

- `outgoing_builder`: makes an `OutgoingMessage` of each event.
- `table_attachments`: a table as pictures, code or a file; `plug_in_attachments`: lets plug-ins
  draw code blocks.
- `message_queue`: the waiting messages; joins them when the channel is blocked.
- `message_limits`: how many messages a response may have.
"""
