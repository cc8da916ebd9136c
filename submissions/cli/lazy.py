"""Imports a command when it is called, so that each command starts as fast as its own imports allow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group


class Lazy(NamedTuple):
    """Where a command is defined.

    Args:
        module: that defines it.
        name: of a function, or of a `Typer` with subcommands, in the module.
        help: the line about it among its neighbours; of a function, the first sentence of its docstring.
    """

    module: str
    name: str
    help: str


class UnexpectedEnd(Exception):
    """An `EOFError` that no reader has translated."""


class LazyGroup(TyperGroup):
    """A group whose commands are listed in a table. Their names may be written in any case."""

    lazy: ClassVar[Mapping[str, Lazy]] = {}

    # Contexts and commands are of typer's own copy of click in some of its versions, of click in others: hence Any.
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        listed = {name: TyperCommand(name, help=lazy.help) for name, lazy in self.lazy.items()}
        self.commands = {**listed, **self.commands}
        self._lists = False

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if self._lists or cmd_name not in self.lazy:
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

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except EOFError as error:  # click takes it for Ctrl-D at a prompt: an empty line, and no word about the cause
            raise UnexpectedEnd(str(error) or "a file ended too early") from error

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        known = args[0] in self.commands or args[0].lower() not in self.commands
        return super().resolve_command(ctx, args if known else [args[0].lower(), *args[1:]])

    def format_help(self, ctx: Any, formatter: Any) -> None:
        with self._listing():
            super().format_help(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        with self._listing():
            return super().shell_complete(ctx, incomplete)

    @contextmanager
    def _listing(self) -> Iterator[None]:
        """The time in which commands are shown by their names and lines, and none is imported."""
        self._lists = True
        try:
            yield
        finally:
            self._lists = False


def lazy_group(commands: Mapping[str, Lazy]) -> type[LazyGroup]:
    """The class of a group with these commands, for `typer.Typer(cls=…)`."""
    return type("LazyCommands", (LazyGroup,), {"lazy": commands})
