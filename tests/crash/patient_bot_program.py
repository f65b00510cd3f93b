"""`tests.crash.bot_program`, for a busy machine: Redis and other processes may answer late."""

from __future__ import annotations

from oshaberi.bot.coordination import redis_coordination
from oshaberi.stream import redis_stops
from tests.crash import bot_program

if __name__ == "__main__":
    redis_coordination.ANSWER_SECONDS = 30.0
    redis_stops.ANSWER_SECONDS = 5.0  # so long does it take until somebody is told "not yours"
    bot_program.main()
