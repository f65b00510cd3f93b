"""Clean and decorated usernames take turns where the face changes."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oshaberi.events import Identity
from oshaberi.text.config import Persona
from oshaberi.text.measure import utf16_len
from oshaberi.text.normalize.webhook_names import (
    SpriteUsernames,
    SpriteUsernameState,
    webhook_username,
)

REN = Persona("Ren", avatar_url="https://x.test/ren.png")
ALTER = Persona("Ren", is_alter=True, avatar_url="https://x.test/ren.png")


def sprite(name: str) -> Identity:
    return Identity("Ren", f"https://x.test/{name}.png", "sprite", f"Ren ({name})", name)


VOICE = Identity("Voice (Ren)", None, "identity_sprite", "Ren (Voice)", "Voice")
COPIED = Identity("Al (Ren)", None, "copied", "Ren (Al)")
FACES: dict[str, Identity | None] = {
    "mad": sprite("mad"),
    "shy": sprite("shy"),
    "sad": sprite("sad"),
    "voice": VOICE,
    "copy": COPIED,
    "base": None,
}


def names(persona: Persona, sequence: str) -> list[str | None]:
    faces = SpriteUsernames(persona)
    dressed = [faces.dress(FACES[name]) for name in sequence.split()]
    return [identity.username if identity else None for identity in dressed]


@pytest.mark.parametrize(
    ("sequence", "expected"),
    [
        ("mad mad", ["Ren", "Ren"]),
        ("mad shy mad", ["Ren", "Ren (shy)", "Ren"]),
        ("mad shy shy sad", ["Ren", "Ren (shy)", "Ren (shy)", "Ren"]),
        ("mad base shy", ["Ren", None, "Ren"]),
        ("mad voice shy", ["Ren", "Voice (Ren)", "Ren"]),
        ("mad copy mad shy", ["Ren", "Al (Ren)", "Ren", "Ren (shy)"]),
        ("base mad", [None, "Ren"]),
    ],
)
def test_main_persona(sequence: str, expected: list[str | None]) -> None:
    assert names(REN, sequence) == expected


@pytest.mark.parametrize(
    ("sequence", "expected"),
    [
        ("base base", [None, None]),
        ("base mad base", [None, "Ren (mad)", None]),
        ("mad base base mad", ["Ren", "Ren (default)", "Ren (default)", "Ren"]),
        ("mad base shy", ["Ren", "Ren (default)", "Ren"]),
        ("mad voice base", ["Ren", "Voice (Ren)", None]),
    ],
)
def test_an_alters_base_face_counts(sequence: str, expected: list[str | None]) -> None:
    assert names(ALTER, sequence) == expected


def test_a_decorated_base_face_is_the_persona_itself() -> None:
    faces = SpriteUsernames(ALTER)
    faces.dress(sprite("mad"))
    assert faces.dress(None) == Identity("Ren (default)", ALTER.avatar_url, "sprite", "Ren")


def test_the_state_goes_on_in_another_stream() -> None:
    first = SpriteUsernames(REN)
    first.dress(sprite("mad"))
    assert first.state == SpriteUsernameState("mad", decorated=False)
    second = SpriteUsernames(REN)
    second.restore(first.state)
    dressed = second.dress(sprite("shy"))
    assert dressed is not None
    assert dressed.username == "Ren (shy)"


@given(st.lists(st.sampled_from(sorted(FACES)), max_size=30), st.booleans())
def test_neighbours_of_one_name_have_one_face(sequence: list[str], is_alter: bool) -> None:
    faces = SpriteUsernames(ALTER if is_alter else REN)
    shown = []
    for name in sequence:
        dressed = faces.dress(FACES[name])
        if dressed is None and is_alter:
            shown.append(("Ren", ALTER.avatar_url))
        elif dressed is not None:
            shown.append((dressed.username, dressed.avatar_url))
        else:
            shown.append(("the bot", None))
    for (name, face), (next_name, next_face) in itertools.pairwise(shown):
        assert name != next_name or face == next_face


@pytest.mark.parametrize(
    ("name", "ending", "expected"),
    [
        ("Ren", None, "Ren"),
        ("Ren", "mad", "Ren (mad)"),
        ("  a\n\tb\x00 ", None, "a b"),
        ("", None, "Unnamed"),
        ("\u200b", None, "Unnamed"),
        ("Clyde", None, "Сlyde"),
        ("myDISCORDbot", "clyde", "myDISСORDbot (сlyde)"),
        ("cly\u200bde", None, "сlyde"),
        ("Here", None, "Hеrе"),
        ("everyone", None, "еvеryonе"),
        ("x" * 90, None, "x" * 80),
        ("x" * 90, "mad", "x" * 74 + " (mad)"),
        ("x" * 90, "y" * 90, "x" * 13 + " (" + "y" * 64 + ")"),
        ("👩‍💻" * 20, None, "👩‍💻" * 16),
    ],
)
def test_usernames(name: str, ending: str | None, expected: str) -> None:
    assert webhook_username(name, ending) == expected


@given(st.text(), st.none() | st.text())
def test_usernames_are_what_discord_takes(name: str, ending: str | None) -> None:
    username = webhook_username(name, ending)
    assert 1 <= utf16_len(username) <= 80
    folded = username.casefold()
    assert "clyde" not in folded
    assert "discord" not in folded
    assert folded not in ("here", "everyone")
    assert username == username.strip()
    assert "\n" not in username
