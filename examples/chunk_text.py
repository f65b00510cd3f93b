"""Uses the text engine alone: pieces of a model's text go in, finished messages come out.

python examples/chunk_text.py
python examples/chunk_text.py README.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from oshaberi import Message, Table, TextConfig, TextEngine, Thought

ANSWER = """\
<think>They want tea. Keep it short.</think>Tea is easy (you need
water and leaves):
```python
steep(minutes=2)
```
Enjoy :tea:
"""


def pieces(text: str, size: int = 4) -> Iterator[str]:
    """Cuts the text as a model would send it. The messages do not depend on where it is cut."""
    for at in range(0, len(text), size):
        yield text[at : at + size]


def main() -> None:
    text = Path(sys.argv[1]).read_text(encoding="utf-8") if len(sys.argv) > 1 else ANSWER
    engine = TextEngine(TextConfig(humanizer_degree=1))
    events = [event for piece in pieces(text) for event in engine.feed(piece)]
    for event in [*events, *engine.finish()]:
        match event:
            case Message():
                print(f"[{event.boundary}] {event.text}")
            case Table():
                print(f"[table, rows: {len(event.rows)}]")
            case Thought():
                print(f"(thought: {event.text})")


if __name__ == "__main__":
    main()
