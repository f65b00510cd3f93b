"""The six prompts that a visitor can click at the first visit, one feature each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PagePrompt:
    """`title` is on the button, `text` is what is sent."""

    title: str
    text: str


PROMPTS = (
    PagePrompt("Draw a table", "Compare three kinds of tea in a table"),
    PagePrompt("Write some code", "Write a long piece of Python code"),
    PagePrompt("Think first", "Think hard, then tell me a riddle"),
    PagePrompt("Change faces", "Show me all your faces"),
    PagePrompt("Use a tool", "What time is it? Ask a tool"),
    PagePrompt("Stop me", "Count as far as you can until I stop you"),
)


def page_prompts() -> list[dict[str, str]]:
    """As the page wants them at `/stage/prompts`: it puts a mention in the place of `{bot}`."""
    return [{"title": prompt.title, "text": f"{{bot}} {prompt.text}"} for prompt in PROMPTS]
