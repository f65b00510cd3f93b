"""Secrets that are known by value: masked wherever they stand, whatever they look like."""

from __future__ import annotations

import pytest

from oshaberi.recording import SecretMasker
from oshaberi.secret_redaction import MASK, SHORTEST_SECRET, SecretValues, secrets_in

HEADER = "Bearer tea-with-milk"


@pytest.mark.parametrize("told", [HEADER, "tea-with-milk", "?k=tea-with-milk&x", "(tea-with-milk)"])
def test_a_header_is_masked_whole_and_without_its_scheme(told: str) -> None:
    known = SecretValues([HEADER])
    for shown in (known.masked(told), known.redacted(told), SecretMasker([HEADER]).text(told)):
        assert "milk" not in shown
        assert MASK in shown


def test_the_word_that_announces_a_secret_is_none() -> None:
    known = SecretValues([HEADER, "Digest abcdef"])
    assert known.masked("Bearer of news, Digest of it") == "Bearer of news, Digest of it"


def test_the_shortest_secret() -> None:
    assert SHORTEST_SECRET == 6
    assert SecretValues(["abcdef", "vwxyz"]).masked("abcdef vwxyz") == f"{MASK} vwxyz"


def test_a_secret_that_begins_like_another_leaves_nothing_of_it() -> None:
    assert SecretValues(["hunter", "hunter22"]).masked("hunter22 hunter") == f"{MASK} {MASK}"


def test_only_known_secrets_or_all_that_look_like_one() -> None:
    known, text = SecretValues(["hunter22"]), "hunter22 and sk-0123456789abcdef"
    assert known.masked(text) == f"{MASK} and sk-0123456789abcdef"
    assert known.redacted(text) == f"{MASK} and {MASK}"


def test_what_is_secret_in_the_environment() -> None:
    assert secrets_in({"HOME": "/srv", "Api_Key": "a", "DB_PASSWORD": "b"}) == ("a", "b")
