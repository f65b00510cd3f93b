"""How a Dockerfile and its ignore file are read."""

from __future__ import annotations

import pytest

from tests.deploy.dockerfile import (
    Copy,
    DockerfileError,
    Run,
    ignore_rules,
    is_ignored,
    read_dockerfile,
)

EXAMPLE = """\
# a comment
ARG BASE=python:3.12-slim
FROM ${BASE} AS build
WORKDIR /src
ENV A=1 B="two words"
COPY a.txt b.txt ./
RUN --mount=type=cache,target=/x \\
    make && \\
    make install
FROM ${BASE}
COPY --from=build /opt/x /opt/x
USER 7:8
WORKDIR /data
HEALTHCHECK --interval=30s CMD ["true"]
ENTRYPOINT ["/opt/x/run"]
CMD ["a", "b c"]
"""


def test_stages_and_their_steps() -> None:
    build, final = read_dockerfile(EXAMPLE)
    assert (build.base, build.name, final.base) == ("python:3.12-slim", "build", "python:3.12-slim")
    environ = {**build.environ, "A": "1", "B": "two words"}
    assert build.steps == [
        Copy(("a.txt", "b.txt"), "./", None, "/src"),
        Run("make && make install", environ, "0:0", "/src"),
    ]
    assert final.steps == [Copy(("/opt/x",), "/opt/x", "build", "/")]
    assert (final.user, final.workdir) == ("7:8", "/data")
    assert (final.entrypoint, final.command) == (("/opt/x/run",), ("a", "b c"))
    assert final.healthcheck == ("true",)


@pytest.mark.parametrize(
    "line", ["ONBUILD RUN x", "RUN --mount=type=secret,id=x make", "COPY --chown=1 a b", "SHELL []"]
)
def test_what_is_not_understood_is_not_skipped(line: str) -> None:
    with pytest.raises(DockerfileError, match="not understood"):
        read_dockerfile(f"FROM python:3.12\n{line}\n")


@pytest.mark.parametrize(
    ("path", "ignored"),
    [
        ("README.md", False),
        ("src/a/b.py", False),
        ("src/a/__pycache__/b.pyc", True),
        ("deploy/requirements.txt", False),
        ("deploy/.env", True),
        ("hatch_build.py", True),
        (".git/config", True),
    ],
)
def test_the_last_rule_decides(path: str, ignored: bool) -> None:
    rules = ignore_rules("*\n# all\n!src\n!README.md\n!deploy/*.txt\n**/__pycache__\n")
    assert is_ignored(path, rules) is ignored
