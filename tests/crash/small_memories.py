"""The bot with small memories: what has a bound is full soon, and any further growth is a leak.

With the real bounds (10 000 and 20 000 ids) they would still be filling after thousands of turns.
"""

from __future__ import annotations

import oshaberi.bot.client
import oshaberi.bot.shared
import oshaberi.discord_io.witness
import oshaberi.turns.conversations
from tests.crash import child

MOST = 500
BOUNDS = {
    oshaberi.bot.client: ("KEPT_IDS",),
    oshaberi.bot.shared: ("KEPT_CLAIMS",),
    oshaberi.discord_io.witness: ("KEPT_CLAIMS",),
    oshaberi.turns.conversations: ("MOST_SEEN",),
}

if __name__ == "__main__":
    for module, names in BOUNDS.items():
        for name in names:
            assert getattr(module, name) > MOST, f"{module.__name__}.{name}"
            setattr(module, name, MOST)
    child.main()
