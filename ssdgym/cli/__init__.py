"""The command line: `ssdgym run | evaluate | replay | report | train | tune | list | trace | ...`.

Exit codes: 0 done, 1 something failed and was reported (a check of `doctor`, a run of `evaluate`, a trial of
`tune`, a result that does not reproduce), 2 wrong input (one sentence on stderr), 130 interrupted,
143 terminated.
Commands import what they need when they run, so that `ssdgym --help` answers at once.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Annotated, Any

import typer

import ssdgym
from ssdgym.cli.demo import demo
from ssdgym.cli.doctor import doctor
from ssdgym.cli.evaluate import evaluate
from ssdgym.cli.leaderboard import leaderboard
from ssdgym.cli.learning import train, zoo
from ssdgym.cli.listing import list_names
from ssdgym.cli.replay import replay, report
from ssdgym.cli.reproduce import reproduce
from ssdgym.cli.run import run
from ssdgym.cli.trace import trace
from ssdgym.cli.tune import tune
from ssdgym.errors import SsdgymError, with_short_values
from ssdgym.own_code import import_modules

WRONG_INPUT = 2
INTERRUPTED = 130

app = typer.Typer(
    name="ssdgym",
    help="A compiled SSD and flash-translation-layer simulator as Gymnasium environments.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _command in (run, evaluate, leaderboard, replay, report, reproduce, train, tune, doctor, demo):
    app.command()(_command)
app.command("list")(list_names)
app.add_typer(trace, name="trace")
app.add_typer(zoo, name="zoo")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"ssdgym {ssdgym.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Run a compiled SSD and flash-translation-layer simulator, with Gymnasium environments."""


def main(arguments: Sequence[str] | None = None, app: typer.Typer = app, name: str = "ssdgym") -> int:
    """Run a command line and return its exit code.

    Args:
        arguments: in place of those the process was started with.
        app: its commands.
        name: of the program.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as Python does for stderr
    with _as_interrupt(signal.SIGTERM) as received:
        status = _run(arguments, app, name)
    return 128 + signal.SIGTERM if received else status


@contextmanager
def _as_interrupt(number: signal.Signals) -> Iterator[list[int]]:
    """Let a signal end a command as Ctrl-C does, and yield a list that it is then in."""
    received: list[int] = []

    def interrupt(number: int, _: object) -> None:
        received.append(number)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # Python lets no other handle signals
        yield received
        return
    usual = signal.signal(number, interrupt)
    try:
        yield received
    finally:
        signal.signal(number, usual)


def _run(arguments: Sequence[str] | None, app: typer.Typer, name: str) -> int:
    usual = warnings.formatwarning  # which prints the place in the code, too
    warnings.formatwarning = lambda message, *_, **__: f"ssdgym: {' '.join(str(message).split())}\n"
    try:
        status = command_tree(app)(args=arguments, prog_name=name, standalone_mode=False)
        sys.stdout.flush()
    except typer.TyperException as error:
        return _refuse(error.format_message())
    except SsdgymError as error:
        return _refuse(str(error))
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python fails on it once more
        return _refuse("no space is left on the device that is written to; free some")
    finally:
        warnings.formatwarning = usual
    return status if isinstance(status, int) else 0


@cache
def command_tree(app: typer.Typer = app) -> Any:
    """Return the command tree, which takes a tenth of a second to build; every command has `--import`."""
    tree: Any = typer.main.get_command(app)
    only = typer.Typer(add_completion=False)
    only.command()(_only_imports)
    every = typer.main.get_command(only).params[:1]
    found = [tree]
    for one in found:
        if inner := getattr(one, "commands", None):
            found += inner.values()
        else:
            one.params[-1:-1] = every
    return tree


def _only_imports(
    modules: Annotated[
        list[str] | None,
        typer.Option(
            "--import",
            metavar="MODULE",
            is_eager=True,
            expose_value=False,
            callback=lambda modules: import_modules(modules or ()),
            help="Module that registers policies, features, rewards or formats of yours; repeat for more.",
        ),
    ] = None,
) -> None:
    """Declare the option that every command has."""


def _refuse(sentence: str) -> int:
    """Print one line on stderr, whatever the sentence was broken into; nothing where help says it all."""
    if sentence:
        print("ssdgym:", with_short_values(" ".join(sentence.split())), file=sys.stderr)
    return WRONG_INPUT
