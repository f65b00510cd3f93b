"""Applies `reply_mode`: which messages of an answer reply to the question (spec 09)."""

from __future__ import annotations

from oshaberi.conversation.turn_channel import TurnChannel
from oshaberi.delivery.response_state import ResponseState
from oshaberi.turns.admission.turn_request import TurnRequest


def may_reply(turn_request: TurnRequest, turn_channel: TurnChannel, mode: str) -> bool:
    """Tell whether a message of the answer may reply. In direct messages only `all` does."""
    is_direct = not turn_channel.server_id
    return turn_request.answering is not None and mode != "off" and (not is_direct or mode == "all")


def response_to(turn_request: TurnRequest, turn_channel: TurnChannel, mode: str) -> ResponseState:
    """Return the state of a new response. With `auto` the channel is checked before sending."""
    asked_id = turn_request.newest.said.id

    def is_due() -> bool:
        newest_id = turn_channel.newest_message_id
        return mode != "auto" or newest_id is None or newest_id > asked_id

    return ResponseState(reply_is_due=is_due, replies_always=mode == "all")
