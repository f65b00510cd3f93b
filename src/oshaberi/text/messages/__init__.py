"""Step 07a: from normalised text to messages.

`composer` lets punctuation wait for the text it belongs to, puts parts together with `packing`,
and sends them through `chunker`, which cuts by line or sentence around what must stay whole, or for
length; `emoji_runs` isolates custom emoji. `humanize`: degree 3. `live_preview`: what can be shown
of unfinished text.
"""
