"""A poll in JSON, with its results so far."""

from __future__ import annotations

from oshaberi.stage.world.discord_records import Json, Poll


def poll(item: Poll, bot_id: int) -> Json:
    return {
        "question": item.question,
        "answers": [
            {"answer_id": number, "poll_media": media}
            for number, media in enumerate(item.answers, 1)
        ],
        "expiry": item.expires_at,
        "allow_multiselect": item.multiple,
        "layout_type": 1,
        "results": {
            "is_finalized": item.ended,
            "answer_counts": [
                {"id": number, "count": len(voters), "me_voted": bot_id in voters}
                for number, voters in sorted(item.votes.items())
                if voters
            ],
        },
    }
