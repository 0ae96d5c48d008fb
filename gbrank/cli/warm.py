"""``gbrank warm-up``: compile kernels before anybody waits for them."""

import argparse
import time
from pathlib import Path
from typing import Any

import gbrank
from gbrank.cli.options import add_import, new_command
from gbrank.cli.output import show, two_columns

_EXAMPLES = """\
  gbrank warm-up
  gbrank warm-up xendcg lambdamart ndcg@10
"""


def add_command(commands: Any) -> argparse.ArgumentParser:
    """Say what the command takes."""
    parser = new_command(
        commands,
        "warm-up",
        "compile kernels now, as in a Dockerfile",
        "Compile what a first training would compile, and say where it is kept.",
        _EXAMPLES,
    )
    parser.add_argument(
        "names", nargs="*", help='"ranker" (the default), objectives, metrics or "compile"'
    )
    add_import(parser)
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Compile, and print the folder."""
    start = time.perf_counter()
    folder = warm_up(*arguments.names)
    result = {"seconds": round(time.perf_counter() - start, 1), "folder": folder}
    show(arguments, result, two_columns(result))


def warm_up(*names: str) -> Path:
    """Compile kernels before anybody waits for them, into the cache on disk.

    A first training on a machine, or in a container without a cache, compiles what it needs for
    some seconds. The cache is where ``NUMBA_CACHE_DIR`` says, else beside the package's files, or
    in the user's folder for caches where these cannot be written.

    Parameters
    ----------
    *names : str
        "ranker", which is the default, for ``Ranker().fit`` and its metric; names of objectives and
        of metrics (``"ndcg@10"``); "compile" for the scorer of :meth:`gbrank.Ranker.compile`.

    Returns
    -------
    pathlib.Path
        The folder of the cache.

    Examples
    --------
    >>> import gbrank
    >>> folder = gbrank.warm_up("squared")
    """
    from gbrank.core import kernel_cache  # here, for gbrank --help to answer at once

    names = names or ("ranker",)
    known = gbrank.list_objectives(observations=False)
    for name in names:  # before any work
        if name not in known and name not in ("ranker", "compile"):
            gbrank.metrics.get_metric(name)
    # lists for both kinds of kernels, side by side and one after the other
    data = gbrank.data.make_ranking(n_queries=30, list_length=(5, 100), random_state=0)
    for name in names:
        if name == "ranker":
            gbrank.Ranker(n_estimators=2).fit(data.X, data.y, qid=data.qid)
        elif name == "compile":
            ranker = gbrank.Ranker(preset="fast", n_estimators=2).fit(data.X, data.y, qid=data.qid)
            ranker.compile().predict(data.X)
        elif name in known:
            gbrank.get_objective(name).grad_hess(data.y, data.X[:, 0], data.group)
        else:
            gbrank.metrics.evaluate(data.y, data.X[:, 0], qid=data.qid, metrics=[name])
    return kernel_cache()
