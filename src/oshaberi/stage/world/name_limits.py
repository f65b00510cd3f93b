"""How long the names of users, guilds, channels and the like may be, in characters."""

from __future__ import annotations

NAME_MOST = 100
"""The longest name of a server, a role, a channel or a thread."""
USERNAME_MOST = 32
