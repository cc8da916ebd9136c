"""The judge's credentials for registries: a `config.json` as `docker login` writes it."""

from __future__ import annotations

import json
from pathlib import Path

import docker.auth
import docker.errors

from judge.config import ConfigError
from sandbox.driver import Login

_FIELDS = (("username", "password"), ("Username", "Password"))  # of the file, and of a credential helper


def login_for(registry_config: Path | None, host: str) -> Login | None:
    """The login for `host` in `registry_config`; None if there is none. `host` is written as in image names.

    Raises:
        ConfigError: the file cannot be read, or its credential helper fails.
    """
    if registry_config is None:
        return None
    try:
        fields = json.loads(registry_config.read_bytes())
        if not isinstance(fields, dict):
            raise ValueError
        # Without any field the SDK would read the user's own file of `docker login`.
        login = docker.auth.load_config(config_dict=fields or {"auths": {}}).resolve_authconfig(host) or {}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError, docker.errors.DockerException) as error:
        reason = error.strerror if isinstance(error, OSError) else type(error).__name__
        raise ConfigError(
            f"registry_config: {registry_config} cannot be read ({reason}): write it with docker --config FOLDER login"
        ) from None
    for username, password in _FIELDS:
        if login.get(username) and login.get(password):
            return Login(login[username], login[password])
    if "IdentityToken" in login:
        raise ConfigError(
            f"registry_config: the login for {host} is an identity token: log in with a name and a password"
        )
    return None
