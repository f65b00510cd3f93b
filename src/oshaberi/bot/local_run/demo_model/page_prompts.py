"""What a visitor can click on the page: six prompts at the first visit, and all in groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

TEXT, FACES, TOOLS, STOP, FAULTS = (
    "Text",
    "Faces and personas",
    "Tools",
    "Stop",
    "When the model fails",
)


@dataclass(frozen=True, slots=True)
class PagePrompt:
    """A prompt: `title` is on the button, `text` is sent. `is_first`: shown at the first visit."""

    title: str
    text: str
    group: str
    is_first: bool = False
    persona: str | None = None
    """The persona that it calls; without one it is for the bot."""


ALL_PROMPTS = (
    PagePrompt("Draw a table", "Compare three kinds of tea in a table", TEXT, is_first=True),
    PagePrompt("Write some code", "Write a long piece of Python code", TEXT, is_first=True),
    PagePrompt("Think first", "Think hard, then tell me a riddle", TEXT, is_first=True),
    PagePrompt("Tell a story", "Tell me a long story", TEXT),
    PagePrompt("Use emoji", "Show me your emoji", TEXT),
    PagePrompt("Keep a long line whole", "Write a very long line", TEXT),
    PagePrompt("Speak Japanese", "日本語で話して", TEXT),
    PagePrompt("Change faces", "Show me all your faces", FACES, is_first=True),
    PagePrompt("Imitate me", "Do an interview with me", FACES),
    PagePrompt("Meet Yuki", "Yuki, who are you?", FACES, persona="Yuki"),
    PagePrompt("Use a tool", "What time is it? Ask a tool", TOOLS, is_first=True),
    PagePrompt("Remember something", "Remember that I like tea", TOOLS),
    PagePrompt("List the tools", "Which tools do you have?", TOOLS),
    PagePrompt("Stop me", "Count as far as you can until I stop you", STOP, is_first=True),
    PagePrompt("Speak for me", "Try to speak for me", STOP),
    PagePrompt("Fail halfway", "Show me an error", FAULTS),
    PagePrompt("Hang up", "Drop the connection", FAULTS),
    PagePrompt("Refuse", "Show me a rate limit", FAULTS),
    PagePrompt("Stand still", "Show me a stall", FAULTS),
)
PROMPTS = tuple(prompt for prompt in ALL_PROMPTS if prompt.is_first)


def page_prompts(personas: frozenset[str] = frozenset()) -> list[dict[str, Any]]:
    """Return the prompts for the page (`/stage/prompts`). The page replaces `{bot}` by a mention.

    `personas` are the personas other than the bot's own.
    """
    return [
        {
            "title": prompt.title,
            "text": prompt.text if prompt.persona else f"{{bot}} {prompt.text}",
            "group": prompt.group,
            "first": prompt.is_first,
        }
        for prompt in ALL_PROMPTS
        if prompt.persona is None or prompt.persona in personas
    ]
