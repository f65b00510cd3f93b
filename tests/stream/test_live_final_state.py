"""Live mode: what is shown on the way leaves no trace in the end."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from oshaberi.delivery import deliverer
from oshaberi.stream import Silence, Step
from oshaberi.text.measure import utf16_len

from .scripted_streams import Played, play

LIMIT = 120
PERSONA = {"name": "Ren", "sprites": [{"name": "mad", "avatar_url": "https://x.test/mad"}]}
KNOWN = [{"name": "Al Tan", "kind": "user", "id": "1234567890123456789"}]
PIECES = (
    "Once upon a time there was a ",
    "little fox, who lived in the ",
    "wood.",
    "\n",
    "\n\n",
    " (and it was **very happy ",
    "there** with all of its friends) ",
    "hey @Al Tan ",
    "hey <@77> ",
    "<think>nobody knows what it thinks",
    "</think>",
    "```py\nfor fox in wood:\n    run(fox)\n",
    "```",
    "| a fox | a bear |\n|---|---|\n| 1 | 2 |\n",
    "a fox | a bear\n--- | ---\n1 | 2\n",
    "Ren (mad): what do you want from me now ",
    "Ren: ",
    "Al Tan: I am somebody else here ",
    "look at [the little fox](https://x.test/fox) here ",
    "https://x.test/a_very_long_address/of/a/fox ",
    ":fox: ",
    "<:soup:111111111111111111> ",
    ">>> it was quoted as the first fox ",
    "- an item of a list with a fox\n",
    "狐は森に住んでいました。とても",
    "...",
    "~~not a fox, but a rather long ",
    "x" * 50,
)


@dataclass(frozen=True)
class Case:
    steps: tuple[str | int, ...]
    degree: int
    options: dict[str, Any]
    alter: bool

    def play(self) -> Played:
        steps: list[str | Step] = [Silence(s) if isinstance(s, int) else s for s in self.steps]
        text = {
            "max_single_message_length": LIMIT,
            "persona": {**PERSONA, "is_alter": self.alter},
            "known": KNOWN,
            "emojis": ["<:soup:111111111111111111>"],
        }
        return play(*steps, degree=self.degree, text=text, delivery="live", **self.options)


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "notify": st.sampled_from(("first", "last")),
        "send_message_limit": st.integers(1, 5),
        "reply_to": st.just(True),
    },
)
CASES = st.builds(
    Case,
    steps=st.lists(
        st.one_of(*[st.sampled_from(PIECES)] * 2, st.integers(0, 3000)), min_size=1, max_size=20
    ).map(tuple),
    degree=st.sampled_from((0, 1, 1, 2, 3)),
    options=OPTIONS,
    alter=st.booleans(),
)
EXAMPLES = settings.default.max_examples if settings.default else 0
PROPERTY = settings(
    max_examples=3 * EXAMPLES,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


NOTICED_AND_TAKEN_BACK = Case(
    steps=(PIECES[15], 0, "</think>", PIECES[0]), degree=1, options={"reply_to": True}, alter=False
)


@PROPERTY
@given(CASES)
@example(NOTICED_AND_TAKEN_BACK)
def test_final_state_is_that_of_finished_messages_alone(case: Case) -> None:
    shown = case.play()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deliverer, "shows_unfinished", lambda _config: False)
        finished = case.play()
    assert _state(shown) == _state(finished)
    _every_state_on_the_way_is_well_formed(shown)
    _edits_are_a_second_apart(shown)


def _state(played: Played) -> Any:
    there = [p.post for p in played.sink.posted if not p.deleted]
    posts = [(p.content, p.face, p.reply, p.silent, bool(p.files), p.embed) for p in there]
    count = played.response.sent, len(played.response.messages), len(played.response.notices)
    if played.result.stop_reason == "send_message_limit":
        return posts, count  # how far the model was when the limit was hit is another matter
    record = played.result.as_record()
    fates = [(e.text, e.fate) for e in played.result.ledger.entries]
    return posts, count, record, fates


def _every_state_on_the_way_is_well_formed(played: Played) -> None:
    for record in played.sink.records:
        if record["kind"] in ("message", "edit"):
            text = record["content"]
            assert text == text.strip() != ""
            assert utf16_len(text) <= LIMIT
            assert len(re.findall("```", text)) % 2 == 0
    begun = {r["id"]: r["content"] for r in played.of("message")}
    for record in played.of("edit"):  # edits do not notify
        assert record["content"].count("<@") <= begun[record["id"]].count("<@")


def _edits_are_a_second_apart(played: Played) -> None:
    last: dict[int, int] = {}
    for record in played.sink.records:
        if record["kind"] == "edit":
            assert record["at_ms"] - last.get(record["id"], -1000) >= 1000
        if record["kind"] in ("message", "edit"):
            last[record["id"]] = record["at_ms"]
