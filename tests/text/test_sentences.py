"""Sentence ends: a table of sentences (`|` marks an end inside), then the properties."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from oshaberi.text.sentences.ends import (
    TERMINATORS,
    cut_off_end,
    run_end,
    sentence_end,
    sentence_ends,
)

CASES = [
    # plain
    "The kettle is on.| Tea in five.",
    "Is it raining?| Take the red umbrella!| It leaks less.",
    "nothing ends here",
    "so i fixed it. | it works now.| probably",
    "hey! |how was it? |good i hope",
    "The train left.|\nWe walked.",
    # titles
    "Dr. Watanabe called twice.| Mrs. Okafor did not.",
    "Prof. Lindqvist and Mr. Abara disagree.",
    "dr. lindqvist says hi.| reply soon",
    "We met Gen. Haddad near Ft. Collins.",
    "Ask Rev. Moss or Fr. Tomas about it.",
    "no cap fr. |that was wild",
    "Sammy Davis Jr. sang first.| Then we left.",
    "The book is by Otto Klein Jr.| It sold well.",
    "Mt. Etna smokes.| St. Ives is calmer.",
    "It is on Elm St.| The door is green.",
    "**Dr.** Ito is in.",
    # companies and common abbreviations
    "Acme Corp. builds kites.| Bolt Ltd. sells them.",
    "She joined Nimbus Inc.| They make clouds.",
    "Pack socks, soap, etc. before noon.",
    "We have tea, coffee, etc.| What would you like?",
    "Cats vs. Dogs is a bad film.",
    "Some fruit, e.g. Pears, will do.| I.e. anything sweet.",
    "Use a flag (i.e. --fast) here.",
    "Compare cf. Miller for details.",
    "Nguyen et al., i.e. Nguyen and two others, agree.",
    "It takes approx. five minutes, incl. setup.",
    "The dept. of records is closed.",
    "Add 2 lbs. of rice.| Stir.",
    "P.S. I miss you.",
    "Shun Ito, a.k.a. Moth, sings.",
    "Mara has a Ph.D. in soil science.",
    "He got his PhD.| Now he sleeps.",
    "Ines Roth, MD. of the north ward, agreed.",
    # numbers in front of a number
    "No.| I won't go.",
    "No. 12 is the yellow house.",
    "See fig. 3 and vol. 2, pp. 14 to 20.",
    "Open ch. 7 first.| Sec. 2 can wait.",
    "Give me a sec.| Almost there.",
    "I ate a fig.| Delicious.",
    "It is in Vol. IV of the set.",
    "Turn to p. 9 now.",
    "It was built c. 1890 by monks.",
    # months and days
    "Due Jan. 5 at the latest.| Maybe Feb. 2.",
    "In Dec. we hibernate.",
    "We start in Oct.| The rest is open.",
    "Open Mon. to Fri. from nine.",
    "I burned in the sun.| Never again.",
    "They open on Mon.| They close on Sat. at ten.",
    # initials and acronyms
    "J. R. Moehler wrote it.| K. Sato drew it.",
    "J.-P. Colin is late.",
    "I met Clara B. Novak there.",
    "It was him and I.| Did you know?",
    "Take vitamin C.| It helps.",
    "We need a plan b.| The first one sank.",
    "E. coli grows fast.",
    "The U.K. Parliament met.| It was loud.",
    "They moved to the U.S.| We stayed.",
    "Er schwieg...| „Dort ist es warm.“",
    "He left the U.S.| „It is warm there.“",
    "He left the U.S.| “It is warm there.”",
    "Il aime « les U.S. » et le Canada.",
    "Trade with the E.U. is up.",
    "Born in Washington, D.C. | She left at six.",
    "The U. S. Navy has goats.",
    "Roe v. Wade was long ago.",
    "Try e. g. tea or milk.",
    # time
    "Meet me at 7 p.m. on the roof.",
    "We ate at 7 p.m.| Then we slept.",
    "We ate at 7 p.m.| Bruno slept.",
    "At 6 a.m. Bruno woke us.",
    "The call is at 9 a.m. Pacific.",
    "Come at 10 A.M. Monday.",
    "It ended at 5 pm.| Good.",
    # money, numbers, versions
    "It costs $3.50 now.| It was $2.",
    "Pi is 3.14159.| Or so.",
    "Update to v2.0.1 first.| Then restart.",
    "You have 3.| I have 1,000.5 of them.",
    "Python 3.11.4 is fine.",
    # files, domains, addresses
    "Edit main.py and run it.| Check setup.cfg.",
    "Put it in .env now.| Not in .bashrc.",
    "It is on example.org.| Look there!",
    "Mail kei.mori@example.net.| He answers.",
    "See https://example.com/a?b=c.d! | Then tell me.",
    "The key is config.yaml's first line.",
    "Use a dot file. |.env is one",
    # marks
    "What?!| You again!!| Fine.",
    "I used Yahoo! in school.",
    "Yahoo! Mail is back.",
    "We saw the band Hurra! at night.",
    "Wow! |that is big",
    "Bonjour !| Ça va ?| Oui.",
    "a ! b is not one",
    "Really?, he thought.",
    # quotes and brackets
    '"It is late." he said.',
    '"It is late."| She yawned.',
    '"Run!" Anna shouted.| We ran.',
    '"Run!"| Anna ran.',
    "“Who?” asked the owl.",
    "“Who?”| The owl blinked.",
    "He (the tall one.) nodded.",
    "He nodded. |(Nobody saw it.)| We left.",
    'Did she say "no."?| Yes.',
    "*He waves.*| Hello!",
    "**Stop!**| Now wait.",
    "«Salut.»| Merci.",
    "It's 'fine.' they say.",
    # ellipses
    "Well... maybe not.",
    "Hmm... I think so.",
    "I waited...| Nobody came.",
    "I waited....| It was dark.",
    "It went on…| Then silence.",
    "It went on… and on.",
    "... And then what?",
    "The rest [...] Was cut.",
    "He was . . . I forget.",
    "It was over . . . .| Then rain.",
    "What...?| No way!",
    "wait..what",
    # lists
    "1. Boil water",
    "12. Add salt.| Stir.",
    "- 3. Third of them",
    "a. Wash the rice",
    "1) Flour| 2) Eggs| 3) Milk",
    "1. Wash| 2. Dry| 3. Fold",
    "1.) Wake.| 2.) Eat.",
    "• 1. Salt| • 2. Pepper",
    "a. Red| b. Blue",
    "1. I paid 7.| It was dear",
    "Three steps: 1. Mix.| 2. Bake.| 3. Eat.",
    "**So:** 1. Mix it.| Then rest.",
    "The count is: 5.| We won.",
    # Japanese
    "おはよう。|今日は晴れ！|行く？",
    "「行こう。」と彼は言った。|",
    "「本当？」って聞いた。|そう。",
    "「もう遅い。」|彼女は帰った。",
    "『やめろ！』と叫ぶ。|終わり。",
    "やった！！|次は？！|よし",
    "えっと。。。たぶん",
    "そう……でも違う。|",
    "だめだ……。|帰ろう",
    "円周率は３．１４です。|",
    "１．はじめに",
    "すごい！♪|またね",
    "うそ！（笑）|ほんと？(笑)|",
    "行くよ！😊|待って",
    "また明日！|*手を振る*",
    "*もう寝る。*|おやすみ",
    "ﾊﾛｰ｡|ﾊﾞｲ｡|",
    # Chinese, Hindi, Arabic, mixed
    "你好。|我是小王！|你呢？",
    "“我去。”他说。|",
    "“走吧！”|天黑了。",
    "यह घर है। |वह पेड़ है।",
    "كيف حالك؟ |أنا بخير.",
    "Tokyoに行く。|Next week!| 楽しみ！",
    "OK.| 了解。|Thanks!",
    "これはv2.0です。|OK?",
]


RUN = re.compile(f"[{TERMINATORS}]+")


def marked(case: str) -> tuple[str, list[str]]:
    """The text of a case without marks, and its sentences."""
    return case.replace("|", ""), [part.strip() for part in case.split("|") if part.strip()]


def cut(text: str, ends: list[int]) -> list[str]:
    edges = [0, *ends, len(text)]
    parts = [text[a:b].strip() for a, b in pairwise(edges)]
    return [part for part in parts if part]


@pytest.mark.parametrize("case", CASES)
def test_table(case: str) -> None:
    text, expected = marked(case)
    assert cut(text, sentence_ends(text)) == expected


def streamed(text: str) -> list[int]:
    """Ends found with one more character at a time, as the engine asks."""
    ends: list[int] = []
    start = position = 0
    for length in range(1, len(text) + 1):
        known, final = text[:length], length == len(text)
        while found := RUN.search(known, position):
            end = sentence_end(known, found.start(), final, start)
            if end < 0:
                break
            position = end or run_end(known, found.start())
            if end:
                ends.append(end)
                start = end
    return ends


ONE_LINE_LISTS = re.compile(r"(?:• )?(?:1|a)\.?\)? .*\|.*(?:2|b)[.)]")


@pytest.mark.parametrize("case", [case for case in CASES if not ONE_LINE_LISTS.match(case)])
def test_character_by_character(case: str) -> None:
    text, _ = marked(case)
    assert streamed(text) == sentence_ends(text)


def test_a_window_of_the_text() -> None:
    text = "One. Two. Three."
    assert sentence_ends(text, 4) == [9, 16]
    assert sentence_ends(text, 0, 9) == [4, 9]
    assert sentence_ends(text, 0, 99) == [4, 9, 16]


@pytest.mark.parametrize(
    "text",
    [
        "Wait.",
        "Wait. ",
        "Wait.)",
        'Wait." ',
        'Wait." Anna',
        "Inc. H",
        "Inc. He",
        "Jan. ",
        "We…  I",
        "はい。",
        "「え？」",
        "「え？」と",
        "すごい！*",
        "うそ！（笑",
        "end. .",
        "end. . . .",
    ],
)
def test_undecided_until_more_is_known(text: str) -> None:
    at = RUN.search(text)
    assert at is not None
    assert sentence_end(text, at.start(), False) == -1
    assert sentence_end(text, at.start(), True) >= 0


def test_decided_as_soon_as_it_can_be() -> None:
    assert sentence_end("Wait. N", 4, False) == 5
    assert sentence_end("Wait.\n", 4, False) == 5
    assert sentence_end("main.p", 4, False) == 0
    assert sentence_end("Inc. He ", 3, False) == -1
    assert sentence_end("Inc. He l", 3, False) == 4
    assert sentence_end("はい。次", 2, False) == 3


def test_inside_a_run_nothing_ends() -> None:
    assert sentence_end("Hm... Yes", 3, True) == 0
    assert sentence_end("Hm... Yes", 2, True) == 5
    assert run_end("Hm... Yes", 2) == 5
    assert run_end("Hm", 1) == 1


PIECES = """
Dr No U.S I It a.m At p Jan e.g etc He the 5 3.14 Anna said Yahoo don't ’s I'm II g i A 1. 2. 1) a.
... … . ! ? ?! 。 ！ ？ 「 」 』 と 言 他 说 笑 （ ） ( ) " ' “ ” * ** ~ | || • Monday é
😊 👩‍⚕️ 🐈‍⬛ ． ９
"""
BLANKS = [
    " ",
    ". ",
    " .",
    ". . .",
    " . . . . ",
    "  ",
    "\n",
    "\t",
    "\u0301",
    "\u200d",
    "x" * 30,
    " " * 20,
]
WORDS = st.sampled_from(PIECES.split()) | st.sampled_from(BLANKS) | st.just(" ")
TEXTS = st.lists(st.one_of(WORDS, st.text(max_size=3)), max_size=14).map("".join)


@given(TEXTS, st.integers(0, 3))
def test_a_decision_is_never_taken_back(text: str, start: int) -> None:
    for run in RUN.finditer(text, min(start, len(text))):
        whole = sentence_end(text, run.start(), True, start)
        answers = {
            sentence_end(text[:length], run.start(), False, start)
            for length in range(run.start() + 1, len(text) + 1)
        }
        assert answers <= {-1, whole}


@given(TEXTS, st.integers(0, 20))
def test_nothing_before_the_start_counts(text: str, start: int) -> None:
    for run in RUN.finditer(text, min(start, len(text))):
        here = sentence_end(text, run.start(), True, start)
        alone = sentence_end(text[start:], run.start() - start, True)
        assert here == (alone + start if alone else 0)


@given(TEXTS)
def test_ends_are_ordered_and_on_grapheme_edges(text: str) -> None:
    ends = sentence_ends(text)
    assert ends == sorted(set(ends))
    edges = {cluster.end() for cluster in regex.finditer(r"\X", text)}
    assert edges.issuperset(ends)


@given(
    TEXTS.filter(lambda text: "\n" not in text),
    st.sampled_from(["5", "At 6 a.m", "J", "Hm..", "Yahoo"]),
)
def test_looks_back_at_most_80_characters(text: str, word: str) -> None:
    near = "z" * (80 - len(word) - 1) + " " + word
    other = "q" * len(text)
    at = len(text) + len(near)
    assert sentence_end(f"{text}{near}. Bo left", at, True) == sentence_end(
        f"{other}{near}. Bo left", at, True
    )


@given(TEXTS, st.sampled_from(["", " ", "  ", ' "']))
def test_a_text_that_was_cut_off(text: str, behind: str) -> None:
    """What is decided stays so; where it is not, a name or a number may follow."""
    cut = text + behind
    for run in RUN.finditer(cut):
        at = run.start()
        known, found = sentence_end(cut, at, False), cut_off_end(cut, at)
        if known != -1:
            assert found == known
        elif found:
            gap = "" if any(map(str.isspace, cut[run.end() :])) else " "
            assert found == sentence_end(f"{cut}{gap}Bob", at, True)


def test_the_table_is_large() -> None:
    assert len(set(CASES)) == len(CASES) >= 100
