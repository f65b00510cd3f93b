"""Discord's error answers: HTTP status, code, and the tree of errors of an invalid form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Discord's error answers: HTTP status and error code; `refusals` has the tree for a bad form.
#
# The table has every code that the stage uses, in its own answers and in faults.


CODES: dict[int, tuple[int, str]] = {
    10003: (404, "Unknown Channel"),
    10004: (404, "Unknown Guild"),
    10006: (404, "Unknown Invite"),
    10007: (404, "Unknown Member"),
    10008: (404, "Unknown Message"),
    10011: (404, "Unknown Role"),
    10013: (404, "Unknown User"),
    10014: (400, "Unknown Emoji"),
    10015: (404, "Unknown Webhook"),
    10026: (404, "Unknown Ban"),
    10062: (404, "Unknown interaction"),
    10063: (404, "Unknown application command"),
    10065: (404, "Unknown Voice State"),
    10066: (404, "Unknown application command permissions"),
    10070: (404, "Unknown Guild Scheduled Event"),
    20016: (429, "This action cannot be performed due to slowmode rate limit."),
    20028: (429, "The write action you are performing on the channel has hit the rate limit."),
    30005: (400, "Maximum number of guild roles reached (250)"),
    30007: (400, "Maximum number of webhooks reached (15)"),
    30008: (400, "Maximum number of emojis reached"),
    30010: (400, "Maximum number of reactions reached (20)"),
    30032: (400, "Maximum number of application commands reached (100)"),
    30046: (429, "Maximum number of edits to messages older than 1 hour reached."),
    40005: (413, "Request entity too large"),
    40007: (403, "The user is banned from this guild."),
    40032: (400, "Target user is not connected to voice."),
    40033: (400, "This message has already been crossposted."),
    40060: (400, "Interaction has already been acknowledged."),
    40094: (400, "This interaction has hit the maximum number of follow up messages"),
    50001: (403, "Missing Access"),
    50005: (403, "Cannot edit a message authored by another user"),
    50006: (400, "Cannot send an empty message"),
    50007: (403, "Cannot send messages to this user"),
    50008: (400, "Cannot send messages in a non-text channel"),
    50013: (403, "Missing Permissions"),
    50024: (400, "Cannot execute action on this channel type"),
    50027: (401, "Invalid Webhook Token"),
    50028: (400, "Invalid Role"),
    50034: (400, "You can only bulk delete messages that are under 14 days old."),
    50035: (400, "Invalid Form Body"),
    50045: (400, "File cannot be larger than 10.0 MB"),
    50081: (400, "Invalid sticker sent"),
    50083: (400, "Thread is archived"),
    50109: (400, "The request body contains invalid JSON."),
    50278: (403, "Cannot send messages to this user due to having no mutual guilds"),
    110000: (202, "Index not yet available. Try again later"),
    160002: (400, "Cannot reply without permission to read message history"),
    160004: (400, "A thread has already been created for this message"),
    160006: (400, "Maximum number of active threads reached"),
    200000: (400, "Message was blocked by automatic moderation"),
    220001: (400, "Webhooks posted to forum channels must have a thread_name or thread_id"),
    220003: (400, "Webhooks can only create threads in forum channels"),
    160011: (400, "A forwarded message cannot have content of its own"),
    240000: (400, "Message blocked by harmful links filter"),
    500000: (400, "Failed to ban users"),
    520001: (400, "Poll expired"),
}


class RefusalError(Exception):
    """Ends a request with an error answer, as Discord would. Not an error of the stage."""

    def __init__(
        self,
        status: int,
        code: int,
        message: str,
        *,
        errors: dict[str, Any] | None = None,
        extra: dict[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code
        self.headers = dict(headers or {})
        self.body: dict[str, Any] = {"message": message, "code": code}
        if errors:
            self.body["errors"] = errors
        self.body |= extra or {}


def refusal(code: int, **extra: object) -> RefusalError:
    """Return the refusal with this Discord code."""
    status, message = CODES[code]
    return RefusalError(status, code, message, extra=dict(extra))


def unauthorized() -> RefusalError:
    return RefusalError(401, 0, "401: Unauthorized")


def not_found() -> RefusalError:
    return RefusalError(404, 0, "404: Not Found")


# Invalid Form Body (50035): the tree of a form's errors, each with its path.


class FormErrors:
    """Collects the errors of a form, each with its path, and refuses all together."""

    def __init__(self, place: tuple[str | int, ...] = ()) -> None:
        self._place = place
        """The position of the form in the body: every path begins with it."""
        self._tree: dict[str, Any] = {}

    def add(self, path: tuple[str | int, ...], code: str, message: str) -> None:
        node = self._tree
        for step in (*self._place, *path):
            node = node.setdefault(str(step), {})
        node.setdefault("_errors", []).append({"code": code, "message": message})

    def too_long(self, path: tuple[str | int, ...], text: object, most: int) -> None:
        """Add an error if a text is too long, in code points as on Discord (facts: Messages)."""
        if isinstance(text, str) and len(text) > most:
            self.add(path, "BASE_TYPE_MAX_LENGTH", f"Must be {most} or fewer in length.")

    def bad_length(self, path: tuple[str | int, ...], text: str, least: int, most: int) -> None:
        if not least <= len(text) <= most:
            message = f"Must be between {least} and {most} in length."
            self.add(path, "BASE_TYPE_BAD_LENGTH", message)

    def required(self, path: tuple[str | int, ...]) -> None:
        self.add(path, "BASE_TYPE_REQUIRED", "This field is required")

    def refusal(self) -> RefusalError:
        status, message = CODES[50035]
        return RefusalError(status, 50035, message, errors=self._tree)

    def raise_if_any(self) -> None:
        if self._tree:
            raise self.refusal()


def bad_form(path: tuple[str | int, ...], code: str, message: str) -> RefusalError:
    """Return a refusal because of one field."""
    errors = FormErrors()
    errors.add(path, code, message)
    return errors.refusal()
