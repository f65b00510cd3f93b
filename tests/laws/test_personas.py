"""The laws with everything switched on that step 06 can do."""

from __future__ import annotations

import random

import pytest

from oshaberi import TextConfig, TextEngine
from oshaberi.events import Event

from . import persona_texts
from .persona_texts import broken_with_persona, labelled_text, persona_config

_EACH = 60


@pytest.mark.parametrize("batch", range(8))
def test_laws_hold_with_a_persona(batch: int) -> None:
    for number in range(_EACH):
        rng = random.Random(f"persona {batch}/{number}")
        text, config = labelled_text(rng), persona_config(rng)
        assert not broken_with_persona(text, config, rng), (text, config)


def test_the_check_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    class ByChunk(TextEngine):
        def feed(self, text: str) -> list[Event]:
            return super().feed(text.replace("aa", "a"))

    monkeypatch.setattr(persona_texts, "TextEngine", ByChunk)
    broken = broken_with_persona("baab\n" * 5, TextConfig(), random.Random(1))
    assert any(line.startswith("L2") for line in broken)
