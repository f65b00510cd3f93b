"""`oshaberi completion`: the script that makes a shell complete commands and options."""

from __future__ import annotations

import click

SHELLS = ("bash", "zsh", "fish")


@click.command(short_help="Print a script that lets your shell complete commands.")
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print a script for SHELL (bash 4.4 or newer, zsh, fish) that completes what you type.

    \b
    Examples:
      eval "$(oshaberi completion bash)"         # to keep it, put this line into ~/.bashrc
      eval "$(oshaberi completion zsh)"          # ~/.zshrc
      oshaberi completion fish > ~/.config/fish/completions/oshaberi.fish
    """
    from click.shell_completion import get_completion_class

    from oshaberi.cli.command_group import COMPLETE, app

    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(app, {}, "oshaberi", COMPLETE).source()
    # Click's own script for fish cuts an explanation at its first comma.
    click.echo(script.replace('string split ","', 'string split -m 1 ","'), nl=False)
