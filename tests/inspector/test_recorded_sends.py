"""What the inspector tells of sending is what the stage saw: real times, tries, refusals."""

from __future__ import annotations

from discord_stage.requests.request_log import RequestLog
from oshaberi.delivery.response import LimitWait
from oshaberi.inspector.recorded_sends import recorded_sends

CHANNEL = 7
SEND, WEBHOOK = f"/channels/{CHANNEL}/messages", "/webhooks/3/token"


class RecordedRequests:
    """A request log with a clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0
        self.log = RequestLog(lambda: self.now, lambda: None)

    def request(
        self, at: float, path: str, status: int, took: float = 0.1, code: int = 0, **body: object
    ) -> None:
        self.now = at
        record = self.log.open("POST", path, body, "", CHANNEL)
        self.now = at + took
        self.log.close(record, status, code)


def test_tries_of_one_message_are_one_send() -> None:
    requests = RecordedRequests()
    requests.request(101.0, SEND, 503, nonce="a", content="hello")
    requests.request(102.0, SEND, 0, nonce="a", content="hello")
    requests.request(103.5, SEND, 200, nonce="a", content="hello")
    requests.request(104.0, SEND, 200, nonce="b", content="hello")
    first, second = recorded_sends(requests.log.records, CHANNEL, 100.0, 105.0)
    assert [one.told for one in first.tries] == [
        "refused (503)",
        "the connection broke",
        "sent (200)",
    ]
    assert [one.at_ms for one in first.tries] == [1000, 2000, 3500]
    assert first.tries[0].answered_ms == 1100
    assert (first.sent_ms, second.sent_ms) == (3500, 4000)


def test_a_webhook_repeats_only_what_failed() -> None:
    requests = RecordedRequests()
    requests.request(101.0, WEBHOOK, 429, content="ha")
    requests.request(104.0, WEBHOOK, 200, content="ha")
    requests.request(105.0, WEBHOOK, 200, content="ha")
    requests.request(106.0, WEBHOOK, 404, code=10015, content="ha ha")
    found = recorded_sends(requests.log.records, CHANNEL, 100.0, 110.0)
    assert [len(send.tries) for send in found] == [2, 1, 1]
    assert [send.sent_ms for send in found] == [4000, 5000, None]
    assert found[0].tries[0].told == "a rate limit (429)"
    assert found[2].tries[0].told == "refused (404, code 10015)"
    assert {send.via for send in found} == {"webhook"}


def test_only_what_belongs_to_the_stream() -> None:
    requests = RecordedRequests()
    requests.request(99.0, SEND, 200, nonce="before", content="x")
    requests.request(101.0, f"/channels/{CHANNEL}/typing", 204)
    requests.request(101.5, SEND, 200, nonce="n", embeds=[{"title": "Overloaded"}])
    requests.request(120.0, SEND, 200, nonce="after", content="x")
    assert not recorded_sends(requests.log.records, CHANNEL + 1, 100.0, 105.0)
    (notice,) = recorded_sends(requests.log.records, CHANNEL, 100.0, 105.0)
    assert (notice.notice, notice.content, notice.sent_ms) == ("Overloaded", "", 1500)


def test_waits_for_limits_belong_to_the_request_that_left_after_them() -> None:
    requests = RecordedRequests()
    requests.request(101.0, SEND, 200, nonce="a", content="x")
    requests.request(104.01, SEND, 200, nonce="b", content="y")
    waits = [LimitWait(101.5, 104.0)]
    first, second = recorded_sends(requests.log.records, CHANNEL, 100.0, 105.0, waits)
    assert (first.tries[0].waited_ms, second.tries[0].waited_ms) == (0, 2500)
