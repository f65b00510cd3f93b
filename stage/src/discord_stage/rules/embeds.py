"""Checks embeds against Discord's limits (facts: Messages)."""

from __future__ import annotations

from discord_stage.refusals import FormErrors
from discord_stage.rules import field_types
from discord_stage.rules.components import WEB, WEB_OR_FILE, check_scheme
from discord_stage.world.records import Json

EMBEDS_MOST = 10
FIELDS_MOST = 25
TOTAL_MOST = 6000
_OWN = {"title": 256, "description": 4096}
_NESTED = {("footer", "text"): 2048, ("author", "name"): 256}
_FIELD = {"name": 256, "value": 1024}
_ADDRESSES = {
    ("author", "url"): WEB,
    ("author", "icon_url"): WEB_OR_FILE,
    ("footer", "icon_url"): WEB_OR_FILE,
    ("image", "url"): WEB_OR_FILE,
    ("thumbnail", "url"): WEB_OR_FILE,
}
_SHOWN = ("title", "description", "fields", "footer", "author", "image", "thumbnail", "url")


def check_embeds(body: Json, errors: FormErrors) -> list[Json] | None:
    """Return the embeds as they are stored, or None if the form has no such field."""
    if body.get("embeds") is None:
        return None
    embeds = field_types.objects(body, "embeds")
    if len(embeds) > EMBEDS_MOST:
        message = f"Must be {EMBEDS_MOST} or fewer in length."
        errors.add(("embeds",), "BASE_TYPE_MAX_LENGTH", message)
    total = sum(_check(embed, index, errors) for index, embed in enumerate(embeds))
    if total > TOTAL_MOST:
        message = f"Embed size exceeds maximum size of {TOTAL_MOST}"
        errors.add(("embeds",), "MAX_EMBED_SIZE_EXCEEDED", message)
    return [_stored_form(embed) for embed in embeds]


def _stored_form(embed: Json) -> Json:
    """Return the embed without null values, and with defaults for what the sender left out."""
    kept = {key: value for key, value in embed.items() if value is not None}
    if "fields" in kept:
        kept["fields"] = [field | {"inline": bool(field.get("inline"))} for field in kept["fields"]]
    return kept | {"type": "rich"}


def _check(embed: Json, index: int, errors: FormErrors) -> int:
    """Check an embed. Return how many characters count towards the total."""
    place: tuple[str | int, ...] = ("embeds", index)
    if not any(embed.get(key) for key in _SHOWN):
        errors.required((*place, "description"))
    size = 0
    for key, most in _OWN.items():
        size += _measure((*place, key), embed.get(key), most, errors)
    for (outer, inner), most in _NESTED.items():
        size += _measure(
            (*place, outer, inner), field_types.mapping(embed, outer).get(inner), most, errors
        )
    check_scheme((*place, "url"), embed.get("url"), WEB, errors)
    for (outer, inner), schemes in _ADDRESSES.items():
        url = field_types.mapping(embed, outer).get(inner)
        check_scheme((*place, outer, inner), url, schemes, errors)
    entries = field_types.objects(embed, "fields")
    if len(entries) > FIELDS_MOST:
        message = f"Must be {FIELDS_MOST} or fewer in length."
        errors.add((*place, "fields"), "BASE_TYPE_MAX_LENGTH", message)
    for number, field in enumerate(entries):
        size += _check_field(field, (*place, "fields", number), errors)
    return size


def _check_field(field: Json, place: tuple[str | int, ...], errors: FormErrors) -> int:
    size = 0
    for key, most in _FIELD.items():
        if not str(field.get(key) or "").strip():
            errors.required((*place, key))
        size += _measure((*place, key), field.get(key), most, errors)
    return size


def _measure(place: tuple[str | int, ...], text: object, most: int, errors: FormErrors) -> int:
    if not isinstance(text, str):
        return 0
    errors.too_long(place, text, most)
    return len(text.strip())
