"""Remembers from Discord's headers how many requests the buckets of channels and webhooks allow."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping

from oshaberi.delivery.sink import RequestKind, RequestRoom

KEPT_ROOMS = 4000


class KnownRooms:
    """What is left in each bucket, by kind of request and channel or webhook."""

    def __init__(self) -> None:
        self._rooms: OrderedDict[tuple[RequestKind, int], RequestRoom] = OrderedDict()

    def note(self, kind: RequestKind, place_id: int, headers: Mapping[str, str]) -> None:
        """Note the headers of an answer. Headers without a bucket change nothing."""
        room = RequestRoom.of_headers(headers, asyncio.get_running_loop().time())
        if room is None:
            return
        self._rooms[kind, place_id] = room
        self._rooms.move_to_end((kind, place_id))
        if len(self._rooms) > KEPT_ROOMS:
            self._rooms.popitem(last=False)

    def of(self, kind: RequestKind, place_id: int | None) -> RequestRoom | None:
        return None if place_id is None else self._rooms.get((kind, place_id))
