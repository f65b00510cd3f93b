"""What the user of a command or a button on a turn is told."""

from __future__ import annotations

from dataclasses import dataclass

from oshaberi.languages import translatable


@dataclass(frozen=True, slots=True)
class ControlReply:
    """The reply to the user of a command."""

    ok: bool
    text: str


NOT_YOURS = ControlReply(
    False, translatable("Only the person who asked, or somebody with Manage Messages, can do that.")
)
NOT_LISTED = ControlReply(
    False,
    translatable("The bot does not answer you here (see the lists of users, roles and channels)."),
)
NOT_HERE = ControlReply(
    False, translatable("The persona that answered does so only in age-restricted channels.")
)
TOO_SOON = ControlReply(
    False, translatable("You asked a moment ago. Wait a little, then try again (cooldown_ms).")
)
BUSY = ControlReply(
    False, translatable("The bot is answering here. Wait until it is done, or use /stop.")
)
NOTHING = ControlReply(False, translatable("I do not remember an answer of mine in this channel."))
GONE = ControlReply(
    False, translatable("The message that I answered is deleted, so I cannot answer it again.")
)
UNKNOWN = ControlReply(
    False, translatable("That message is not part of an answer that I remember.")
)
NOT_NEWEST = ControlReply(
    False,
    translatable("Only my newest answer in this channel can be changed. Choose that one."),
)
CLOSING = ControlReply(False, translatable("The bot is shutting down. Try again in a moment."))
