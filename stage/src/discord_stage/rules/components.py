"""Rules of components that Discord's API description does not have, each with its source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from discord_stage.refusals import FormErrors
from discord_stage.rules import field_types
from discord_stage.world.records import Json

# Which schemes a URL may have. The API description only says that it is a URL.
#
# Source: Discord's answers (`URL_TYPE_INVALID_SCHEME`) name the schemes that a field takes.


WEB = ("http", "https")
WEB_OR_FILE = ("http", "https", "attachment")


def check_scheme(
    path: tuple[str | int, ...], url: object, schemes: Sequence[str], errors: FormErrors
) -> None:
    if isinstance(url, str) and url.partition("://")[0].lower() not in schemes:
        known = ", ".join(repr(scheme) for scheme in schemes)
        errors.add(path, "URL_TYPE_INVALID_SCHEME", f"Scheme must be one of ({known}).")


# Rules of components that Discord's API description does not have, each with its source.
#
# The description itself (types, lengths, counts) is checked before, by `request_schema`. Sources:
# [C] Component Reference, https://docs.discord.com/developers/components/reference · [J]
# discord.js issue 5675 · [O] seen in answers of Discord's, not documented.


ROW, BUTTON, STRING_SELECT, TEXT_INPUT = 1, 2, 3, 4
USER_SELECT, ROLE_SELECT, MENTIONABLE_SELECT, CHANNEL_SELECT = 5, 6, 7, 8
TEXT_DISPLAY, LABEL, FILE_UPLOAD = 10, 18, 19
RADIO_GROUP, CHECKBOX_GROUP, CHECKBOX = 21, 22, 23
SELECTS = frozenset({STRING_SELECT, USER_SELECT, ROLE_SELECT, MENTIONABLE_SELECT, CHANNEL_SELECT})
ROWS_MOST = 5
LINK, PREMIUM = 5, 6
V2_MOST = 40
V2_TEXT_MOST = 4000

ComponentPath = tuple[str | int, ...]


def check_components(body: Json, errors: FormErrors, *, v2: bool = False) -> list[Json] | None:
    """Check the components of a message. `v2` says whether it has the flag IS_COMPONENTS_V2."""
    if body.get("components") is None:
        return None
    rows = field_types.objects(body, "components")
    if not v2:
        _check_legacy(rows, errors)
    placed = list(_components_with_paths(rows, ("components",)))
    if v2:
        _check_totals([item for item, _ in placed], errors)
    _check_custom_ids(placed, errors)
    for item, place in placed:
        _check_one(item, place, errors)
    return rows


def _check_legacy(rows: Sequence[Json], errors: FormErrors) -> None:
    """[C] Without the flag a message has at most five rows, and only rows."""
    if len(rows) > ROWS_MOST:
        message = f"Must be between 1 and {ROWS_MOST} in length."
        errors.add(("components",), "BASE_TYPE_BAD_LENGTH", message)
    for number, row in enumerate(rows):
        if row.get("type") != ROW:
            message = 'Value of field "type" must be one of (1,).'
            errors.add(("components", number, "type"), "UNION_TYPE_CHOICES", message)


def _check_totals(items: Sequence[Json], errors: FormErrors) -> None:
    """[C] 40 components in all, nested ones too, and 4000 characters of text."""
    if len(items) > V2_MOST:
        message = f"The total number of components cannot exceed {V2_MOST}"
        errors.add(("components",), "COMPONENT_MAX_TOTAL_COMPONENTS_EXCEEDED", message)
    shown = sum(len(str(i.get("content") or "")) for i in items if i.get("type") == TEXT_DISPLAY)
    if shown > V2_TEXT_MOST:
        message = f"The total text of components cannot exceed {V2_TEXT_MOST}"
        errors.add(("components",), "COMPONENT_DISPLAYABLE_TEXT_SIZE_EXCEEDED", message)


def _check_custom_ids(placed: Sequence[tuple[Json, ComponentPath]], errors: FormErrors) -> None:
    """[C] A custom id is unique within its message."""
    seen: set[str] = set()
    for item, place in placed:
        custom_id = item.get("custom_id")
        if isinstance(custom_id, str):
            if custom_id in seen:
                message = "Component custom id cannot be duplicated"
                errors.add((*place, "custom_id"), "COMPONENT_CUSTOM_ID_DUPLICATED", message)
            seen.add(custom_id)


def _check_one(item: Json, place: ComponentPath, errors: FormErrors) -> None:
    kind = item.get("type")
    if kind == ROW:
        _check_row(item, place, errors)
    elif kind == BUTTON:
        _check_button(item, place, errors)
    elif kind in SELECTS:
        _check_select(item, place, errors)


def _check_row(item: Json, place: ComponentPath, errors: FormErrors) -> None:
    """[C] A select is alone in its row."""
    inside = item.get("components") or []
    if len(inside) > 1 and any(entry.get("type") in SELECTS for entry in inside):
        message = "Width of components exceeds the width of the row"
        errors.add((*place, "components"), "COMPONENT_LAYOUT_WIDTH_EXCEEDED", message)


def _check_button(item: Json, place: ComponentPath, errors: FormErrors) -> None:
    style = item.get("style")
    if style == PREMIUM:
        if item.get("sku_id") is None:
            errors.required((*place, "sku_id"))
        return
    if not item.get("label") and not item.get("emoji"):  # [J]
        errors.required((*place, "label"))
    if style != LINK:  # [C]
        if not item.get("custom_id"):
            errors.required((*place, "custom_id"))
        if item.get("url"):
            _add_exclusive(place, errors)
        return
    if not item.get("url"):
        errors.required((*place, "url"))
    if item.get("custom_id"):
        _add_exclusive(place, errors)
    check_scheme((*place, "url"), item.get("url"), ("http", "https", "discord"), errors)


def _add_exclusive(place: ComponentPath, errors: FormErrors) -> None:
    """[O] A button has a custom id or a URL, not both."""
    message = "A custom id and url cannot both be specified"
    errors.add((*place, "custom_id"), "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE", message)


def _check_select(item: Json, place: ComponentPath, errors: FormErrors) -> None:
    """Check a select: [C] minimum ≤ maximum ≤ number of options, [O] no value twice."""
    least, most = item.get("min_values"), item.get("max_values")
    least, most = 1 if least is None else least, 1 if most is None else most
    if least > most:
        message = "The minimum number of values is above the maximum"
        errors.add((*place, "min_values"), "SELECT_COMPONENT_MIN_VALUES_ABOVE_MAX", message)
    options = item.get("options") or []
    if item.get("type") == STRING_SELECT and most > len(options):
        message = f"Must be {len(options)} or fewer."
        errors.add((*place, "max_values"), "SELECT_COMPONENT_MAX_VALUES_TOO_MANY", message)
    _check_values(options, (*place, "options"), errors)
    if sum(bool(option.get("default")) for option in options) > most:
        message = "Too many options are selected by default"
        errors.add((*place, "options"), "SELECT_COMPONENT_TOO_MANY_DEFAULT_VALUES", message)


def _check_values(options: Sequence[Json], place: ComponentPath, errors: FormErrors) -> None:
    seen: set[str] = set()
    for number, option in enumerate(options):
        value = str(option.get("value"))
        if value in seen:
            message = "The specified option value is already used"
            errors.add(
                (*place, number, "value"), "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED", message
            )
        seen.add(value)


def check_modal(data: Json) -> None:
    """Check a modal: [C] it has a title and fields, no custom id twice, and valid selects."""
    errors = FormErrors()
    if not str(data.get("title") or "").strip():
        errors.required(("data", "title"))
    rows = field_types.objects(data, "components")
    if not rows:
        message = "Must be between 1 and 5 in length."
        errors.add(("data", "components"), "BASE_TYPE_BAD_LENGTH", message)
    placed = list(_components_with_paths(rows, ("data", "components")))
    _check_custom_ids(placed, errors)
    for item, place in placed:
        if item.get("type") in SELECTS:
            _check_select(item, place, errors)
    errors.raise_if_any()


def _components_with_paths(
    items: Sequence[Json], place: ComponentPath
) -> Iterator[tuple[Json, ComponentPath]]:
    """Yield every component with its path, at any depth."""
    for number, item in enumerate(items):
        yield from _one_placed(item, (*place, number))


def _one_placed(item: Json, place: ComponentPath) -> Iterator[tuple[Json, ComponentPath]]:
    yield item, place
    yield from _components_with_paths(item.get("components") or [], (*place, "components"))
    for key in ("component", "accessory"):
        if isinstance(item.get(key), dict):
            yield from _one_placed(item[key], (*place, key))


def walk(components: Sequence[Json]) -> Iterator[Json]:
    """Yield every component at any depth."""
    return (item for item, _ in _components_with_paths(components, ()))
