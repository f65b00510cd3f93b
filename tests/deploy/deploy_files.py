"""Reads the files in deploy/ as Docker Compose, Kubernetes and systemd read them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"


def text_of(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


# -- Compose --------------------------------------------------------------------------------------


class _ComposeLoader(yaml.SafeLoader):
    """Knows compose's own tags."""


class Override(list[Any]):
    """A list that replaces that of the file before; others are appended to it."""


def _override(loader: yaml.SafeLoader, node: yaml.SequenceNode) -> Override:
    return Override(loader.construct_sequence(node, deep=True))


_ComposeLoader.add_constructor("!override", _override)


def compose_services(*names: str, environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The services of several files, merged as `docker compose -f … -f …` does it.

    With `environ` the variables are filled in; a missing one that is needed is a KeyError.
    """
    merged: dict[str, Any] = {}
    for name in names or ("compose.yaml",):
        read: dict[str, Any] = yaml.load(text_of(name), _ComposeLoader)["services"]
        merged = _merged(merged, read)
    return merged if environ is None else _filled(merged, environ)


def _merged(one: Any, other: Any) -> Any:
    if isinstance(one, dict) and isinstance(other, dict):
        return one | {key: _merged(one.get(key), value) for key, value in other.items()}
    if isinstance(one, list) and isinstance(other, list) and not isinstance(other, Override):
        return one + other
    return other


def _filled(value: Any, environ: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(one, environ) for key, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, environ) for one in value]
    return _interpolated(value, environ) if isinstance(value, str) else value


def _interpolated(text: str, environ: Mapping[str, str]) -> str:
    def put(found: re.Match[str]) -> str:
        if found["escaped"]:
            return "$"
        value = environ.get(found["name"], "")
        if not value and found["kind"] == ":?":
            raise KeyError(f"{found['name']}: {found['more']}")
        return value or (found["more"] if found["kind"] == ":-" else "") or ""

    pattern = r"(?P<escaped>\$\$)|\$\{(?P<name>\w+)(?:(?P<kind>:\?|:-)(?P<more>[^}]*))?\}"
    return re.sub(pattern, put, text)


def health_command(service: Mapping[str, Any]) -> list[str]:
    kind, *words = service["healthcheck"]["test"]
    return ["sh", "-c", *words] if kind == "CMD-SHELL" else words


def seconds(text: str) -> float:
    return float(text.removesuffix("s"))


def env_file(text: str) -> dict[str, str]:
    """The variables of a file with one on each line."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


# -- Kubernetes -----------------------------------------------------------------------------------


def resource(kind: str) -> dict[str, Any]:
    found: dict[str, Any]
    [found] = [one for one in yaml.safe_load_all(text_of("kubernetes.yaml")) if one["kind"] == kind]
    return found


def pod() -> dict[str, Any]:
    spec: dict[str, Any] = resource("StatefulSet")["spec"]["template"]["spec"]
    return spec


def container() -> dict[str, Any]:
    found: dict[str, Any]
    [found] = pod()["containers"]
    return found


def pod_environment(
    name: str, secret: Mapping[str, str], services: Mapping[str, int]
) -> dict[str, str]:
    """The variables of a pod. `services` run beside it; each is linked unless the pod says no."""
    given: dict[str, str] = {}
    if pod().get("enableServiceLinks", True):
        for service, port in services.items():
            given |= service_links(service, port)
    assert container()["envFrom"] == [{"secretRef": {"name": "oshaberi"}}]
    given |= secret
    fields = {"metadata.name": name}
    for one in container()["env"]:
        reference = one.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
        given[one["name"]] = fields[reference] if reference else one["value"]
    return given


def service_links(service: str, port: int) -> dict[str, str]:
    """What Kubernetes sets in every pod of the namespace of a service."""
    name, host = service.upper().replace("-", "_"), "10.96.0.7"
    link = f"{name}_PORT_{port}_TCP"
    return {
        f"{name}_SERVICE_HOST": host,
        f"{name}_SERVICE_PORT": str(port),
        f"{name}_PORT": f"tcp://{host}:{port}",
        link: f"tcp://{host}:{port}",
        f"{link}_PROTO": "tcp",
        f"{link}_PORT": str(port),
        f"{link}_ADDR": host,
    }


# -- systemd --------------------------------------------------------------------------------------


def unit(key: str) -> str:
    """The last value of a key of the unit."""
    return unit_values(key)[-1]


def unit_values(key: str) -> list[str]:
    return re.findall(rf"^{key}=(.*)$", text_of("oshaberi.service"), re.MULTILINE)


def unit_environment() -> dict[str, str]:
    words = [word for line in unit_values("Environment") for word in shlex.split(line)]
    return dict(word.split("=", 1) for word in words)
