"""The shards of the client. A process may serve all of them, or some for a time.

- `reconnect_backoff`: how long a shard waits before it connects again.
- `movable_shards`: starts and gives up single shards while the client runs.
- `gateway_state`: which shards are connected.
- `channels_of_other_shards`: fetches a channel whose server another process serves.
"""
