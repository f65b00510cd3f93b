"""When a message leaves.

- `typing_pace`: how long a person would type (pure).
- `bucket_pace`: when a message may leave so that Discord's bucket does not run empty (pure).
- `loop_clock`: the time, read cheaply.
- `interruptible_waits`: every wait of a delivery, so that a stop ends all of them at once.
- `request_deadline`: cuts off a request that is not answered, or that a stop withdraws.
- `typing_indicator`: shows that somebody is typing; `indicator_requests` asks the sink for it.

The messages wait in `delivery.typing_waits` and `delivery.bucket_waits`, which know the queue.
"""
