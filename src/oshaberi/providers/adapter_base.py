"""What all adapters have in common: from wire events to chunks.

A family says how to ask (`events`), what one event says (`read`) and what an error means
(`classify`). Assembling, holding back, and turning errors into chunks are done here, once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from time import monotonic
from types import MappingProxyType
from typing import Any, NamedTuple

from oshaberi.chunks import Chunk, ProviderError
from oshaberi.providers.request.model_request import Request
from oshaberi.providers.wire.chunk_assembler import ChunkAssembler
from oshaberi.providers.wire.wire_steps import Step

_NOTHING_YET = (None,)


class RawChunk(NamedTuple):
    """One event as it came, and what the stream's assembler made of it and of those before.

    No `chunk` means that the event says nothing by itself: a piece of a call, say.
    """

    data: Any
    provider: str
    model: str
    received_at: float
    chunk: Chunk | None = None


class Adapter(ABC):
    """One model behind one API. Serves any number of streams; `aclose` when done with all."""

    name: str
    model: str
    reemits: bool = False
    text: Mapping[str, Any] = MappingProxyType({})
    """Text settings that this model wants otherwise (spec 01): flush sizes, message length."""

    @abstractmethod
    def events(self, request: Request) -> AsyncGenerator[Any, None]:
        """The wire events of one answer, keep-alives left out. Closes its connection at the end,

        also when it is itself closed. Raises whatever the SDK raises.
        """

    @abstractmethod
    def read(self, event: Any) -> Sequence[Step]:
        """What one event says, in order; nothing if it is only a sign of life. Pure."""

    @abstractmethod
    def classify(self, error: Exception) -> ProviderError:
        """What the error means, whoever raised it, with its secrets removed. Pure."""

    @abstractmethod
    async def aclose(self) -> None:
        """Close every connection that is kept for the next stream."""

    def normalise(self, raw: RawChunk) -> Chunk | None:
        """The chunk of a raw chunk. Pure."""
        return raw.chunk

    async def open(self, request: Request) -> AsyncIterator[RawChunk]:
        """The raw chunks of one answer. Errors are chunks too; nothing is thrown (spec 02)."""
        name, model, read = self.name, self.model, self.read
        assembler = ChunkAssembler(name, request)
        try:
            async with aclosing(self.events(request)) as events:
                async for event in events:
                    steps = read(event)
                    if not steps:
                        continue
                    # A piece of a call makes no chunk yet, but it is life: the timer sees it.
                    for chunk in assembler.take(steps) or _NOTHING_YET:
                        yield RawChunk(event, name, model, monotonic(), chunk)
                    if assembler.is_over:
                        return
            last = assembler.finish()
        except Exception as error:
            # The error itself holds the request with its key: it stays here.
            last = assembler.fail(self.classify(error))
        for chunk in last:
            yield RawChunk(None, name, model, monotonic(), chunk)
