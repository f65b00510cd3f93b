"""Each measurement collects garbage first; what pytest has loaded need not be looked through."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def little_to_collect() -> Iterator[None]:
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
