"""Settings: who goes before whom, what is refused and how, and what is never shown."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

from oshaberi.bot.config import DECLARED, LoadedSettings, ProcessConfig, load
from oshaberi.bot.config.loading import NOT_SETTINGS
from oshaberi.bot.config.schema import SettingMistakesError
from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.delivery.config import StreamConfig
from oshaberi.errors import ConfigError
from oshaberi.text.config import TextConfig

Load = Callable[..., LoadedSettings]


@pytest.fixture
def read(tmp_path: Path) -> Load:
    """Settings from a file with this text, and these variables."""

    def settings(toml: str = "", **variables: str) -> LoadedSettings:
        path = tmp_path / "oshaberi.toml"
        path.write_text(toml, encoding="utf-8")
        return load(path, {"HOME": "/home/mika", **variables})

    return settings


# -- precedence ----------------------------------------------------------------------------------


def test_without_anything_the_defaults_hold(read: Load) -> None:
    settings = read()
    assert settings.stream == StreamConfig()
    assert settings.turn == TurnConfig()
    assert settings.origins == {}
    assert {settings.origin(key) for key in DECLARED} == {"default"}


def test_environment_over_file_over_defaults(read: Load, tmp_path: Path) -> None:
    toml = "hold_limit = 300\nhumanizer_degree = 1\ncooldown_ms = 5"
    settings = read(toml, OSHABERI_HUMANIZER_DEGREE="3", OSHABERI_COOLDOWN_MS="")
    assert settings.value("hold_limit") == 300
    assert settings.value("humanizer_degree") == 3
    assert settings.value("cooldown_ms") == 5, "an empty variable is one that is not set"
    assert settings.value("notify") == "all"
    file = str(tmp_path / "oshaberi.toml")
    assert [settings.origin(key) for key in ("hold_limit", "humanizer_degree", "notify")] == [
        file,
        "OSHABERI_HUMANIZER_DEGREE",
        "default",
    ]


def test_a_table_of_the_environment_replaces_that_of_the_file(read: Load) -> None:
    toml = '[persona]\nname = "Mochi"\nprompt = "a cat"'
    settings = read(toml, OSHABERI_PERSONA='{"name": "Kuro"}')
    assert settings.persona is not None
    assert (settings.persona.name, settings.persona.prompt) == ("Kuro", "")


def test_the_file_of_the_working_folder_or_the_one_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert load(None, {}).value("hold_limit") == 500
    (tmp_path / "oshaberi.toml").write_text("hold_limit = 300")
    (tmp_path / "other.toml").write_text("hold_limit = 400")
    (tmp_path / "third.toml").write_text("hold_limit = 450")
    named = {"OSHABERI_CONFIG": "other.toml"}
    assert load(None, {}).value("hold_limit") == 300
    assert load(None, named).value("hold_limit") == 400
    assert load(Path("third.toml"), named).value("hold_limit") == 450


def test_every_setting_can_be_set_by_file_and_by_variable(read: Load) -> None:
    """One value of each kind is enough; that a key exists is told by its declaration."""
    values: dict[str, object] = {}
    for key, setting in DECLARED.items():
        about = setting.about
        if "low" in about:
            values[key] = setting.default
        elif "choices" in about:
            values[key] = about["choices"][-1]
        elif "switch" in about:
            values[key] = not setting.default
        elif "fraction" in about:
            values[key] = 0.5
    assert len(values) > 45
    toml = "\n".join(f"{key} = {json.dumps(value)}" for key, value in values.items())
    by_file = read(toml)
    by_variable = read(
        **{f"OSHABERI_{key.upper()}": json.dumps(v).strip('"') for key, v in values.items()}
    )
    for key, value in values.items():
        assert (key, by_file.value(key)) == (key, value)
        assert (key, by_variable.value(key)) == (key, value)


def test_names_are_unique_and_every_section_is_reached() -> None:
    declared = [
        one.name
        for section in (TextConfig, StreamConfig, TurnConfig, ProcessConfig)
        for one in fields(section)
        if "what" in one.metadata
    ]
    assert sorted(declared) == sorted(DECLARED)
    assert len(declared) == len(set(declared))


# -- kinds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('["a,b", "c"]', ("a,b", "c")),
        ("a, b,", ("a", "b")),
        ("###", ("###",)),
        ("[]", ()),
    ],
)
def test_lists_of_texts_in_the_environment(read: Load, text: str, value: object) -> None:
    assert read(OSHABERI_LLM_STOP_STRINGS=text).turn.llm_stop_strings == value


@pytest.mark.parametrize("text", ["[1, 22]", "1,22", " 1, 22 ", "1 22", "<#1> <@22>"])
def test_lists_of_ids_in_the_environment(read: Load, text: str) -> None:
    assert read(OSHABERI_AUTO_CHANNELS=text).turn.auto_channels == (1, 22)


@pytest.mark.parametrize(("text", "value"), [("yes", True), ("ON", True), ("0", False)])
def test_switches_in_the_environment(read: Load, text: str, value: bool) -> None:
    assert read(OSHABERI_STATUS_REACTIONS=text).turn.status_reactions is value


def test_the_options_of_a_model(read: Load) -> None:
    (entry,) = read("""
        [[models]]
        provider = "ollama"
        model = "qwen3"
        window = 32768
        max_output_tokens = 900
        images = false
        thinking = "low"
        prefill = "Well,"
        reemits = true
        text = { flush_buffer_size = 300 }
        params = { temperature = 0.9, seed = 3 }
    """).models
    assert entry.all_params() == {
        "window": 32768,
        "max_output_tokens": 900,
        "images": False,
        "thinking": "low",
        "prefill": "Well,",
        "reemits": True,
        "text": {"flush_buffer_size": 300},
        "temperature": 0.9,
        "seed": 3,
    }


def test_models_persona_and_servers_of_tools(read: Load) -> None:
    settings = read(
        """
        [[models]]
        provider = "openai"
        model = "m"
        api_keys = ["first-key", "second-key"]
        params = { temperature = 0.5 }
        [[models]]
        provider = "ollama"
        model = "n"
        [mcp_servers.files]
        command = "serve"
        args = ["-v"]
        env = { TOKEN = "t" }
        [mcp_servers.web]
        url = "https://tools.test/mcp"
        """
    )
    first, second = settings.models
    assert (first.keys({}), first.params) == (("first-key", "second-key"), {"temperature": 0.5})
    assert (second.provider, second.keys({})) == ("ollama", ())
    assert settings.mcp_servers["files"].args == ("-v",)
    assert settings.mcp_servers["web"].url == "https://tools.test/mcp"


def test_a_key_comes_from_the_usual_variable_but_goes_to_the_usual_server_only(read: Load) -> None:
    environ = {"OPENAI_API_KEY": "usual", "MINE": " mine\n"}
    toml = '[[models]]\nprovider = "openai"\nmodel = "m"\n'
    assert read(toml).models[0].keys(environ) == ("usual",)
    elsewhere = toml + 'base_url = "http://127.0.0.1:1/v1"\n'
    assert read(elsewhere).models[0].keys(environ) == ()
    assert read(elsewhere + 'api_key_env = "MINE"').models[0].keys(environ) == ("mine",)


def test_paths_and_what_depends_on_them(read: Load) -> None:
    settings = read()
    assert settings.data_dir == Path("/home/mika/.local/share/oshaberi")
    assert settings.database_url == "sqlite:////home/mika/.local/share/oshaberi/oshaberi.db"
    assert settings.secret_key_file == settings.data_dir / "secret.key"
    assert read(XDG_DATA_HOME="/data").data_dir == Path("/data/oshaberi")
    assert read(XDG_DATA_HOME="relative").data_dir == settings.data_dir
    moved = read('data_dir = "/srv/bot"', OSHABERI_DATABASE_URL="postgresql://db/x")
    assert (moved.database_url, moved.secret_key_file) == (
        "postgresql://db/x",
        Path("/srv/bot/secret.key"),
    )
    assert read('data_dir = "~/bot"').data_dir == Path("~/bot").expanduser()


def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As a container that runs under a number may be."""
    file = tmp_path / "oshaberi.toml"
    file.write_text("")
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # what is left of ~ is an error
    assert load(file, {"OSHABERI_DATA_DIR": "/data"}).database_url == "sqlite:////data/oshaberi.db"
    assert load(file, {}).data_dir == Path("/nonexistent/.local/share/oshaberi")
    with pytest.raises(ConfigError, match="data_dir: ~/x: this user has no home folder"):
        load(file, {"OSHABERI_DATA_DIR": "~/x"})


def test_an_instance_is_named_after_its_shards(read: Load) -> None:
    assert read().instance == "main"
    assert read("shard_ids = [0, 2]\nshard_count = 3").instance == "shards-0-2"
    shared = read('shards = "auto"\nredis_url = "redis://localhost/0"')
    assert shared.instance == socket.gethostname()
    assert read('instance = "left"').instance == "left"


# -- refusals ------------------------------------------------------------------------------------

BAD_FILE = [
    ("hold_limit = 9", "hold_limit: 9 is not a whole number from 50 to 4000"),
    ("hold_limit = 4001", "hold_limit: 4001 is not a whole number from 50 to 4000"),
    ('hold_limit = "60"', "hold_limit: '60' is not a whole number from 50 to 4000"),
    ("hold_limit = 60.0", "hold_limit: 60.0 is not a whole number"),
    ("hold_limit = true", "hold_limit: True is not a whole number"),
    ("thinking_pause_chance = 1.5", "thinking_pause_chance: 1.5 is not a number from 0 to 1"),
    ("thinking_pause_chance = nan", "thinking_pause_chance: nan is not a number from 0 to 1"),
    ("status_reactions = 1", "status_reactions: 1 is not true or false"),
    ('notify = "none"', "notify: 'none' is not one of: all, first, last"),
    ('llm_stop_strings = "x"', "llm_stop_strings: 'x' is not a list of texts"),
    ('llm_stop_strings = [""]', "llm_stop_strings[0]: '' is not a list of texts"),
    ("llm_stop_strings = [1]", "llm_stop_strings[0]: 1 is not a list of texts"),
    ('auto_channels = ["1"]', "auto_channels[0]: '1' is not a list of ids"),
    ("auto_channels = [-1]", "auto_channels[0]: -1 is not a list of ids"),
    ("min_random_pause_ms = 2000", "min_random_pause_ms: 2000 is not at most max_random_pause_ms"),
    ("shard_ids = [2]\nshard_count = 2", "shard_ids: 2 is not below shard_count, 2"),
    ('shards = "auto"', "shards: auto needs redis_url, where the processes share the shards"),
    (
        'shards = "auto"\nredis_url = "redis://x/0"\nshard_ids = [0]\nshard_count = 2',
        "shard_ids: must be empty with shards = auto",
    ),
    ('discord_api_url = "proxy:8080"', "discord_api_url: 'proxy:8080' is not an address like"),
    ('discord_api_url = "http://[x"', "discord_api_url: 'http://[x' is not an address like"),
    ("data_dir = 5", "data_dir: 5 is not a path"),
    ("redis_url = 5", "redis_url: 5 is not a text"),
    ('redis_url = " "', "redis_url: ' ' is not a text"),
    ("log_levl = 'info'", "log_levl: no such setting; did you mean 'log_level'?"),
    ("qqqqq = 1", "qqqqq: no such setting; `oshaberi settings` lists them"),
    ("models = 3", "models: 3 is not a list of tables"),
    ("models = [3]", "models[0]: 3 is not a table"),
    ("[[models]]\nprovider = 'openai'", "models[0].model: is missing"),
    ("[[models]]\nprovider='openai'\nmodel='m'\nkey='x'", "models[0].key: no such key"),
    ("[[models]]\nprovider='opnai'\nmodel='m'", "models[0].provider: 'opnai' is not known"),
    ("[[models]]\nprovider='openai'\nmodel=3", "models[0].model: 3 is not a text"),
    ("[[models]]\nprovider='openai'\nmodel='m'\nwindow=1", "models[0]: window: 1 is not a whole"),
    ("[[models]]\nprovider='openai'\nmodel='m'\nthinking='x'", "models[0]: thinking: 'x' is not"),
    (
        "[[models]]\nprovider='openai'\nmodel='m'\ntext={x=1}",
        "models[0]: text: {'x': 1} is not a table with some of flush_buffer_size",
    ),
    ("[persona]\nprompt = 'x'", "persona.name: is missing"),
    ("[persona]\nname = ' '", "persona: needs a name"),
    (
        "[persona]\nname = 'Discord Helper'",
        "persona: cannot be called 'Discord Helper': Discord does not allow the word 'discord'",
    ),
    ("[mcp_servers.a]\nargs = []", "mcp_servers.a: needs either a command or a url"),
    ("mcp_servers = []", "mcp_servers: [] is not tables by name"),
]


@pytest.mark.parametrize(("toml", "reason"), BAD_FILE, ids=[toml for toml, _ in BAD_FILE])
def test_a_wrong_value_of_the_file_is_named(
    read: Load, tmp_path: Path, toml: str, reason: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        read(toml)
    line = str(refused.value)
    assert line.startswith(reason)
    assert f"(from {tmp_path / 'oshaberi.toml'})" in line
    assert "\n" not in line


BAD_VARIABLE = [
    ("HOLD_LIMIT", "9", "hold_limit: 9 is not a whole number from 50 to 4000"),
    ("HOLD_LIMIT", "many", "hold_limit: 'many' is not a whole number"),
    ("THINKING_PAUSE_CHANCE", "often", "thinking_pause_chance: 'often' is not a number"),
    ("STATUS_REACTIONS", "maybe", "status_reactions: 'maybe' is not true or false"),
    ("LOG_LEVEL", "loud", "log_level: 'loud' is not one of: debug, info, warning, error"),
    ("AUTO_CHANNELS", "1,general", "auto_channels[1]: 'general' is not a list of ids"),
    ("AUTO_CHANNELS", "[1", "auto_channels: '[1' is not a list of ids"),
    ("MODELS", "gpt", "models: 'gpt' is not a list of tables"),
    ("PERSONA", "{", "persona: '{' is not a table"),
]


@pytest.mark.parametrize(("key", "text", "reason"), BAD_VARIABLE)
def test_a_wrong_value_of_a_variable_is_named(read: Load, key: str, text: str, reason: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read(**{f"OSHABERI_{key}": text})
    assert str(refused.value).startswith(reason)
    assert str(refused.value).endswith(f"(from OSHABERI_{key})")


def test_an_unknown_variable_is_named(read: Load) -> None:
    with pytest.raises(ConfigError, match="OSHABERI_HOLD_LIMT: no such setting; did you mean 'ho"):
        read(OSHABERI_HOLD_LIMT="3")
    read(**dict.fromkeys(NOT_SETTINGS - {"OSHABERI_CONFIG"}, "x"), OTHER_THING="y")


SERVICE_LINKS = {
    "OSHABERI_REDIS_SERVICE_HOST": "10.96.0.7",
    "OSHABERI_REDIS_SERVICE_PORT": "6379",
    "OSHABERI_REDIS_SERVICE_PORT_REDIS": "6379",
    "OSHABERI_REDIS_PORT": "tcp://10.96.0.7:6379",
    "OSHABERI_REDIS_PORT_6379_TCP": "tcp://10.96.0.7:6379",
    "OSHABERI_REDIS_PORT_6379_TCP_PROTO": "tcp",
    "OSHABERI_REDIS_PORT_6379_TCP_PORT": "6379",
    "OSHABERI_REDIS_PORT_6379_TCP_ADDR": "10.96.0.7",
    "OSHABERI_DNS_PORT_53_UDP": "udp://10.96.0.9:53",
    "OSHABERI_SERVICE_HOST": "10.96.0.8",
    "OSHABERI_PORT": "tcp://10.96.0.8:8421",
}
"""What Kubernetes sets in every pod beside services called `oshaberi-redis` and `oshaberi`."""


def test_variables_that_describe_a_service_are_ignored_and_named(read: Load) -> None:
    settings = read(**SERVICE_LINKS, OSHABERI_HEALTH_PORT="8421")
    assert settings.service_links == tuple(sorted(SERVICE_LINKS))
    assert settings.origins == {"health_port": "OSHABERI_HEALTH_PORT"}
    assert read().service_links == ()


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("OSHABERI_HELTH_PORT", "8421"),
        ("OSHABERI_REDIS_PORT", "6379"),
        ("OSHABERI_SERVICE_PORT", "http"),
        ("OSHABERI_NOTE", "X_PORT=tcp://10.96.0.7:6379"),
        ("OSHABERI_HEALTH_PORT", "tcp://10.96.0.7:8421"),
    ],
)
def test_a_mistake_is_not_taken_for_a_service(read: Load, variable: str, text: str) -> None:
    with pytest.raises(ConfigError, match=variable):
        read(**{variable: text})


def test_several_mistakes_are_counted(read: Load) -> None:
    with pytest.raises(ConfigError, match=r"and 2 more: `oshaberi doctor` lists them$"):
        read("hold_limit = 1\nnotify = 1\nqqq = 1")


def test_all_mistakes_are_kept(read: Load) -> None:
    with pytest.raises(SettingMistakesError) as refused:
        read("hold_limit = 1\nqqq = 1", OSHABERI_NOTIFY="x", OSHABERI_WWW="1", OSHABERI_ZZZ="1")
    keys = [line.partition(":")[0] for line in refused.value.lines]
    assert keys[:2] == ["OSHABERI_WWW", "OSHABERI_ZZZ"]
    assert sorted(keys[2:]) == ["hold_limit", "notify", "qqq"]


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    with pytest.raises(ConfigError, match=r"mine\.toml: there is no such settings file"):
        load(path, {})
    with pytest.raises(ConfigError, match=r"mine\.toml: there is no such settings file"):
        load(None, {"OSHABERI_CONFIG": str(path)})
    path.write_text("hold_limit = \n")
    with pytest.raises(ConfigError, match=r"mine\.toml, line 1 \(hold_limit\): there is no"):
        load(path, {})
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"mine\.toml: is not UTF-8 text"):
        load(path, {})
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        load(tmp_path, {})


# -- secrets -------------------------------------------------------------------------------------

TOKEN = "a-very-secret-token"
SECRETS = f"""
discord_token = "{TOKEN}"
database_url = "postgresql://bot:{TOKEN}@db/x?sslpassword={TOKEN}"
redis_url = "redis://:{TOKEN}@cache/0"
[[models]]
provider = "openai"
model = "m"
base_url = "https://me:{TOKEN}@proxy.test/v1"
api_keys = ["{TOKEN}"]
[mcp_servers.a]
command = "serve"
env = {{ KEY = "{TOKEN}" }}
[mcp_servers.b]
url = "https://tools.test/?token={TOKEN}"
headers = {{ Authorization = "{TOKEN}" }}
"""


def test_secrets_are_never_shown(read: Load) -> None:
    settings = read(SECRETS)
    assert settings.discord_token == TOKEN
    shown = {key: settings.display(key) for key in DECLARED}
    assert TOKEN not in json.dumps(shown)
    assert shown["discord_token"] == "[secret]"
    assert shown["redis_url"] == "redis://:[secret]@cache/0"
    assert shown["database_url"].startswith("postgresql://bot:[secret]@db/x?")
    assert shown["models"][0]["api_keys"] == ["[secret]"]
    assert shown["mcp_servers"]["a"]["env"] == {"KEY": "[secret]"}
    assert TOKEN in settings.secrets({})


def test_secrets_are_not_in_representations(read: Load) -> None:
    settings = read(SECRETS)
    assert TOKEN not in repr(settings)


@pytest.mark.parametrize(
    "toml",
    [
        f'discord_token = ["{TOKEN}"]',
        f'[[models]]\nprovider = "openai"\nmodel = "m"\napi_keys = ["x", {{ a = "{TOKEN}" }}]',
        f'[mcp_servers.a]\ncommand = "c"\nenv = ["{TOKEN}"]',
    ],
)
def test_secrets_are_not_in_complaints(read: Load, toml: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read(toml)
    assert TOKEN not in str(refused.value)
    assert "[secret]" in str(refused.value)


@pytest.mark.parametrize("sign", ["\n", "\x00", "\x7f"])
def test_a_token_that_no_request_could_carry(read: Load, sign: str) -> None:
    with pytest.raises(ConfigError, match="discord_token: has a line break") as refused:
        read(OSHABERI_DISCORD_TOKEN=f"{TOKEN}{sign}{TOKEN}")
    assert TOKEN not in str(refused.value)
    assert read(OSHABERI_DISCORD_TOKEN=f" {TOKEN}\n").discord_token == TOKEN


CLOUD = """
[[models]]
provider = "bedrock"
model = "eu.anthropic.claude-x"
region = "eu-central-1"
params = { pull = true, temperature = 1 }
"""


def test_what_only_the_operator_may_set_for_the_address_of_a_model(read: Load) -> None:
    (model,) = read(CLOUD).models
    assert model.endpoint_settings() == {"region": "eu-central-1", "pull": True}
    (other,) = read(
        CLOUD.replace("pull = true", 'pull = "yes"').replace("region", "project")
    ).models
    assert other.endpoint_settings() == {"project": "eu-central-1"}


def test_a_search_that_does_not_exist_is_named(read: Load) -> None:
    toml = '[[models]]\nprovider = "xai"\nmodel = "grok-4"\nsearch = true\n'
    with pytest.raises(ConfigError, match="xai-responses has"):
        read(toml)
    read(toml.replace('"xai"', '"xai-responses"'))
