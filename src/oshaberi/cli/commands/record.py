"""`oshaberi record`: asks a model once, and saves its stream as a scene."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from oshaberi.cli.options import STDIN, pieces_of, set_option, text_config, whisper
from oshaberi.errors import ConfigError

if TYPE_CHECKING:
    from oshaberi.providers.base import Adapter
    from oshaberi.providers.request.model_request import Request
    from oshaberi.recording import HeardStream
    from oshaberi.text.config import TextConfig


@click.command(short_help="Ask a model, and save its stream as a scene.")
@click.option("--out", required=True, metavar="FILE", help="Where to save the scene.")
@click.option(
    "--provider",
    default="openai",
    show_default=True,
    help="A preset, such as openai, anthropic, google or ollama.",
)
@click.option("--model", required=True, help="The model, as the provider calls it.")
@click.option("--base-url", metavar="URL", help="Address of another server of the same family.")
@click.option("--key-env", metavar="NAME", help="The environment variable with the API key.")
@click.option("--prompt", help="What to ask. Default: standard input.")
@click.option("--system", help="A system instruction.")
@click.option("--thinking", help="off, low, medium, high, or a number of tokens.")
@click.option("--max-tokens", type=click.IntRange(1), help="How long the answer may get.")
@click.option(
    "--degree", type=click.IntRange(0, 3), help="0 one answer, 1-2 by line, 3 by sentence."
)
@set_option
def command(
    out: str,
    prompt: str | None,
    system: str | None,
    thinking: str | None,
    max_tokens: int | None,
    degree: int | None,
    settings: tuple[str, ...],
    **place: Any,
) -> None:
    """Ask a model once and save its stream, with its pauses, as a scene.

    You see the answer as it arrives. Keys, tokens and images are not saved. The API key
    comes from the provider's usual variable; with --base-url only from --key-env.

    \b
    Examples:
      oshaberi record --out hi.json --model gpt-5.2 --prompt "Say hi in three lines."
      oshaberi record --out hi.json --provider ollama --model qwen3 < question.txt
      oshaberi replay hi.json
    """
    path, config = _writable(out), text_config(settings, degree)
    adapter, secrets = _connect(**place)
    asked = _request(prompt, system, thinking, max_tokens)
    heard: list[HeardStream] = []
    try:
        asyncio.run(_listen(adapter, asked, heard))
    finally:
        # Even after Ctrl-C: what arrived before it is a stream, too.
        written = _write(path, adapter, config, heard, secrets)
    _tell(path, heard, written)


def _writable(out: str) -> Path:
    """Check that the file can be written, before the model is asked."""
    path = Path(out)
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise click.ClickException(
            f"--out {out}: cannot be written; give a file in a folder that you may write to"
        )
    return path


def _connect(
    provider: str, model: str, base_url: str | None, key_env: str | None
) -> tuple[Adapter, Sequence[str]]:
    from oshaberi.providers.presets import PRESETS
    from oshaberi.providers.registry import connect

    preset = PRESETS.get(provider)
    name = key_env or (preset.key_name_at(base_url) if preset else None)
    key = os.environ.get(name, "").strip() if name else ""
    if name and not key:
        raise ConfigError(f"{provider}: no API key; set the environment variable {name}")
    return connect(provider, model, api_key=key or None, base_url=base_url), [key]


def _request(
    prompt: str | None, system: str | None, thinking: str | None, max_tokens: int | None
) -> Request:
    from oshaberi.providers.request.model_request import Request, said

    asked = "".join(pieces_of(STDIN)) if prompt is None else prompt
    if not asked.strip():
        raise click.ClickException("nothing to ask; use --prompt, or pipe a text in")
    first = (said("system", system, "system"),) if system else ()
    level: Any = int(thinking) if thinking and thinking.isdigit() else thinking
    items = (*first, said("user", asked.strip(), "current"))
    return Request(items, thinking=level, max_output_tokens=max_tokens)


async def _listen(adapter: Adapter, request: Request, heard: list[HeardStream]) -> None:
    from contextlib import aclosing

    from oshaberi.recording import StreamRecorder
    from oshaberi.terminal_output import harmless

    stream: Any = StreamRecorder(adapter, heard.extend).open(request)
    shown = harmless if sys.stdout.isatty() else str
    try:
        async with aclosing(stream):
            async for chunk in stream:
                if chunk is not None and chunk.content:
                    sys.stdout.write(shown(chunk.content))
                    sys.stdout.flush()
    finally:
        await adapter.aclose()


def _write(
    path: Path,
    adapter: Adapter,
    config: TextConfig,
    heard: Sequence[HeardStream],
    secrets: Sequence[str],
) -> bool:
    """Write the scene. A stream that is only an error is reported, not saved."""
    from oshaberi.delivery.config import StreamConfig
    from oshaberi.recording import SceneFrame, SecretMasker, scene_of, secrets_in, write_scene

    if all(one.chunk is None or one.chunk.type == "error" for one in heard):
        return False
    name = f"{adapter.name} {adapter.model}"
    frame = SceneFrame(name, StreamConfig(text=config), reemits=adapter.reemits)
    masker = SecretMasker([*secrets, *secrets_in(os.environ)])
    write_scene(path, scene_of(heard, frame, masker))
    return True


def _tell(path: Path, heard: Sequence[HeardStream], written: bool) -> None:
    from oshaberi.terminal_output import counted

    chunks = [one.chunk for one in heard if one.chunk is not None]
    characters = sum(len(chunk.content) for chunk in chunks)
    seconds = sum(one.silence_ms for one in heard) / 1000
    if characters:
        click.echo()
    if written:
        arrived, text = counted(len(chunks), "chunk"), counted(characters, "character")
        kept = f"{arrived}, {text}, {seconds:.1f} s"
        whisper(f"{path}: {kept}")
    error = next((chunk.error for chunk in chunks if chunk.error), None)
    if error is not None:
        raise click.ClickException(f"{error.provider}: {error.type}: {error.message}")
