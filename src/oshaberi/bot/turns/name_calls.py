"""Whether a message speaks *to* somebody by name, or only about them. Pure.

"taro, how are you?" and "hey Taro!" speak to Taro; "Taro is late" and "I saw taro" do not. Only the
beginning and the end of a message count: a name in the middle is talk about somebody. In case of
doubt, nobody is called: an answer that nobody wanted is worse than one that is missing, since a
mention always works.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from oshaberi.text.normalize.pieces import is_spaced_letter

LOOK = 160
"""How many characters at the beginning and at the end are checked, besides the name."""

_GREETING = (
    r"hey|hi|hiya|heya|hello|hullo|yo|oi|oy|dear|good (?:morning|afternoon|evening|night)|morning"
    r"|thanks|thank you|thx|ty|sorry|please|welcome back|happy birthday|bye|goodbye"
    r"|ねえ|ねぇ|ね|おーい|おい|やあ|あの|こんにちは|こんばんは|おはよう(?:ございます)?|おやすみ(?:なさい)?"
    r"|ありがとう(?:ございます)?|ごめん|もしもし|喂|嗨|嘿|你好|您好|早上好|晚安|谢谢|안녕|저기|야|고마워"
    r"|hola|salut|bonjour|hallo|ciao|hej|привет|эй|спасибо"
)
_FILLER = (
    r"ok|okay|so|well|and|but|um|uh|hm+|yes|yeah|yep|no|nah|nope|wow|lol|oh|ah|also"
    r"|えっと|うん|いや"
)
_OPENING = re.compile(
    rf"(?:(?P<greeting>{_GREETING})|(?:{_FILLER}))(?P<gap>[\s,，、.!！?？~〜…]{{0,8}})"
)
_ANY_OPENING = re.compile(
    rf"\b(?:{_GREETING}|{_FILLER}|there)\b|(?:{_GREETING})(?=[\s!！?？~〜…。、]|$)"
)
_HONORIFIC = re.compile(
    r"[-\s]?(?:san|chan|kun|sama|senpai|sensei)\b|さん|ちゃん|くん|君|様|さま|先輩|先生|氏|님|씨|야|아"
)
_PAUSE = re.compile(r"\s{0,8}(?:$|[,，、!！?？。…~〜♪：]|\.{2,3}|[.:;–—-](?:\s|$)|\n)")
_QUESTION = re.compile(
    r"\s{1,8}(?:(?:how|what|who|where|when|why|which)(?:'s|'re|s)?\b|please\b|pls\b"
    r"|(?:tell|help) (?:me|us)\b|(?:can|could|would|will|do|did|are|have|should) (?:you|u|we|i)\b)"
)
_BEFORE_END = re.compile(
    rf"(?:^|[.!?,;。！？、\n])\s{{0,8}}(?:{_GREETING}|{_FILLER}|how are (?:you|u)|how r u"
    r"|what's up|whats up|sup|how's it going|how do you do"
    r"|are you (?:there|here|ok|okay|awake|up|ready)|see (?:you|ya))"
    r"[\s,，、]{0,8}$"
)
_SECOND_PERSON = re.compile(r"\b(?:you|your|yours|u|ur)\b|[?？]|[你您]|あなた|ください|して")
_ABOUT = (
    "は",
    "が",
    "を",
    "に",
    "の",
    "と",
    "も",
    "へ",
    "で",
    "や",
    "って",
    "から",
    "まで",
    "だ",
    "是",
    "的",
)
"""Endings that follow a name in talk about somebody, in scripts without spaces."""
_END = " \t\n\u3000.!?。！？~〜…♪)）"
_MOST_OPENINGS = 3


def place_of_call(text: str, name: str) -> int:
    """Return where a casefolded text speaks to this name; -1 if it does not."""
    name = name.strip().casefold()
    if not name:
        return -1
    heard = text.strip()
    at = _at_beginning(heard[: LOOK + len(name)], name)
    return at if at >= 0 else _at_end(heard, name)


def is_only_a_call(text: str, names: Iterable[str]) -> bool:
    """Return whether a message says nothing but one of these names, perhaps with a greeting."""
    rest = text.casefold().strip()
    if len(rest) > LOOK:
        return False
    for name in sorted({one.strip().casefold() for one in names if one.strip()}, key=len)[::-1]:
        rest = rest.replace(name, " ", 1)
    rest = _HONORIFIC.sub(" ", _ANY_OPENING.sub(" ", rest))
    return not any(sign.isalnum() for sign in rest)


def _at_beginning(head: str, name: str) -> int:
    at, is_greeted = 0, False
    for _ in range(_MOST_OPENINGS):
        if head.startswith(name, at) and _goes_on_as_call(head, at + len(name), name, is_greeted):
            return at
        opening = _OPENING.match(head, at)
        if opening is None:
            return -1
        at = opening.end()
        if not opening["gap"] and at < len(head) and is_spaced_letter(head[at - 1]):
            return -1  # the word goes on: "yoga", "nobody"
        is_greeted = is_greeted or opening["greeting"] is not None
    found = head.startswith(name, at) and _goes_on_as_call(head, at + len(name), name, is_greeted)
    return at if found else -1


def _goes_on_as_call(head: str, end: int, name: str, is_greeted: bool) -> bool:
    rest = head[end:]
    if _PAUSE.match(rest) or _QUESTION.match(rest) or rest.startswith(("你", "您")):
        return True
    honorific = _HONORIFIC.match(rest)
    if honorific is not None:
        rest = rest[honorific.end() :]
        if _PAUSE.match(rest):
            return True
    if is_spaced_letter(name[-1]):
        return is_greeted and rest[:1].isspace()
    if rest[:1].isspace():
        return True
    return is_greeted and not rest.startswith(_ABOUT)


def _at_end(heard: str, name: str) -> int:
    tail = heard[-(LOOK + len(name)) :]
    bare = tail.rstrip(_END)
    for end in (bare, _HONORIFIC_END.sub("", bare)):
        if not end.endswith(name):
            continue
        before = end[: -len(name)]
        if before and is_spaced_letter(before[-1]) and is_spaced_letter(name[0]):
            return -1
        after_comma = before.rstrip().endswith((",", "，", "、"))
        if _BEFORE_END.search(before) or (after_comma and _SECOND_PERSON.search(tail)):
            return len(heard) - len(tail) + len(before)
    return -1


_HONORIFIC_END = re.compile(rf"(?:{_HONORIFIC.pattern})$")
