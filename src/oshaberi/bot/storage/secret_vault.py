"""Encrypts secrets for the database. Its keys come from the environment or a file.

There may be several keys, separated by commas: the first encrypts, all of them decrypt. So you can
replace a key without losing what was encrypted with the old one. `cryptography` takes 7 MB of
memory, so it is imported when there is a secret.
"""

from __future__ import annotations

import base64
import logging
import os
import stat
import tempfile
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from oshaberi.bot.storage.errors import StorageError

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

log = logging.getLogger(__name__)

VARIABLE = "OSHABERI_SECRET_KEY"
KEY_BYTES = 32


class SecretVault:
    """Holds the keys, and never shows them."""

    def __init__(self, keys: Sequence[str], source: str = VARIABLE) -> None:
        self.source = source
        """Where the keys come from, for error messages."""
        if not keys:
            raise StorageError(f"{source} has no key in it: put one there, or remove it")
        for key in keys:
            _check(key, source)
        self._keys = tuple(keys)

    @classmethod
    def from_environment_or_file(
        cls, path: Path, environ: Mapping[str, str] | None = None
    ) -> SecretVault:
        """Read the keys from the variable if set, else from the file.

        The file is created if it is missing.
        """
        given = (os.environ if environ is None else environ).get(VARIABLE, "")
        if given.strip():
            return cls(_split(given))
        try:
            return cls(_split(_read_or_make(path)), str(path))
        except OSError as error:
            raise StorageError(
                f"the key file {path} cannot be used: {error.strerror}; allow it, or set {VARIABLE}"
            ) from error

    @staticmethod
    def new_key() -> str:
        return base64.urlsafe_b64encode(os.urandom(KEY_BYTES)).decode()

    @cached_property
    def _ciphers(self) -> tuple[Fernet, ...]:
        from cryptography.fernet import Fernet

        return tuple(map(Fernet, self._keys))

    def encrypt(self, secret: str) -> str:
        return self._ciphers[0].encrypt(secret.encode("utf-8", "surrogatepass")).decode()

    def decrypt(self, token: str) -> str:
        from cryptography.fernet import InvalidToken, MultiFernet

        try:
            return MultiFernet(self._ciphers).decrypt(token).decode("utf-8", "surrogatepass")
        except InvalidToken:
            raise StorageError(
                f"a secret in the database was encrypted with another key than {self.source} "
                "has: put the old key back, after the new one and a comma"
            ) from None

    def is_current(self, token: str) -> bool:
        """Return whether the first key encrypted a secret, so that it needs no other key."""
        from cryptography.fernet import InvalidToken

        try:
            self._ciphers[0].decrypt(token)
        except InvalidToken:
            return False
        return True

    def __repr__(self) -> str:
        return f"SecretVault(source={self.source!r})"


def _split(text: str) -> list[str]:
    return [key.strip() for key in text.replace("\n", ",").split(",") if key.strip()]


def _check(key: str, source: str) -> None:
    try:
        is_key = len(base64.urlsafe_b64decode(key)) == KEY_BYTES
    except ValueError:
        is_key = False
    if not is_key:
        raise StorageError(
            f"{source}: this is not a key (32 bytes in URL-safe base64); "
            "put the right one there, or remove it for a new one (what was encrypted is lost then)"
        )


def _read_or_make(path: Path) -> str:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        _make(path)
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        log.warning("others may read the key file %s: chmod 600 it", path)
    return path.read_text(encoding="utf-8", errors="replace")


def _make(path: Path) -> None:
    """Create the key file atomically, readable by its owner only.

    If two processes create it, the first one wins.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(SecretVault.new_key() + "\n")
            file.flush()
            os.fsync(file.fileno())
        path.hardlink_to(temporary)
    except FileExistsError:
        pass
    finally:
        temporary.unlink(missing_ok=True)
