"""Every file that is made from the code: `make generate` writes them all.

Each has a test that compares it with what would be written now.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from docs.pictures import comparison_plots, degree_pictures, package_graph

from oshaberi.languages.translations import PACKAGED
from tests import dependencies, test_stage_docs
from tests.bot import test_docs as command_pages
from tests.bot import test_presets
from tests.cli import test_docs as settings_pages
from tests.cli import test_reference, test_settings_file
from tests.cli.document_pages import text_of
from tests.languages import sentence_collection
from tests.providers import test_capability_table
from tests.text import shortcode_list

ROOT = Path(__file__).parents[1]


def generated() -> Iterator[tuple[Path, str]]:
    """Each generated file, and what it should hold. What people wrote between the tables stays."""
    for path, written in (
        (settings_pages.SETTINGS, settings_pages.settings_page),
        (test_settings_file.FILE, test_settings_file.written),
        (command_pages.PAGE, command_pages.page),
        (test_reference.PAGE, test_reference.page),
        (test_presets.PAGE, test_presets.page),
        (test_stage_docs.PAGE, test_stage_docs.written),
        (test_capability_table.PAGE, test_capability_table.written),
    ):
        yield path, written(text_of(path))
    yield dependencies.PAGE, dependencies.page()
    yield shortcode_list.FILE, shortcode_list.written()
    yield package_graph.PICTURE, package_graph.drawn(package_graph.package_graph())
    yield from degree_pictures.pictures()
    yield from comparison_plots.plots()
    for catalogue in sorted(PACKAGED.glob("*.po")):
        yield catalogue, sentence_collection.updated(catalogue)


def write_all() -> list[Path]:
    """Write what is out of date, and return it."""
    stale = [(path, text) for path, text in generated() if text_of(path) != text]
    for path, text in stale:
        path.write_text(text, encoding="utf-8")
    return [path for path, _ in stale]


def main() -> None:
    for path in write_all():
        sys.stdout.write(f"wrote {path.relative_to(ROOT)}\n")
        if path.suffix == ".po" and (new := text_of(path).count('msgstr ""\n\n')):
            sys.stdout.write(f'  not translated in it yet, each as msgstr "": {new}\n')


if __name__ == "__main__":
    main()
