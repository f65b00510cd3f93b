"""A Discord on loopback: REST and gateway, as strict as the real one, that fails on demand.

The real, unmodified discord.py logs in to it. `testing` has what tests need (`pytest_fixtures`,
`client_runner`); `discord_py_redirect` points discord.py at the stage, `scaled_loop` makes its
waits shorter. The command `discord-stage` (`__main__`) runs a bot in a process of its own:
`bot_process` starts it, `bot_runner` is what runs in it. `make_constraints` makes the table of
`request_schema` from Discord's own description.

Each part knows only those before it:

- `errors`, `refusals` (Discord's error answers), `json_bodies`, `server_log`;
- `world`: what exists; `request_schema` and `rules`: what Discord accepts; `payloads`: records
  as JSON; `requests`: log, rate limits and faults;
- `state`: what all parts share; `access_guard`: which requests are allowed;
- `world_changes`: what happens in the world; `interactions`; `people_actions`: what people do;
- `gateway`, `rest`, `cdn`, `control` (for tests and the page), `page`;
- `kept_world`: the file in which messages outlive the stage;
- `server`: puts them together. `model_servers` are scripted models for bots that talk to one.
"""

from discord_stage.control.api import ControlExtension
from discord_stage.errors import (
    StageError,
    StageProblemsError,
    StageTimeoutError,
    WorldError,
)
from discord_stage.page import PageExtension
from discord_stage.refusals import RefusalError
from discord_stage.requests.injected_faults import EDIT, SEND, TYPING, WEBHOOK, Fault
from discord_stage.server import Stage
from discord_stage.state import Settings
from discord_stage.world.records import StageMessage
from discord_stage.world.world_state import World

__all__ = [
    "EDIT",
    "SEND",
    "TYPING",
    "WEBHOOK",
    "ControlExtension",
    "Fault",
    "PageExtension",
    "RefusalError",
    "Settings",
    "Stage",
    "StageError",
    "StageMessage",
    "StageProblemsError",
    "StageTimeoutError",
    "World",
    "WorldError",
]

__version__ = "0.1.0"
