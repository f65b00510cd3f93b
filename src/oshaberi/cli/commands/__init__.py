"""One file per command of `oshaberi`, named like the command."""
