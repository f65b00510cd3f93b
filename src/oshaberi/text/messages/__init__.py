"""Step 07a: from normalised text to messages.

`chunker` cuts by line or sentence around what must stay whole, or for length; `emoji_runs`
isolates custom emoji; `orphan_punctuation` waits for the text it belongs to; `packing` fills
messages; `humanize` (degree 3); `composer` runs them in order; `live_preview` shows unfinished
text.
"""
