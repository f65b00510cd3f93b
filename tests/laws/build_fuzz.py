"""`python -m tests.laws.build_fuzz`: the same random texts through two builds of the engine.

By default this checkout and its compiled build; `--other` names another folder that contains the
package `oshaberi`. The exit status is 1 if they differ by one character.
"""

from __future__ import annotations

import difflib
import subprocess
import sys
import time
from pathlib import Path

import click

from tests.compiled_build import ROOT, compiled_site, environ_of

_BATCH = 150
_SHOWN_LINES = 12


def started(site: Path, *arguments: str) -> subprocess.Popen[str]:
    """The digests of the build in `site`."""
    command = [sys.executable, "-m", "tests.laws.engine_digests", *arguments]
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env=environ_of(site),
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def told(process: subprocess.Popen[str]) -> list[str]:
    out, _ = process.communicate()
    if process.returncode:
        raise click.ClickException(f"a build ended with {process.returncode}")
    return out.splitlines()


def differing(one: Path, other: Path, seed: int, first: int, count: int) -> list[int]:
    """The numbers of the texts that the two builds treat differently."""
    asked = [started(site, str(seed), str(first), str(count)) for site in (one, other)]
    (_, *lines), (_, *other_lines) = (told(process) for process in asked)
    pairs = zip(lines, other_lines, strict=True)
    return [int(line.split()[0]) for line, others in pairs if line != others]


def difference(one: Path, other: Path, seed: int, number: int) -> str:
    """Where the two streams part."""
    arguments = (str(seed), str(number), "1", "--show")
    left, right = (told(started(site, *arguments))[1:] for site in (one, other))
    lines = list(difflib.unified_diff(left, right, str(one), str(other), lineterm="", n=0))
    return "\n".join(line[:400] for line in lines[:_SHOWN_LINES])


@click.command()
@click.option("--seconds", type=float, default=60, show_default=True)
@click.option("--seed", type=int, default=None, help="Default: the time.")
@click.option("--other", type=click.Path(exists=True, path_type=Path), default=None)
def main(seconds: float, seed: int | None, other: Path | None) -> None:
    """Compare two builds of the text engine over random texts."""
    own = ROOT / "src"
    site = other.resolve() if other else compiled_site()
    seed = int(time.time()) if seed is None else seed
    for where in (own, site):
        click.echo(told(started(where, "0", "0", "0"))[0])
    click.echo(f"seed {seed}")
    end = time.monotonic() + seconds
    count = failures = 0
    while time.monotonic() < end:
        for number in differing(own, site, seed, count, _BATCH):
            failures += 1
            if failures == 1:
                click.echo(f"text {number}:\n{difference(own, site, seed, number)}")
        count += _BATCH
    click.echo(f"{count} texts, {failures} differ")
    if failures:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
