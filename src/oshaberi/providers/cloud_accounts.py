"""The accounts of clouds: requests to AWS, Google Cloud and Azure are signed by their own SDKs.

The credentials are those that the cloud's SDK finds on this machine (environment, profile, role of
a virtual machine), or a token that is given as the key. So only the operator may choose such a
model, and no token is sent over an unencrypted connection.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from oshaberi.errors import ConfigError, Sentence
from oshaberi.providers.presets import Preset

REGION = re.compile(r"[a-z]{2,20}(?:-[a-z0-9]{1,20}){0,4}")
PROJECT = re.compile(r"[a-z0-9](?:[a-z0-9.:-]{0,98}[a-z0-9])?")
"""They become part of host names and paths, so no other characters are allowed."""
_SHAPES = {"region": REGION, "project": PROJECT}
_MULTI_REGIONS = frozenset({"us", "eu"})

_FAILED: tuple[tuple[str, str, str], ...] = (
    ("BotoCoreError", "", "AWS"),
    ("RuntimeError", "Could not resolve AWS credentials", "AWS"),
    ("GoogleAuthError", "", "Google Cloud"),
    ("RuntimeError", "Could not resolve API token", "Google Cloud"),
    ("AzureError", "", "Azure"),
)
"""What the SDKs raise if they cannot sign a request: class, start of the message, cloud."""
_MOST_CAUSES = 4


def check_cloud(preset: Preset, base_url: str | None, settings: Mapping[str, Any]) -> None:
    """Raise ConfigError if a setting is missing, or cannot be right."""
    for name, shape in _SHAPES.items():
        value = settings.get(name)
        if value is None and name in preset.needs:
            raise ConfigError(
                Sentence("{provider}: needs a {setting}", provider=preset.name, setting=name)
            )
        if value is not None and not shape.fullmatch(str(value)):
            raise ConfigError(
                Sentence(
                    "{provider}: {setting} {value} is not a name that {cloud} gives",
                    provider=preset.name,
                    setting=name,
                    value=repr(str(value)[:60]),
                    cloud=preset.cloud,
                )
            )
    if base_url is not None and not _is_private(base_url):
        raise ConfigError(
            Sentence(
                "{provider}: the address must begin with https://, because a token of {cloud} "
                "is sent there",
                provider=preset.name,
                cloud=preset.cloud,
            )
        )


def _is_private(url: str) -> bool:
    """Return whether the connection is private: encrypted, or within this machine."""
    try:
        place = urlsplit(url)
        host = place.hostname or ""
        return place.scheme == "https" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def vertex_address(region: str) -> str:
    """Return the address of Vertex AI in a region; `global`, `us` and `eu` are regions too."""
    if region == "global":
        return "https://aiplatform.googleapis.com"
    if region in _MULTI_REGIONS:
        return f"https://aiplatform.{region}.rep.googleapis.com"
    return f"https://{region}-aiplatform.googleapis.com"


def failed_sign_in(error: BaseException) -> str | None:
    """Return the cloud whose SDK could not sign the request; None if it was something else."""
    following: BaseException | None = error
    for _ in range(_MOST_CAUSES):
        if following is None:
            return None
        ancestors = {ancestor.__name__ for ancestor in type(following).__mro__}
        for name, beginning, cloud in _FAILED:
            if name in ancestors and str(following).startswith(beginning):
                return cloud
        following = following.__cause__ or following.__context__
    return None
