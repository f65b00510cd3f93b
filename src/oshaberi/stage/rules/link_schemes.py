"""Which schemes a URL may have. The API description only says that it is a URL.

Source: Discord's answers (`URL_TYPE_INVALID_SCHEME`) name the schemes that a field takes.
"""

from __future__ import annotations

from collections.abc import Sequence

from oshaberi.stage.form_errors import FormErrors

WEB = ("http", "https")
WEB_OR_FILE = ("http", "https", "attachment")


def check_scheme(
    path: tuple[str | int, ...], url: object, schemes: Sequence[str], errors: FormErrors
) -> None:
    if isinstance(url, str) and url.partition("://")[0].lower() not in schemes:
        known = ", ".join(repr(scheme) for scheme in schemes)
        errors.add(path, "URL_TYPE_INVALID_SCHEME", f"Scheme must be one of ({known}).")
