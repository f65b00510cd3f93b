"""Runs the calls of one round: checked arguments, time limits, results that a model can read."""

from __future__ import annotations

import asyncio
import dataclasses
import difflib
import importlib
import json
import logging
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from oshaberi.bot.tools.choice import approver_of
from oshaberi.bot.tools.definition import (
    Approver,
    AskedCall,
    Tool,
    ToolContext,
    ToolFailedError,
    is_valid,
)
from oshaberi.chunks import ToolCall
from oshaberi.clocks import loop_time_s
from oshaberi.providers.request.model_request import ToolResult
from oshaberi.secret_redaction import SecretValues
from oshaberi.text.measure import grapheme_edge
from oshaberi.turn_tracing import turn_span

# Arguments are checked against the tool's schema, with errors that a model can use.
#
# Both come from outside: a model writes the arguments, an MCP server the schema. So the work has a
# budget: a schema of one kilobyte can ask for 2^30 comparisons, and to describe an error the
# checker writes the whole argument down. Arguments that would take more are refused.


log = logging.getLogger(__name__)

MOST_WORK = 10_000
"""The budget of one call. A unit is about five microseconds."""
LARGEST_ARGS = 500_000
"""In characters, roughly."""
_MOST_FOUND = 20
_MOST_ERRORS = 5
_LONGEST_ERROR = 200
_NODE_SIZE = 8
_TOO_LARGE = "they are too large to be checked"
_NEVER_RUN = ("pattern", "patternProperties", "unevaluatedItems", "unevaluatedProperties")
"""Patterns from outside may run forever. To find what is "unevaluated", the checker walks the whole
schema again, past our budget."""
_REFERENCE_WORK = 10


class _TooMuchWorkError(Exception):
    """The budget is spent."""


class ArgumentChecks:
    """Checks the arguments of one tool. The schema is compiled at the first call."""

    def __init__(self, tool_name: str, schema: Mapping[str, Any]) -> None:
        self._tool_name = tool_name
        self._schema = schema
        self._validator: Any = None
        self._usable = True
        self._budget = _Budget()

    def check(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments without unneeded nulls. Raises ToolFailedError if they are wrong."""
        try:
            given = self._without_nulls(args)
            errors = self._errors(given)
        except RecursionError:
            given, errors = {}, ["they are nested too deeply"]
        if errors:
            raise ToolFailedError(f"wrong arguments for {self._tool_name}: {'; '.join(errors)}")
        return given

    def _without_nulls(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Remove nulls from optional arguments: models write null for "not given"."""
        properties = self._schema.get("properties") or {}
        required = self._schema.get("required") or ()
        return {
            name: value
            for name, value in args.items()
            if value is not None
            or name in required
            or name not in properties
            or _takes_null(properties[name])
        }

    def _errors(self, given: dict[str, Any]) -> list[str]:
        if not self._usable:
            return []
        try:
            if self._validator is None:
                self._validator = _validator(self._schema, self._budget)
            self._budget.begin(given)
            found = islice(self._validator.iter_errors(given), _MOST_FOUND)
            return [_description(one) for one in sorted(found, key=_path)[:_MOST_ERRORS]]
        except _TooMuchWorkError:
            return [_TOO_LARGE]
        except RecursionError:
            raise
        except Exception as error:
            # A foreign schema may be broken in any way. If so, the check is left to its server.
            log.warning("the schema of %s cannot be used: %s", self._tool_name, _short(str(error)))
            self._usable = False
            return []


class _Budget:
    """Counts the work of one check. The cost of a keyword depends on what it looks at."""

    def __init__(self) -> None:
        self._left = 0
        self._sizes: dict[int, int] = {}

    def begin(self, args: Mapping[str, Any]) -> None:
        """Measure the arguments. Raises _TooMuchWorkError if they are too large."""
        self._left = MOST_WORK
        self._sizes = {}
        nodes: list[Any] = [args]
        for node in nodes:  # the list grows: the content of each container is appended
            if isinstance(node, Mapping):
                nodes += node.values()
            elif isinstance(node, list):
                nodes += node
            if _NODE_SIZE * len(nodes) > LARGEST_ARGS:
                raise _TooMuchWorkError
        for node in reversed(nodes):  # so the content of a container is measured before it
            self._sizes[id(node)] = self._measure(node)
        if self._sizes[id(args)] > LARGEST_ARGS:
            raise _TooMuchWorkError

    def spend(self, instance: Any, more: int = 0) -> None:
        shallow = len(instance) if isinstance(instance, (dict, list)) else 0
        self._left -= 1 + more + shallow // 4 + self._size(instance) // 1024
        if self._left < 0:
            raise _TooMuchWorkError

    def _measure(self, node: Any) -> int:
        if isinstance(node, Mapping):
            return _NODE_SIZE + sum(len(name) + self._size(one) for name, one in node.items())
        if isinstance(node, list):
            return _NODE_SIZE + sum(map(self._size, node))
        return self._size(node)

    def _size(self, node: Any) -> int:
        if isinstance(node, str):
            return _NODE_SIZE + len(node)
        return self._sizes.get(id(node), _NODE_SIZE)


def _takes_null(schema: Any) -> bool:
    if not isinstance(schema, Mapping) or not schema:
        return True
    kinds = schema.get("type", ())
    options = schema.get("anyOf") or schema.get("oneOf") or ()
    return "null" in kinds or any(_takes_null(one) for one in options)


def _validator(schema: Mapping[str, Any], budget: _Budget) -> Any:
    """Compile a schema. It fetches no references, and each of its keywords spends the budget.

    The schema itself is not checked: that would take longer than using it.
    """
    validators = importlib.import_module("jsonschema.validators")
    registry = importlib.import_module("referencing").Registry()
    known = validators.Draft202012Validator.VALIDATORS
    keywords: dict[str, Callable[..., Any]]
    keywords = {
        name: partial(_spend_and_check, budget, name, check) for name, check in known.items()
    }
    keywords |= dict.fromkeys(_NEVER_RUN, _passes)
    keywords["uniqueItems"] = partial(_unique, budget)
    kind = validators.extend(validators.Draft202012Validator, keywords)
    return kind(schema, registry=registry)


def _spend_and_check(
    budget: _Budget, name: str, check: Callable[..., Any], validator: Any, *asked: Any
) -> Iterable[Any]:
    value, instance, _schema = asked
    is_reference = name in ("$ref", "$dynamicRef")
    more = _REFERENCE_WORK if is_reference else len(value) // 4 if isinstance(value, list) else 0
    budget.spend(instance, more)
    return check(validator, *asked) or ()


def _unique(budget: _Budget, _validator: Any, wanted: Any, items: Any, _schema: Any) -> Any:
    """Compare items by their JSON: the checker itself compares each with all others."""
    if not wanted or not isinstance(items, list):
        return
    budget.spend(items, len(items))
    written = {json.dumps(item, sort_keys=True) for item in items}
    if len(written) < len(items):
        error = importlib.import_module("jsonschema.exceptions").ValidationError
        yield error("the same item is there twice")


def _passes(*_: Any) -> tuple[()]:
    return ()


def _path(error: Any) -> str:
    return str(error.json_path)


def _description(error: Any) -> str:
    path = _path(error).removeprefix("$").removeprefix(".")
    message = _short(str(error.message))
    return f"{path}: {message}" if path else message


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_ERROR else f"{text[:_LONGEST_ERROR]}…"


# A result becomes text for the model, within the length limit.


NOTHING = "(nothing was returned)"
_ILLEGIBLE = re.compile("[\x00\ud800-\udfff]")


def as_text(value: Any, most: int) -> str:
    """Return text as it is and other values as JSON, up to about `most` characters."""
    if value is None:
        return NOTHING
    text = value if isinstance(value, str) else _as_json(value, most)
    return _ILLEGIBLE.sub("\ufffd", text) if text.strip() else NOTHING


def cut(text: str, most: int) -> str:
    """Cut the text to `most` characters, with a note where something is missing."""
    if len(text) <= most:
        return text
    note = f"\n[cut: the result is longer than {most} characters]"
    return text[: grapheme_edge(text, 0, max(most - len(note), 1))] + note


def _as_json(value: Any, most: int) -> str:
    """Encode piece by piece, and stop as soon as there is enough."""
    parts: list[str] = []
    length = 0
    try:
        for part in json.JSONEncoder(ensure_ascii=False, default=_plain).iterencode(value):
            parts.append(part)
            length += len(part)
            if length > most:
                break
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolFailedError(f"the tool returned what is not JSON: {error}") from None
    return "".join(parts)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, set | frozenset | tuple):
        return list(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


# The calls of one round. Which tools a turn may call is decided in `toolbox`.


LONGEST_ERROR = 2000
MOST_CALLS = 16
"""How many calls are run in one round. Each may be a request to Discord, the web or an MCP
server."""
NOBODY_TO_ASK = "not run: it needs a person's permission, and nobody can be asked here"
LONGEST_SHOWN = 50_000
"""Longer arguments (as JSON) cannot be shown in full to whoever decides, so the call is refused."""
TOO_LONG_TO_SHOW = "not run: its arguments are too long to be shown to those who would allow it"
_MOST_NAMES = 20
_LONGEST_NAME = 64
"""Only this much of an unknown name is compared and repeated: comparing is quadratic."""


@dataclass(frozen=True, slots=True)
class NamedTool:
    """A tool under the name that the model knows."""

    name: str
    tool: Tool
    arguments: ArgumentChecks


@dataclass(frozen=True, slots=True)
class OfferedTools:
    """The tools that a turn may use. `names` are the names of all tools, offered or not."""

    by_name: Mapping[str, NamedTool]
    names: Collection[str]

    def find(self, call: ToolCall) -> NamedTool:
        if call.error is not None:
            raise ToolFailedError(call.error)
        found = self.by_name.get(call.name)
        if found is not None:
            return found
        if call.name in self.names:
            raise ToolFailedError(f"whoever asked may not use {call.name} here")
        near = difflib.get_close_matches(call.name[:_LONGEST_NAME], self.by_name, n=3)
        names = ", ".join(near or list(self.by_name)[:_MOST_NAMES]) or "none"
        hint = "did you mean" if near else "there are"
        raise ToolFailedError(f"there is no tool {call.name[:_LONGEST_NAME]!r}; {hint}: {names}")


@dataclass(frozen=True, slots=True)
class _PreparedCall:
    """A call with checked arguments. `approver` has to allow it; None: nobody is asked."""

    called: NamedTool
    args: Mapping[str, Any]
    approver: Approver | None


def _prepared(
    call: ToolCall, offered: OfferedTools, context: ToolContext
) -> _PreparedCall | ToolFailedError:
    try:
        called = offered.find(call)
        args = called.arguments.check(call.args)
    except ToolFailedError as failure:
        return failure
    approver = approver_of(called.name, called.tool, context.turn)
    if approver is not None and len(_as_json(args, LONGEST_SHOWN)) > LONGEST_SHOWN:
        return ToolFailedError(TOO_LONG_TO_SHOW)
    return _PreparedCall(called, args, approver)


def visible(text: str) -> str:
    """Return a text without invisible characters and direction marks."""
    return "".join(one if one.isprintable() or one == "\n" else _escaped(one) for one in text)


def _escaped(character: str) -> str:
    return json.dumps(character)[1:-1] if ord(character) > 127 else repr(character)[1:-1]


async def _ask(context: ToolContext, calls: Sequence[AskedCall]) -> str:
    """Ask about all calls of a round at once. Return why they may not run; empty if they may."""
    if not calls:
        return ""
    try:
        return NOBODY_TO_ASK if context.ask is None else await context.ask(calls)
    except Exception:
        log.exception("nobody could be asked about: %s", ", ".join(one.name for one in calls))
        return NOBODY_TO_ASK


class ToolCallRunner:
    """Runs calls. `secrets` are values that no result may show."""

    def __init__(self, secrets: SecretValues) -> None:
        self._secrets = secrets
        self._at_work: set[asyncio.Task[Any]] = set()

    async def run(
        self,
        calls: Sequence[ToolCall],
        offered: OfferedTools,
        context: ToolContext,
        *,
        timeout_ms: int,
        result_limit_chars: int,
    ) -> tuple[ToolResult, ...]:
        """Run the calls together; `results[i]` is for `calls[i]`. Raises only CancelledError.

        A tool that exceeds its time, or ignores its cancellation, keeps running, but its result is
        ignored.
        """
        prepared = [_prepared(call, offered, context) for call in calls[:MOST_CALLS]]
        asked = [self._asked(one) for one in prepared if isinstance(one, _PreparedCall)]
        asking = asyncio.ensure_future(_ask(context, [one for one in asked if one is not None]))
        tasks = [
            asyncio.create_task(
                self._answer(call, one, asking, context, timeout_ms, result_limit_chars)
            )
            for call, one in zip(calls, prepared, strict=False)
        ]
        try:
            if tasks:
                await asyncio.wait(tasks)
        finally:
            for task in (*tasks, asking):
                task.cancel()
        too_many = self._error(f"not run: at most {MOST_CALLS} calls at once; ask again", 200)
        return (*(task.result() for task in tasks), *(too_many for _ in calls[MOST_CALLS:]))

    def _asked(self, one: _PreparedCall) -> AskedCall | None:
        """Return a call in the form that people are asked about; None if its tool does not ask."""
        if one.approver is None:
            return None
        shown = self._secrets.redacted(_as_json(one.args, LONGEST_SHOWN), 2 * LONGEST_SHOWN)
        return AskedCall(one.called.name, one.approver, visible(shown))

    async def _answer(
        self,
        call: ToolCall,
        prepared: _PreparedCall | ToolFailedError,
        asking: asyncio.Future[str],
        context: ToolContext,
        timeout_ms: int,
        most: int,
    ) -> ToolResult:
        if isinstance(prepared, _PreparedCall) and prepared.approver is not None:
            refusal = await asyncio.shield(asking)
            prepared = ToolFailedError(refusal) if refusal else prepared
        return await _run_logged(call, self._checked(prepared, context, timeout_ms, most))

    async def _checked(
        self,
        prepared: _PreparedCall | ToolFailedError,
        context: ToolContext,
        timeout_ms: int,
        most: int,
    ) -> ToolResult:
        if isinstance(prepared, ToolFailedError):
            return self._error(str(prepared), most)
        ended = _unwatched if context.watch is None else context.watch(prepared.called.name)
        result: ToolResult | None = None
        try:
            result = await self._timed(prepared, context, timeout_ms, most)
            return result
        finally:
            ended(result is None or result.is_error)

    async def _timed(
        self, prepared: _PreparedCall, context: ToolContext, timeout_ms: int, most: int
    ) -> ToolResult:
        called = prepared.called
        timeout_ms = called.tool.timeout_ms or timeout_ms
        work = asyncio.create_task(self._work(called, context, prepared.args, most))
        self._at_work.add(work)
        work.add_done_callback(self._at_work.discard)
        try:
            await asyncio.wait({work}, timeout=timeout_ms / 1000)
        finally:
            work.cancel()
        if not work.done():
            log.warning("tool %s did not end within %d ms", called.name, timeout_ms)
            return self._error(f"{called.name} did not end within {timeout_ms / 1000:g} s", most)
        if work.cancelled():
            return self._error(f"{called.name} was cut off", most)
        return work.result()

    async def _work(
        self, called: NamedTool, context: ToolContext, args: Mapping[str, Any], most: int
    ) -> ToolResult:
        try:
            text = as_text(await called.tool.run(context, args), most)
        except ToolFailedError as failure:
            return self._error(str(failure), most)
        except (Exception, SystemExit) as error:
            # Whatever a tool raises is reported to the model; it must not end the turn.
            reason = self._secrets.redacted(f"{type(error).__name__}: {error}", LONGEST_ERROR)
            log.warning("tool %s failed: %s", called.name, reason)
            log.debug("tool %s failed", called.name, exc_info=error)
            return self._error(f"{called.name} failed: {reason}", most)
        return ToolResult(cut(self._secrets.masked(text, most + 1), most))

    def _error(self, text: str, most: int) -> ToolResult:
        return ToolResult(
            cut(self._secrets.redacted(text, LONGEST_ERROR + 1), min(most, LONGEST_ERROR)),
            is_error=True,
        )


def _unwatched(_failed: bool) -> None:
    pass


async def _run_logged(call: ToolCall, answering: Awaitable[ToolResult]) -> ToolResult:
    """Log the call without its arguments, and return its result."""
    name = call.name if is_valid(call.name) else repr(call.name[:_LONGEST_NAME])
    began_s, outcome = loop_time_s(), "cut off"
    values = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
    try:
        with turn_span(f"execute_tool {name}", values) as span:
            result = await answering
            if result.is_error:
                span.fail("tool_error")
        outcome = "failed" if result.is_error else "answered"
        return result
    finally:
        log.info("tool %s %s, %d ms", name, outcome, (loop_time_s() - began_s) * 1000)
