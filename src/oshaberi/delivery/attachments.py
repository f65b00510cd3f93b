"""What is sent as a file: tables, and code blocks that a plug-in renders.

A table is sent as pictures; as aligned code if it cannot be drawn; as a file if it would take very
many pictures or messages.

The plug-ins of delivery are here too: display modes of personas, and renderers of attachments. An
entry point of the group `oshaberi.display_modes` or `oshaberi.attachments` names a function. Its
errors are logged in one line; the message is sent as it would be without the plug-in.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.sink import File, WebhookFace
from oshaberi.delivery.waits import InterruptibleWaits
from oshaberi.events import Table
from oshaberi.plug_in_loading import load_plug_ins, plug_in_error
from oshaberi.render.grid import Picture, RenderUnavailableError, TooManyPicturesError
from oshaberi.text.measure import utf16_len

log = logging.getLogger(__name__)

MOST_PICTURES = 6
MOST_CODE_MESSAGES = 10

DISPLAY_GROUP = "oshaberi.display_modes"
ATTACHMENT_GROUP = "oshaberi.attachments"
PERSONA_MODE = "persona"
"""The display mode that is built in: the persona's name and avatar, the text as it is."""
LONGEST_S = 30.0
"""How long a plug-in may take, in seconds. Then the block stays code, and the answer goes on."""
_BLOCK = re.compile(r"```([\w+#.-]++)[^\n]*+\n(.*?)\n?```", re.DOTALL)


class TableRenderer(Protocol):
    """Draws tables. `pictures` is called in a thread, `alt_text` for tables sent as a file."""

    def pictures(self, table: Table) -> list[Picture]: ...
    def alt_text(self, table: Table) -> str: ...
    def as_code(self, table: Table, max_length: int) -> list[str]: ...


class PackagedRenderer:
    """The renderer of this package, imported when the first table comes."""

    def pictures(self, table: Table) -> list[Picture]:
        from oshaberi.render import can_draw, render_table

        if not can_draw(table):
            return []
        return render_table(table, most_pictures=MOST_PICTURES)

    def alt_text(self, table: Table) -> str:
        from oshaberi.render import alt_text

        return alt_text(table)

    def as_code(self, table: Table, max_length: int) -> list[str]:
        from oshaberi.render import table_as_code

        return table_as_code(table, max_length)


async def table_files(
    table: Table,
    number: int,
    config: StreamConfig,
    renderer: TableRenderer,
    waits: InterruptibleWaits,
) -> tuple[File, ...]:
    """Return the table's pictures or its file; none if it is sent as code."""
    files: tuple[File, ...] = ()
    if config.render_tables:
        files = await _pictures(table, number, renderer, waits)
    if files or waits.halted or len(as_code(table, config, renderer)) <= MOST_CODE_MESSAGES:
        return files
    return (_file(table, number, renderer),)


def as_code(table: Table, config: StreamConfig, renderer: TableRenderer) -> list[str]:
    """Return the table as messages of aligned code."""
    return renderer.as_code(table, config.text.max_single_message_length)


async def _pictures(
    table: Table, number: int, renderer: TableRenderer, waits: InterruptibleWaits
) -> tuple[File, ...]:
    """Return the pictures of a table, or its file if there would be too many.

    Returns nothing if it could not be drawn, or a stop came.
    """
    loop = asyncio.get_running_loop()
    job = loop.run_in_executor(None, renderer.pictures, table)
    if not await waits.until(job):
        job.add_done_callback(_ignore)
        return ()
    try:
        pictures = job.result()
        alt = renderer.alt_text(table) if pictures else ""
    except TooManyPicturesError:
        return (_file(table, number, renderer),)
    except RenderUnavailableError:
        return ()
    except Exception:
        log.exception("a table could not be drawn; it goes out as code")
        return ()
    return tuple(
        File(
            name=f"table-{number}{f'-{part}' if part > 1 else ''}.png",
            content=picture.png,
            source=table.source,
            alt=alt,
            width=picture.width,
            height=picture.height,
        )
        for part, picture in enumerate(pictures, start=1)
    )


def _file(table: Table, number: int, renderer: TableRenderer) -> File:
    """Return the table's Markdown as a file. Discord shows a preview of it."""
    content = f"{table.source}\n".encode("utf-8", "replace")
    alt = renderer.alt_text(table)
    return File(f"table-{number}.md", content, source=table.source, alt=alt)


def _ignore(job: asyncio.Future[list[Picture]]) -> None:
    """Retrieve the exception of a job that nobody waits for, so that asyncio does not log it."""
    if not job.cancelled():
        job.exception()


@dataclass(frozen=True, slots=True)
class PersonaMessage:
    """A message as it will be shown.

    A display mode returns a changed copy (`dataclasses.replace`).
    """

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
    """A code block that has an attachment renderer."""

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
    _reported_missing: set[str] = field(default_factory=set, compare=False, repr=False)

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
        """Return the complaint about a display mode that is not installed, else None."""
        if mode in self.mode_names:
            return None
        return f"display_mode: {mode!r} is not installed; installed: {', '.join(self.mode_names)}"

    def tell_missing(self, mode: str) -> None:
        """Log that a display mode is not installed, once."""
        missing = self.missing(mode)
        if missing is not None and mode not in self._reported_missing:
            self._reported_missing.add(mode)
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
        """Return the files that a renderer makes of a block; none if it should stay code."""
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


def rendered_block(text: str, plug_ins: DeliveryPlugIns) -> RenderedBlock | None:
    """Return the block that the message consists of, if there is a renderer for it."""
    if not plug_ins.attachments or not text.startswith("```"):
        return None
    found = _BLOCK.fullmatch(text)
    if found is None or found[1].lower() not in plug_ins.attachments:
        return None
    return RenderedBlock(found[1].lower(), found[2])


async def block_files(
    block: RenderedBlock, plug_ins: DeliveryPlugIns, waits: InterruptibleWaits
) -> tuple[File, ...]:
    """Return the files that a plug-in makes of a block, such as a diagram's picture.

    Returns nothing if it stays code, or a stop came.
    """
    loop = asyncio.get_running_loop()
    job = loop.run_in_executor(None, plug_ins.files, block.language, block.code)
    limit = loop.call_later(LONGEST_S, job.cancel)
    try:
        done = await waits.until(job)
    finally:
        limit.cancel()
    if job.cancelled():
        late = TimeoutError(f"it took more than {LONGEST_S:g} s")
        log.error("%s", plug_in_error(ATTACHMENT_GROUP, block.language, late))
        return ()
    return job.result() if done else ()
