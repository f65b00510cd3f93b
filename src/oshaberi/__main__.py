"""`python -m oshaberi` is the `oshaberi` command."""

from oshaberi.cli import program

program()
