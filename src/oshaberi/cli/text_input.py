"""Reads text from a file, a pipe or the keyboard, in pieces as it arrives."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import Path
from typing import cast

import click

from oshaberi.cli.config_file_option import whisper

PIECE = 65_536
STDIN = "-"


def pieces_of(path: str) -> Iterator[str]:
    """Yield each piece of the input as soon as it arrives."""
    if path == STDIN:
        if sys.stdin is None:
            raise click.ClickException("standard input is closed; give a FILE")
        if sys.stdin.isatty():
            whisper("Type or paste the text, then press Ctrl-D.")
        yield from _decoded(cast(BufferedIOBase, sys.stdin.buffer))
        return
    try:
        with Path(path).open("rb") as file:
            yield from _decoded(file)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise click.ClickException(f"{path}: cannot be read: {reason}") from None


def _decoded(stream: BufferedIOBase) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
    while piece := stream.read1(PIECE):
        yield decoder.decode(piece)
    yield decoder.decode(b"", final=True)
