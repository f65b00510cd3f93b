"""Runs the tests that a change touches, and says why each: `make check`.

What changed is what git says: since the branch left main, together with what is not committed and
not yet known to git. A changed file touches the tests of its folder, those that import it or one
of its importers (through harnesses and conftests too), and those that read it as a file. If nothing
changed, or if the change touches most tests, the quick tests run: those that only compute.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
TESTS = ("tests/", "stage/tests/")
Graph = Mapping[str, frozenset[str]]
"""Each Python file, and the files that it imports or names."""

QUICK = (
    *(f"tests/{one}" for one in ("config", "delivery", "demo_model", "laws", "logs", "stream")),
    *("tests/text", "tests/turns"),
    *(f"tests/test_{one}.py" for one in ("clock", "glossary", "imports", "package", "recording")),
    *("tests/test_scenes.py", "tests/test_terminal.py"),
)
NOT_QUICK = (
    "tests/stream/test_redis_stops.py",
    "tests/turns/test_database_outages.py",
    "tests/turns/test_transactions.py",
)
"""They start servers."""
READ_BY = (
    ("stage/src/", ".py", ("stage/tests/stage_server", "stage/tests/test_imports.py")),
    ("src/", ".py", ("tests/test_imports.py", "tests/test_glossary.py", "tests/languages")),
    ("src/", ".py", ("tests/cli/test_reference.py",)),
    ("src/oshaberi/text/", "", ("tests/laws", "tests/test_scenes.py")),
    ("src/oshaberi/bot/local_run/", "", ("tests/local_run_page",)),
    ("src/", ".po", ("tests/languages",)),
    ("stage/src/discord_stage/page/", "", ("stage/tests/stage_page",)),
    ("stage/src/discord_stage/", "", ("stage/tests/test_package.py",)),
    ("stage/README.md", "", ("stage/tests/test_readme.py",)),
    ("src/oshaberi/inspector/page/", "", ("tests/inspector", "tests/test_package.py")),
    ("deploy/", "", ("tests/deploy",)),
    ("examples/", "", ("tests/test_examples.py",)),
    ("bench/", "", ("tests/bench",)),
    ("", ".md", ("tests/cli/test_docs.py", "tests/test_glossary.py")),
    ("pyproject.toml", "", ("tests/test_package.py", "tests/test_dependencies.py")),
)
"""How a path begins and ends, and which tests read all files like it without naming them."""
MOST = 0.5
"""The share of all test files from which on a change touches everything."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What to run: files and folders, each with the reason, and what to leave out of them."""

    reasons: Mapping[str, str]
    without: tuple[str, ...] = ()
    why: str = ""


def selected(changed: Collection[str], graph: Graph) -> Selection:
    """Return the tests that the changed paths touch. Paths are relative to the root."""
    tests = sorted(one for one in graph if is_test(one))
    if not changed:
        return Selection(dict.fromkeys(QUICK, "quick"), NOT_QUICK, "nothing changed")
    near = _of_their_folders(changed, tests)
    found = {**_through_imports(changed, graph), **near}
    if len(found) <= MOST * len(tests):
        return Selection(found)
    why = f"the change touches {len(found)} of {len(tests)} test files: `make test` runs them all"
    near = near if len(near) <= MOST * len(tests) else {}
    left_out = tuple(one for one in NOT_QUICK if one not in near)
    return Selection({**dict.fromkeys(QUICK, "quick"), **near}, left_out, why)


def is_test(path: str) -> bool:
    return path.startswith(TESTS) and PurePosixPath(path).match("test_*.py")


def _of_their_folders(changed: Iterable[str], tests: Collection[str]) -> dict[str, str]:
    """The changed tests, those of the folders of what changed, and those that read such files."""
    found: dict[str, str] = {}
    for path in changed:
        places = [*_own_tests(path, tests)]
        for begins, ends, readers in READ_BY:
            if path.startswith(begins) and path.endswith(ends):
                places += readers
        for test in tests:
            if any(test == place or test.startswith(f"{place}/") for place in places):
                found.setdefault(test, f"tests {path}")
    return found


def _own_tests(path: str, tests: Collection[str]) -> list[str]:
    """Return where the tests of a file are: `bot/turns/quotas.py` has those of `tests/turns`."""
    if is_test(path):
        return [path]
    *folders, name = PurePosixPath(path).parts
    if path.startswith("stage/"):
        return []
    if path.startswith("tests/"):
        return [] if name.endswith(".py") or len(folders) < 2 else _named(folders[1], tests)
    if "src" not in folders:
        return []
    inside = folders[folders.index("src") + 2 :] or [PurePosixPath(name).stem]
    return next((places for one in reversed(inside) if (places := _named(one, tests))), [])


def _named(name: str, tests: Collection[str]) -> list[str]:
    """Return the folder and the file of tests with a name, as far as they exist."""
    places = (f"tests/{name}/", f"tests/test_{name}.py")
    return [one.removesuffix("/") for one in places if any(test.startswith(one) for test in tests)]


def _through_imports(changed: Collection[str], graph: Graph) -> dict[str, str]:
    """The tests that import what changed, or a module that imports it.

    Test beds between a test and the code do not count as a step.
    """
    reasons = {path: path for path in changed}
    for importer, imported in graph.items():
        if not importer.startswith(TESTS):
            for path in sorted(imported & set(changed)):
                reasons.setdefault(importer, f"{importer} → {path}")
    waiting = list(reasons)
    importers = _importers(graph)
    while waiting:
        path = waiting.pop()
        for importer in importers.get(path, ()):
            if importer.startswith(TESTS) and importer not in reasons:
                reasons[importer] = reasons[path]
                waiting.append(importer)
    return {one: f"imports {reasons[one]}" for one in sorted(reasons) if is_test(one)}


def _importers(graph: Graph) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for importer in sorted(graph):
        for path in graph[importer]:
            found.setdefault(path, []).append(importer)
    return found


# -- the graph, read from the sources ------------------------------------------------------------


def read_graph(paths: Collection[str], root: Path = ROOT) -> Graph:
    """Read what each Python file imports or names, of the given paths; some may be deleted."""
    modules = {_module(path): path for path in paths if path.endswith(".py")}
    files: dict[str, set[str]] = {}
    for path in paths:
        if not path.endswith(".py"):
            files.setdefault(PurePosixPath(path).name, set()).add(path)
    graph = {}
    for path in modules.values():
        if (root / path).is_file():
            tree = ast.parse((root / path).read_text(encoding="utf-8"))
            named = {modules[one] for one in _imports(tree, path) if one in modules}
            if path.startswith(TESTS):
                named |= {one for name in _strings(tree) for one in files.get(name, ())}
                named |= {one for one in _conftests(path) if one in paths}
            graph[path] = frozenset(named - {path})
    return graph


def _module(path: str) -> str:
    parts = PurePosixPath(path.removeprefix("stage/tests/")).with_suffix("").parts
    if "src" in parts:
        parts = parts[parts.index("src") + 1 :]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(tree: ast.AST, path: str) -> Iterator[str]:
    """Every module that is imported, wherever it stands, or named in a string: to patch it."""
    own = [*_module(path).split("."), *(["__init__"] if path.endswith("__init__.py") else [])]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = own[: -node.level] if node.level else []
            stem = ".".join([*base, *filter(None, [node.module])])
            yield stem
            yield from (f"{stem}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            dotted = re.fullmatch(r"(\w+(?:\.\w+)+)(?::\w+)?", node.value)
            names = dotted[1].split(".") if dotted else []
            yield from (".".join(names[:end]) for end in range(2, len(names) + 1))


def _strings(tree: ast.AST) -> Iterator[str]:
    """The names of files in strings: `settings.md` of `"docs/settings.md"`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 200:
            yield node.value.rpartition("/")[2]


def _conftests(path: str) -> Iterator[str]:
    """pytest loads them without an import."""
    yield from (f"{folder}/conftest.py" for folder in PurePosixPath(path).parents)


# -- git and pytest ------------------------------------------------------------------------------


def changed_paths(root: Path = ROOT) -> set[str]:
    """Return what changed since the branch left main, committed or not."""
    base = _git(root, "merge-base", "HEAD", "main") or ["HEAD"]
    since = _git(root, "diff", "--name-only", "--no-renames", base[0])
    return {*since, *_git(root, "ls-files", "--others", "--exclude-standard")}


def _git(root: Path, *arguments: str) -> list[str]:
    command = ["git", "-c", "core.quotepath=off", *arguments]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def told(selection: Selection) -> Iterator[str]:
    """Say what runs and why: one line for each reason."""
    if selection.why:
        yield f"{selection.why}; now: the quick tests"
    together: dict[str, list[str]] = {}
    for test, reason in selection.reasons.items():
        together.setdefault(reason, []).append(test)
    for reason, tests in together.items():
        yield f"  {reason}: {' '.join(sorted(tests))}"


def main() -> int:
    changed = changed_paths()
    selection = selected(changed, read_graph({*_git(ROOT, "ls-files"), *changed}))
    sys.stdout.write("\n".join([*told(selection), ""]))
    if not selection.reasons:
        sys.stdout.write("no test is touched\n")
        return 0
    ignored = [f"--ignore={one}" for one in selection.without]
    command = ["-m", "pytest", "-q", "-m", "not slow", *ignored, *sys.argv[1:]]
    sys.stdout.flush()
    return subprocess.call([sys.executable, *command, *selection.reasons], cwd=ROOT)


if __name__ == "__main__":
    sys.exit(main())
