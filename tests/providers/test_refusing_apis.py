"""Every combination of thinking, tools, images and stop strings is answered: by known models at
once, by others with at most one more request the first time and none the second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import product

import pytest

from oshaberi.providers.registry import connect
from oshaberi.providers.request.model_request import (
    ContextItem,
    ImagePart,
    Part,
    Request,
    TextPart,
    Thinking,
    ToolDeclaration,
    said,
)
from tests.providers.adapter_runs import read, text
from tests.providers.provider_families import KEY
from tests.providers.refusing_apis import MODELS, RefusingModel, RefusingServer, has_image

LEVELS: tuple[Thinking, ...] = (None, "off", "low", "medium", "high")
PICTURE = ImagePart(data=b"\x89PNG", mime="image/png")


def _request(thinking: Thinking, tools: bool, image: bool, stop: bool, sampling: bool) -> Request:
    parts: tuple[Part, ...] = (TextPart("look"), PICTURE) if image else (TextPart("look"),)
    return Request(
        (said("system", "Be brief."), ContextItem("user", parts, "current")),
        tools=(ToolDeclaration("look"),) if tools else (),
        stop_strings=("###",) if stop else (),
        thinking=thinking,
        max_output_tokens=500,
        temperature=0.5 if sampling else None,
        top_p=0.9 if sampling else None,
    )


SWITCH = (False, True)
ALL = [
    *(_request(*chosen, False) for chosen in product(LEVELS, SWITCH, SWITCH, SWITCH)),
    *(_request(level, tools, False, False, True) for level, tools in product(LEVELS, SWITCH)),
    _request(3000, False, False, False, False),
    _request(3000, True, False, False, True),
]


async def _asked(model: RefusingModel, requests: Sequence[Request]) -> list[tuple[int, int]]:
    """For each request, how often it was asked the first time and the second, if there was one."""
    counts = []
    async with RefusingServer(model) as server:
        for request in requests:
            adapter = connect(model.preset, model.model, api_key=KEY, base_url=server.url)
            before = len(server.requests)
            first = text(await read(adapter, request))
            between = len(server.requests)
            # Nothing is learnt from an answer at once: it would be the same again.
            second = text(await read(adapter, request)) if between - before > 1 else first
            await adapter.aclose()
            assert (first, second) == ("Hello!", "Hello!"), request
            counts.append((between - before, len(server.requests) - between))
    return counts


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The model .* is deprecated:DeprecationWarning")
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_every_combination_is_answered(model: RefusingModel) -> None:
    counts = asyncio.run(_asked(model, ALL))
    most = 1 if model.is_known else 2
    assert {first for first, _ in counts} <= set(range(1, most + 1))
    assert {second for first, second in counts if first > 1} <= {1}


def test_images_become_notes() -> None:
    """The same request, and the picture as a word."""
    [model] = [one for one in MODELS if one.preset == "llamacpp" and has_image_rule(one)]

    async def main() -> tuple[list[bool], str]:
        async with RefusingServer(model) as server:
            adapter = connect("llamacpp", "local", base_url=server.url)
            await read(adapter, _request(None, True, True, True, False))
            await adapter.aclose()
            return [has_image(one.json) for one in server.requests], str(server.requests[1].json)

    seen, second = asyncio.run(main())
    assert seen == [True, False]
    assert "[image]" in second
    assert "'tools'" in second
    assert "'stop'" in second


def has_image_rule(model: RefusingModel) -> bool:
    body = {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}
    return any(rule(body) is not None for rule in model.rules)
