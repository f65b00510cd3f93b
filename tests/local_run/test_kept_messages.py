"""What was said on the local stage is there again at the next `oshaberi run`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.local_run.local_run_process import LocalRunProcess, local_run


def answered(running: LocalRunProcess, question: str, **more: str) -> list[dict[str, Any]]:
    """Ask, and wait until the bot has answered and is no longer busy."""
    asked = running.post("post", channel="general", content=question, **more)
    found = running.until(
        lambda seen: any(m["author"].get("bot") and int(m["id"]) > int(asked["id"]) for m in seen)
    )
    while running.get("answering"):
        found = running.until(lambda _seen: not running.get("answering"))
    return found


def test_messages_survive_a_restart_and_fresh_begins_anew(tmp_path: Path) -> None:
    data = tmp_path / "data"
    quickly = ("--speed", "20")
    with local_run(data, *quickly) as first:
        answered(first, "hi")
        answered(first, "yuki, how are you?")
        before = first.messages()
        assert first.end() == 0
    assert {m["author"]["username"] for m in before} >= {"you", "Mochi", "Yuki"}

    with local_run(data, *quickly) as second:
        kept = second.messages()
        assert [(m["id"], m["content"]) for m in kept] == [(m["id"], m["content"]) for m in before]
        after = answered(second, "yuki, and now?")
        new = after[len(before) :]
        assert all(int(m["id"]) > int(before[-1]["id"]) for m in new)
        # The webhook that the bot remembers is still the channel's.
        hooks = {m["webhook_id"] for m in after if m["author"]["username"] == "Yuki"}
        assert len(hooks) == 1
        assert second.end() == 0
    assert "Traceback" not in (tmp_path / "run.log").read_text()

    with local_run(data, *quickly, "--fresh") as third:
        assert third.messages() == []
        assert answered(third, "yuki, again?")
        assert third.end() == 0
