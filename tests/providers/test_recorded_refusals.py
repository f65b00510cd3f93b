"""Recorded errors of real APIs, refusals and broken streams: each gets a class.

`python -m tests.providers.test_recorded_refusals` prints the table. Reads recordings that are no
part of the project; where there are none it is skipped.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping

import pytest

from oshaberi.checked_json import parse_json
from oshaberi.chunks import ErrorType, ProviderError
from oshaberi.providers.error_classification import provider_error
from oshaberi.providers.google.events import refusal_failure
from oshaberi.providers.wire.errors import body_failure, refused_by_page
from tests.providers.adapter_runs import read
from tests.providers.independent_decoding import decoded
from tests.providers.recorded_bodies import RecordedBody, adapter_of_bytes, recordings, refusals

MISSING = pytest.mark.skip(reason="no refusals here: OSHABERI_RECORDINGS names their folder")
ALLOWED: Mapping[int, frozenset[ErrorType]] = {
    401: frozenset({"auth"}),
    402: frozenset({"balance_exhausted", "affordability"}),
    403: frozenset({"auth", "model_error", "content_blocked"}),
    404: frozenset({"model_error", "api_error"}),
    413: frozenset({"context_length"}),
    429: frozenset({"rate_limit", "balance_exhausted"}),
    503: frozenset({"provider_overloaded"}),
    529: frozenset({"provider_overloaded"}),
}


BROKEN = [one for one in recordings() if decoded(one.family, one.path.read_bytes()).error]
"""Streams that end with an error."""
ERRORS = [*refusals(), *BROKEN]


def classified(recorded: RecordedBody) -> ProviderError:
    content = recorded.path.read_bytes()
    if recorded.status == 200:
        problem = asyncio.run(read(adapter_of_bytes(recorded.family, [content])))[-1].error
        assert problem is not None
        return problem
    if recorded.family == "google":
        failure = refusal_failure(recorded.status, content)
    else:
        try:
            failure = body_failure(parse_json(content), recorded.status)
        except ValueError:
            failure = refused_by_page(recorded.status)
    return provider_error(failure, recorded.vendor, str)


@pytest.mark.parametrize("recorded", ERRORS or [pytest.param(None, marks=MISSING)], ids=str)
def test_a_recorded_error_has_a_class(recorded: RecordedBody) -> None:
    problem = classified(recorded)
    assert problem.message
    if recorded.status in ALLOWED:
        assert problem.type in ALLOWED[recorded.status], problem.message
    if recorded.status >= 500:
        assert problem.retryable


def main() -> None:
    sys.stdout.write("| family | status | class | retryable | message |\n|---|---|---|---|---|\n")
    for one in ERRORS:
        problem = classified(one)
        cells = (one.family, one.status, problem.type, problem.retryable, problem.message[:140])
        sys.stdout.write("| " + " | ".join(str(cell).replace("\n", " ") for cell in cells) + " |\n")


if __name__ == "__main__":
    main()
