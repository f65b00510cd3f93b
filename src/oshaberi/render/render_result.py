"""The renderer's result, and the errors it may raise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from oshaberi.errors import OshaberiError

Theme = Literal["dark", "light"]


@dataclass(frozen=True, slots=True)
class Picture:
    """A finished PNG file and its size in pixels."""

    png: bytes
    width: int
    height: int


class RenderUnavailableError(OshaberiError):
    """Pillow, a font or the emoji pictures cannot be used. The table is sent as code."""

    def __init__(self, why: str = "") -> None:
        reason = f" ({why})" if why else ""
        super().__init__(f'tables cannot be drawn here{reason}: pip install "oshaberi[tables]"')


class TooManyPicturesError(OshaberiError):
    """The table needs more pictures than allowed. It is sent as a file."""

    def __init__(self) -> None:
        super().__init__("the table would take too many pictures")
