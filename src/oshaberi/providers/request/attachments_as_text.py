"""Turns images and files into text where an API has no better form for them."""

from __future__ import annotations

from base64 import b64encode

from oshaberi.providers.request.context_items import FilePart, ImagePart, Part, TextPart


def as_text(part: Part) -> str:
    """Return a text for any part: its own, or a note."""
    match part:
        case TextPart(text):
            return text
        case FilePart(name=name, text=text) if text is not None:
            return f"[file {name}]\n{text}\n[end of {name}]"
        case FilePart(name=name, mime=mime):
            return f"[file {name} ({mime}), not shown]"
        case ImagePart():
            return "[an image, not shown]"


def base64_of(data: bytes) -> str:
    return b64encode(data).decode("ascii")
