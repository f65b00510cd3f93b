"""A plug-in for how a persona's messages look: a headline instead of a webhook's name and avatar.

In the pyproject.toml of your package:

    [project.entry-points."oshaberi.display_modes"]
    headline = "own_display_mode:headline"

Then `display_mode = "headline"` works in oshaberi.toml and in `/config set`.

python examples/own_display_mode.py
"""

from __future__ import annotations

from dataclasses import replace

from oshaberi.delivery.attachments import PersonaMessage


def headline(message: PersonaMessage) -> PersonaMessage:
    """Speak as the bot. The first message of an answer begins with the persona's name."""
    mood = f" · *{message.mood}*" if message.mood else ""
    head = f"**{message.persona}**{mood}\n" if message.number == 0 and message.persona else ""
    return replace(message, face=None, text=head + message.text)


if __name__ == "__main__":
    print(headline(PersonaMessage("I was asleep.", face=None, persona="Mochi", mood="sleepy")).text)
