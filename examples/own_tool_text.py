"""A plug-in for text that tools write into the channel: it says that a tool wrote it.

In the pyproject.toml of your package:

    [project.entry-points."oshaberi.tool_text"]
    say_so = "own_tool_text:say_so"

Then every text of `reply_to_message` passes it, and that of your own tools if they send
`context.cleaned_text(text)`. The model's own answer does not pass it.

python examples/own_tool_text.py
"""

from __future__ import annotations


def say_so(text: str) -> str:
    """Add a line in small letters."""
    return f"{text}\n-# sent by a tool"


if __name__ == "__main__":
    print(say_so("The kettle is on."))
