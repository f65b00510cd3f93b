"""The bench of the adapters runs, and can fail."""

from __future__ import annotations

import asyncio

import pytest
from bench.adapters import AdapterCost, _OpenAIBytes, _play
from bench.report import adapter_json, adapter_table

from bench import adapters


@pytest.mark.slow
def test_every_family_is_measured() -> None:
    costs = adapters.run(200, 1)
    families = ["openai", "openai-responses", "anthropic", "google"]
    assert [cost.family for cost in costs] == families
    assert all(min(cost.json_us, cost.bytes_us, cost.socket_us) > 0 for cost in costs)
    assert len(adapter_table(costs).splitlines()) == 4 + len(costs)


@pytest.mark.parametrize(("bytes_us", "flagged"), [(4.1, True), (3.9, False)])
def test_what_is_too_slow_is_flagged(bytes_us: float, flagged: bool) -> None:
    cost = AdapterCost("slow", 2.0, bytes_us, 20.0)
    assert adapter_json(cost)["flagged"] is flagged
    assert ("<<<" in adapter_table([cost]).splitlines()[4]) is flagged


def test_lost_text_is_no_saving() -> None:
    piece = b'data: {"choices": [{"index": 0, "delta": {"content": "half"}}]}\n\n'
    with asyncio.Runner() as runner, pytest.raises(AssertionError, match="lost text: 4 of 8"):
        _play(runner, _OpenAIBytes([piece]), "half and")
