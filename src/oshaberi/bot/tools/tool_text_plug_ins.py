"""The plug-in point for text that tools write into the channel.

`context` cleans such text like the model's own (spec 06, S3 to S5); then it goes through the
plug-ins: an entry point of the group `oshaberi.tool_text` names a function that takes a text and
returns it changed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from oshaberi.plug_in_loading import load_plug_ins, plug_in_error

log = logging.getLogger(__name__)

GROUP = "oshaberi.tool_text"

ToolText = Callable[[str], str]


def installed_tool_text() -> Mapping[str, ToolText]:
    return load_plug_ins(GROUP)


def plugged_text(text: str, plug_ins: Mapping[str, ToolText]) -> str:
    """Return the text after all plug-ins, in alphabetical order. Skips a plug-in that fails."""
    for name, change in plug_ins.items():
        try:
            changed = change(text)
            if not isinstance(changed, str):
                raise TypeError(f"it returned {changed!r}, which is no text")
        except (Exception, SystemExit) as error:
            # Whatever a plug-in raises, the text is more important.
            log.error("%s", plug_in_error(GROUP, name, error))
        else:
            text = changed
    return text
