"""docs/faults.md: what the matrix means, and the matrix."""

from __future__ import annotations

from pathlib import Path

DOCUMENT = Path(__file__).parents[2] / "docs" / "faults.md"
INTRODUCTION = """\
# What happens when Discord does not

Five messages are sent, and something goes wrong with the first, the third or the fifth of them, in
each of five ways of sending. Real discord.py sends them to the local stage; then the channel is
compared with what was to be in it. `make faults` plays it all and prints this table.

- **once**: every message is there exactly once, in order.
- A reason (`channel_unavailable`, `uncertain`, `error`, a code of Discord's): whatever is not there
  is in `StreamResult.undelivered` and stands in the ledger under this reason; the rest is there
  once, in order. `channel_unavailable` and `error` end the stream; a code is about one message.
- Three results are for the first, middle and last position, where they differ.

A table whose picture is refused goes out as code instead, so it is there **once**. A webhook that
is gone is made anew. A webhook's request that is not answered is waited for (60 seconds) before the
message is sent again: if Discord carried out such a request later still, the message would be there
twice. That is the one case left, and webhooks offer nothing against it.

"""


def write_document(table: str) -> None:
    DOCUMENT.write_text(INTRODUCTION + table, encoding="utf-8")


def documented_table() -> list[str]:
    lines = DOCUMENT.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.startswith("|")]
