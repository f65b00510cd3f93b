"""The languages of the bot's own words: notices, answers to commands, buttons.

The code contains the English sentences, which are gettext's message ids: `translated("Deleted:
{name}.", name=name)`. `current_language` is the language of the current task, and how it is
chosen; a task inherits it from the task that started it. An error from a lower package, such as
`ConfigError`, has a `Sentence` as its text, which `said()` translates where it is shown.
`translations` reads `catalogues/<language>.po` and the operator's own files. A sentence without
a translation is shown in English.
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
