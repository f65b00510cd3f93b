"""Your own model as a plug-in: an adapter that repeats every word of the message.

In the pyproject.toml of your package:

    [project.entry-points."oshaberi.providers"]
    parrot = "own_provider:Parrot"

Then `provider = "parrot"` works in oshaberi.toml, in `/model set` and in `connect`.

python examples/own_provider.py
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

from oshaberi.chunks import Chunk, ProviderError
from oshaberi.providers import Adapter, ContextItem, Endpoint, Request, TextPart, said
from oshaberi.providers.wire.steps import FinishStep, Step


class Parrot(Adapter):
    """The base class assembles tool calls, keeps labels back and reports errors as chunks."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.name = endpoint.name
        self.model = endpoint.model

    async def events(self, request: Request) -> AsyncGenerator[str, None]:
        """Yield what the server sends, event by event. A real adapter sends its request here."""
        for word in _last_words(request).split():
            await asyncio.sleep(0)
            yield word
        yield ""

    def read(self, event: str) -> Sequence[Step]:
        """Say what one event means."""
        return (Chunk("text", f"{event} {event} "),) if event else (FinishStep("stop"),)

    def classify(self, error: Exception) -> ProviderError:
        """Say what kind of error it is. This decides whether the bot tries again."""
        return ProviderError("network", str(error), retryable=True, provider=self.name)

    async def aclose(self) -> None:
        """Close connections. This adapter has none."""


def _last_words(request: Request) -> str:
    items = [item for item in request.items if isinstance(item, ContextItem)]
    parts = [part.text for part in items[-1].parts if isinstance(part, TextPart)]
    return " ".join(parts)


async def ask(adapter: Adapter, words: str) -> str:
    heard = [raw.chunk async for raw in adapter.open(Request((said("user", words),)))]
    return "".join(chunk.content for chunk in heard if chunk is not None)


def main() -> None:
    print(asyncio.run(ask(Parrot(Endpoint("parrot", "polly")), "polly wants tea")))


if __name__ == "__main__":
    main()
