"""`oshaberi.env`, the file beside `oshaberi.toml` that keeps secrets: one `NAME=value` in a line.

Its names are those of environment variables, and the environment comes first. Only its owner may
read it.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from oshaberi.errors import ConfigError

NAME = "oshaberi.env"
OWNER_ONLY = 0o600
MOST_BYTES = 65_536
_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,99}")


def beside(settings_file: Path) -> Path:
    return settings_file.with_name(NAME)


def read_secrets(path: Path) -> dict[str, str]:
    """Return the variables of the file; none if there is no file. Raises a one-line ConfigError."""
    try:
        status = path.stat()
        content = path.read_bytes() if status.st_size <= MOST_BYTES else None
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    if content is None:
        raise ConfigError(f"{path}: is larger than {MOST_BYTES // 1024} KiB")
    if status.st_mode & 0o077 and os.name != "nt":
        raise ConfigError(f"{path}: others can read it, and it has secrets: chmod 600 {path}")
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text (byte {error.start})") from None
    found = {}
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        name, equals, value = text.partition("=")
        if not equals or not _NAME.fullmatch(name):
            raise ConfigError(f"{path}, line {number}: write NAME=value")
        if value.strip():
            found[name] = value.strip()
    return found


def with_secrets(settings_file: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of the file and of the environment, which wins where it is not empty."""
    given = {name: value for name, value in environ.items() if value.strip()}
    return {**environ, **read_secrets(beside(settings_file)), **given}


def add_secrets(path: Path, added: Mapping[str, str]) -> None:
    """Write variables into the file, all of them or none. Other variables stay."""
    for name, value in added.items():
        if not _NAME.fullmatch(name) or not value.isprintable() or not value.strip():
            raise ConfigError(f"{name}: the value cannot be written into {path.name}")
    kept = {**read_secrets(path), **added}
    lines = "".join(f"{name}={value}\n" for name, value in kept.items())
    write_privately(path, f"# Secrets of oshaberi.toml. Never publish this file.\n{lines}")


def write_privately(path: Path, text: str, mode: int = OWNER_ONLY) -> None:
    """Replace a file at once. Nobody ever sees half of it, and only its owner can read it.

    A symbolic link stays a link: the file that it points to is replaced.
    """
    try:
        path = Path(os.path.realpath(path))
        path.parent.mkdir(parents=True, exist_ok=True)
        beside_it = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        handle = os.open(beside_it, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            beside_it.replace(path)
        except BaseException:
            with suppress(OSError):
                beside_it.unlink()
            raise
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from None
