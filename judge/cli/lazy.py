"""Commands that are imported when they are called: a start costs what the one command needs, not what all do."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group


class Lazy(NamedTuple):
    """Where a command is.

    Args:
        module: that has it.
        name: in the module, of a function or of a `Typer` with commands of its own.
        help: a sentence for the latter; a function has its own.
    """

    module: str
    name: str
    help: str = ""


class LazyGroup(TyperGroup):
    """A group that also has the commands of a table."""

    lazy: ClassVar[Mapping[str, Lazy]] = {}

    # Contexts and commands are of typer's own copy of click in some of its versions, of click in others: hence Any.
    def list_commands(self, ctx: Any) -> list[str]:
        return [*self.lazy, *super().list_commands(ctx)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.lazy:
            return super().get_command(ctx, cmd_name)
        wanted = self.lazy[cmd_name]
        found = getattr(import_module(wanted.module), wanted.name)
        if isinstance(found, typer.Typer):
            command: Any = get_group(found)
            command.help = wanted.help
        else:
            alone = typer.Typer(add_completion=False)
            alone.command(cmd_name)(found)
            command = get_command(alone)
        command.name = cmd_name
        return command


def lazy_group(commands: Mapping[str, Lazy]) -> type[LazyGroup]:
    """The class of a group that has `commands`, for `typer.Typer(cls=…)`."""
    return type("LazyCommands", (LazyGroup,), {"lazy": commands})
