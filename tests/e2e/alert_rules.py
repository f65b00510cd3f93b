"""Plays `deploy/alerts.yaml` with promtool over what a bot's `/metrics` really said.

A `Timeline` holds scrapes, each for some minutes. promtool evaluates the rules every minute over
them, as Prometheus does, and says which alerts fire: hours of virtual time take half a second.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families as families

ALERTS = Path(__file__).parents[2] / "deploy" / "alerts.yaml"
JOB, INSTANCE = "oshaberi", "bot:8421"
FIRING = 'group by (alertname) (ALERTS{alertstate="firing"})'

Series = tuple[str, frozenset[tuple[str, str]]]
Scrape = Mapping[Series, float]
LAG: Series = ("oshaberi_loop_lag_seconds", frozenset())


def program(name: str) -> str:
    """Where a program of Debian's package `prometheus` is."""
    found = shutil.which(name)
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"{name} is not installed; .ci/run should have done it")
        pytest.skip(f"{name} is not installed (Debian: apt install prometheus)")
    return found


def alert_names() -> list[str]:
    [group] = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"]
    return [rule["alert"] for rule in group["rules"]]


def parsed(text: str) -> Scrape:
    """Return the samples of one answer of `/metrics`."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families(text)
        for sample in family.samples
        if math.isfinite(sample.value) and not sample.name.endswith("_created")
    }


class Timeline:
    """What Prometheus has seen of the bot at `url`, minute by minute."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._scrapes: list[tuple[Scrape, int]] = []
        self.counts_lag = False
        """Whether the loop's lag is taken as it is; else a busy machine would fire its alert."""

    @property
    def minutes(self) -> int:
        return sum(minutes for _, minutes in self._scrapes)

    async def scrape(self, minutes: int) -> None:
        """Ask the bot now; its answer stays the same for so many minutes."""
        up = ("up", frozenset[tuple[str, str]]())
        try:
            async with aiohttp.ClientSession() as session, session.get(self._url) as got:
                assert got.status == 200
                found: Scrape = {**parsed(await got.text()), up: 1.0}
        except aiohttp.ClientConnectionError:
            found = {up: 0.0}
        if not self.counts_lag and LAG in found:
            found = {**found, LAG: 0.0}
        self._scrapes.append((found, minutes))

    def fires(self, expected: Sequence[tuple[int, frozenset[str]]]) -> None:
        """Assert which alerts fire in which minutes, and no others."""
        asked = [
            {
                "expr": FIRING,
                "eval_time": f"{minute}m",
                "exp_samples": [
                    {"labels": f'{{alertname="{name}"}}', "value": 1} for name in sorted(names)
                ],
            }
            for minute, names in expected
        ]
        played = {
            "rule_files": [str(ALERTS)],
            "evaluation_interval": "1m",
            "tests": [
                {"interval": "1m", "input_series": self._series(), "promql_expr_test": asked}
            ],
        }
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "played.yaml"
            file.write_text(json.dumps(played), encoding="utf-8")
            told = subprocess.run(
                [program("promtool"), "test", "rules", str(file)],
                capture_output=True,
                text=True,
                timeout=120,
            )
        assert told.returncode == 0, told.stdout + told.stderr

    def _series(self) -> list[dict[str, Any]]:
        every = dict.fromkeys(one for scrape, _ in self._scrapes for one in scrape)
        return [{"series": _named(one), "values": self._values(one)} for one in every]

    def _values(self, one: Series) -> str:
        """Return a series in promtool's notation: `_` is a minute without a sample."""
        return " ".join(
            f"{scrape[one]:g}x{minutes - 1}" if one in scrape else f"_x{minutes}"
            for scrape, minutes in self._scrapes
        )


def _named(one: Series) -> str:
    name, labels = one
    every = sorted({*labels, ("job", JOB), ("instance", INSTANCE)})
    return f"{name}{{{', '.join(f'{key}={json.dumps(value)}' for key, value in every)}}}"
