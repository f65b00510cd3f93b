"""docs/faults.md: what the matrix means, and the matrix."""

from __future__ import annotations

from pathlib import Path

DOCUMENT = Path(__file__).parents[2] / "docs" / "faults.md"
INTRODUCTION = """\
# What happens when Discord fails

This page shows what the bot does when requests fail. A test sends five messages and makes
something go wrong with the first, the third or the fifth, for each fault in the table and for each
of five ways of sending. The real discord.py sends the messages to the local stage, and the test
compares the channel with what should be in it. `make faults` runs the test and prints this table.

The five columns are the ways of sending: as the bot; as a reply; under a persona's name, through a
webhook; as the picture of a table; through a webhook in a thread. *Before the effect* means that
Discord had not yet stored the message when the fault occurred, *after it* that it had.

- **once**: every message is in the channel exactly once, in order.
- A reason (`channel_unavailable`, `uncertain`, `error`, or a Discord error code): the missing
  text is in `StreamResult.undelivered`, and in the ledger with this reason. The other messages
  are there once, in order. `channel_unavailable` and `error` end the stream; an error code
  affects only one message.
- If the first, middle and last positions have different results, all three are given.

If the picture of a table is refused, the table is sent as code, so it is there **once**. If a
webhook is gone, the bot creates a new one.

The bot looks for a webhook's message in the channel before it sends it again: 1 to 8 seconds after
an error or a broken connection, 60 seconds after a request that gets no answer. If Discord stores
the first message only after that, the message is there twice. This is the only way left for a
message to be repeated; webhooks offer no way to prevent it.

"""


def write_document(table: str) -> None:
    DOCUMENT.write_text(INTRODUCTION + table, encoding="utf-8")


def documented_table() -> list[str]:
    lines = DOCUMENT.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.startswith("|")]
