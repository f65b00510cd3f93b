"""Errors that people read are in their language, though packages that know none raise them."""

from __future__ import annotations

import asyncio
import copy
import pickle

import pytest

from oshaberi.bot.commands.answers import _error_text
from oshaberi.bot.commands.command_context import CommandRefusedError
from oshaberi.bot.commands.config_answers import ChannelSettings, setting_line
from oshaberi.bot.commands.personas.persona_changes import checked_name
from oshaberi.bot.config import (
    DECLARED,
    check_together,
    effective,
    load,
    parse_server_value,
)
from oshaberi.bot.config.server_settings import check_limit
from oshaberi.bot.conversation.messages import ChannelPath
from oshaberi.bot.storage.records import StoredSettings
from oshaberi.chunks import ProviderError
from oshaberi.delivery.notices import error_notice
from oshaberi.errors import ConfigError, Sentence
from oshaberi.languages import in_language, said
from oshaberi.providers.error_classification import ProviderFailure, provider_error
from oshaberi.providers.model_options import parsed_option
from oshaberi.providers.registry import connect
from oshaberi.providers.request.model_request import Endpoint
from oshaberi.providers.wire.errors import explained


def own(name: str, value: str) -> None:
    check_limit(load(None, {}), name, parse_server_value(name, value))


def together() -> None:
    check_together(load(None, {}), {"min_random_pause_ms": 3000})


@pytest.mark.parametrize(
    ("act", "english", "japanese"),
    [
        (
            lambda: own("humanizer_degree", "9"),
            "humanizer_degree: 9 is not a whole number from 0 to 3",
            "humanizer_degree：9は使えません。使える値：0から3までの整数",
        ),
        (
            lambda: own("notify", "never"),
            "notify: 'never' is not one of: all, first, last",
            "notify：'never'は使えません。使える値：次のいずれか：all, first, last",
        ),
        (
            lambda: own("max_function_call_iterations", "1000"),
            "max_function_call_iterations: 1000 is more than 100, "
            "the most that whoever runs the bot allows",
            "max_function_call_iterations：1000は大きすぎます。ボット運営者が決めた上限は100です",
        ),
        (
            together,
            "min_random_pause_ms: 3000 is not at most max_random_pause_ms, 1500",
            "min_random_pause_ms：3000は使えません。使える値：max_random_pause_ms（1500）以下の値",
        ),
        (
            lambda: parsed_option("text", "hold_limit=1"),
            "text: hold_limit: 1 is not a whole number from 50 to 4000",
            "text：hold_limit：1は使えません。使える値：50から4000までの整数",
        ),
        (
            lambda: connect("openai", " ", api_key="k"),
            "openai: needs the name of a model",
            "openai：モデル名が必要です",
        ),
        (
            lambda: checked_name("a:b"),
            "A persona cannot be called that: it contains a colon. Choose another name.",
            "ペルソナにその名前は使えません：コロンが含まれています。別の名前にしてください。",
        ),
    ],
)
def test_a_refused_value(act: object, english: str, japanese: str) -> None:
    assert callable(act)
    for language, words in (("en", english), ("ja", japanese)):
        with in_language(language), pytest.raises((ConfigError, CommandRefusedError)) as refused:
            act()
        with in_language(language):
            assert _error_text(refused.value) == words


def shown_error(error: ProviderError) -> str:
    with in_language("ja"):
        return error_notice(error).description


def test_what_went_wrong_at_a_provider() -> None:
    endpoint = Endpoint("openai", "m", "http://127.0.0.1:9/v1", "sk-0123456789abcdef")
    lost = provider_error(ProviderFailure(status=418, message="teapot"), "openai", str)
    assert lost.message == "teapot"
    assert shown_error(lost) == "サーバーの応答：HTTP 418。"
    network = ProviderError("network", "x", shown=Sentence("the connection failed"))
    told = asyncio.run(explained(network, endpoint, "openai"))
    assert told.shown == "the connection failed (at http://127.0.0.1:9; is the server running?)"
    assert shown_error(told) == (
        "接続に失敗しました（接続先：http://127.0.0.1:9。サーバーは動いていますか？）"
    )
    key = asyncio.run(explained(ProviderError("auth", "No.", shown="No."), endpoint, "openai"))
    assert shown_error(key) == "No.（末尾がcdefのキー）", "its own words stay"


def test_values_and_levels_of_settings() -> None:
    operators = load(None, {})
    stored = StoredSettings({"notify": "first"}, {5: {"llm_stop_strings": []}})
    path = ChannelPath(1, 5, None, None)
    here = ChannelSettings(path, stored, effective(operators, *stored.layers(path.ids)))
    with in_language("ja"):
        lines = [setting_line(DECLARED[key], here) for key in ("llm_stop_strings", "notify")]
        assert lines == ["* llm_stop_strings = （なし） (ここ)", "* notify = first (サーバー)"]
        origins = [here.origin_of(DECLARED[key], operators) for key in ("notify", "delivery")]
        assert origins == ["このサーバー", "組み込みの既定値"]


def test_a_sentence_is_its_english_text() -> None:
    sentence = Sentence("{path}: {problem}", path="a", problem=Sentence("it is empty"))
    assert sentence == "a: it is empty"
    assert str(ConfigError(sentence)) == "a: it is empty"
    for again in (copy.copy(sentence), pickle.loads(pickle.dumps(sentence))):
        with in_language("ja"):
            assert said(again) == "a：空です"
            assert said("it is empty") == "it is empty", "somebody else's words"
    assert Sentence("{not a template") == "{not a template"
