"""The plug-in points of delivery: display modes of personas, and renderers of attachments.

An entry point of the group `oshaberi.display_modes` or `oshaberi.attachments` names a function.
What it raises is logged in one line; the message goes out as it would without the plug-in.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from oshaberi.delivery.sink import File, WebhookFace
from oshaberi.plug_in_loading import load_plug_ins, plug_in_error
from oshaberi.text.text_measure import utf16_len

log = logging.getLogger(__name__)

DISPLAY_GROUP = "oshaberi.display_modes"
ATTACHMENT_GROUP = "oshaberi.attachments"
PERSONA_MODE = "persona"
"""The display mode that is built in: the persona's name and avatar, the text as it is."""


@dataclass(frozen=True, slots=True)
class PersonaMessage:
    """A message as it is to be shown. A display mode returns it changed (`dataclasses.replace`)."""

    text: str
    """Empty if the message only has files."""
    face: WebhookFace | None
    """Name and avatar, through the webhook; None: as the bot itself."""
    persona: str = ""
    mood: str = ""
    """The sprite that the model chose."""
    number: int = 0
    """How many messages of this response were sent before."""


class RenderedBlock(NamedTuple):
    """A code block for which there is an attachment renderer."""

    language: str
    code: str


DisplayMode = Callable[[PersonaMessage], PersonaMessage]
AttachmentRenderer = Callable[[str], Sequence[File]]
"""Takes the code of a block and returns its files; none to leave it as code. Runs in a thread."""


@dataclass(frozen=True, slots=True)
class DeliveryPlugIns:
    """The plug-ins by name: display modes, and renderers by the language tag of their blocks."""

    display_modes: Mapping[str, DisplayMode] = field(default_factory=dict)
    attachments: Mapping[str, AttachmentRenderer] = field(default_factory=dict)
    _told_missing: set[str] = field(default_factory=set, compare=False, repr=False)

    @classmethod
    def installed(cls) -> DeliveryPlugIns:
        attachments = load_plug_ins(ATTACHMENT_GROUP)
        return cls(
            load_plug_ins(DISPLAY_GROUP),
            {name.lower(): renderer for name, renderer in attachments.items()},
        )

    @property
    def mode_names(self) -> tuple[str, ...]:
        return (PERSONA_MODE, *(name for name in self.display_modes if name != PERSONA_MODE))

    def missing(self, mode: str) -> str | None:
        """Return what to say about a display mode that is not installed; None if it is."""
        if mode in self.mode_names:
            return None
        return f"display_mode: {mode!r} is not installed; there are: {', '.join(self.mode_names)}"

    def tell_missing(self, mode: str) -> None:
        """Log that a display mode is not installed, once."""
        missing = self.missing(mode)
        if missing is not None and mode not in self._told_missing:
            self._told_missing.add(mode)
            log.error("%s. Messages are shown as with %r", missing, PERSONA_MODE)

    def shown(self, mode: str, message: PersonaMessage, max_length: int) -> PersonaMessage:
        """Return the message as the mode shows it; unchanged if the mode cannot."""
        made = self.display_modes.get(mode)
        if made is None:
            self.tell_missing(mode)
            return message
        try:
            return _checked(made(message), max_length, least=1 if message.text else 0)
        except (Exception, SystemExit) as error:
            # Whatever a plug-in raises, the answer is more important.
            log.error("%s", plug_in_error(DISPLAY_GROUP, mode, error))
            return message

    def files(self, language: str, code: str) -> tuple[File, ...]:
        """Return what a renderer makes of a block; nothing if it is to stay code."""
        try:
            return _checked_files(self.attachments[language](code))
        except (Exception, SystemExit) as error:
            log.error("%s", plug_in_error(ATTACHMENT_GROUP, language, error))
            return ()


def _checked_files(files: Iterable[object]) -> tuple[File, ...]:
    found = []
    for file in files:
        if not isinstance(file, File):
            raise TypeError(f"{file!r} is no File")
        if not isinstance(file.content, bytes):
            raise TypeError(f"the content of {file.name!r} is {type(file.content).__name__}")
        found.append(file)
    return tuple(found)


def _checked(message: object, max_length: int, least: int) -> PersonaMessage:
    if not isinstance(message, PersonaMessage):
        raise TypeError(f"{message!r} is no PersonaMessage")
    if len(message.text.strip()) < least or utf16_len(message.text) > max_length:
        raise ValueError(
            f"the length of its text is {utf16_len(message.text)}, not {least} to {max_length}"
        )
    return message
