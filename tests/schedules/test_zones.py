"""Time zones by name, by offset, and by what a clock shows."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

import pytest

from oshaberi.bot.schedules.zones import ZoneError, zone_name, zone_of, zones_at

NOON = datetime(2026, 11, 19, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        ("europe/berlin", "Europe/Berlin"),
        ("tokyo", "Asia/Tokyo"),
        ("New York", "America/New_York"),
        ("utc", "UTC"),
        ("UTC+2", "UTC+02:00"),
        ("gmt-5:30", "UTC-05:30"),
        ("+9", "UTC+09:00"),
    ],
)
def test_a_place_or_an_offset_is_enough(text: str, name: str) -> None:
    assert zone_name(text) == name
    assert zone_name(zone_name(text)) == name
    assert NOON.astimezone(zone_of(name)).utcoffset() is not None


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "Berlino",
            "Mars/Olympus",
            "UTC+15",
            "UTC+9:99",
            "../../etc/passwd",
            "/etc/localtime",
        ),
        *("Europe/Berlin\x00", "a" * 5000, "Europe/../Europe/Berlin", "posixrules", "localtime"),
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ZoneError):
        zone_name(text)
    assert zone_of(text) is UTC, "as a stored name it harms nobody"


def test_similar_names_are_proposed() -> None:
    with pytest.raises(ZoneError, match="Europe/Berlin"):
        zone_name("Europe/Belrin")


def test_a_clock_tells_the_zone() -> None:
    found = zones_at(time(21, 2), NOON)
    assert found[0] == "Asia/Tokyo"
    offset = timedelta(hours=9)
    assert {NOON.astimezone(zone_of(name)).utcoffset() for name in found} == {offset}
    assert "Europe/Berlin" in zones_at(time(12, 58), NOON)
    midnight = datetime(2026, 11, 19, 23, 58, tzinfo=UTC)
    assert "Europe/London" in zones_at(time(0, 1), midnight), "over midnight"
    assert zones_at(time(3, 20), NOON) == ()
