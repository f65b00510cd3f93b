"""The list of standard emoji and their names; `make generate` makes it of the package `emoji`."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import emoji

from oshaberi.text.normalize import standard_emoji

FILE = Path(standard_emoji.__file__).with_name("shortcodes.txt")


def written() -> str:
    """Return a line for each emoji, with the names that mean it.

    One name may belong to several emoji; the package decides which it means. Ours are lower case.
    """
    names: dict[str, set[str]] = defaultdict(set)
    for described in emoji.EMOJI_DATA.values():
        for code in (described["en"], *described.get("alias", ())):
            if code == code.lower():
                names[emoji.emojize(code, language="alias")].add(code.strip(":"))
    rows = [" ".join([one, *sorted(names[one])]) for one in sorted(emoji.EMOJI_DATA)]
    return "\n".join([*rows, ""])
