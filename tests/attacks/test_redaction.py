"""Texts that are made to keep the masking of secrets busy, and cuts that go through a secret."""

from __future__ import annotations

import io
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oshaberi.bot.config.redaction import mask_url
from oshaberi.bot.logs.log_lines import LONGEST_MESSAGE, LONGEST_TRACE, setup
from oshaberi.bot.logs.recent_warnings import LONGEST, RecentWarnings
from oshaberi.bot.tools.mcp.transports import _KEPT, _LONGEST_LINE, ServerStderr
from oshaberi.recording import SecretMasker
from oshaberi.secret_redaction import MARGIN, MASK, SecretValues, redact
from tests.attacks.loop_watch import computing_at_most

BEGINNINGS = [
    "eyJ-",
    "eyJhbGciOi.",
    "eyJhbGciOiJ9.eyJzdWIiOi-",
    "sk-",
    "AIza-",
    "MTIzNDU2Nzg5MDEyMzQ1Njc4OTA.",
    "MTIzNDU2Nzg5MDEyMzQ1Njc4OTA.abcdef.",
    "/api/webhooks/1",
    "https://user:",
    "https://a:b",
    "key=",
    "key ",
    "key is\n",
    "token:bearer ",
    "bearer\t",
    "password ",
    '"',
    "?key",
    "&key_",
    "data:a/b;base64,",
    ";a_",
    "a-",
    "9",
]


@pytest.mark.parametrize("beginning", BEGINNINGS)
@pytest.mark.parametrize("last", ["", ".", " ", "@", "="])
def test_masking_is_linear(beginning: str, last: str) -> None:
    text = beginning * (100_000 // len(beginning)) + last
    known = SecretValues(["hunter22", "tea-with-milk"])
    with computing_at_most(0.3):  # it took up to 29 s
        known.redacted(text)
    with computing_at_most(0.3):
        mask_url(f"https://example.org/?{text}")
    with computing_at_most(0.5):
        SecretMasker(["hunter22"]).text(text)


JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"
BY_FORM = {
    "a provider's key": "sk-0123456789abcdefghij",
    "Google's key": "AIzaSyA0123456789abcdefg",
    "a bot's token": "MTIzNDU2Nzg5MDEyMzQ1Njc4OTA.GabcdE.abcdefghijklmnopqrstuvwxyz012",
    "a web token": JWT,
    "a web token in a word": f"id-{JWT}",
    "a webhook": "https://discord.com/api/webhooks/123456789012345678/abcdefghijklmnopq",
    "a login with a comma": "https://me:hunter22,hunter33@example.org/",
    "a login": "https://me:hunter22hunter@example.org/",
    "a named one": "password: correct-horse-battery",
    "a header": "Authorization: Bearer 0123456789abcdef",
}
KNOWN = "a pass phrase with spaces, 日本語 and more of it"


def _secret_of(text: str) -> str:
    """The part that must not be read: the last word, without an address's public parts."""
    if "example.org" in text:
        return text.partition("@")[0].rpartition(":")[2]
    return text.split()[-1].rsplit("/", 1)[-1].removeprefix("id-")


@pytest.mark.parametrize("whole", BY_FORM.values(), ids=BY_FORM)
def test_it_is_masked_where_the_text_is_whole(whole: str) -> None:
    assert _secret_of(whole) not in redact(f"It said {whole} today")
    assert MASK in redact(whole)


@pytest.mark.parametrize("whole", BY_FORM.values(), ids=BY_FORM)
@pytest.mark.parametrize("before", ["word ", "日本語の文", "x.", '{"a":"'])
def test_a_cut_shows_no_part_of_a_secret(whole: str, before: str) -> None:
    """Wherever the cut falls, and however much shorter the masked text is."""
    secret = _secret_of(whole)
    most = 40
    for start in range(most + MARGIN - len(whole) - 5, most + MARGIN + 5):
        filled = (before * start)[:start]
        shown = redact(f"{filled} {whole} and so on, for long " * 3, most)
        assert len(shown) <= most
        assert not _parts(secret) & _parts(shown)
    # Masks make the text shorter: the cut comes into what is shown.
    shown = redact(f"{whole} " * 100, 2000)
    assert not _parts(secret) & _parts(shown)


def _parts(text: str, size: int = 6) -> set[str]:
    return {text[at : at + size] for at in range(len(text) - size + 1)}


@given(st.integers(0, 60), st.integers(10, 80))
def test_a_cut_shows_no_part_of_a_known_secret(filled: int, most: int) -> None:
    known = SecretValues([KNOWN])
    for text in (
        "." * (most + MARGIN - filled) + KNOWN * 2,
        "日" * (most + MARGIN - filled) + KNOWN + " more",
        KNOWN * 200,
    ):
        for shown in (known.masked(text, most), known.redacted(text, most)):
            assert len(shown) <= most
            assert not _parts(KNOWN) & _parts(shown)


def test_what_fits_is_not_cut() -> None:
    assert redact("just a text", 11) == "just a text"
    assert redact("just a text", 10) == "just a te…"
    assert redact("just a text and a bit more" * 100, 10) == "just a te…"


# -- where it is used ----------------------------------------------------------------------------

ATTACK = "eyJ-" * 500_000


def _log_line(form: str, **kwargs: Any) -> str:
    out = io.StringIO()
    root, handlers = logging.getLogger(), logging.getLogger().handlers[:]
    try:
        setup("info", form, out, [KNOWN])
        logging.getLogger("oshaberi.attack").warning("it said: %s", ATTACK, **kwargs)
    finally:
        root.handlers[:] = handlers
    return out.getvalue()


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_line_of_the_log_is_short_and_quickly_written(form: str) -> None:
    with computing_at_most(0.3):
        line = _log_line(form, extra={"body": ATTACK}, exc_info=ValueError(ATTACK))
    assert len(line) <= 3 * LONGEST_MESSAGE + LONGEST_TRACE


def test_a_kept_warning_is_cut_before_it_is_masked() -> None:
    warnings = RecentWarnings([KNOWN])
    record = logging.LogRecord("a", logging.WARNING, "", 0, "it: %s", (ATTACK,), None)
    with computing_at_most():
        warnings.emit(record)
    assert len(warnings.newest_first()[0].text) <= LONGEST


def test_what_a_server_writes_to_stderr_without_an_end() -> None:
    known = SecretValues([KNOWN])
    listener = ServerStderr("files", known.redacted)
    with computing_at_most():
        for _ in range(20):
            listener.data_received(b"x" * 65_536)
        listener.data_received(KNOWN.encode()[5:] + b"\n")
        assert len(listener._rest) <= _KEPT
    assert len(listener.last_line) <= _LONGEST_LINE
    listener.data_received(b"y" * (_LONGEST_LINE - 10) + b" " + KNOWN.encode() + b"\n")
    assert not _parts(KNOWN) & _parts(listener.last_line)
