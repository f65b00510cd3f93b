"""Checks buttons and their rows against Discord's limits, and finds a button by its id."""

from __future__ import annotations

from collections.abc import Iterator

from oshaberi.stage.rules import field_types
from oshaberi.stage.rules.api_refusals import FormErrors
from oshaberi.stage.world.discord_records import Json

ROW, BUTTON, LABEL = 1, 2, 18
ROWS_MOST = 5
BUTTONS_MOST = 5
LABEL_MOST = 80
CUSTOM_ID_MOST = 100
LINK, PREMIUM = 5, 6
V2_MOST = 40


def check_components(body: Json, errors: FormErrors) -> list[Json] | None:
    if body.get("components") is None:
        return None
    rows = field_types.objects(body, "components")
    legacy = all(row.get("type") == ROW for row in rows)
    most = ROWS_MOST if legacy else V2_MOST
    if len(rows) > most:
        message = f"Must be between 1 and {most} in length."
        errors.add(("components",), "BASE_TYPE_BAD_LENGTH", message)
    seen: set[str] = set()
    for number, row in enumerate(rows):
        _check_row(row, ("components", number), seen, errors)
    return rows


def _check_row(row: Json, place: tuple[str | int, ...], seen: set[str], errors: FormErrors) -> None:
    inside = field_types.objects(row, "components")
    if row.get("type") == ROW and not 1 <= len(inside) <= BUTTONS_MOST:
        message = f"Must be between 1 and {BUTTONS_MOST} in length."
        errors.add((*place, "components"), "BASE_TYPE_BAD_LENGTH", message)
    for number, item in enumerate(inside):
        _check_item(item, (*place, "components", number), seen, errors)


def _check_item(
    item: Json, place: tuple[str | int, ...], seen: set[str], errors: FormErrors
) -> None:
    errors.too_long((*place, "label"), item.get("label"), LABEL_MOST)
    custom_id = item.get("custom_id")
    errors.too_long((*place, "custom_id"), custom_id, CUSTOM_ID_MOST)
    linked = item.get("style") in (LINK, PREMIUM)
    if item.get("type") == BUTTON and not linked and not custom_id:
        errors.add((*place, "custom_id"), "BASE_TYPE_REQUIRED", "This field is required")
    if isinstance(custom_id, str):
        if custom_id in seen:
            message = "Component custom id cannot be duplicated"
            errors.add((*place, "custom_id"), "COMPONENT_CUSTOM_ID_DUPLICATED", message)
        seen.add(custom_id)


def check_modal(data: Json) -> None:
    """A form that opens: it and each of its fields can be named."""
    errors = FormErrors()
    if not isinstance(data.get("custom_id"), str):
        errors.required(("data", "custom_id"))
    for number, row in enumerate(field_types.objects(data, "components")):
        place = ("data", "components", number)
        if row.get("type") == LABEL:
            _check_field(field_types.mapping(row, "component"), (*place, "component"), errors)
        for at, item in enumerate(field_types.objects(row, "components")):
            _check_field(item, (*place, "components", at), errors)
    errors.raise_if_any()


def _check_field(item: Json, place: tuple[str | int, ...], errors: FormErrors) -> None:
    for key, kind in (("custom_id", str), ("type", int)):
        if not isinstance(item.get(key), kind):
            errors.required((*place, key))


def walk(components: list[Json]) -> Iterator[Json]:
    """Every component, however deep."""
    for item in components:
        yield item
        yield from walk(item.get("components") or [])
        for key in ("component", "accessory"):
            if isinstance(item.get(key), dict):
                yield from walk([item[key]])
