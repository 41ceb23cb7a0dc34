"""The command line: `ssdgym run | evaluate | replay | report | train | tune | list | trace | ...`.

Exit codes: 0 done; 1 something failed and was reported (a check of `doctor`, a run of `evaluate`, a trial of
`tune`, a result that `replay` does not reproduce); 2 wrong input (one sentence on stderr); 130 interrupted by
Ctrl-C; 143 terminated by SIGTERM. Each command imports its modules when it runs, so `ssdgym --help` is fast.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import threading
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

import typer

import ssdgym
from ssdgym.cli.console import note, print_json
from ssdgym.cli.demo import demo
from ssdgym.cli.doctor import doctor
from ssdgym.cli.evaluate import evaluate
from ssdgym.cli.leaderboard import leaderboard
from ssdgym.cli.listing import list_names
from ssdgym.cli.options import command
from ssdgym.cli.replay import replay, report
from ssdgym.cli.reproduce import reproduce
from ssdgym.cli.run import run
from ssdgym.cli.trace import trace
from ssdgym.cli.train import train, tune
from ssdgym.cli.zoo import zoo
from ssdgym.errors import SsdgymError, in_words, with_short_values
from ssdgym.own_code import import_modules

WRONG_INPUT = 2
INTERRUPTED = 130

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _command in (run, evaluate, leaderboard, replay, report, reproduce, train, tune, doctor, demo):
    app.command()(command(_command))
app.command("list")(command(list_names))
app.add_typer(trace, name="trace")
app.add_typer(zoo, name="zoo")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"ssdgym {ssdgym.__version__}")
        raise typer.Exit


@app.callback()
def _of_all(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Run a compiled SSD and flash-translation-layer simulator, with Gymnasium environments."""


def _of_every_command(
    modules: Annotated[
        list[str] | None,
        typer.Option(
            "--import",
            metavar="MODULE",
            is_eager=True,
            expose_value=False,
            callback=lambda modules: import_modules(modules or ()),
            help="Module that registers your policies, features, rewards or formats; repeat for more.",
        ),
    ] = None,
    is_json: Annotated[
        bool, typer.Option("--json", expose_value=False, callback=print_json, help="Print JSON on stdout.")
    ] = False,
) -> None:
    """Declare the options that all commands have."""


@cache
def command_tree(app: typer.Typer = app) -> Any:
    """Return the Click command of an app, with `--import` and `--json` everywhere; building takes 0.1 s."""
    tree: Any = typer.main.get_command(app)
    shared = typer.Typer(add_completion=False)
    shared.command()(_of_every_command)
    found = [tree]
    for one in found:
        if inner := getattr(one, "commands", None):
            found += inner.values()
        else:
            one.params += typer.main.get_command(shared).params[:2]
    return tree


def main(arguments: Sequence[str] | None = None, app: typer.Typer = app, name: str = "ssdgym") -> int:
    """Run a command line and return its exit code; SIGTERM interrupts the command as Ctrl-C does.

    Args:
        arguments: the words after the program's name; None: those of the process.
        app: the Typer app that has the commands.
        name: name of the program in messages.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as Python does by default for stderr
    terminated = False

    def terminate(*_: object) -> None:
        nonlocal terminated
        terminated = True
        raise KeyboardInterrupt

    handles_signals = threading.current_thread() is threading.main_thread()  # only the main thread can
    usual = signal.signal(signal.SIGTERM, terminate) if handles_signals else None
    usual_warning = warnings.formatwarning  # the usual format would also print the line of code
    warnings.formatwarning = lambda message, *_, **__: f"ssdgym: {' '.join(str(message).split())}\n"
    try:
        status = command_tree(app)(args=arguments, prog_name=name, standalone_mode=False)
        sys.stdout.flush()
        if status == INTERRUPTED:  # Typer turns Ctrl-C into this code
            raise KeyboardInterrupt
    except typer.TyperException as error:
        status = _refuse(in_words(error.format_message()))
    except SsdgymError as error:
        status = _refuse(str(error))
    except (KeyboardInterrupt, typer.Abort):
        note("ssdgym: interrupted")
        status = INTERRUPTED
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python's flush at exit would fail
        status = _refuse("no space is left on the device that is written to; free some")
    finally:
        warnings.formatwarning = usual_warning
        if handles_signals:
            signal.signal(signal.SIGTERM, usual)
    if terminated:
        return 128 + signal.SIGTERM
    return status if isinstance(status, int) else 0


def _refuse(sentence: str) -> int:
    """Print the sentence as one line on stderr, if it is not empty; return the exit code of wrong input."""
    if sentence:
        note(f"ssdgym: {with_short_values(' '.join(sentence.split()))}")
    return WRONG_INPUT
