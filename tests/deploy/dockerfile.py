"""Reads a Dockerfile and its ignore file: stages, what they copy and run, how the result starts."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

CLASSIC_PATH = "/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"


class DockerfileError(Exception):
    """Something that Docker would refuse, or that is not understood here."""


@dataclass(frozen=True, slots=True)
class Copy:
    """`COPY`: from the context, or from an earlier stage."""

    sources: tuple[str, ...]
    target: str
    stage: str | None
    workdir: str


@dataclass(frozen=True, slots=True)
class Run:
    """`RUN` in the shell, as the user and with the variables that hold there."""

    line: str
    environ: dict[str, str]
    user: str
    workdir: str


@dataclass(slots=True)
class ImageStage:
    """One `FROM` and what follows."""

    base: str
    name: str
    steps: list[Copy | Run] = field(default_factory=list)
    environ: dict[str, str] = field(default_factory=lambda: {"PATH": CLASSIC_PATH})
    user: str = "0:0"
    workdir: str = "/"
    volumes: tuple[str, ...] = ()
    stop_signal: str = "SIGTERM"
    healthcheck: tuple[str, ...] = ()
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()


def read_dockerfile(text: str) -> list[ImageStage]:
    """The stages in their order; the last one is the image."""
    arguments: dict[str, str] = {}
    stages: list[ImageStage] = []
    for word, rest in _instructions(text):
        if word == "ARG" and not stages:
            name, _, value = rest.partition("=")
            arguments[name] = value
        elif word == "FROM":
            base, _, name = rest.partition(" AS ")
            base = re.sub(r"\$\{(\w+)\}", lambda found: arguments[found[1]], base)
            stages.append(ImageStage(base, name or str(len(stages))))
        elif stages:
            _take(stages[-1], word, rest)
        else:
            raise DockerfileError(f"{word} before the first FROM")
    return stages


def _instructions(text: str) -> Iterator[tuple[str, str]]:
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for line in re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines():
        if line.strip():
            word, _, rest = line.strip().partition(" ")
            yield word, rest.strip()


def _take(stage: ImageStage, word: str, rest: str) -> None:
    match word:
        case "WORKDIR":
            stage.workdir = str(Path(stage.workdir) / rest)
        case "ENV":
            stage.environ |= dict(pair.split("=", 1) for pair in shlex.split(rest))
        case "USER":
            stage.user = rest
        case "VOLUME":
            stage.volumes += (rest,)
        case "STOPSIGNAL":
            stage.stop_signal = rest
        case "RUN":
            # A cache is only faster; any other mount would be missing.
            line = re.sub(r"^(?:--mount=type=cache,\S+ +)*", "", rest)
            if line.startswith("--"):
                raise DockerfileError(f"RUN {rest}: this option is not understood here")
            stage.steps.append(Run(line, dict(stage.environ), stage.user, stage.workdir))
        case "COPY":
            stage.steps.append(_copy(rest, stage.workdir))
        case "HEALTHCHECK":
            stage.healthcheck = _exec_form(rest.partition("CMD ")[2])
        case "ENTRYPOINT":
            stage.entrypoint = _exec_form(rest)
        case "CMD":
            stage.command = _exec_form(rest)
        case _:
            raise DockerfileError(f"{word}: this instruction is not understood here")


def _copy(rest: str, workdir: str) -> Copy:
    words = rest.split()
    stage = words.pop(0).removeprefix("--from=") if words[0].startswith("--from=") else None
    if words[0].startswith("--"):
        raise DockerfileError(f"COPY {words[0]}: this option is not understood here")
    return Copy(tuple(words[:-1]), words[-1], stage, workdir)


def _exec_form(text: str) -> tuple[str, ...]:
    """The words of `["a", "b"]`: a shell between would keep signals to itself."""
    return tuple(json.loads(text))


def ignore_rules(text: str) -> list[tuple[re.Pattern[str], bool]]:
    """Patterns in their order, each with whether it lets a path through."""
    lines = [line.strip() for line in text.splitlines()]
    return [
        (re.compile(_pattern(line.removeprefix("!").strip("/"))), line.startswith("!"))
        for line in lines
        if line and not line.startswith("#")
    ]


def _pattern(rule: str) -> str:
    kinds = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", rule)
    return "".join(kinds.get(part) or re.escape(part) for part in parts)


def is_ignored(path: str, rules: Sequence[tuple[re.Pattern[str], bool]]) -> bool:
    """Whether the last rule for this path, or for a folder that it is in, keeps it out."""
    parts = Path(path).parts
    folders = ["/".join(parts[: end + 1]) for end in range(len(parts))]
    ignored = False
    for pattern, lets_through in rules:
        if any(pattern.fullmatch(one) for one in folders):
            ignored = not lets_through
    return ignored
