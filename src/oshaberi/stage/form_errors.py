"""Invalid Form Body (50035): the tree of a form's errors, each with its path."""

from __future__ import annotations

from typing import Any

from oshaberi.stage.api_refusals import CODES, RefusalError


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
