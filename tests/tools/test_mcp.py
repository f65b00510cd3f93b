"""Real MCP servers: a child process over its standard streams, and HTTP on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from oshaberi.bot.tools import McpServer, McpTools, ToolBox, builtin_tools
from oshaberi.bot.tools.mcp import connection
from oshaberi.chunks import ToolCall
from oshaberi.providers.request.model_request import ToolResult
from tests.tools.fake_tool_context import context

SCRIPT = str(Path(__file__).with_name("mcp_server.py"))
TOKEN = "token-of-the-server-0815"
PATIENCE_S = 60.0


def stdio(name: str = "demo", *args: str, **more: Any) -> McpServer:
    return McpServer(name, command=sys.executable, args=(SCRIPT, *args), **more)


class Servers:
    """What a test asks of running servers."""

    def __init__(self, mcp: McpTools) -> None:
        self.mcp = mcp
        self.box = ToolBox(builtin_tools(), more=lambda: mcp.tools)

    @property
    def names(self) -> list[str]:
        return [one.name for one in self.box.declarations(context())]

    async def ask(self, name: str, timeout_ms: int = 60_000, **args: Any) -> ToolResult:
        (result,) = await self.box.run(
            [ToolCall(name, args)], context(), timeout_ms=timeout_ms, result_limit_chars=1000
        )
        return result

    async def told(self, name: str, **args: Any) -> str:
        result = await self.ask(name, **args)
        assert not result.is_error, result
        return result.content


@asynccontextmanager
async def serving(*servers: McpServer, start_s: float = PATIENCE_S) -> AsyncIterator[Servers]:
    async with McpTools(servers, start_s=start_s) as mcp:
        yield Servers(mcp)


@asynccontextmanager
async def over_http(
    folder: Path, port: str = "0"
) -> AsyncIterator[tuple[str, asyncio.subprocess.Process]]:
    """The address of a server in another process."""
    port_file = folder / f"port-{port}"
    program = [sys.executable, SCRIPT, "--http", str(port_file), "--port", port]
    child = await asyncio.create_subprocess_exec(*program)
    try:
        await until(port_file.exists)
        yield f"http://127.0.0.1:{port_file.read_text()}/mcp", child
    finally:
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        await child.wait()


async def until(met: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not met():
            await asyncio.sleep(0.01)


def with_servers(scenario: Callable[[Servers], Awaitable[None]], *servers: McpServer) -> None:
    async def main() -> None:
        async with serving(*(servers or (stdio(),))) as running:
            await scenario(running)

    run(main())


def run(main: Coroutine[Any, Any, None]) -> None:
    """No task may be left, and no complaint of the loop."""
    complaints: list[dict[str, Any]] = []

    async def watched() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _loop, problem: complaints.append(problem))
        await main
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left

    asyncio.run(watched())
    assert complaints == []


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


# -- what works ----------------------------------------------------------------------------------


async def everyday(running: Servers) -> None:
    assert await running.told("add", a=1, b=2) == "3"
    assert "[image: image/png, 3 kB; it cannot be shown here]" in await running.told("picture")
    failed = await running.ask("fail")
    assert failed.is_error
    assert "no luck with" in failed.content
    wrong = await running.ask("add", a="one")
    assert wrong.content == (
        "wrong arguments for add: 'b' is a required property; a: 'one' is not of type 'integer'"
    )
    # A name that is taken gets its server in front, one that no provider takes is made valid.
    assert await running.told("demo_current_time") == "half past nine"
    assert await running.told("shout_loud_er", text="tea") == "TEA"
    assert {"current_time", "demo_current_time"} <= set(running.names)
    cut = await running.told("huge", length=2_000_000)
    assert len(cut) <= 1000
    assert cut.startswith("xxx")
    many = [running.told("add", a=number, b=number) for number in range(20)]
    assert await asyncio.gather(*many) == [str(2 * number) for number in range(20)]
    before = set(running.names)
    await running.told("grow")
    await until(lambda: "late" in running.names)
    assert set(running.names) == before | {"late"}
    assert await running.told("late", text="x") == "late: x"


def test_a_child_process() -> None:
    with_servers(everyday)


def test_over_http(tmp_path: Path) -> None:
    async def main() -> None:
        async with over_http(tmp_path) as (url, _child):
            server = McpServer("demo", url=url, headers={"Authorization": f"Bearer {TOKEN}"})
            async with serving(server) as running:
                await everyday(running)

    run(main())


@pytest.mark.slow
def test_a_child_gets_only_the_environment_that_it_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DISCORD_TOKEN", "the bot's own token")

    async def scenario(running: Servers) -> None:
        shown = await running.told("environment")
        assert "GIVEN_TOKEN=[secret]" in shown
        assert "DISCORD_TOKEN" not in shown
        failed = await running.ask("fail")
        assert TOKEN not in failed.content

    with_servers(scenario, stdio(env={"GIVEN_TOKEN": TOKEN}))


@pytest.mark.slow
def test_permission_and_timeout_are_the_servers() -> None:
    async def scenario(running: Servers) -> None:
        assert "add" not in running.names
        assert {one.permission for one in running.mcp.tools} == {"manage_server"}
        assert {one.timeout_ms for one in running.mcp.tools} == {1234}

    with_servers(scenario, stdio(permission="manage_server", timeout_ms=1234))


# -- what does not -------------------------------------------------------------------------------


@pytest.mark.slow
def test_servers_that_cannot_start_are_a_line_each(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(running: Servers) -> None:
        assert await running.told("add", a=1, b=2) == "3"

    with caplog.at_level(logging.WARNING, "oshaberi"):
        with_servers(
            scenario,
            stdio("refuses", "--refuse"),
            McpServer("nowhere", command="/no/such/program"),
            McpServer("nobody", url="http://127.0.0.1:9/mcp"),
            stdio("fine"),
        )
    lines = sorted(record.getMessage() for record in caplog.records)
    assert len(lines) == 3
    assert lines[0].startswith("MCP server nobody cannot be used: ")
    assert lines[1].startswith("MCP server nowhere cannot be used: [Errno 2] No such file")
    assert lines[2].startswith("MCP server refuses cannot be used: ")
    assert lines[2].endswith("(it says: there is no database)")


def test_a_server_that_says_nothing_is_not_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        silent = McpServer("silent", command="sleep", args=("3600",))
        async with serving(silent, start_s=0.2) as running:
            assert running.mcp.tools == ()

    with caplog.at_level(logging.WARNING, "oshaberi"):
        run(main())
    assert caplog.messages == ["MCP server silent cannot be used: no answer within 0.2 s"]


def test_a_server_that_dies_in_mid_call_is_started_again() -> None:
    async def scenario(running: Servers) -> None:
        first = await running.told("whoami")
        died, hung = await asyncio.gather(running.ask("die"), running.ask("hang"))
        for result in (died, hung):
            assert result.is_error
            assert result.content.startswith("the MCP server demo broke off (it ended)")
        second = await running.told("whoami")
        assert second != first
        assert not is_running(int(first))

    with_servers(scenario)


@pytest.mark.slow
def test_a_server_that_is_killed_while_nobody_asks(caplog: pytest.LogCaptureFixture) -> None:
    """It was dead before the call left, so the call is carried out by the new one."""

    async def scenario(running: Servers) -> None:
        first = int(await running.told("whoami"))
        os.kill(first, signal.SIGKILL)
        await until(lambda: "MCP server demo is gone" in caplog.text)
        second = int(await running.told("whoami"))
        assert second != first

    with_servers(scenario)


@pytest.mark.slow
def test_a_server_that_dies_again_and_again_has_to_wait(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(connection, "BACKOFF_S", (0.0, 3600.0))
    starts = tmp_path / "starts"

    async def scenario(running: Servers) -> None:
        for _ in range(2):
            assert (await running.ask("die")).is_error
        refused = await running.ask("add", a=1, b=2)
        assert refused.is_error
        assert "is down: it ended; it may be asked again in 3600 s" in refused.content

    with_servers(scenario, stdio("demo", "--alive", str(starts)))
    assert len(starts.read_text().split()) == 2


@pytest.mark.slow
def test_a_call_that_hangs_does_not_block_the_others() -> None:
    async def scenario(running: Servers) -> None:
        first = await running.told("whoami")
        hung = await running.ask("hang", timeout_ms=50)
        assert hung == ToolResult("hang did not end within 0.05 s", is_error=True)
        assert await running.told("whoami") == first

    with_servers(scenario)


@pytest.mark.slow
def test_a_server_that_hangs_as_a_whole_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "PROBE_S", 0.1)

    async def scenario(running: Servers) -> None:
        first = int(await running.told("whoami"))
        assert (await running.ask("freeze", timeout_ms=50)).is_error
        second = int(await running.told("whoami"))
        assert second != first
        assert not is_running(first)

    with_servers(scenario)


@pytest.mark.slow
def test_an_http_server_that_dies_and_comes_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(connection, "BACKOFF_S", (0.0,))

    async def main() -> None:
        async with AsyncExitStack() as stack:
            url, child = await stack.enter_async_context(over_http(tmp_path))
            running = await stack.enter_async_context(serving(McpServer("demo", url=url)))
            assert (await running.ask("die")).is_error
            await child.wait()
            refused = await running.ask("add", a=1, b=2)
            assert refused.content.startswith("the MCP server demo is down: ")
            port = url.split(":")[2].partition("/")[0]
            await stack.enter_async_context(over_http(tmp_path, port))
            assert await running.told("add", a=1, b=2) == "3"

    run(main())


@pytest.mark.slow
def test_a_server_without_tools_yet_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(connection, "RETRY_S", 0.05)
    ready = tmp_path / "ready"
    late = f'test -e {ready} && exec "{sys.executable}" "{SCRIPT}"'

    async def main() -> None:
        async with serving(McpServer("late", command="sh", args=("-c", late))) as running:
            assert running.mcp.tools == ()
            ready.touch()
            await until(lambda: "add" in running.names)
            assert await running.told("add", a=1, b=2) == "3"

    run(main())


# -- the end -------------------------------------------------------------------------------------


def test_nothing_is_left_at_the_end(tmp_path: Path) -> None:
    starts = tmp_path / "starts"

    async def main() -> None:
        two = [stdio(name, "--alive", str(starts)) for name in ("one", "two")]
        async with serving(*two) as running:
            tools = running.mcp.tools
        with pytest.raises(Exception, match="the MCP server one is down: it was shut down"):
            await tools[0].run(context(), {"a": 1, "b": 2})

    run(main())
    pids = [int(pid) for pid in starts.read_text().split()]
    assert len(pids) == 2
    assert not any(map(is_running, pids))


@pytest.mark.slow
def test_a_cancelled_program_leaves_no_process(tmp_path: Path) -> None:
    starts = tmp_path / "starts"

    async def main() -> None:
        inside = asyncio.Event()

        async def program() -> None:
            async with serving(stdio("demo", "--alive", str(starts))):
                inside.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(program())
        await inside.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())
    assert not is_running(int(starts.read_text()))


@pytest.mark.slow
def test_a_program_cancelled_while_servers_start(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    script = f"echo $$ > {starts}; exec sleep 3600"

    async def main() -> None:
        async def program() -> None:
            async with serving(McpServer("slow", command="sh", args=("-c", script))):
                raise AssertionError("it never starts")

        task = asyncio.create_task(program())
        await until(lambda: starts.exists() and starts.read_text().strip() != "")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())
    assert not is_running(int(starts.read_text()))
