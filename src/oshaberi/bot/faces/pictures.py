"""Makes the picture of a persona from any picture file: checked, still, square, small.

The file comes from a member or from the web. It is decoded in a thread, within limits that are
checked first, and redrawn, so that no metadata and no second picture is left in it.
"""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass, field, replace

from oshaberi.errors import OshaberiError, Sentence
from oshaberi.languages import translatable
from oshaberi.providers.images.fetching import begins_like_an_image
from oshaberi.providers.images.preparation import ImageLimits, prepare_in_turn
from oshaberi.public_fetching import FetchRefusedError, PublicWeb

FACE = ImageLimits(max_side_px=768, max_sent_bytes=1_000_000, redraw="square")
BANNER = replace(FACE, max_side_px=1024, redraw="whole")
LARGEST_BYTES = FACE.max_bytes
_ENDINGS = {"image/png": ".png", "image/jpeg": ".jpg"}


class PictureRefusedError(OshaberiError):
    """A picture is refused. The message is a sentence for whoever sent it."""


@dataclass(frozen=True, slots=True)
class FacePicture:
    """A picture that is ready to be kept."""

    content: bytes = field(repr=False)
    content_type: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.content).hexdigest()[:32]

    @property
    def file_name(self) -> str:
        return f"{self.digest}{_ENDINGS[self.content_type]}"


async def made_picture(raw: bytes, limits: ImageLimits = FACE) -> FacePicture:
    """Check and draw a picture. Raises PictureRefusedError."""
    if len(raw) > limits.max_bytes:
        raise PictureRefusedError(_too_large())
    try:
        part = await prepare_in_turn(raw, limits)
    except FetchRefusedError as refusal:
        raise _refused(str(refusal)) from None
    except ImportError:
        raise PictureRefusedError(
            Sentence(
                "Pictures need the extra `images`; whoever runs the bot can install "
                "`oshaberi[images]`."
            )
        ) from None
    assert part.data is not None
    assert part.mime is not None
    return FacePicture(part.data, part.mime)


async def fetched_file(web: PublicWeb, address: str) -> bytes:
    """Fetch the file at an address, past the guard of private networks."""
    try:
        async with asyncio.timeout(FACE.timeout_s):
            found = await web.get(address, "image/*", begins_like_an_image)
    except FetchRefusedError as refusal:
        raise _refused(str(refusal)) from None
    except TimeoutError:
        raise _refused("it took too long") from None
    except (OSError, ValueError):
        raise _refused("the server does not answer") from None
    return found.body


_REASONS = (
    translatable("it is not a PNG, JPEG, GIF or WebP"),
    translatable("it has too many pixels"),
    translatable("it is damaged"),
    translatable("it took too long"),
    translatable("the server does not answer"),
    translatable("no such host"),
    translatable("the address is not public"),
    translatable("the address is malformed"),
    translatable("only http and https addresses are fetched"),
)
"""Reasons of other modules that people see here."""


def _refused(reason: str) -> PictureRefusedError:
    return PictureRefusedError(
        Sentence("The picture cannot be used: {reason}.", reason=Sentence(reason))
    )


def _too_large() -> Sentence:
    most = LARGEST_BYTES // (1024 * 1024)
    return Sentence("The picture is larger than {most} MB.", most=most)
