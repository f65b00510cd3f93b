"""The demo model: an OpenAI-compatible server on loopback that plays written scenes.

`async with DemoModel() as model:` starts one, and `model.url` is the base URL for any such client.
`demo_server` serves, `request_reading` finds out who asks what. `scene_choice` chooses one of the
`written_scenes`; `tool_requests` and `tool_arguments` make a tool call that a message asks for;
`small_talk` answers everything else. `token_playback` turns all this into tokens and pauses.
`page_prompts` are what a visitor can click.
"""

from __future__ import annotations

from oshaberi.stage.demo_model.demo_server import MODEL, DemoModel
from oshaberi.stage.demo_model.page_prompts import PROMPTS, PagePrompt, page_prompts

__all__ = ["MODEL", "PROMPTS", "DemoModel", "PagePrompt", "page_prompts"]
