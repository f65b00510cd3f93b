"""Your own sink: the same messages, pacing and retries, in another chat than Discord.

This one writes lines as an IRC client would: no pictures, no edits, names in front of the text.

python examples/own_sink.py
"""

from __future__ import annotations

from collections.abc import Sequence

from oshaberi import Persona, Sprite, TextConfig
from oshaberi.chunks import Chunk
from oshaberi.delivery.sink import (
    DiscordRefusalError,
    Post,
    RequestKind,
    RequestRoom,
    Sent,
    WebhookFace,
    WireState,
)
from oshaberi.stream import (
    ScriptedProvider,
    StreamConfig,
    StreamContext,
    StreamResult,
    run_virtual,
    stream_to_sink,
)

CANNOT_EDIT = 50005


class LineSink:
    """One channel. Every method makes one request and never repeats it."""

    def __init__(self, name: str) -> None:
        self.lines: list[str] = []
        self._name = name

    @property
    def display_name(self) -> str | None:
        return self._name

    def room(self, _kind: RequestKind) -> RequestRoom | None:
        """Say how many requests the place still takes, if it has limits."""
        return None

    async def send(self, post: Post, _wire: WireState) -> Sent:
        """Raise DiscordRefusalError if it was refused, AmbiguousError if you cannot know."""
        name = post.face.username if post.face else self._name
        body = post.content or (post.embed.title if post.embed else post.files[0].source)
        self.lines += [f"<{name}> {line}" for line in body.splitlines()]
        return Sent(len(self.lines), via=post.via)

    async def edit(self, _sent: Sent, _post: Post, _wire: WireState) -> None:
        raise DiscordRefusalError(CANNOT_EDIT, "lines cannot be edited")

    async def delete(self, _sent: Sent, _wire: WireState) -> None:
        raise DiscordRefusalError(CANNOT_EDIT, "lines cannot be taken away")

    async def typing(self, ms: int | None) -> None:
        if ms is not None:
            self.lines.append(f"* {self._name} types for {ms} ms")

    async def reply_notice(self, _face: WebhookFace, _wire: WireState) -> Sent | None:
        """Not needed: every line has its name."""
        return None

    async def open_webhook(self) -> None:
        """Not needed: any name can be used here."""

    async def forget_webhook(self) -> None:
        """There is none."""

    async def find_arrivals(self, _post: Post, _since: float) -> Sequence[Sent]:
        """Find messages that may be this one, after an AmbiguousError. We never raise it."""
        return ()


async def play() -> tuple[list[str], StreamResult]:
    sink = LineSink("mochi")
    model = ScriptedProvider(
        [Chunk("text", "Good eve"), Chunk("text", "ning!\nMochi (sleepy): I was asleep.")]
    )
    persona = Persona("Mochi", sprites=(Sprite("sleepy", "https://mochi.example/sleepy.png"),))
    config = StreamConfig(text=TextConfig(humanizer_degree=2, persona=persona))
    result = await stream_to_sink(model, None, config, StreamContext(channel="#tea"), sink)
    return sink.lines, result


def main() -> None:
    lines, result = run_virtual(play())  # in real time: asyncio.run(play())
    print("\n".join(lines))
    print(result.status, result.metrics.messages, "messages")


if __name__ == "__main__":
    main()
