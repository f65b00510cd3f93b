"""The files in deploy/ for several processes say what the program understands, and are safe."""

from __future__ import annotations

import re

import pytest
import yaml

from oshaberi.bot.config import LoadedSettings, load
from oshaberi.bot.config.all_settings import DECLARED
from oshaberi.bot.coordination.shard_keeper import HANDOVER_SECONDS
from oshaberi.bot.storage.secret_vault import VARIABLE as SECRET_KEY
from oshaberi.bot.turns.channel_turns import REACTION_SECONDS
from oshaberi.bot.turns.running.queue_runner import LAST_SECONDS
from tests.deploy.deploy_files import (
    compose_services,
    container,
    pod,
    pod_environment,
    resource,
    text_of,
)

SETTINGS = {f"OSHABERI_{key.upper()}" for key in DECLARED} | {SECRET_KEY}
GIVEN = {
    "OSHABERI_DISCORD_TOKEN": "secret",
    SECRET_KEY: "secret",
    "OSHABERI_DATABASE_URL": "postgresql+asyncpg://oshaberi:secret@postgres/oshaberi",
    "OSHABERI_REDIS_URL": "redis://redis:6379/0",
}
"""What the Kubernetes secret has in it."""


def needed_s() -> float:
    """How long a process may take to end."""
    grace_s = LoadedSettings().shutdown_grace_s
    return HANDOVER_SECONDS + grace_s + LAST_SECONDS + REACTION_SECONDS


@pytest.mark.parametrize("name", ["compose.sharded.yaml", "kubernetes.yaml"])
def test_every_variable_is_a_setting(name: str) -> None:
    named = set(re.findall(r"OSHABERI_[A-Z_]+", text_of(name)))
    assert "OSHABERI_SHARDS" in named
    assert named <= SETTINGS


# -- Compose ---------------------------------------------------------------------------------------


def test_compose_runs_several_processes_that_share_the_shards() -> None:
    passwords = {"POSTGRES_PASSWORD": "secret", "REDIS_PASSWORD": "secret"}
    files = ("compose.yaml", "compose.sharded.yaml")
    bot = compose_services(*files, environ=GIVEN | passwords)["bot"]
    environ = bot["environment"]
    assert load(None, environ).shards == "auto"
    assert bot["deploy"]["replicas"] == 4
    assert int(bot["stop_grace_period"].removesuffix("s")) > needed_s()
    # A name of its own, or one port, would allow one container only.
    assert not {"container_name", "hostname"} & bot.keys()
    [published] = bot["ports"]
    first, last = published.split(":")[1].split("-")
    assert int(last) - int(first) + 1 >= 2 * bot["deploy"]["replicas"]
    assert "OSHABERI_INSTANCE" not in environ


# -- Kubernetes ------------------------------------------------------------------------------------


def test_kubernetes_has_what_belongs_together() -> None:
    kinds = [one["kind"] for one in yaml.safe_load_all(text_of("kubernetes.yaml"))]
    assert kinds == ["ServiceAccount", "Service", "StatefulSet", "PodDisruptionBudget"]
    stateful, service = resource("StatefulSet")["spec"], resource("Service")
    labels = stateful["template"]["metadata"]["labels"]
    assert stateful["selector"]["matchLabels"] == labels
    assert service["spec"]["selector"] == labels
    assert resource("PodDisruptionBudget")["spec"]["selector"]["matchLabels"] == labels
    assert stateful["serviceName"] == service["metadata"]["name"]
    assert pod()["serviceAccountName"] == resource("ServiceAccount")["metadata"]["name"]


def test_kubernetes_sets_what_can_be_read() -> None:
    settings = load(None, pod_environment("oshaberi-0", GIVEN, {"oshaberi-redis": 6379}))
    assert settings.service_links == ()
    assert (settings.shards, settings.instance) == ("auto", "oshaberi-0")
    ports = {one["name"]: one["containerPort"] for one in container()["ports"]}
    assert settings.health_port == ports["health"]
    assert resource("Service")["spec"]["ports"][0]["port"] == settings.health_port
    for key in GIVEN:
        assert key in text_of("kubernetes.yaml")


def test_kubernetes_never_runs_the_stage() -> None:
    assert container()["args"] == ["run", "--discord"]


def test_kubernetes_restarts_one_process_after_another() -> None:
    stateful = resource("StatefulSet")["spec"]
    assert stateful["updateStrategy"]["type"] == "RollingUpdate"
    assert resource("PodDisruptionBudget")["spec"]["maxUnavailable"] == 1
    assert pod()["terminationGracePeriodSeconds"] > needed_s()


def test_kubernetes_asks_the_bot_how_it_is() -> None:
    bot = container()
    names = ("startup", "liveness", "readiness")
    paths = {name: bot[f"{name}Probe"]["httpGet"]["path"] for name in names}
    assert paths == {"startup": "/health", "liveness": "/health", "readiness": "/ready"}
    assert {bot[f"{name}Probe"]["httpGet"]["port"] for name in names} == {"health"}
    # An outage of Discord is no reason to start again, and each start costs an IDENTIFY.
    liveness = bot["livenessProbe"]
    assert liveness["periodSeconds"] * liveness["failureThreshold"] >= 600


def test_kubernetes_confines_the_bot() -> None:
    """As the Pod Security Standard *restricted* wants it."""
    whole, own = pod()["securityContext"], container()["securityContext"]
    user, group = re.findall(r"^USER (\d+):(\d+)$", text_of("Dockerfile"), re.MULTILINE)[0]
    assert whole["runAsNonRoot"] is True
    assert (whole["runAsUser"], whole["runAsGroup"]) == (int(user), int(group))
    assert whole["seccompProfile"] == {"type": "RuntimeDefault"}
    assert own == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod()["automountServiceAccountToken"] is False
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod().keys()
    # The program writes to these two alone, and the root file system is read-only.
    assert [one["mountPath"] for one in container()["volumeMounts"]] == ["/data", "/tmp"]
    limits = container()["resources"]
    assert limits["requests"].keys() == {"cpu", "memory"}
    assert limits["limits"].keys() == {"memory"}  # a process that is held back loses its shards
