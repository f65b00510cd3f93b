"""A plug-in that turns code blocks of one language into files: ```csv becomes a file to download.

In the pyproject.toml of your package:

    [project.entry-points."oshaberi.attachments"]
    csv = "own_attachment:csv_file"

The name is the language tag of the blocks. The function runs in a thread, so it may take its time:
a diagram can be drawn, a formula set. If it returns nothing or fails, the block stays code.

python examples/own_attachment.py
"""

from __future__ import annotations

import csv

from oshaberi.delivery.sink import File


def csv_file(code: str) -> list[File]:
    """Return the table as a file. One line alone is no table and stays code."""
    rows = list(csv.reader(code.splitlines()))
    if len(rows) < 2:
        return []
    alt = f"rows: {len(rows) - 1}; columns: {', '.join(rows[0])}"
    return [File("table.csv", f"{code}\n".encode(), source=code, alt=alt)]


if __name__ == "__main__":
    for file in csv_file("tea,minutes\ngreen,2\nblack,4"):
        print(file.name, f"({file.alt})")
