"""Makes the record of a question whose answer a restart cut off. From it the answer continues."""

from __future__ import annotations

from oshaberi.conversation.turn_channel import TurnChannel
from oshaberi.storage.stored_records import StoredQuestion
from oshaberi.turns.admission.turn_request import TurnRequest
from oshaberi.turns.services.turn_services import TurnServices


def cut_question(
    services: TurnServices, turn_channel: TurnChannel, turn_request: TurnRequest
) -> StoredQuestion:
    """Return the question to store: the one that the first part of the answer answers."""
    earlier = turn_request.continues
    asked_id = None if earlier is None else earlier.asked_id
    return StoredQuestion(
        channel_id=turn_channel.channel_id,
        message_id=asked_id or turn_request.newest.said.id,
        server_id=turn_channel.server_id,
        user_id=turn_request.user_id,
        instance=services.instance,
        why=turn_request.why,
        is_begun=True,
    )
