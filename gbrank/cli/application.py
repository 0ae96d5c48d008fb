"""Finds the command that is meant, runs it, and says in one line what went wrong.

Each command is a module with ``add_command``, which says what it takes, and ``run``, which does it.
They use the public names of gbrank, which are imported when they are first used, so that
``gbrank --help`` answers at once.

Exit codes: 0 success, 1 failure (a missing file, bad data, an unreadable model), 2 a command that
makes no sense, 130 interrupted.
"""

import argparse
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

import gbrank
from gbrank.cli import (
    bench,
    clicks,
    compare,
    completion,
    convert,
    evaluate,
    explain,
    export,
    noise,
    objectives,
    predict,
    train,
    tune,
    warm,
)
from gbrank.cli.extensions import import_all
from gbrank.cli.options import UsageError, add_common_options

INTERRUPTED = 128 + signal.SIGINT

_COMMANDS = (
    train,
    tune,
    predict,
    evaluate,
    compare,
    explain,
    export,
    convert,
    clicks,
    objectives,
    noise,
    bench,
    warm,
    completion,
)
_EXAMPLES = """\
examples:
  gbrank train train.txt --valid vali.txt --objective xendcg --model model.txt
  gbrank tune train.txt --budget 10m --model best.txt
  gbrank evaluate model.txt test.txt --metric ndcg@5 ndcg@10 err
  gbrank predict model.txt test.txt --output scores.txt
  gbrank compare model.txt other.txt test.txt
  gbrank objectives

Data are LETOR text, CSV, parquet or npz, known by the names of files.
"gbrank COMMAND --help" says more and has examples of each command.
"""


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, and where to read on."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message} (see {self.prog} --help)\n")


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = _Parser(
        prog="gbrank",
        description="Learning to rank with LightGBM's trees and losses from the literature.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", parser_class=_Parser)
    for module in _COMMANDS:
        command = module.add_command(commands)
        add_common_options(command)
        command.set_defaults(run=module.run, error=command.error, parser=parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, default=None
        The words after ``gbrank``; ``None`` for those of this process.

    Returns
    -------
    int
        The exit code.

    Examples
    --------
    >>> from gbrank.cli import main
    >>> main(["objectives", "listnet", "--json"])
    {"name": "listnet", "loss": "-sum softmax(r)_i log rho_i", ...}
    0
    """
    parser = make_parser()
    chosen = parser.parse_args(arguments)
    if chosen.version:
        print(f"gbrank {gbrank.__version__}")
        return 0
    if chosen.command is None:
        parser.error("a command is needed, such as train")
    with warnings.catch_warnings():
        warnings.showwarning = _print_warning
        return _run(chosen)


def _run(chosen: argparse.Namespace) -> int:
    try:
        import_all(getattr(chosen, "imports", ()))
        chosen.run(chosen)
        sys.stdout.flush()
    except UsageError as error:
        chosen.error(str(error))
    except BrokenPipeError:
        # Whoever reads has seen enough. What is still in the buffer has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print(f"gbrank {chosen.command}: interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        if chosen.debug:
            traceback.print_exc()
        print(f"gbrank {chosen.command}: error: {_in_one_line(error)}", file=sys.stderr)
        return 1
    return 0


def _in_one_line(error: Exception) -> str:
    """Return what went wrong; an error that is nobody's message is named by its type."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    text = " ".join(str(error).split())
    # The errors that checks of input raise say what is wrong; other types need their name.
    if isinstance(error, ValueError | TypeError | OSError | ImportError) and text:
        return text
    kind = type(error).__name__
    return f"{kind}: {text} (--debug shows where)" if text else f"{kind} (--debug shows where)"


def _print_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"gbrank: warning: {' '.join(str(message).split())}", file=sys.stderr)
