"""Render modifiers: `Tomori (mad): hi` is sent with another sprite or name (spec 06 S2).

Splits a piece where the identity changes. A sprite lasts until another label, a copied identity
until the end of its line, which may be in a later segment.
"""

from __future__ import annotations

import re

from oshaberi.events import Identity
from oshaberi.text.config import Known, Persona, Sprite, TextConfig
from oshaberi.text.normalize.own_name import MACROS, has_colon, own_label, text_start
from oshaberi.text.normalize.pieces import Normalizer, SegmentWork, TextPiece
from oshaberi.text.normalize.webhook_names import webhook_username


class RenderModifiers(Normalizer):
    """Keeps the identity that the text has now."""

    def __init__(self, config: TextConfig, persona: Persona, active: Identity | None) -> None:
        self._persona = persona
        self._label = own_label(persona)
        self._sprites = _by_name(persona.sprites)
        self._known = _unambiguous(config.known)
        self.active = active
        self._copied: Identity | None = None

    def apply(self, work: SegmentWork) -> None:
        pieces = []
        for piece in work.pieces:
            if piece.line_start:
                self._copied = None
            if self._copied is None and not has_colon(piece.text):
                piece.identity = self.active
                pieces.append(piece)
            else:
                pieces += self._split(piece, work)
        work.pieces = pieces
        if work.ends_line:
            self._copied = None

    def block_identity(self, ends_line: bool) -> Identity | None:
        """Return the identity of a code block or table at this point."""
        identity = self._copied or self.active
        if ends_line:
            self._copied = None
        return identity

    def _split(self, piece: TextPiece, work: SegmentWork) -> list[TextPiece]:
        runs: list[tuple[TextPiece, list[str]]] = []
        at_start = piece.line_start
        for line in piece.text.split("\n"):
            text, labelled = self._begin_line(line, work) if at_start else (line, False)
            identity = self._copied or self.active
            if labelled or not runs or runs[-1][0].identity != identity:
                runs.append((TextPiece("", identity, labelled, at_start), []))
            runs[-1][1].append(text)
            at_start = True
        for run, lines in runs:
            run.text = "\n".join(lines)
        return [run for run, _ in runs]

    def _begin_line(self, line: str, work: SegmentWork) -> tuple[str, bool]:
        """Apply the line's labels. Return its rest, and whether one set an identity."""
        self._copied = None
        if not has_colon(line):
            return line, False
        start = at = text_start(line)
        last: re.Match[str] | None = None
        while found := self._label.match(line, at):
            at = found.end()
            if found[3] is not None:
                last = found
        if last is None:
            if at > start:
                self.active = None  # a plain label: the base persona; own_name takes it out
            return line, False
        work.withheld.append((line[: last.end()], "modifier"))
        return line[last.end() :], self._become(last[2], last[3].strip()) is not None

    def _become(self, source: str, modifier: str) -> Identity | None:
        """End the active identity, and set the one of this label if it has one."""
        self.active = None
        own = self._persona.name
        label = f"{own if source.casefold() in MACROS else source} ({modifier})"
        key = _key(modifier)
        sprite = self._sprites.get(key)
        if sprite is not None:
            self.active = _sprite_identity(sprite, own, label)
            return self.active
        target = self._known.get(key)
        if target is not None:
            username = webhook_username(target.name, own)
            self._copied = Identity(username, target.avatar_url, "copied", label)
        return self._copied


def _sprite_identity(sprite: Sprite, own: str, label: str) -> Identity | None:
    if sprite.avatar_url is None:  # its image cannot be loaded: the normal persona
        return None
    if sprite.is_identity:
        username = webhook_username(sprite.name, own)
        return Identity(username, sprite.avatar_url, "identity_sprite", label, sprite.name)
    return Identity(webhook_username(own), sprite.avatar_url, "sprite", label, sprite.name)


def _key(name: str) -> str:
    return " ".join(name.split()).casefold()


def _by_name(sprites: tuple[Sprite, ...]) -> dict[str, Sprite]:
    found: dict[str, Sprite] = {}
    for sprite in sprites:
        found.setdefault(_key(sprite.name), sprite)
    return found


def _unambiguous(known: tuple[Known, ...]) -> dict[str, Known]:
    """Map each name or alias to the person, if it belongs to one only."""
    owners: dict[str, list[Known]] = {}
    for one in known:
        for key in {_key(name) for name in one.names}:
            owners.setdefault(key, []).append(one)
    return {key: them[0] for key, them in owners.items() if key and _are_one(them)}


def _are_one(them: list[Known]) -> bool:
    return len(them) == 1 or (them[0].id is not None and len({one.id for one in them}) == 1)
