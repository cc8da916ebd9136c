"""`judge keys show|create|trust|list`: the key that this judge signs with, and the keys whose signatures count."""

from __future__ import annotations

from typing import Annotated

import typer

from judge.cli.output import print_done, print_json
from judge.config import ConfigError, load_settings
from judge.records.signing import SigningKey, keys_by_source, safe_key_file, trust, trusted_file

app = typer.Typer(no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="print JSON")]
_SOURCES = {"own": "this judge's own", "settings": "of judge.toml", "file": "of the file of trusted keys"}


@app.command("show")
def show(as_json: Json = False) -> None:
    """Prints the public key of this judge, and the path of the private one."""
    path = safe_key_file(load_settings())
    try:
        public = SigningKey.load(path).public
    except FileNotFoundError:
        raise ConfigError(f"key_file: there is no key in {path}: judge keys create") from None
    if as_json:
        print_json({"public": public, "key_file": str(path)}, indent=None)
    else:
        print(f"{public}\n{path}")


@app.command("create")
def create(as_json: Json = False) -> None:
    """Makes this judge's key, as the first judge evaluate would do too. Never overwrites one."""
    path = safe_key_file(load_settings())
    public = SigningKey.create(path).public
    print_done(
        as_json,
        {"public": public, "key_file": str(path)},
        public,
        f"The private key is {path}. Keep a copy where nobody else can read it.",
    )


@app.command("trust")
def trust_command(
    key: Annotated[str, typer.Argument(metavar="KEY", help="public key, 64 hexadecimal digits")],
    as_json: Json = False,
) -> None:
    """Trusts signatures of KEY from now on."""
    settings = load_settings()
    new = trust(settings, key)
    line = f"Trusted from now on, in {trusted_file(settings)}." if new else "It is trusted already."
    print_done(as_json, {"key": key, "new": new, "file": str(trusted_file(settings))}, line)


@app.command("list")
def list_command(as_json: Json = False) -> None:
    """Lists the keys whose signatures count, and where each is stated."""
    by_source = keys_by_source(load_settings())
    if as_json:
        print_json(by_source)
        return
    for source, keys in by_source.items():
        for key in keys:
            print(f"{key}  {_SOURCES[source]}")
    if not any(by_source.values()):
        print("No key is trusted yet: judge keys create, or judge keys trust KEY")
