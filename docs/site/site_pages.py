"""Adds to the site what is not in `docs/`: other pages of the repository, the Python reference.

MkDocs calls the functions `on_…` (mkdocs.yml, `hooks`). A link out of `docs/` leads to the page
that was made of its target.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import oshaberi

ROOT = Path(__file__).parents[2]
PAGES = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "examples/README.md": "examples.md",
    "stage/README.md": "stage-by-itself.md",
    "README.md": "index.md",
    "docs/README.md": "all-pages.md",
}
"""Files that become pages under another name."""
FILES = "files"
"""The folder of pages that show a file."""
LANGUAGES = {".py": "python", ".toml": "toml", ".yaml": "yaml", ".json": "json", ".service": "ini"}
FIRST = ("deliver", "delivery", "stop")
HOMES = {"delivery": "oshaberi.one_call.call.open_delivery"}
"""Where a name is if its module and its own name do not say so."""
DECISIONS = "decisions/*"
REFERENCE = "reference/python.md"
_LINK = re.compile(r"""(\]\(|\bsrc="|\bsrcset=")([^)"\s]+)([)"])""")
_EMPTY_HEAD = re.compile(r"<th(?: style=\"[^\"]*\")?></th>")
_SEARCH = '<div class="md-search" data-md-component="search" role="dialog"'
_CODE = re.compile(r"^(`{3,}).*?^\1$|`[^`\n]*`", re.DOTALL | re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put every decision into the navigation."""
    decisions = sorted(f"decisions/{one.name}" for one in (ROOT / "docs/decisions").glob("*.md"))
    for section in config.nav or []:
        for name, entries in section.items():
            if entries == [DECISIONS]:
                section[name] = decisions
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from elsewhere, the reference, and the files that pages link to."""
    files.remove(files.src_uris["README.md"])
    for source, page in PAGES.items():
        content = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=content))
    files.append(File.generated(config, REFERENCE, content=python_reference()))
    linked = {path for one in files.documentation_pages() for path in _outside(one)}
    folders = {path for path in linked if (ROOT / path).is_dir()}
    inside = {f"{path}/{name}" for path in folders for name in _names_in(path)}
    for path in sorted(linked | inside):
        content = _listing(path) if path in folders else _copied(path)
        files.append(File.generated(config, _place(path), content=content))
    return files


def on_page_markdown(markdown: str, page: Page, **_others: object) -> str:
    """Lead links out of `docs/` to what the site has of them."""
    here, origin = page.file.src_uri, _origin(page.file)

    def led(found: re.Match[str]) -> str:
        target = _target(origin, found[2])
        if target is None:
            return found[0]
        path, anchor = target
        place = posixpath.relpath(_place(path), posixpath.dirname(here) or ".")
        return f"{found[1]}{place}{anchor}{found[3]}"

    return _outside_code(markdown, led)


def on_page_content(html: str, **_others: object) -> str:
    """A cell above the names of rows is no heading."""
    return _EMPTY_HEAD.sub("<td></td>", html)


def on_post_page(output: str, **_others: object) -> str:
    """Name the theme's dialog, which screen readers announce."""
    return output.replace(_SEARCH, f'{_SEARCH} aria-label="Search"')


def python_reference() -> str:
    """Return the page of the public names, which mkdocstrings fills from their docstrings."""
    lines = [
        "# The Python library",
        "",
        "Everything that `import oshaberi` offers. [The library](../library.md) shows how to use",
        "it; [events and errors](events-and-errors.md) lists every field.",
        "",
    ]
    for name in sorted(oshaberi.__all__, key=lambda one: (one not in FIRST, one.lower())):
        home = HOMES.get(name) or f"{getattr(oshaberi, name).__module__}.{name}"
        if home.startswith("oshaberi."):  # not `Event`, which is a union
            named = [f"      heading: {name}", f"      toc_label: {name}"]
            lines += [f"::: {home}", "    options:", *named, ""]
    return "\n".join(lines)


def _origin(file: File) -> str:
    """Return where a page comes from, as a path in the repository."""
    made = {page: source for source, page in PAGES.items()}
    return made.get(file.src_uri, f"docs/{file.src_uri}")


def _outside(file: File) -> Iterator[str]:
    """Yield the paths outside `docs/` to which a page links and that are no pages themselves."""
    if file.src_uri == REFERENCE:
        return
    origin = _origin(file)
    for _, link, _ in _LINK.findall(_CODE.sub("", (ROOT / origin).read_text(encoding="utf-8"))):
        target = _target(origin, link)
        if target is not None and not target[0].startswith("docs/") and target[0] not in PAGES:
            yield target[0]


def _target(origin: str, link: str) -> tuple[str, str] | None:
    """Return the path in the repository, and the anchor; None for a link that stays as it is."""
    path, mark, anchor = link.partition("#")
    if not path or ":" in path:
        return None
    target = posixpath.normpath(posixpath.join(posixpath.dirname(origin), path))
    if origin.startswith("docs/") and target.startswith("docs/") and target not in PAGES:
        return None if origin not in PAGES else (target, mark + anchor)
    return target, mark + anchor


def _place(path: str) -> str:
    """Return where the site has a file of the repository."""
    if path in PAGES:
        return PAGES[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"{FILES}/{path}/index.md" if (ROOT / path).is_dir() else f"{FILES}/{path}.md"


def _names_in(folder: str) -> list[str]:
    return sorted(one.name for one in (ROOT / folder).iterdir() if one.is_file())


def _listing(folder: str) -> str:
    entries = "\n".join(f"- [{name}]({name}.md)" for name in _names_in(folder))
    return f"# {folder}\n\n{entries}\n"


def _copied(path: str) -> str:
    """Return a file as a page with its text."""
    text = (ROOT / path).read_text(encoding="utf-8")
    language = LANGUAGES.get(posixpath.splitext(path)[1], "text")
    return f"# {path}\n\n~~~~~~{language}\n{text.rstrip()}\n~~~~~~\n"


def _outside_code(markdown: str, led: Callable[[re.Match[str]], str]) -> str:
    """Replace links, but leave code as it is."""
    parts, at = [], 0
    for code in _CODE.finditer(markdown):
        parts += [_LINK.sub(led, markdown[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*parts, _LINK.sub(led, markdown[at:])])
