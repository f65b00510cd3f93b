"""docs/faults.md: what the matrix means, and the matrix."""

from __future__ import annotations

from pathlib import Path

DOCUMENT = Path(__file__).parents[2] / "docs" / "faults.md"
INTRODUCTION = """\
# What happens when Discord fails

This page shows what the bot does when requests fail. The test sends five messages and lets
something go wrong with the first, the third or the fifth. It does so for each fault in the table
and for five ways of sending. The real discord.py sends them to the local stage, and the test
compares the channel with what should be in it. `make faults` runs it and prints this table.

- **once**: every message is in the channel exactly once, in order.
- A reason (`channel_unavailable`, `uncertain`, `error`, or a Discord error code): the missing
  text is in `StreamResult.undelivered`, and in the ledger with this reason. The other messages
  are there once, in order. `channel_unavailable` and `error` end the stream; an error code
  concerns one message.
- Three results stand for the first, middle and last position, where they differ.

If the picture of a table is refused, the table is sent as code, so it is there **once**. If a
webhook is gone, the bot creates a new one. If a webhook request is not answered, the bot waits
for 60 seconds before it sends the message again. If Discord carried out the first request even
later than that, the message would be there twice. This is the only case left; webhooks offer no
way to prevent it.

"""


def write_document(table: str) -> None:
    DOCUMENT.write_text(INTRODUCTION + table, encoding="utf-8")


def documented_table() -> list[str]:
    lines = DOCUMENT.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.startswith("|")]
