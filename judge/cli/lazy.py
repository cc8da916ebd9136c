"""Imports a command when it is called, so that each command starts as fast as its own imports allow."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group


class Lazy(NamedTuple):
    """Where a command is defined.

    Args:
        module: that defines it.
        name: of a function, or of a `Typer` with subcommands, in the module.
        help: of the `Typer`; a function has its own.
    """

    module: str
    name: str
    help: str = ""


class LazyGroup(TyperGroup):
    """A group whose commands are listed in a table."""

    lazy: ClassVar[Mapping[str, Lazy]] = {}

    # Contexts and commands are of typer's own copy of click in some of its versions, of click in others: hence Any.
    def list_commands(self, ctx: Any) -> list[str]:
        return [*self.lazy, *super().list_commands(ctx)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.lazy:
            return super().get_command(ctx, cmd_name)
        lazy = self.lazy[cmd_name]
        target = getattr(import_module(lazy.module), lazy.name)
        if isinstance(target, typer.Typer):
            command: Any = get_group(target)
            command.help = lazy.help
        else:
            app = typer.Typer(add_completion=False)
            app.command(cmd_name)(target)
            command = get_command(app)
        command.name = cmd_name
        return command


def lazy_group(commands: Mapping[str, Lazy]) -> type[LazyGroup]:
    """The class of a group with these commands, for `typer.Typer(cls=…)`."""
    return type("LazyCommands", (LazyGroup,), {"lazy": commands})
