"""Step 07a: from normalised text to messages.

`segment_chunker` cuts by line or sentence around `protected_ranges`; `length_cuts` cuts what is
too long; `emoji_runs` isolates custom emoji; `orphan_punctuation` waits for the text it belongs to;
`message_packing` fills messages, `part_joining` says what stands between two parts; `humanize`
(degree 3); `message_composer` runs them in order; `live_preview` shows unfinished text.
"""
