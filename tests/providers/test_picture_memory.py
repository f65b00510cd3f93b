"""A picture that is small to send and large to decode does not take the bot's memory.

Each case is a process of its own that asks twice about eight pictures (`picture_memory.py`).
"""

from __future__ import annotations

import json
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.providers.picture_files import (
    chunk,
    flat_jpeg,
    flat_png,
    flat_webp,
    noisy_png,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
]

MOST_GROWTH_MB = 100
TOO_MANY = "[image could not be read: it has too many pixels]"


def measured(body: bytes, folder: Path) -> dict[str, Any]:
    path = folder / "picture"
    path.write_bytes(body)
    done = subprocess.run(
        [sys.executable, "-m", "tests.providers.picture_memory", str(path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_eight_picture_bombs_are_refused_before_they_are_decoded(tmp_path: Path) -> None:
    bomb = flat_png(6320, 6320)
    assert len(bomb) < 200_000
    told = measured(bomb, tmp_path)
    for question in told["questions"]:
        assert question["grew_mb"] < MOST_GROWTH_MB
        assert question["texts"] == [TOO_MANY] * 8


def text_bomb() -> bytes:
    """Sixty texts of a megabyte each, in four bytes per character, before the picture."""
    words = zlib.compress("🍣".encode() + b"a" * 1_000_000)
    return chunk(b"iTXt", b"k\0\1\0\0\0" + words) * 60


@pytest.mark.parametrize(
    ("make", "is_seen"),
    [
        pytest.param(lambda: flat_png(2890, 2890, clear=True), True, id="largest clear PNG"),
        pytest.param(lambda: noisy_png(1500, 1500), True, id="PNG of many bytes"),
        pytest.param(lambda: flat_png(9, 9, extras=text_bomb()), True, id="PNG with texts"),
        pytest.param(lambda: flat_webp(2040, 2040), True, id="largest WebP"),
        pytest.param(lambda: flat_webp(6320, 6320), False, id="WebP bomb"),
        pytest.param(lambda: flat_jpeg(6320, 6320), True, id="large JPEG"),
        pytest.param(lambda: flat_jpeg(60_000, 600), True, id="long JPEG"),
        pytest.param(lambda: flat_jpeg(6320, 6320, progressive=True), False, id="progressive JPEG"),
    ],
)
def test_no_kind_of_picture_takes_more(
    make: Callable[[], bytes], is_seen: bool, tmp_path: Path
) -> None:
    told = measured(make(), tmp_path)
    for question in told["questions"]:
        assert question["grew_mb"] < MOST_GROWTH_MB
        assert question["images"] == (8 if is_seen else 0), question["texts"][:1]


def test_a_later_question_fetches_and_decodes_nothing_again(tmp_path: Path) -> None:
    told = measured(flat_png(2000, 2000), tmp_path)
    assert told["served"] == 8
    assert [question["images"] for question in told["questions"]] == [8, 8]
    assert told["questions"][1]["grew_again_mb"] < 5
