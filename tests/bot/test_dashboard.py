"""The dashboard and the alert rules name only metrics that exist."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from oshaberi.bot.observability.metrics import BotMetrics

DEPLOY = Path(__file__).parents[2] / "deploy"
SUFFIXES = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((DEPLOY / "grafana.json").read_text("utf-8"))["panels"]
    return found


def rules() -> list[dict[str, Any]]:
    [group] = yaml.safe_load((DEPLOY / "alerts.yaml").read_text("utf-8"))["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def expressions() -> list[str]:
    asked = [target["expr"] for panel in panels() for target in panel["targets"]]
    return [*asked, *(rule["expr"] for rule in rules())]


def existing() -> set[str]:
    return {
        family.name + suffix
        for family in BotMetrics().registry.collect()
        for suffix in SUFFIXES[family.type]
    }


@pytest.mark.parametrize("expression", expressions())
def test_an_expression_names_metrics_that_exist(expression: str) -> None:
    named = set(re.findall(r"oshaberi_\w+", expression))
    assert named or 'up{job="oshaberi"}' in expression
    assert named <= existing()
    assert expression.count("(") == expression.count(")")


def test_every_alert_says_what_is_wrong() -> None:
    names = [rule["alert"] for rule in rules()]
    assert len(set(names)) == len(names) > 5
    assert all(rule["annotations"]["summary"] for rule in rules())
    assert {rule["labels"]["severity"] for rule in rules()} <= {"critical", "warning", "info"}


def test_panels_do_not_overlap() -> None:
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels()]
    assert len(set(places)) == len(places)
    assert len({panel["id"] for panel in panels()}) == len(places)
