"""The declarations as a pydantic-settings model, which merges the sources and checks the values."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import Field, StringConstraints, TypeAdapter, ValidationError, create_model
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from oshaberi.config.all_settings import DECLARED, Setting
from oshaberi.config.setting_errors import complaint
from oshaberi.errors import ConfigError

_TEXT = Annotated[str, StringConstraints(strict=True, strip_whitespace=True, min_length=1)]
_ITEM = Annotated[str, StringConstraints(strict=True, min_length=1)]
_ID = Annotated[int, Field(strict=True, ge=0, lt=2**63)]
_KINDS: Mapping[str, Any] = {
    "switch": Annotated[bool, Field(strict=True)],
    "fraction": Annotated[float, Field(strict=True, ge=0, le=1)],
    "strings": tuple[_ITEM, ...],
    "ids": tuple[_ID, ...],
    "path": Path,
    "text": _TEXT,
    "name": Annotated[str, StringConstraints(strict=True, strip_whitespace=True)],
}
_GIVEN: ContextVar[tuple[Mapping[str, Any], ...]] = ContextVar("settings_given")
"""The sources that are being merged. Building a model for each merge would take a tenth of a
second."""


class GivenSource(PydanticBaseSettingsSource):
    """The settings from one source. A table is taken whole, never merged with another source's."""

    def __init__(self, model: type[BaseSettings], values: Mapping[str, Any]) -> None:
        super().__init__(model)
        self._values = values

    def get_field_value(self, _field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        return self._values.get(field_name), field_name, False

    def __call__(self) -> dict[str, Any]:
        return {key: self._values[key] for key in self._values if key not in self.current_state}


def merged(*places: Mapping[str, Any]) -> dict[str, Any]:
    """Merge and check the sources; earlier ones win. Mistakes raise a ValidationError."""
    token = _GIVEN.set(places)
    try:
        given = _model()()
    finally:
        _GIVEN.reset(token)
    return {key: getattr(given, key) for key in given.model_fields_set}


def checked(setting: Setting, value: Any) -> Any:
    """Check one value. A ConfigError says what is allowed."""
    try:
        return TypeAdapter(_type(setting)).validate_python(value)
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        raise ConfigError(complaint((setting.name, *wrong["loc"]), wrong)) from None


@cache
def _model() -> type[BaseSettings]:
    types: dict[str, Any] = {
        setting.name: (_type(setting), setting.default) for setting in DECLARED.values()
    }
    model: type[BaseSettings] = create_model("Declared", __base__=_StrictSettings, **types)
    return model


class _StrictSettings(BaseSettings):
    model_config = SettingsConfigDict(extra="forbid", validate_default=False)

    @classmethod
    def settings_customise_sources(  # type: ignore[override]
        cls, settings_cls: type[BaseSettings], **_usual: Any
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return tuple(GivenSource(settings_cls, values) for values in _GIVEN.get())


def _type(setting: Setting) -> Any:
    about = setting.about
    if "low" in about:
        return Annotated[int, Field(strict=True, ge=about["low"], le=about["high"])]
    if "choices" in about:
        return Literal[about["choices"]]
    if "table" in about:
        return get_type_hints(setting.section)[setting.name]
    return next(kind for name, kind in _KINDS.items() if name in about)
