"""The judge's credentials for registries: a `config.json` as `docker login` writes it."""

from __future__ import annotations

import json
from pathlib import Path

import docker.auth
import docker.errors

from judge.config import ConfigError
from sandbox.driver import Login

_NAMES = (("username", "password"), ("Username", "Password"))  # of the file, and of a credential helper


def login_for(registry_config: Path | None, host: str) -> Login | None:
    """What `registry_config` has for `host`, as image names call it; None where it has nothing.

    Raises:
        ConfigError: the file cannot be read, or its credential helper fails.
    """
    if registry_config is None:
        return None
    try:
        fields = json.loads(registry_config.read_bytes())
        if not isinstance(fields, dict):
            raise ValueError
        # Of nothing at all the SDK would take what `docker login` wrote for whoever runs the judge.
        found = docker.auth.load_config(config_dict=fields or {"auths": {}}).resolve_authconfig(host) or {}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError, docker.errors.DockerException) as error:
        said = error.strerror if isinstance(error, OSError) else type(error).__name__
        raise ConfigError(
            f"registry_config: {registry_config} cannot be read ({said}): write it with docker --config FOLDER login"
        ) from None
    for username, password in _NAMES:
        if found.get(username) and found.get(password):
            return Login(found[username], found[password])
    if "IdentityToken" in found:
        raise ConfigError(f"registry_config: that for {host} is an identity token: log in with a name and a password")
    return None
