"""What is wrong with a connection to a model server, in one sentence that says what to do.

HTTP libraries wrap the error of the operating system or of TLS, each in its own way. The sentence
is made from what lies inside, so it never has a path, a password or an object in it.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

from oshaberi.errors import Sentence

NOTHING_LISTENS = Sentence("nothing listens there")
FAILED = Sentence("the connection failed")
LOST = Sentence("the connection was lost before the answer was complete")
_KINDS: tuple[tuple[type[BaseException], Sentence], ...] = (
    (ConnectionRefusedError, NOTHING_LISTENS),
    (socket.gaierror, Sentence("there is no host of this name: correct the address")),
    (
        ssl.SSLCertVerificationError,
        Sentence(
            "the certificate of the server is not trusted: use one of a known authority, or "
            "http:// within your own network"
        ),
    ),
    (
        ssl.SSLError,
        Sentence("the server does not speak https there: begin the address with http://"),
    ),
)
_HUNG_UP = frozenset({"RemoteProtocolError", "ServerDisconnectedError", "BadStatusLine"})
_MOST_CAUSES = 8


def connection_problem(error: BaseException) -> Sentence:
    """Return what its causes tell. The words fit after "cannot be asked:"."""
    causes = tuple(_causes(error))
    for kind, words in _KINDS:
        if any(isinstance(cause, kind) for cause in causes):
            return words
    if any(type(cause).__name__ in _HUNG_UP for cause in causes):
        return Sentence("the server hung up: if it speaks https, begin the address with https://")
    return FAILED


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error, then those it was made from. aiohttp keeps some in attributes."""
    following: BaseException | None = error
    for _ in range(_MOST_CAUSES):
        if following is None:
            return
        yield following
        for name in ("os_error", "certificate_error"):
            inner = getattr(following, name, None)
            if isinstance(inner, BaseException):
                yield inner
        following = following.__cause__ or following.__context__
