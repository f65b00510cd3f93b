"""One browser for all the plays of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.chromium import chromium
from tests.inspector.browsing import Bench, open_bench


@pytest.fixture(scope="module")
def in_browser() -> Iterator[Bench]:
    with open_bench(chromium()) as bench:
        yield bench
