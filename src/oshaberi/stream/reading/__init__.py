"""From chunks to queued messages.

- `chunk_reader`: the task that waits for the provider's chunks.
- `model_output`: takes each chunk, feeds the text engine and queues its messages.
- `engine_closing`: ends the text early, for a stop, the end of the process or a follow-up.
- `process_end_cut`: where a text ends that the end of the process cuts off.
- `silence_patterns`: how models write a marker of silence, and what follows it.
- `reemission`: cuts off what a provider repeats.
"""
