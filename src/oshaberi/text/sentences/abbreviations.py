"""The abbreviations after which a period does not (always) end a sentence, as data.

`rule_of(token)` says how the period after a token behaves; `end_rules` decides what
follows from it.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Final


class AbbreviationRule(Enum):
    """The effect of a period after a token."""

    PLAIN = auto()  # ends the sentence
    BOUND = auto()  # never ends one (Mr. vs. e.g.)
    LOOSE = auto()  # ends one only before a word that clearly starts the next (Inc. U.S. etc.)
    NUMBER = auto()  # belongs to the digit after it (No. 5), else ends
    MONTH = auto()  # as NUMBER, and continues in lower case (in Dec. we left)
    INITIAL = auto()  # a single capital (J. Smith)
    LETTER = auto()  # a single small letter (plan b.)
    CLOCK = auto()  # a.m. and p.m.


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BOUND: Final = _words("mr mrs mx dr prof messrs mme mlle vs v cf viz e.g i.e a.k.a p.s n.b")
_LOOSE: Final = _words(
    "sr jr st mt ft inc ltd co corp llc bros dept univ assn gmbh etc ibid approx esp incl excl misc"
    " resp orig temp ave blvd bldg apt lbs oz hrs yrs mins ph.d ed.d m.sc b.sc ll.b ll.m d.phil"
)
# Small letters make these ordinary words or slang: `fr.`, `a rep.`, `in the sun.`
_LOOSE_AS_WRITTEN: Final = _words(
    "Ms Fr Rev Gen Col Capt Cmdr Lt Sgt Cpl Maj Adm Gov Sen Rep Hon Pres Supt Esq Rd"
    " Mon Tue Tues Wed Thu Thur Thurs Fri Sat Sun"
)
_DEGREES: Final = _words("PhD MD BA MA BSc MSc MBA DDS")
_NUMBER: Final = _words(
    "no nos n° nº № nr vol vols fig figs ref refs pp p ch chs sec secs eq eqs art para pt pts ca"
    " est jan feb mar apr jun jul aug sep sept oct nov dec"
)
_MONTH: Final = _words("Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec")

_ACRONYM: Final = re.compile(r"(?:[^\W\d_]\.-?)+[^\W\d_]")
_CLOCK: Final = re.compile(r"\d{0,2}[ap]\.m", re.IGNORECASE)
_CLAUSE_EDGE: Final = re.compile(r"[-–—/(\[\"“'‘]")

# Letters that stand in front of a number: page, circa, note, born, died, line.
NUMBERED_LETTERS: Final = frozenset("pcnbdl")

# Units with only their first letter capital, besides the single letters.
UNITS: Final = _words("Hz Pa Wh Ah Sv Bq Gy Wb Nm Kb Mb Gb Tb Kbps Mbps Gbps Tbps")

BANG_NAMES: Final = _words("yahoo jeopardy")

ZONES: Final = _words(
    "UTC GMT EST EDT ET CST CDT CT MST MDT MT PST PDT PT CET CEST BST IST JST KST Eastern Central"
    " Pacific Mountain Monday Tuesday Wednesday Thursday Friday Saturday Sunday Mon Tue Wed Thu Fri"
    " Sat Sun January February March April June July August September October November December"
    " Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec"
)

STARTERS: Final = _words(
    "a after all also although an and another any anyway are as at be because before both but by"
    " can come could did do does during each even every everyone everything finally first for from"
    " get go had has have he hence her here hers his how however i if in instead is it its just"
    " last later let like look maybe meanwhile might more moreover most much my next nobody none"
    " nor not nothing now of oh ok okay on once one only or other our people perhaps please really"
    " see several she should since so some someone something sometimes soon still such take thank"
    " thanks that the their them then there therefore these they this those though thus to today"
    " tomorrow try two under unfortunately until was we well were what whatever when whenever where"
    " whether which while who whom whose why wow would yes yesterday yet you your"
)

SPEECH: Final = _words(
    "said says say asked asks replied replies answered answers whispered whispers shouted shouts"
    " yelled cried exclaimed muttered murmured added adds continued called laughed sighed wrote"
)


def rule_of(token: str) -> AbbreviationRule:
    """Return the effect of a period after `token` (no spaces, opening marks stripped)."""
    if len(token) == 1:
        if token.isupper():
            return AbbreviationRule.INITIAL
        return (
            AbbreviationRule.BOUND
            if token == "v"
            else AbbreviationRule.LETTER
            if token.islower()
            else AbbreviationRule.PLAIN
        )
    if len(token) > 7:
        token = _CLAUSE_EDGE.split(token)[-1]
    return _rule_of_word(token, token.lower())


def _rule_of_word(token: str, lower: str) -> AbbreviationRule:
    if lower in _BOUND or token == "Ms":
        return AbbreviationRule.BOUND
    if lower in _LOOSE or token in _LOOSE_AS_WRITTEN or token in _DEGREES:
        return AbbreviationRule.LOOSE
    if token in _MONTH:
        return AbbreviationRule.MONTH
    if lower in _NUMBER:
        return AbbreviationRule.NUMBER
    if "." not in token:
        return AbbreviationRule.PLAIN
    if _CLOCK.fullmatch(token):
        return AbbreviationRule.CLOCK
    return AbbreviationRule.LOOSE if _ACRONYM.fullmatch(token) else AbbreviationRule.PLAIN


def keeps_period(token: str) -> bool:
    """Return whether a last word needs its period: `etc.`, `a.m.`, `Smith Jr.`"""
    return token not in _DEGREES and rule_of(token) in (
        AbbreviationRule.BOUND,
        AbbreviationRule.LOOSE,
        AbbreviationRule.CLOCK,
    )
