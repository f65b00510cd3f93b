"""`oshaberi bench`: runs the project's benchmarks. Needs the project's sources."""

from __future__ import annotations

import sys
from pathlib import Path

import click

ROOT = Path(__file__).parents[4]


@click.command(short_help="Measure the engine, streams and adapters.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--quick", is_flag=True, help="Fewer rounds.")
@click.option(
    "--only", multiple=True, metavar="NAME", help="A part or a text shape; you can repeat it."
)
def command(as_json: bool, quick: bool, only: tuple[str, ...]) -> None:
    """Measure on your machine what docs/performance.md shows. You need a checkout of the project.

    \b
    Examples:
      oshaberi bench --quick
      oshaberi bench --only tokens --json
    """
    if not (ROOT / "bench" / "__main__.py").is_file():
        what = "the benchmarks are not part of the installed package; run this in a checkout"
        raise click.ClickException(what)
    sys.path.insert(0, str(ROOT))
    from bench.__main__ import main

    arguments = [*(["--json"] if as_json else []), *(["--quick"] if quick else [])]
    for name in only:
        arguments += ["--only", name]
    main.main(arguments, "oshaberi bench", standalone_mode=False)
