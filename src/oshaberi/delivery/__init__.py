"""Step 07b: from the engine's messages to messages in a channel. Read in this order:

- `deliverer`: the loop. `queue`: what waits; `outgoing_builder`: how a message is made;
  `attachments`: tables and other files.
- `pacing`: how long a person would type; `rate_limit_waits`: when Discord's limits have room, and
  what is joined until then; `typing_indicator`; `waits`: every wait, ended at once by a stop.
- `posting`: one message on its way to the `sink`; `exactly_once`: when it is sent again;
  `outcomes`: how that can end, and how a refusal is handled; `message_limits`: the limit on
  messages;
    `notices`: notices for readers; `service_outage`: whether Discord answers at all.
- `live`: one message that grows by edits.
- `ledger`: what happened to each message and each character; `journal`: what is stored before it is
  sent; `response`: what lasts from stream to stream of one answer.
- `config`: the settings, and what each degree means. `recording_sink`: the sink of tests and
  replays.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    """Lets `oshaberi.delivery(to=…)` be a call, although this package has the same name."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        import oshaberi

        return oshaberi.__getattr__("open_delivery")(*args, **options)


sys.modules[__name__].__class__ = _CallablePackage
