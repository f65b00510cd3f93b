"""Numbers and JSON from outside: what is none is refused at the door, and nothing remembers it."""

from __future__ import annotations

import ast
import asyncio
import json
import logging
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from oshaberi.checked_json import (
    MOST_DEPTH,
    MOST_LENGTH,
    MOST_VALUES,
    bounded_seconds,
    parse_json,
    whole_count,
)
from oshaberi.chunks import Chunk, Usage
from oshaberi.delivery.sink import DiscordRefusalError
from oshaberi.discord_io.requests.answers import refusal_of
from oshaberi.discord_io.requests.limits import room_of_headers
from oshaberi.providers.capabilities import learned as learned_limits
from oshaberi.providers.capabilities import learned as token_calibration
from oshaberi.providers.capabilities.learned import LearnedLimits, Lesson, ModelPlace
from oshaberi.providers.google.events import refusal_failure
from oshaberi.providers.local_context_windows import LocalWindow
from oshaberi.providers.model_listing import list_models
from oshaberi.providers.registry import connect
from oshaberi.providers.request.model_request import Request, said
from tests.attacks.flood_server import DIALECTS, Flood, event, flooding, times
from tests.attacks.loop_watch import computing_at_most
from tests.providers.adapter_runs import error, read, text

SOURCE = Path(__file__).parents[2] / "src" / "oshaberi"
PLACE = ModelPlace("p", None, "m")
LONG = Request((said("user", "a question of some length " * 400, "current"),))

# -- the door ------------------------------------------------------------------------------------

NO_JSON = {
    "NaN": "NaN",
    "Infinity": '{"a": Infinity}',
    "minus infinity": "[-Infinity]",
    "too large": '{"a": 1e999}',
    "64 bits": str(2**64),
    "64 bits below": str(-(2**63) - 1),
    "many digits": "9" * 5000,
    "a million digits": "[" + "9" * 1_000_000 + "]",
    "a long fraction": "0." + "3" * 1_000_000,
    "deep": "[" * (MOST_DEPTH + 1) + "]" * (MOST_DEPTH + 1),
    "deep objects": '{"a":' * 5000 + "1" + "}" * 5000,
    "very deep": "[" * 1_000_000,
    "full": "[" + "[]," * MOST_VALUES + "1]",
    "quotes": "[" + '"",' * (MOST_VALUES + 1) + "1]",
    "long": '"' + "x" * MOST_LENGTH + '"',
}


@pytest.mark.parametrize("name", NO_JSON)
def test_the_door_refuses(name: str) -> None:
    with computing_at_most(), pytest.raises(json.JSONDecodeError):
        parse_json(NO_JSON[name])
    with computing_at_most(), pytest.raises(json.JSONDecodeError):
        parse_json(NO_JSON[name].encode())


@pytest.mark.parametrize(
    "document",
    [
        "[" + ",".join(map(str, range(10**9, 10**9 + MOST_VALUES - 2))) + "]",
        "[" + ",".join(["[]"] * (MOST_VALUES // 2 - 2)) + "]",
        "[" + ",".join(['{"a": 1}'] * (MOST_VALUES // 2 - 2)) + "]",
        '["' + "," * (MOST_LENGTH - 9) + '"]',
        '["' + '\\",' * (MOST_LENGTH // 3 - 9) + '"]',
        "[" * MOST_DEPTH + "]" * MOST_DEPTH,
    ],
    ids=["numbers", "lists", "objects", "commas in a text", "quotes in a text", "depth"],
)
def test_what_passes_the_door_is_parsed_in_time(document: str) -> None:
    expected = json.loads(document)
    with computing_at_most():
        assert parse_json(document) == expected


@pytest.mark.parametrize(
    "value", [0, -1, 2**63, 2**64 - 1, -(2**63), 1.5, "NaN", None, [], {"a": []}]
)
def test_json_passes_the_door(value: object) -> None:
    assert parse_json(json.dumps(value)) == value
    assert parse_json(json.dumps(value).encode("utf-16")) == value


@pytest.mark.parametrize(
    ("value", "count"),
    [
        *((0, 0), (7, 7), (7.0, 7), (10**9, 10**9), (10**9 + 1, None), (-1, None), (1.5, None)),
        *((float("nan"), None), (float("inf"), None), (True, None), ("7", None), ([], None)),
    ],
)
def test_a_count_is_whole_and_bounded(value: object, count: int | None) -> None:
    assert whole_count(value) == count


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        *((0, 0.0), ("1.5", 1.5), (10**400, None), (1e9, 86_400.0), ("-1", None), ("nan", None)),
        *(("inf", None), ("1e999", None), ("9" * 9999, None), ("soon", None), (None, None)),
    ],
)
def test_seconds_are_finite_and_bounded(value: object, seconds: float | None) -> None:
    assert bounded_seconds(value) == seconds


# -- every JSON from outside goes through the door -----------------------------------------------

OWN_JSON = {
    "checked_json.py": "the door itself",
    "inspector/stream_log.py": "unpacks what the same object packed",
    "bot/turns/services/adapter_pool.py": "settings that it has just written as a key",
}
"""Files that parse JSON by themselves, and why they may. The demo model is a server for a local
run: only this machine can reach it."""

OWN_BODIES = {
    "public_fetching.py": "has a limit of its own and unpacks nothing",
    "providers/connections/model_connections.py": "bounds the bodies of models",
    "discord_io/buttons.py": "Discord's file server, after Discord's own word on its size",
    "bot/commands/personas/picture_uploads.py": "an upload, after Discord's own word on its size",
    "bot/status_page/routes.py": "aiohttp's server reads at most 1 MB of a form",
    "providers/connections/aiohttp_transport.py": "reads the body of our own request",
}
"""Files that read a body with the methods of an HTTP library, and why they may. discord.py reads
the answers of Discord's API itself."""

READING = frozenset({"read", "text", "json", "readany", "aread", "aiter_bytes", "iter_bytes"})
ITERATED = frozenset({"iter_any", "iter_chunked", "aiter_raw", "aiter_bytes", "aiter_text"})
BOUNDING = frozenset({"pieces_within", "whole_body", "body_beginning"})


@cache
def _files() -> tuple[tuple[str, ast.Module], ...]:
    return tuple(
        (path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text(encoding="utf-8")))
        for path in sorted(SOURCE.rglob("*.py"))
        if not path.is_relative_to(SOURCE / "bot" / "local_run" / "demo_model")
    )


def _parses_json(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id="json"), attr="loads" | "load" | "JSONDecoder"):
            return True
        case ast.ImportFrom(module="json", names=names):
            return any(one.name in ("loads", "load", "JSONDecoder") for one in names)
        case ast.Attribute(attr="model_validate_json" | "validate_json"):
            return True
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return any(one.name in ("orjson", "ujson", "simplejson", "msgpack") for one in names)
    return False


def test_every_json_from_outside_goes_through_the_door() -> None:
    found = {name for name, tree in _files() if any(map(_parses_json, ast.walk(tree)))}
    assert found == set(OWN_JSON), "parse it with checked_json.parse_json, or say why not"


def _reads_body(node: ast.AST) -> bool:
    """Return whether a node awaits all of a body: `await answer.read()`."""
    match node:
        case ast.Await(value=ast.Call(func=ast.Attribute(value=of, attr=name), args=[])):
            return name in READING and not _is_ours(of)
        case ast.Attribute(attr="readany"):
            return True
    return False


def _is_ours(of: ast.expr) -> bool:
    return isinstance(of, ast.Name) and of.id == "self"


def _iterates_body(tree: ast.Module) -> bool:
    """Return whether a body is iterated elsewhere than in a call that bounds it."""
    bounded: set[ast.AST] = set()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in BOUNDING:
            bounded.update(ast.walk(node))
            names.update(one.id for one in ast.walk(node) if isinstance(one, ast.Name))
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Assign)
            and {getattr(one, "id", "") for one in node.targets} & names
        ):
            bounded.update(ast.walk(node))
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and node not in bounded)
    return any(getattr(call.func, "attr", "") in ITERATED for call in calls)


def test_every_body_from_outside_is_bounded() -> None:
    found = {
        name
        for name, tree in _files()
        if any(map(_reads_body, ast.walk(tree))) or _iterates_body(tree)
    }
    assert found == set(OWN_BODIES), "read it with foreign_bodies, or say why not"


# -- a poisoned answer, and the ones after it ----------------------------------------------------

POISON = ["NaN", "Infinity", "-Infinity", "1e999", "9" * 400, "-5", '"many"', "[]", "1.5", "true"]
POISON += ["18446744073709551615", "[" * 5000 + "]" * 5000, "null", "1000000000"]
COUNTING = [name for name, dialect in DIALECTS.items() if dialect.usage]


def asked(provider: str, *floods: Flood) -> tuple[list[list[Chunk]], LearnedLimits]:
    """One answer for each flood, from one adapter."""
    learned = LearnedLimits()
    with flooding(*floods) as server:

        async def main() -> list[list[Chunk]]:
            adapter = connect(
                provider, "m", api_key="x", base_url=server.url, learned=learned, window=100_000
            )
            try:
                return [await read(adapter, LONG) for _ in floods]
            finally:
                await adapter.aclose()

        return asyncio.run(main()), learned


@pytest.mark.parametrize("provider", COUNTING)
def test_after_a_poisoned_count_the_next_answers_are_as_before(
    provider: str, caplog: pytest.LogCaptureFixture
) -> None:
    dialect = DIALECTS[provider]
    assert dialect.usage
    usage = dialect.usage
    healthy = Flood([dialect.text("Hi"), usage("2800")])
    poisoned = [Flood([dialect.text("Oh"), usage(poison)]) for poison in POISON]
    floods = [one for poison in poisoned for one in (poison, healthy)]
    with caplog.at_level(logging.WARNING):
        answers, learned = asked(provider, *floods)
    for poison, found, after in zip(POISON, answers[::2], answers[1::2], strict=True):
        assert text(found) == "Oh", poison
        counted = found[-1].usage or Usage()
        assert type(counted.input_tokens) is int, poison
        assert 0 <= counted.input_tokens <= 10**9, poison
        assert text(after) == "Hi", poison
        assert after[-1].usage == Usage(2800, 2800), poison
    ratios = dict(learned.tokens._ratios)
    assert all(0.5 < ratio < 1.5 for ratio in ratios.values())
    assert ratios
    doubts = [one for one in caplog.records if "not trusted" in one.getMessage()]
    assert len(doubts) == 1


@pytest.mark.parametrize("provider", DIALECTS)
@pytest.mark.parametrize("number", ["NaN", "1e999", "9" * 5000, "[" * 9000])
def test_an_event_that_is_no_json_ends_one_answer_only(provider: str, number: str) -> None:
    dialect = DIALECTS[provider]
    bad = b'data: {"token": "x", "x": %s}\n\n' % number.encode()
    answers, _learned = asked(
        provider,
        Flood([dialect.text("Oh"), bad]),
        Flood([dialect.text("Hi"), dialect.end]),
    )
    assert text(answers[0]) == "Oh"
    assert error(answers[0]).type == "api_error"
    assert text(answers[1]) == "Hi"
    assert answers[1][-1].type == "done"


RETRY = ["nan", "inf", "-inf", "1e999", "-1", "9" * 4000, "tomorrow"]


@pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic"])
def test_a_retry_after_is_finite(provider: str) -> None:
    refusals = [Flood([b"{}"], 429, (f"retry-after: {value}",)) for value in RETRY]
    answers, _learned = asked(provider, *refusals, Flood([b"{}"], 429, ("retry-after: 1e9",)))
    raw: list[Any] = [error(found).raw for found in answers]
    assert [one["retry_after_s"] for one in raw] == [None] * len(RETRY) + [86_400.0]


def test_the_delay_of_gemini_is_finite() -> None:
    detail = {"@type": "RetryInfo", "retryDelay": f"{'9' * 90}s"}
    refusal = {"error": {"code": 429, "message": "no", "details": [detail]}}
    assert refusal_failure(429, json.dumps(refusal).encode()).retry_after_s == 86_400.0


@pytest.mark.parametrize("provider", DIALECTS)
def test_codes_of_an_error_are_no_status_if_they_cannot_be(provider: str) -> None:
    body = {"error": {"message": "no", "code": "9" * 5000, "type": "٣"}}
    answers, _learned = asked(provider, Flood([json.dumps(body).encode()], 400, ()))
    problem = error(answers[0])
    assert isinstance(problem.raw, dict)
    assert problem.raw["status"] == 400


# -- what is learned -----------------------------------------------------------------------------


@pytest.mark.parametrize("counted", [float("nan"), float("inf"), -1, 10**30, 10**9, 1, "9", None])
def test_a_count_that_cannot_be_is_not_learned(
    counted: Any, caplog: pytest.LogCaptureFixture
) -> None:
    tokens = LearnedLimits().tokens
    tokens.note(PLACE, 1000, 1100)
    for _ in range(50):
        tokens.note(PLACE, 1000, counted)
    assert tokens.ratio(PLACE) == pytest.approx(1.1 * token_calibration.MARGIN)
    assert len(caplog.records) == 1


def test_learned_ratios_are_bounded_in_number() -> None:
    tokens = LearnedLimits().tokens
    for number in range(token_calibration.MOST_PLACES + 100):
        tokens.note(ModelPlace("p", None, str(number)), 1000, 1100)
        tokens.note(ModelPlace("q", None, str(number)), 1000, 10**8)
    assert len(tokens._ratios) == token_calibration.MOST_PLACES
    assert len(tokens._doubted) == token_calibration.MOST_PLACES


IMPOSSIBLE = [
    "max_tokens is too large. This model supports at most 0 completion tokens",
    f"max_tokens is too large. This model supports at most {'9' * 1500} completion tokens",
]


@pytest.mark.parametrize("message", IMPOSSIBLE)
def test_an_impossible_limit_is_not_learned(message: str, caplog: pytest.LogCaptureFixture) -> None:
    dialect = DIALECTS["openai"]
    refusal = Flood([json.dumps({"error": {"message": message}}).encode()], 400, ())
    healthy = Flood([dialect.text("Hi"), dialect.end])
    with caplog.at_level(logging.WARNING):
        answers, learned = asked("openai", refusal, healthy, refusal, healthy, refusal, healthy)
    assert [text(found) for found in answers][-1] == "Hi"
    lessons = [one for kept in learned._places.values() for _since_s, one in kept.lessons]
    assert not any("output_limit" in one.changes for one in lessons)
    assert sum("cannot be" in one.getMessage() for one in caplog.records) == 1


def test_lessons_are_bounded_in_number() -> None:
    learned = LearnedLimits()
    for number in range(learned_limits.MOST_PLACES + 50):
        learned.learn(ModelPlace("p", None, str(number)), Lesson("x"))
    for number in range(100):
        learned.learn(PLACE, Lesson(str(number), {"output_limit": 1000 + number}))
    assert len(learned.told(PLACE)) == learned_limits.MOST_LESSONS
    assert len(learned._places) == learned_limits.MOST_PLACES


# -- servers that say how large a model is, or which there are -----------------------------------

WINDOWS = ["NaN", "1e999", "-1", "0", "9" * 5000, '"9"', "true", "1.5", "[" * 5000, str(10**12)]


@pytest.mark.parametrize("window", WINDOWS)
def test_a_local_window_that_cannot_be_is_unknown(window: str) -> None:
    answer = b'{"data": [{"id": "m", "max_model_len": %s}]}' % window.encode()
    shown = b'{"parameters": "num_ctx %s"}' % window[:4000].encode()

    async def main(url: str, server: str) -> int | None:
        return await LocalWindow(server, url, "m")()

    with flooding(Flood([answer])) as server:
        assert asyncio.run(main(server.url, "vllm")) is None
    with flooding(Flood([b"{}"]), Flood([shown])) as server:
        assert asyncio.run(main(server.url, "ollama")) is None


def test_a_list_of_models_is_bounded() -> None:
    async def listed(url: str) -> Any:
        return await list_models("openai", url, "key")

    names = [{"id": "x" * 9000}, {"id": "m"}, {"id": 5}, 5, *[{"id": "n"}] * 20_000]
    with flooding(Flood([json.dumps({"data": names}).encode()])) as server:
        found = asyncio.run(listed(server.url))
        assert found.names[0] == "m"
        assert len(found.names) < 10_000
    with flooding(Flood(times(50, b"["))) as server:
        assert "longer than" in asyncio.run(listed(server.url)).reason
    with flooding(Flood([b"[" * 100_000])) as server:
        assert asyncio.run(listed(server.url)).names == ()


# -- Discord -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", ["NaN", "Infinity", "1e999", '"soon"', "-1", "[]", "9" * 400])
def test_a_rate_limit_of_discord_is_finite(seconds: str) -> None:
    body = b'{"message": "slow", "retry_after": %s}' % seconds.encode()
    refusal = refusal_of(429, body, {})
    assert isinstance(refusal, DiscordRefusalError)
    assert refusal.retry_after_ms is None
    headers = {
        "X-RateLimit-Limit": "5",
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset-After": seconds.strip('"'),
    }
    assert room_of_headers(headers, 0.0) is None


def test_an_event_with_all_its_numbers_is_read() -> None:
    """A document that is long and full, but honest, passes every limit."""
    numbers = {"logprobs": [-0.5, 1e-9, 2**53] * 5000, "choices": [{"delta": {"content": "Hi"}}]}
    answers, _learned = asked("openai", Flood([event(numbers), DIALECTS["openai"].end]))
    assert text(answers[0]) == "Hi"
