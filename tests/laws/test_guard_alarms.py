"""The speaker guard that is on by default, against texts in which nobody else speaks.

Everybody with a common name takes part: many more than in any conversation. Decision 16 has the
figures that were measured once, with more names, with whole documents and with a large collection
of models' answers.
"""

from __future__ import annotations

import pytest

from oshaberi import Known, SpeakerStop, TextConfig, TextEngine
from tests.laws.real_documents import documents
from tests.providers.independent_decoding import decoded
from tests.providers.recorded_bodies import recordings

NAMES = """
james mary john patricia robert jennifer michael linda david elizabeth william barbara richard
susan joseph jessica thomas sarah charles karen christopher lisa daniel nancy matthew betty anthony
mark margaret sandra donald ashley steven paul emily andrew donna joshua michelle kenneth carol
kevin amanda brian george melissa edward rebecca jason laura ryan jacob gary amy nicholas angela
eric anna stephen emma scott nicole brandon helen benjamin samantha samuel alexander rachel frank
jack maria jerry tyler aaron ruth adam olivia nathan henry virginia victoria peter kyle noah ethan
jeremy austin hannah roger terry sean carl dylan madison jordan arthur gabriel alice bruce julia
logan billy sophia joe grace alan bob tom tim sam max ben alex mike jim bill lucy lily mia leo luna
zoe mika aya ren yuki hana kenji akira
"""
CONFIG = TextConfig(
    humanizer_degree=1, known=tuple(Known(name, takes_part=True) for name in NAMES.split())
)
RECORDED = recordings()
MOST_CHARACTERS = 5000
"""Of each document, so that the test takes seconds."""


def stops(text: str) -> list[str]:
    engine = TextEngine(CONFIG)
    events = [*engine.feed(text), *engine.finish()]
    return [event.label for event in events if isinstance(event, SpeakerStop)]


def test_it_can_fail() -> None:
    assert stops("Sure.\nVirginia: named after a queen") == ["Virginia"]


def test_no_document_speaks_for_a_participant() -> None:
    texts = [text for text in documents() if ":" in text]
    assert len(texts) > 50
    assert [label for text in texts for label in stops(text[:MOST_CHARACTERS])] == []


@pytest.mark.skipif(not RECORDED, reason="no recordings here: OSHABERI_RECORDINGS names a folder")
def test_no_recorded_answer_speaks_for_a_participant() -> None:
    texts = [decoded(one.family, one.path.read_bytes()).text for one in RECORDED]
    assert sum(bool(text.strip()) for text in texts) > 100
    assert [label for text in texts for label in stops(text)] == []
