"""Mistakes in options and arguments, as one line that names what is wrong and the remedy."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import Any, NoReturn

import typer

from tasks.suites.names import did_you_mean

USAGE = 2
MAX_HELP = 100  # characters
_NOT_ONE_OF = re.compile(r"'(?P<value>.*)' is not one of (?P<choices>'.*')", re.S)
_NO_COMMAND = re.compile(r"No such command '(?P<value>.*?)'\.?", re.S)
_UNEXPECTED = re.compile(r"Got unexpected extra arguments? ?(?:\(s\))? ?\((?P<value>.*)\)", re.S)


def run(app: typer.Typer, command: str, everywhere: Iterable[str]) -> NoReturn:
    """Runs the command that `sys.argv` names, and ends the process. A mistake of usage is one line and status 2.

    Args:
        command: its first word.
        everywhere: options of all commands.
    """
    try:
        status = app(prog_name=command, standalone_mode=False)
    except typer.Abort:
        sys.exit(1)
    except Exception as error:  # classes of click or of typer's own copy: known by what they can say
        if not hasattr(error, "format_message"):
            raise
        print(usage_line(error, command, everywhere), file=sys.stderr)
        sys.exit(USAGE)
    sys.exit(status or 0)


def usage_line(error: Any, command: str, everywhere: Iterable[str]) -> str:
    """The mistake and its remedy in one line; of a group without a command, its help."""
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        return str(error.message)
    message = " ".join(_message(error, context, everywhere).split())
    path = context.command_path if context is not None else command
    return f"{path}: {message}" + (f" See {path} --help" if message.endswith("?") else f": see {path} --help")


def _message(error: Any, context: Any, everywhere: Iterable[str]) -> str:
    param, option = getattr(error, "param", None), getattr(error, "option_name", None)
    text = str(error.message)
    if option is not None and type(error).__name__ == "NoSuchOption":
        known = [*everywhere, *(name for each in context.command.get_params(context) for name in each.opts)]
        return f"there is no option {option}{did_you_mean(option, known)}"
    if option is not None and "requires" in text:
        return f"{option} needs a value"
    if param is not None and type(error).__name__ == "MissingParameter":
        kind = "option" if param.param_type_name == "option" else "argument"
        help = getattr(param, "help", None) or ""
        explained = f" ({help})" if 0 < len(help) <= MAX_HELP else ""
        return f"the {kind} {_shown(param)} is missing{explained}"
    if param is not None:
        return f"{_shown(param)}: {_bad_value(text, error)}"
    if no_command := _NO_COMMAND.match(text):
        value = no_command["value"]
        return f"there is no command {value!r}{did_you_mean(value, context.command.commands)}"
    if unexpected := _UNEXPECTED.match(text):
        return f"there is no place for the argument {unexpected['value']}"
    return text[:1].lower() + text[1:].rstrip(".")


def _bad_value(text: str, error: Any) -> str:
    """What is wrong with a value, with the value."""
    if not_one := _NOT_ONE_OF.search(text):
        choices = re.findall(r"'([^']*)'", not_one["choices"])
        value = not_one["value"]
        return f"{value!r} is not one of {', '.join(choices)}{did_you_mean(value, choices)}"
    details = error.__cause__.errors() if hasattr(error.__cause__, "errors") else []
    words = text.removeprefix("Value error, ").rstrip(".").partition(", unable to")[0]
    if details and words.startswith("Input "):
        return f"{details[0]['input']!r} {words.removeprefix('Input ')}"
    return words


def _shown(param: Any) -> str:
    """The longest name of an option; the name of an argument as help shows it."""
    if param.param_type_name == "option":
        return str(max(param.opts, key=len))
    return str(param.metavar or param.name.upper())
