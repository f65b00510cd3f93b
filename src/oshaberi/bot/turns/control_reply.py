"""Replies to the users of commands and buttons on answers."""

from __future__ import annotations

from dataclasses import dataclass

from oshaberi.languages import translatable


@dataclass(frozen=True, slots=True)
class ControlReply:
    """The reply to the user of a command."""

    ok: bool
    text: str


STOPPED = ControlReply(True, translatable("Stopped."))
IDLE = ControlReply(False, translatable("There is nothing to stop here."))
NOT_YOURS = ControlReply(
    False, translatable("Only the person who asked, or somebody with Manage Messages, can do that.")
)
NOT_LISTED = ControlReply(
    False,
    translatable("The bot does not answer you here (see the lists of users, roles and channels)."),
)
NOT_HERE = ControlReply(
    False, translatable("The persona that answered may not do so in this channel any more.")
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
CONTINUED = ControlReply(True, translatable("Continuing."))
REGENERATED = ControlReply(True, translatable("Answering again."))
DELETED = ControlReply(True, translatable("The whole answer is deleted."))
DELETED_BEFORE = ControlReply(
    False, translatable("My last answer here was deleted. /regenerate writes a new one.")
)
CLOSING = ControlReply(False, translatable("The bot is shutting down. Try again in a moment."))
NOT_NEWEST = ControlReply(
    False, translatable("Only my newest answer in this channel can be changed. Choose that one.")
)
NO_EDITS = ControlReply(
    False, translatable("What I said cannot be edited here, or not by you (answer_editing).")
)
SHOWN = ControlReply(True, translatable("This version counts from now on."))
EDITED = ControlReply(True, translatable("Changed. From now on I have said this."))
NO_SUCH_VERSION = ControlReply(False, translatable("This version is not kept any more."))
TOO_LONG_HERE = ControlReply(
    False,
    translatable(
        "This is longer than the messages that are there, and something was said after them."
    ),
)
EMPTY = ControlReply(False, translatable("A message needs at least one visible character."))
NO_TEXT = ControlReply(
    False, translatable("Only messages that consist of text can be edited, without files.")
)
REFUSED = ControlReply(
    False, translatable("Discord did not let me change all messages. Please try again later.")
)
