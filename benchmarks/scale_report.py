"""The tables and the page of benchmarks/scale.py."""

from typing import Any

CURVES = (
    ("steps by documents", "Gradient step against documents", "documents, in lists of 100"),
    ("steps by list length", "Gradient step against list length", "documents of a list"),
    ("steps by threads", "Gradient step against threads", "threads"),
    ("trainings by documents", "Whole training against documents", "documents"),
    ("trainings by features", "Whole training against features", "features"),
    ("trainings by trees", "Whole training against trees", "trees"),
    ("trainings by threads", "Whole training against threads", "threads"),
    ("Dask workers", "Whole training against Dask workers", "worker processes, one thread each"),
)

ASSUMPTIONS = """\
What the projections assume:

- trees of 64 leaves, 255 bins, as measured; the cost of a tree is that of documents times features,
  with the growth exponent of the table where that is above 1;
- a processor as here on every worker; where 16 threads are named, they are worth 9.6 (60%), which
  was not measured; memory for the bins (one byte a
  value), the gradients (8 bytes a document) and scores and labels (12 bytes);
- with several workers, data-parallel trees: for each of the 63 splits of a tree a worker sends the
  histograms of all features (255 bins of 16 bytes) and receives as many, over 10 Gbit/s;
  queries are spread evenly, and the slowest worker is as fast as the others;
- gradients need no communication, since a query lies on one worker; reading data is not counted.
"""


def markdown_table(header: list[str], rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]

    def line(cells: list[str]) -> str:
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        return f"| {' | '.join(padded)} |"

    return "\n".join([line(header), line(["-" * width for width in widths]), *map(line, rows)])


def seconds_text(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def curve_table(rows: list[dict[str, Any]]) -> str:
    with_exponent = "exponent" in rows[0]
    header = ["objective", *(f"{size:,}" for size in rows[0]["sizes"])]
    body = []
    for row in rows:
        cells = [row["objective"], *map(seconds_text, row["seconds"])]
        if with_exponent:
            cells.append(f"{row['exponent']:.3f} ± {row['standard error']:.3f}")
        body.append(cells)
    return markdown_table(header + ["exponent"] * with_exponent, body)


def projection_table(rows: list[dict[str, Any]]) -> str:
    names = [name for name in rows[0] if name != "what"]
    header = ["", *(row["what"] for row in rows)]
    return markdown_table(
        header, [[name, *(f"{row[name]:,.4g}" for row in rows)] for name in names]
    )


def print_tables(results: dict[str, Any]) -> None:
    for key, title, unit in CURVES:
        if key in results:
            print(f"\n{title} ({unit})\n{curve_table(results[key])}")
    print(f"\nProjections\n{projection_table(results['projections'])}")


def page(results: dict[str, Any]) -> str:
    base, source = results["base"], results["provenance"]
    parts = [
        "# How cost grows",
        "Written by `benchmarks/scale.py`. A gradient step is the call that LightGBM makes, the "
        "shortest of several runs. A whole training is "
        f"`lgb.train` of {base['n_trees']} trees of 64 leaves on {base['n']:,} documents with "
        f"{base['n_features']} random features, five of which tell of the labels, one of these "
        "varied, without the binning of the data, the shorter of two. On one thread, as everything "
        "is unless said otherwise, time is that of the processor; with several threads or "
        "workers it is that of the wall clock. "
        "The exponent is the slope of log time on log size, by least squares, ± its standard "
        "error; sizes below 30,000 documents, where the fixed cost of a call shows, are left out "
        "of it.",
        "The plain pass is no loss but a loop over arrays, used again at each call, that reads 24 "
        "bytes a document and writes 8, as `squared` does, and computes next to nothing. Where a "
        "loss is about as cheap, its exponent is that of the pass: the way from cache to memory, "
        "not more work per document.",
    ]
    if results["note"]:
        parts.append(results["note"])
    for key, title, unit in CURVES:
        if key in results:
            parts += [f"## {title}", f"Columns: {unit}.", curve_table(results[key])]
    parts += ["## Projections", projection_table(results["projections"]), ASSUMPTIONS.rstrip()]
    parts += ["## Provenance", "\n".join(f"- {key}: {value}" for key, value in source.items())]
    return "\n\n".join(parts) + "\n"
