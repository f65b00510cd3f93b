"""The demo model: an OpenAI-compatible server on loopback that plays written scenes.

`async with DemoModel() as model:` starts one, and `model.url` is the base URL for any such
client. `server` serves, `requests` finds out who asks what, `written_scenes` has the scenes and
chooses one. `playback` turns all this into tokens and pauses, with tool calls and small talk.
`page_prompts` are what a visitor can click.
"""

from __future__ import annotations

from oshaberi.bot.local_run.demo_model.page_prompts import PROMPTS, PagePrompt, page_prompts
from oshaberi.bot.local_run.demo_model.server import MODEL, DemoModel

__all__ = ["MODEL", "PROMPTS", "DemoModel", "PagePrompt", "page_prompts"]
