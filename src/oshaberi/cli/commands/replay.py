"""`oshaberi replay`: plays scenes through the whole pipeline, in virtual time."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Sequence
from typing import Any

import click

from oshaberi.cli.options import complete_file
from oshaberi.cli.replay_output import Progress, Transcript
from oshaberi.errors import SceneError
from oshaberi.scenes import Scene, differences, find_scenes, load_scene, rechunk
from oshaberi.scenes.playback import PlayedScene, perform
from oshaberi.terminal_output import TerminalPalette, counted

DIFFERENT = 1
BAD_SCENE = 2


@click.command(short_help="Play scenes through the whole pipeline.")
@click.argument("scenes", nargs=-1, required=True, metavar="SCENE...", shell_complete=complete_file)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line, in order.")
@click.option("--check", is_flag=True, help="Compare with what each scene expects.")
@click.option(
    "--rechunk",
    "seed",
    type=int,
    metavar="SEED",
    help="First cut the text at other, random places.",
)
@click.option("--real-time", is_flag=True, help="Wait as long as on Discord.")
def command(
    scenes: tuple[str, ...], as_json: bool, check: bool, seed: int | None, real_time: bool
) -> int:
    """Play SCENEs (files, folders or -) and show what reached the channel, and when.

    Time is virtual: a minute of typing takes no time. --check compares with what the
    scenes expect, shows the differences, and ends with status 1 if there are any.

    \b
    Examples:
      oshaberi replay tests/scenes/typing-between.json
      oshaberi replay --json --rechunk 3 tests/scenes/table.json
      oshaberi replay --check tests/scenes
    """
    if as_json and check:
        raise click.UsageError(
            "--json and --check cannot be used together", click.get_current_context()
        )
    keep_quiet()
    paths = find_scenes(scenes)
    if check:
        return _check_all(paths, seed, real_time)
    for path in paths:
        show = _json_line if as_json else _transcript(path, several=len(paths) > 1)
        show(_run(_load(path, seed), real_time, show).result.as_record())
    return 0


def keep_quiet() -> None:
    """Log nothing: the faults of a scene are part of what is printed."""
    logging.getLogger("oshaberi").addHandler(logging.NullHandler())


def _load(path: str, seed: int | None) -> Scene:
    scene = load_scene(path)
    return scene if seed is None else rechunk(scene, seed)


def _run(scene: Scene, real_time: bool, show: Callable[[dict[str, Any]], None]) -> PlayedScene:
    return perform(scene, real_time=real_time, on_record=show)


def _json_line(record: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(record, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def _transcript(path: str, *, several: bool) -> Callable[[dict[str, Any]], None]:
    transcript = Transcript(TerminalPalette.of(sys.stdout))
    if several:
        sys.stdout.write(transcript.title(path) + "\n")

    def show(record: dict[str, Any]) -> None:
        sys.stdout.writelines(line.rstrip() + "\n" for line in transcript.lines(record))
        sys.stdout.flush()

    return show


def _check_all(paths: Sequence[str], seed: int | None, real_time: bool) -> int:
    """Check every scene, even if one of them cannot be read."""
    differing = bad = silent = 0
    progress = Progress()
    for path in progress.over(paths, "scenes"):
        try:
            scene = _load(path, seed)
        except SceneError as error:
            progress.clear()
            click.echo(f"oshaberi: {error}", err=True)
            bad += 1
            continue
        silent += scene.expect is None
        lines = differences(scene.expect or {}, perform(scene, real_time=real_time).lines)
        if lines:
            differing += 1
            progress.clear()
            click.echo("\n".join([f"{path}: different (- expected, + got)", *_indent(lines)]))
    click.echo(_sum(len(paths), differing, bad, silent))
    if bad:
        return BAD_SCENE
    return DIFFERENT if differing else 0


def _indent(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _sum(count: int, differing: int, bad: int, silent: int) -> str:
    scenes = counted(count, "scene")
    good = count - differing - bad - silent
    if good == count:
        return f"{scenes}: as expected"
    parts = {
        "as expected": good,
        "different": differing,
        "cannot be read": bad,
        "without `expect`, not compared": silent,
    }
    return f"{scenes}: " + ", ".join(f"{number} {what}" for what, number in parts.items() if number)
