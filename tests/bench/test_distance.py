"""What it costs if the database is far away."""

from __future__ import annotations

from dataclasses import replace

from bench.whole_bot.distance import DistanceReport, Measured

NEAR = Measured(400.0, 1200.0, 4, 30)
FAR = replace(NEAR, first_ms=500.0, done_ms=1310.0)


def test_the_report_has_the_difference() -> None:
    report = DistanceReport(NEAR, FAR, answers=3)
    assert (report.first_later_ms, report.done_later_ms) == (100.0, 110.0)
    assert "first message after 400 and 500 ms (+100)" in str(report)
    assert "packets to the database before the first message 4, in all 30" in str(report)
