"""Who speaks *to* somebody by name is answered; who speaks about them is left alone."""

from __future__ import annotations

import pytest

from oshaberi.bot.turns.name_calls import LOOK, place_of_call

TO_TARO = (
    "taro, how are you?",
    "Taro",
    "taro?",
    "TARO!!",
    "hey Taro!",
    "hey taro what's up",
    "hi taro :)",
    "hello, taro",
    "hey, taro, you there?",
    "ok taro, next one",
    "so taro, what now",
    "taro: roll a die",
    "taro how do I boil rice",
    "taro can you help me",
    "taro what time is it",
    "taro please stop",
    "taro tell me a joke",
    "good morning taro",
    "good morning, taro!",
    "good night taro",
    "thanks taro",
    "thank you, taro!",
    "thanks taro for the tip",
    "how are you, taro?",
    "what do you think, taro?",
    "can you help me, taro",
    "how are you taro?",
    "are you there taro?",
    "I am back. hi taro",
    "taro-kun, help",
    "hey taro-san what is this",
    "taro... are you awake",
    "yo taro",
    "taro",
    "dear taro, I write to you",
    "yes taro",
    "lol taro, no",
    "oh taro why",
    "also taro, what is 2+2",
    "bye taro",
    "happy birthday taro!",
    "taro could you look at this",
    "Taro, Yuki said hi",
    "what's up taro",
)
ABOUT_TARO = (
    "Taro is late",
    "I saw taro yesterday",
    "taro said hello",
    "taro's idea was good",
    "hey taro's here",
    "hey, did taro answer?",
    "I like rice, taro and beans",
    "I like yam, rice, taro",
    "mika, ask taro",
    "mika: what did taro say?",
    "do you like taro?",
    "did you see taro?",
    "have you met taro",
    "where is taro",
    "who is taro?",
    "tarot cards are fun",
    "taroro",
    "notaro, hi",
    "so taro went home",
    "ok taro is mad",
    "well taro knows",
    "and taro too",
    "but taro was right",
    "no taro today",
    "taro and mika are here",
    "taro will come later",
    "taro can swim",
    "taro did it",
    "my name is taro",
    "this is taro",
    "talk to taro",
    "tell taro I said hi",
    "is taro a bot?",
    "it was taro.",
    "thanks to taro we won",
    "yoga with taro",
    "nobody likes taro",
    "hiking, then taro",
    "the best is taro!",
    "I made taro soup",
    "taro soup is nice",
    "taro > yam",
    "taro-based recipes",
    "taro.exe crashed",
    "I wonder what taro thinks",
    "mika, taro is funny",
    "good taro recipe",
    "@taro_fan hello",
    "/taro help",
    "why does taro sleep",
    "because of taro?",
    "mika and taro?",
    "what about taro?",
    "lol taro is funny",
    "hi everyone, taro here",
    "say hi to taro",
    "hello from taro",
    "hey look at taro",
    "hey everybody, have you seen taro?",
    "not you, mika. taro did",
    "where were you, mika and taro?",
)
TO_TARO_IN_HAN = (
    "太郎、元気？",
    "太郎",
    "太郎！",
    "太郎 元気？",
    "太郎ちゃん、おはよう",
    "太郎さん！",
    "ねえ太郎",
    "ねえ太郎、聞いて",
    "ねえ、太郎ちゃん",
    "おはよう太郎",
    "おはよう、太郎！",
    "ありがとう太郎",
    "元気ですか、太郎？",
    "太郎你好",
    "太郎，你好吗？",
    "你好太郎",
    "嘿太郎，讲个笑话",
    "晚安，太郎",
    "谢谢太郎",
    "太郎くん 教えて",
)
ABOUT_TARO_IN_HAN = (
    "太郎は元気です",
    "太郎が来た",
    "昨日太郎に会った",
    "太郎の本",
    "太郎と話した",
    "太郎って誰？",
    "太郎是谁",
    "我喜欢太郎",
    "太郎的书",
    "金太郎、元気？",
    "今日は太郎も来る",
    "誰が太郎を見た？",
    "太郎次郎",
    "ねえ太郎は？",
    "おはようと太郎に言った",
)
OTHERS = (
    ("Тарас, как дела?", "Тарас", True),
    ("привет Тарас", "Тарас", True),
    ("Тарас пришёл", "Тарас", False),
    ("타로, 뭐해?", "타로", True),
    ("안녕 타로야", "타로", True),
    ("타로는 바빠", "타로", False),
    ("Miss Taro, are you there?", "Miss Taro", True),
    ("I met Miss Taro", "Miss Taro", False),
    ("hey c++!", "C++", True),
    ("", "Taro", False),
    ("taro, hi", "", False),
)


def calls(text: str, name: str) -> bool:
    return place_of_call(text.casefold(), name) >= 0


@pytest.mark.parametrize(
    ("texts", "name", "expected"),
    [
        (TO_TARO, "Taro", True),
        (ABOUT_TARO, "Taro", False),
        (TO_TARO_IN_HAN, "太郎", True),
        (ABOUT_TARO_IN_HAN, "太郎", False),
    ],
    ids=["to taro", "about taro", "to taro in han", "about taro in han"],
)
def test_everybody_speaks_like_this(texts: tuple[str, ...], name: str, expected: bool) -> None:
    """No call is missed here, and there is no false alarm."""
    assert [text for text in texts if calls(text, name) is not expected] == []


@pytest.mark.parametrize(("text", "name", "expected"), OTHERS)
def test_other_languages_and_odd_names(text: str, name: str, expected: bool) -> None:
    assert calls(text, name) is expected


def test_only_the_beginning_and_the_end_of_a_long_message_are_looked_at() -> None:
    talk = "and then we went on. " * LOOK
    assert calls(f"taro, listen: {talk}", "Taro")
    assert calls(f"{talk} what do you think, taro?", "Taro")
    assert not calls(f"{talk} taro, {talk}", "Taro")


def test_the_place_is_that_of_the_name() -> None:
    text = "hey taro!"
    assert text[place_of_call(text, "taro") :].startswith("taro")
    text = "I am here. hello, taro!"
    assert text[place_of_call(text, "taro") :].startswith("taro")
