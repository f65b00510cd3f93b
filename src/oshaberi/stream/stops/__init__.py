"""Requests to stop a stream: `stop_registry` in one process, `redis_stops` in all of them."""
