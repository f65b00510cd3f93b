"""Loads tools from Python modules that the settings name."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from oshaberi.errors import ConfigError
from oshaberi.tools.tool_definition import Tool, ToolDefinitionError


def load_tools(modules: Iterable[str], folder: Path | None = None) -> tuple[Tool, ...]:
    """Load every tool of these modules, in order. The modules may be in `folder`."""
    if folder is not None and str(folder) not in sys.path:
        sys.path.append(str(folder))  # at the end: a file of theirs must not hide a library
    found: dict[int, Tool] = {}
    for name in modules:
        for tool in _tools_of(_module(name), name):
            found.setdefault(id(tool), tool)
    return tuple(found.values())


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise ConfigError(f"tools: {name} needs {error.name}, which is not installed") from None
        where = "install it or put it next to the settings file"
        raise ConfigError(f"tools: there is no Python module {name!r}; {where}") from None
    except ToolDefinitionError as error:
        raise ConfigError(f"tools: {error}") from None
    except Exception as error:
        # Any code may run there, so anything may be raised.
        why = f"{type(error).__name__}: {error}"
        raise ConfigError(f"tools: {name} cannot be imported: {why}") from error


def _tools_of(module: ModuleType, name: str) -> list[Tool]:
    tools = [value for value in vars(module).values() if isinstance(value, Tool)]
    if not tools:
        raise ConfigError(f"tools: {name} has no function with @tool")
    return tools
