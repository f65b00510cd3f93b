"""A character card: Character Card V1, V2 and V3 as one checked value.

`card_from` reads the JSON of any version and keeps every field that it does not know. A mistake in
a card (a number where a text belongs) becomes a remark, not an error: people want the rest of their
character. `card_json` writes V3 or V2. `card_files` handles the files that carry the JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from oshaberi.checked_json import whole_count
from oshaberi.errors import ConfigError, Sentence

LONGEST_TEXT = 100_000
"""How many characters one text of a card may have."""
LONGEST_NAME = 300
MOST_TEXTS = 200
"""How many texts a list of a card may have, such as its greetings."""
MOST_ASSETS = 500
LONGEST_ADDRESS = 2048
MOST_DEPTH = 1000
INLINE = "data:"
"""The address of an asset whose file came inside the JSON."""

_TEXTS = (
    *("name", "description", "personality", "scenario", "first_mes", "mes_example"),
    *("creator_notes", "system_prompt", "post_history_instructions"),
    *("creator", "character_version", "nickname"),
)
_LISTS = ("alternate_greetings", "group_only_greetings", "tags", "source")
_OBJECTS = ("extensions", "creator_notes_multilingual", "character_book")
_OPTIONAL = frozenset({"nickname", "source", *_OBJECTS[1:]})
"""Fields that are left out if a card has none: an empty one would mean something else."""
_V1 = frozenset(_TEXTS[:6])
_PYGMALION = {
    "char_name": "name",
    "char_persona": "description",
    "world_scenario": "scenario",
    "char_greeting": "first_mes",
    "example_dialogue": "mes_example",
}
"""V1 with the field names of another program, which several others use, too."""
ROLES = ("system", "user", "assistant")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class CardError(ConfigError):
    """A file is not a card that can be read. The message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class CardAsset:
    """A picture or another file of a card. `content` is None if the card only names an address."""

    kind: str
    """`icon`, `emotion`, `background`, `user_icon`, `other`, or a kind of some program."""
    name: str
    """For an `emotion`: the mood. The icon `main` is the character's picture."""
    ext: str
    uri: str
    content: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class DepthNote:
    """A text that is inserted `depth` messages before the end of the conversation."""

    text: str
    depth: int
    role: str = "system"


@dataclass(frozen=True, slots=True)
class Card:
    """A character. `data` has the fields of V3, checked, and all unknown fields."""

    version: int
    data: Mapping[str, Any]
    assets: tuple[CardAsset, ...] = ()
    outer: Mapping[str, Any] = field(default_factory=dict)
    """What was beside `data` in the file: some programs keep their own fields there."""
    remarks: tuple[Sentence, ...] = ()
    """What was wrong and is left out, for the person who imports the card."""

    @property
    def name(self) -> str:
        return self._text("name").strip()

    @property
    def spoken_name(self) -> str:
        """Return what `{{char}}` means: the nickname, else the name."""
        return self._text("nickname").strip() or self.name

    @property
    def description(self) -> str:
        return self._text("description")

    @property
    def personality(self) -> str:
        return self._text("personality")

    @property
    def scenario(self) -> str:
        return self._text("scenario")

    @property
    def examples(self) -> str:
        return self._text("mes_example")

    @property
    def system_prompt(self) -> str:
        return self._text("system_prompt")

    @property
    def post_history_instructions(self) -> str:
        return self._text("post_history_instructions")

    @property
    def creator(self) -> str:
        return self._text("creator")

    @property
    def creator_notes(self) -> str:
        """Return the notes for people. They never reach a model."""
        return self._text("creator_notes")

    def notes_in(self, language: str) -> str:
        """Return the notes for people in a language (ISO 639-1), if the card has them in it."""
        notes = self.data.get("creator_notes_multilingual")
        found = notes.get(language) if isinstance(notes, Mapping) else None
        return found if isinstance(found, str) and found.strip() else self.creator_notes

    @property
    def own_greetings(self) -> tuple[str, ...]:
        """Return the first message and its alternates."""
        found = (self._text("first_mes"), *self.data.get("alternate_greetings", ()))
        return tuple(one for one in found if one.strip())

    @property
    def group_greetings(self) -> tuple[str, ...]:
        """Return the first messages that are for groups alone."""
        return tuple(one for one in self.data.get("group_only_greetings", ()) if one.strip())

    @property
    def greetings(self) -> tuple[str, ...]:
        return (*self.own_greetings, *self.group_greetings)

    def chosen_greeting(self, which: str, seed: str) -> str:
        """Return the first greeting (for groups, if there is one), or `any`; empty without one."""
        known = (*self.group_greetings, *self.own_greetings)
        if not known:
            return ""
        return Random(seed).choice(known) if which == "any" else known[0]

    def greeting_number(self, greeting: str) -> int | None:
        """Return a greeting's place: 0 is the first message. Those for groups have none."""
        known = [self._text("first_mes"), *self.data.get("alternate_greetings", ())]
        return known.index(greeting) if greeting.strip() and greeting in known else None

    @property
    def tags(self) -> tuple[str, ...]:
        return tuple(self.data.get("tags", ()))

    @property
    def book(self) -> Mapping[str, Any] | None:
        """Return the lorebook inside the card, as `lorebooks` reads it."""
        book = self.data.get("character_book")
        return book if isinstance(book, Mapping) else None

    @property
    def talkativeness(self) -> float | None:
        """Return the chance to speak in a group without being named, from 0 to 1; None if unset."""
        return _share(self._extensions.get("talkativeness", self.outer.get("talkativeness")))

    @property
    def depth_note(self) -> DepthNote | None:
        note = self._extensions.get("depth_prompt")
        if not isinstance(note, Mapping) or not isinstance(note.get("prompt"), str):
            return None
        if not note["prompt"].strip():
            return None
        depth, role = whole_count(note.get("depth", 4), MOST_DEPTH), note.get("role")
        return DepthNote(
            note["prompt"], 4 if depth is None else depth, role if role in ROLES else "system"
        )

    @property
    def face(self) -> CardAsset | None:
        """Return the picture of the character: the icon `main`, else the first icon."""
        icons = [one for one in self.assets if one.kind == "icon"]
        return next((one for one in icons if one.name == "main"), icons[0] if icons else None)

    @property
    def moods(self) -> tuple[CardAsset, ...]:
        """Return the pictures of its moods, each named after its mood."""
        return tuple(one for one in self.assets if one.kind == "emotion")

    @property
    def _extensions(self) -> Mapping[str, Any]:
        found = self.data.get("extensions")
        return found if isinstance(found, Mapping) else {}

    def _text(self, key: str) -> str:
        value = self.data.get(key)
        return value if isinstance(value, str) else ""


# -- reading -------------------------------------------------------------------------------------


def card_from(document: object, assets: Mapping[str, bytes] | None = None) -> Card:
    """Check the JSON of a card. Raises CardError. `assets` are the files that came with it, by URI.

    An asset without its file keeps its address, and has no content.
    """
    version, data, outer = _parts(document)
    remarks: list[Sentence] = []
    checked = _checked(data, remarks)
    listed = checked.pop("assets", None)
    found = tuple(_assets(listed, assets or {}, remarks))
    if not checked["name"].strip():
        raise CardError(Sentence("the card has no name"))
    newer = document.get("spec_version") if isinstance(document, Mapping) else None
    if version == 3 and _number(newer) > 3.0:
        remarks.append(Sentence("it is newer than V3: read as V3, and what is new is kept"))
    return Card(version, _storable(checked), found, _storable(outer), tuple(remarks))


def _storable(value: Any) -> Any:
    """Return a JSON value without characters that databases or UTF-8 cannot hold.

    JSON from outside is at most `checked_json.MOST_DEPTH` deep, so this may recurse.
    """
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {_UNSTORABLE.sub("\ufffd", key): _storable(one) for key, one in value.items()}
    return [_storable(one) for one in value] if isinstance(value, list) else value


def _parts(document: object) -> tuple[int, Mapping[str, Any], dict[str, Any]]:
    """Return the version, the fields, and whatever is beside them."""
    if not isinstance(document, Mapping):
        raise CardError(Sentence("this JSON is not a card: it is not an object"))
    spec, data = document.get("spec"), document.get("data")
    if spec == "lorebook_v3" or (isinstance(document.get("entries"), Mapping | list) and not spec):
        raise CardError(Sentence("this is a lorebook, not a card: import it with /lore import"))
    if isinstance(data, Mapping) and (isinstance(spec, str) or "name" in data):
        version = 3 if spec == "chara_card_v3" or _number(document.get("spec_version")) >= 3 else 2
        known = {"spec", "spec_version", "data"} | _V1
        return version, data, {key: one for key, one in document.items() if key not in known}
    if isinstance(document.get("name"), str) and _V1 & document.keys() - {"name"}:
        return 1, document, {}
    if isinstance(document.get("char_name"), str):
        return 1, {_PYGMALION.get(str(key), str(key)): one for key, one in document.items()}, {}
    raise CardError(Sentence("this JSON is not a card: it has no name and description"))


def _checked(data: Mapping[str, Any], remarks: list[Sentence]) -> dict[str, Any]:
    """Return the fields, with the known ones corrected to their types."""
    checked = dict(data)
    for key in _TEXTS:
        value = checked.pop(key, None)
        text = value if isinstance(value, str) else ""
        if value is not None and not isinstance(value, str):
            remarks.append(Sentence("{field} is not a text: left out", field=key))
        _bound(key, len(text), LONGEST_NAME if key in ("name", "nickname") else LONGEST_TEXT)
        if text or key not in _OPTIONAL:
            checked[key] = text
    for key in _LISTS:
        value = checked.pop(key, None)
        if value is not None or key not in _OPTIONAL:
            checked[key] = _texts(key, value, remarks)
    for key in _OBJECTS:
        value = checked.pop(key, None)
        if isinstance(value, Mapping):
            checked[key] = dict(value)
        elif value is not None and value != []:
            remarks.append(Sentence("{field} is not an object: left out", field=key))
    checked.setdefault("extensions", {})
    return checked


def _texts(key: str, value: object, remarks: list[Sentence]) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list):
        remarks.append(Sentence("{field} is not a list: left out", field=key))
        return []
    texts = [one for one in value if isinstance(one, str)]
    if len(texts) < len(value):
        remarks.append(Sentence("{field}: what is not a text is left out", field=key))
    if len(texts) > MOST_TEXTS:
        raise CardError(Sentence("{field} has more than {most} texts", field=key, most=MOST_TEXTS))
    for one in texts:
        _bound(key, len(one), LONGEST_TEXT)
    return texts


def _bound(key: str, length: int, most: int) -> None:
    if length > most:
        raise CardError(
            Sentence("{field} has more than {most} characters", field=key, most=f"{most:,}")
        )


def _assets(
    listed: object, files: Mapping[str, bytes], remarks: list[Sentence]
) -> Iterator[CardAsset]:
    if listed is None:
        if (content := files.get("ccdefault:")) is not None:
            yield CardAsset("icon", "main", "png", "ccdefault:", content)
        return
    if not isinstance(listed, list) or len(listed) > MOST_ASSETS:
        remarks.append(
            Sentence("assets is not a list of at most {most}: left out", most=MOST_ASSETS)
        )
        return
    for one in listed:
        asset = _asset(one, files)
        if asset is None:
            remarks.append(Sentence("an asset without type, name and address is left out"))
        else:
            yield asset


def _asset(one: object, files: Mapping[str, bytes]) -> CardAsset | None:
    if not isinstance(one, Mapping):
        return None
    kind, name, uri = one.get("type"), one.get("name"), one.get("uri")
    if not isinstance(kind, str) or not isinstance(uri, str) or not isinstance(name, str):
        return None
    content = files.get(uri)
    if content is None and len(uri) > LONGEST_ADDRESS:
        return None
    ext = one.get("ext")
    ending = ext.lower().lstrip(".")[:16] if isinstance(ext, str) else "unknown"
    # From here on only the bytes are kept; the text that carried them may be megabytes long.
    address = INLINE if content is not None and uri.startswith(INLINE) else uri
    return CardAsset(kind[:LONGEST_NAME], name[:LONGEST_NAME], ending, address, content)


def asset_addresses(document: object) -> tuple[str, ...]:
    """Return the URIs of the assets that a card names, so that a carrier can look them up."""
    data = document.get("data") if isinstance(document, Mapping) else None
    listed = data.get("assets") if isinstance(data, Mapping) else None
    if not isinstance(listed, list):
        return ()
    found = (one.get("uri") for one in listed[:MOST_ASSETS] if isinstance(one, Mapping))
    return tuple(dict.fromkeys(uri for uri in found if isinstance(uri, str)))


def _number(value: object) -> float:
    try:
        return float(value) if isinstance(value, str | int | float) else 0.0
    except (ValueError, OverflowError):
        return 0.0


def _share(value: object) -> float | None:
    """Return a number from 0 to 1. SillyTavern also writes it as a text."""
    if value is None or isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return min(max(number, 0.0), 1.0) if number == number else None


# -- writing -------------------------------------------------------------------------------------

BACKFILL = (
    "This card was written as V3. A program that reads only V2 sees less of it than there is."
)


def card_json(card: Card, assets: list[dict[str, str]] | None = None) -> dict[str, Any]:
    """Return the card as the JSON of V3, with these assets."""
    data = dict(card.data)
    if assets is not None:
        data["assets"] = assets
    return {**card.outer, "spec": "chara_card_v3", "spec_version": "3.0", "data": data}


def card_json_v2(card: Card) -> dict[str, Any]:
    """Return the card as V2 for programs that do not know V3; V3 asks for a remark in its notes.

    Its texts are at the root as well, as in V1, for programs that know nothing newer.
    """
    only_v3 = {"group_only_greetings", "nickname", "source", "creator_notes_multilingual", "assets"}
    data = {key: one for key, one in card.data.items() if key not in only_v3}
    if card.version == 3:
        notes = data.get("creator_notes", "")
        data["creator_notes"] = f"{notes}\n\n{BACKFILL}".strip()
    oldest = {key: data[key] for key in _TEXTS[:6]}
    return {**card.outer, **oldest, "spec": "chara_card_v2", "spec_version": "2.0", "data": data}


# -- beside a persona ------------------------------------------------------------------------------

_ELSEWHERE = ("name", "description", "character_book")
"""What a persona stores in places of its own: its name, its prompt, its lorebooks."""


def kept_card(card: Card) -> dict[str, Any]:
    """Return what is stored beside a persona. Its pictures and its book are stored elsewhere."""
    data = {key: value for key, value in card.data.items() if key not in _ELSEWHERE}
    assets = [
        {"type": one.kind, "name": one.name, "ext": one.ext, "uri": one.uri}
        for one in card.assets
        if one.content is None
    ]
    return {"version": card.version, "data": data, "outer": dict(card.outer), "assets": assets}


def card_of(name: str, prompt: str, kept: Mapping[str, Any] | None) -> Card:
    """Return the card of a persona, which may never have had one."""
    stored = kept or {}
    data = stored.get("data")
    fields = {**(data if isinstance(data, Mapping) else {}), "name": name, "description": prompt}
    outer, assets, version = stored.get("outer"), stored.get("assets"), stored.get("version")
    return Card(
        version if isinstance(version, int) else 3,
        _checked(fields, []),
        tuple(_assets(assets if isinstance(assets, list) else [], {}, [])),
        outer if isinstance(outer, Mapping) else {},
    )
