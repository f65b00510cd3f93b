"""The languages of what the bot says by itself: notices, answers to commands, buttons.

English sentences stand in the code, as gettext's message ids: `translated("Deleted: {name}.",
name=name)`. `current_language` is the language of the current task; a task inherits it from the
task that started it. An error from a package below, such as `ConfigError`, has a `Sentence` as its
text, which `said()` translates where it is shown. `translation_catalogues` reads
`catalogues/<language>.po` and the operator's own files. Where a sentence has no translation, the
English one is used.
"""

from oshaberi.languages.current_language import (
    in_language,
    language_now,
    said,
    speak_language,
    translatable,
    translated,
    translated_count,
)

__all__ = [
    "in_language",
    "language_now",
    "said",
    "speak_language",
    "translatable",
    "translated",
    "translated_count",
]
