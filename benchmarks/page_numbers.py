"""Fill the marked places of README.md and of the documentation with numbers of the results files.

    python benchmarks/page_numbers.py            # after a benchmark has been run again
    python benchmarks/page_numbers.py --check    # says which pages are out of date

A marked place is ``<!-- numbers: NAME -->``, text, ``<!-- end -->``, NAME being a function below.
"""

import argparse
import csv
import io
import json
import lzma
import re
import sys
import textwrap
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from statistics import median

from gbrank.cli import main as command_line

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "docs" / "benchmarks" / "index.md",
    ROOT / "docs" / "theory" / "papers.md",
]
PLACE = re.compile(r"(<!-- numbers: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def quality(model: str, metric: str, noise: float = 0.0) -> float | None:
    """Return a mean over the data sets of ``quality.csv``; ``None`` if not all of them were run."""
    with (RESULTS / "quality.csv").open(encoding="utf-8") as file:
        wanted = (model, metric, noise, "0")
        found = [
            float(row["mean"])
            for row in csv.DictReader(file)
            if (row["model"], row["metric"], float(row["noise"]), row["clean_validation"]) == wanted
        ]
    return sum(found) / N_SETS if len(found) == N_SETS else None


def short(value: float, digits: int = 3) -> str:
    """Return a share without the zero before the point."""
    return f"{value:.{digits}f}".replace("0.", ".", 1)


def table(heads: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def paragraph(text: str) -> str:
    """Return a text in lines of even length."""
    return textwrap.fill(" ".join(text.split()), 100, break_long_words=False)


def headline(to_root: str) -> str:
    """What the Ranker reaches as it comes, and what noise costs it and the best of its peers."""
    ours, theirs = {}, {}
    for noise in (0.0, 0.6):
        ours[noise] = short(quality("Ranker()", "ndcg@5", noise))
        run = {name: quality(name, "ndcg@5", noise) for name in PEERS if name.endswith("refit")}
        value, best = max((value, name) for name, value in run.items() if value is not None)
        count = NUMBERS[sum(value is not None for value in run.values())]
        theirs[noise] = f"{short(value)} of the best of {count} peers ({PEERS[best]})"
    return paragraph(
        f"""`Ranker()`, exactly as it comes, on ten real data sets: mean NDCG@5 of test queries
        {ours[0.0]}, against {theirs[0.0]}, each stopped early on validation queries and then
        trained on these too. With 60% of all labels but those of the test queries replaced at
        random, {ours[0.6]} against {theirs[0.6]}. No clean label is needed to stop, nothing is
        tuned; five folds a set, with tests: [quality]({to_root}benchmarks/results/quality.md)."""
    )


NUMBERS = {3: "three", 4: "four", 5: "five"}


N_SETS = 10
PEERS = {
    "Ranker()": "`Ranker()`",
    'Ranker(preset="best")': '`Ranker(preset="best")`',
    'Ranker(preset="fast")': '`Ranker(preset="fast")`',
    "CatBoost QueryRMSE, refit": "CatBoost `QueryRMSE`",
    "CatBoost YetiRank, refit": "CatBoost `YetiRank`",
    "LightGBM lambdarank, refit": "LightGBM `lambdarank`",
    "LightGBM rank_xendcg, refit": "LightGBM `rank_xendcg`",
    "XGBoost rank:ndcg, refit": "XGBoost `rank:ndcg`",
    "linear": "linear ranker",
}


def peers(to_root: str) -> str:
    """The Ranker against its peers, mean of ten sets, clean and noisy."""
    rows = []
    for name, shown in PEERS.items():
        means = [
            quality(name, metric, noise) for noise in (0.0, 0.6) for metric in ("ndcg@5", "ndcg@10")
        ]
        if means[0] is not None:
            cells = ["" if mean is None else short(mean) for mean in means]
            rows.append((means[0], [shown, *cells]))
    ordered = [row for _, row in sorted(rows, key=lambda row: row[0], reverse=True)]
    heads = ["", "NDCG@5", "NDCG@10", "NDCG@5, 60% noise", "NDCG@10, 60% noise"]
    return table(heads, ordered)


def demo(to_root: str) -> str:
    """The table that ``publish_demo.py`` made of ``make demo``, and where it comes from."""
    text = (RESULTS / "demo.md").read_text(encoding="utf-8")
    shown = re.search(r"^\| objective .*?(?=\n\n)", text, re.MULTILINE | re.DOTALL)
    kept = json.loads((RESULTS / "demo.json").read_text(encoding="utf-8"))
    trials = len(kept["ndcg@10"]["Ranker()"][0])
    return f"""{shown[0]}

Mean NDCG@10 ± standard error over {trials} trials, clean test queries; the last column is paired by
trial. Labels of training and validation queries are replaced. The floor is a ridge on features put
to scale within the query, the ceiling the best possible order."""


def objectives(to_root: str) -> str:
    """The table of losses, as ``gbrank objectives --markdown`` prints it."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        command_line(["objectives", "--markdown"])
    return printed.getvalue().strip()


def section(title: str) -> str:
    """Return the text below a heading of RESULTS.md."""
    text = (RESULTS / "RESULTS.md").read_text(encoding="utf-8")
    return re.search(rf"^## {title}\n\n(.*?)(?=\n\n## |\n\n<!-- missing|\Z)", text, re.M | re.S)[1]


def recommend(to_root: str) -> str:
    """What RESULTS.md recommends."""
    return section("What we recommend").replace(
        "(quality.md)", f"({to_root}benchmarks/results/quality.md)"
    )


def seen(to_root: str) -> str:
    """What RESULTS.md sees in the noise benchmark."""
    return "\n".join(
        line for line in section("What can be seen").splitlines() if not line.startswith("<!-- ")
    )


def verdicts(to_root: str) -> str:
    """How often each claim of the papers holds in our own runs."""
    text = (RESULTS / "RESULTS.md").read_text(encoding="utf-8").partition("<!-- claims -->\n")[2]
    shown = text.partition("\n\n")[2].partition("\n\n")[0]
    return f"{shown}\n\nEach with its test: [results]({to_root}benchmarks/results/RESULTS.md)."


def speed(to_root: str) -> str:
    """Steps by length of lists, and trainings, against LightGBM's own objectives."""
    kept = json.loads((RESULTS / "speed.json").read_text(encoding="utf-8"))
    rows = []
    for name in ("xendcg", "lambdamart"):
        for threads in (1, 2):
            of = {
                r["lists"]: r["times faster"]
                for r in kept["native"]
                if (r["objective"], r["threads"]) == (name, threads)
            }
            what = f"step of `{name}`, {threads} thread{'s' if threads > 1 else ''}"
            rows.append([what, *(f"{ratio:.1f}" for ratio in of.values())])
    steps = table(["times faster, documents a list:", *of], rows)
    rows = []
    for r in kept["training"]:
        low, high = r["95% interval"]
        cell = f"{r['ours / peer']:.2f} ({low:.2f} to {high:.2f})"
        floor = r.get("ready-made gradients / peer")
        what = f"`{r['objective']}`, lists of {r['lists']}"
        rows.append([what, cell, "" if floor is None else f"{floor:.2f}"])
    head = "whole training, 136 features, 64 leaves, 2 threads"
    trainings = table([head, "time over LightGBM, 95% interval", "if gradients cost nothing"], rows)
    rows = [
        [r["task"].replace("n_jobs=1", "1 thread").replace("n_jobs=2", "2 threads"),
         f"{r['peer/ours']:.1f}"]
        for r in kept["metrics"]
        if "lists of" in r["task"]
    ]  # fmt: skip
    metrics = table(["metric in training", "times faster than LightGBM's"], rows)
    of = kept["provenance"]
    machine = paragraph(f"On {of['cpus']} cores of an {of['cpu']} ({of['vector units']}):")
    return f"{machine}\n\n{steps}\n\n{trainings}\n\n{metrics}"


def first_minute(to_root: str) -> str:
    """Imports, and what first trainings cost over second ones."""
    kept = json.loads((RESULTS / "speed.json").read_text(encoding="utf-8"))["start"]
    # CPU seconds where they were taken: those by the clock have other work of the machine in them
    unit = "CPU" if all("CPU" in " ".join(r) for r in kept) else "seconds"
    rows = [
        [f"`{r['what']}`, lists of {r['lists'].replace(', ', ' and ')}",
         *(f"{r[f'{cache} cache, {unit}']:.1f}" for cache in ("empty", "full"))]
        for r in kept
        if "lists" in r
    ]  # fmt: skip
    imports = [f"`{r['what']}` {r[unit]:.2f} s" for r in kept if "lists" not in r]
    named = "CPU seconds" if unit == "CPU" else unit
    heads = [f"first training over the second, {named}", "nothing compiled", "compiled before"]
    return f"{table(heads, rows)}\n\nMedians of 20 fresh processes, {named}: {', '.join(imports)}."


def serving(to_root: str) -> str:
    """Scorers of one model, and models of ours and LightGBM's."""
    kept = json.loads((RESULTS / "speed.json").read_text(encoding="utf-8"))["serving"]
    scorers = [r for r in kept if "scorer" in r]
    sizes = list(dict.fromkeys(r["rows"] for r in scorers))
    rows = []
    for name in dict.fromkeys(r["scorer"] for r in scorers):
        of = {r["rows"]: r["microseconds"] for r in scorers if r["scorer"] == name}
        rows.append([name, *(f"{of[size]:,.0f}" if size in of else "" for size in sizes)])
    ratios = ("time / peer's", "file / peer's")
    models = [
        [str(r["features"]), f"{r['rows']:,}", *(f"{r[ratio]:.2f}" for ratio in ratios)]
        for r in kept
        if "features" in r
    ]
    heads = ["microseconds, rows at once:", *(f"{size:,}" for size in sizes)]
    heads_of_models = ["features", "rows at once", "time over LightGBM's", "file over LightGBM's"]
    return f"{table(heads, rows)}\n\n{table(heads_of_models, models)}"


def serving_quality(to_root: str) -> str:
    """What predictions of the models cost whose quality is measured: medians of ten sets."""
    with (RESULTS / "quality_serving.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    columns = ("microseconds", "trees", "kilobytes")
    rows = []
    for model in dict.fromkeys(line["model"] for line in lines):
        of = [line for line in lines if line["model"] == model]
        time, trees, size = (median(float(line[column]) for line in of) for column in columns)
        name = f"`{model}`" if model.startswith("Ranker") else model
        rows.append([name, f"{time:.1f}", f"{trees:.0f}", f"{size:.0f}"])
    return table(["", "microseconds a document", "trees", "kilobytes"], rows)


def large(to_root: str) -> str:
    """``Ranker()`` on a hundred thousand and a million rows."""
    kept = json.loads((RESULTS / "large_data.json").read_text(encoding="utf-8"))
    rows = []
    for row in kept["results"]:
        times = [row[f"time of Ranker() over {name}"][0] for name in ("rank_xendcg", "lambdarank")]
        values = [row[f"NDCG@10 of {name}"] for name in ("Ranker()", "rank_xendcg", "lambdarank")]
        rows.append([f"{row['documents']:,}", *(f"{x:.2f}" for x in times), *map(short, values)])
    heads = ["rows of 136 features", "time over `rank_xendcg`", "time over `lambdarank`",
             "NDCG@10", "of `rank_xendcg`", "of `lambdarank`"]  # fmt: skip
    what = (
        'A fit of 100 trees of `Ranker(preset="fast")`, which sees half of the features a tree\n'
        "and starts from a linear ranker, on synthetic data, which suit such a start:"
    )
    [whole] = kept["as it comes"]
    ours, theirs = whole["NDCG@10"]
    as_it_comes = (
        f"`Ranker()` as it comes, on {whole['documents']:,} such rows and one thread: "
        f"{whole['time of Ranker() over lambdarank']:.2f} of the\n"
        "CPU time of `lambdarank` at a rate of .05, up to 500 trees, stopped early by a tenth of\n"
        f"the queries; NDCG@10 {short(ours)} against {short(theirs)}."
    )
    return f"{what}\n\n{table(heads, rows)}\n\n{as_it_comes}"


def metric_losses(to_root: str) -> str:
    """Losses for the metric that is reported, and their peers."""
    page = f"[losses for the metric you report]({to_root}benchmarks/results/metric_losses.md)"
    text = (RESULTS / "metric_losses.md").read_text(encoding="utf-8")
    short_table = text.partition("## In short\n\n")[2].partition("\n\n## ")[0]
    return f"{short_table}\n\nPaired over folds, with what each part of YetiLoss does: {page}."


def clicks(to_root: str) -> str:
    """What corrections of position bias close of the gap between clicks and clean labels."""
    packed = (RESULTS / "clicks" / "ranking.json.xz").read_bytes()
    found = json.loads(lzma.decompress(packed))["trials"]

    def means(strength: str, plus: str, minus: str, also: tuple[str, ...] = ()) -> list[float]:
        """Return the mean difference over draws for each set and fold."""
        by_fold: dict[str, list[float]] = {}
        for key, trial in found.items():
            model, eta, name, fold = key.split()[:4]
            if (model, eta) == ("position", strength) and {plus, minus, *also} <= trial.keys():
                by_fold.setdefault(f"{name} {fold}", []).append(trial[plus] - trial[minus])
        return [sum(values) / len(values) for values in by_fold.values()]

    rows = []
    for name, end in (
        ("ips all_pairs", ""),
        ("ips all_pairs", " documents"),
        ("additive", ""),
        ("additive", " documents"),
        ("additive", " lambdamart documents"),
        ("additive softmax", ""),
        ("additive softmax", " documents"),
        ("dual", ""),
        ("ips all_pairs by rows", ""),
        ("additive by rows", ""),
    ):
        naive, clean = f"naive{end}", f"clean{end}"
        closed = means("1", name, naive, (clean,))
        share = sum(closed) / sum(means("1", clean, naive, (name,))) if closed else None
        lost = means("0", name, naive)
        rows.append(
            [
                f"{name}, of {naive} to {clean}",
                "-" if share is None else f"{share:.0%}",
                f"{sum(lost) / len(lost):+.4f}" if lost else "-",
            ]
        )
    heads = ["clicks simulated on four sets", "of the gap closed", "gain without any bias"]
    return table(heads, rows)


FILL: dict[str, Callable[[str], str]] = {
    function.__name__: function
    for function in (
        headline,
        peers,
        demo,
        objectives,
        recommend,
        seen,
        verdicts,
        speed,
        large,
        metric_losses,
        clicks,
        first_minute,
        serving,
        serving_quality,
    )
}


def filled(page: Path) -> str:
    """Return the text of a page with its marked places filled."""
    to_root = "../" * len(page.parent.relative_to(ROOT).parts)

    def fill(found: re.Match[str]) -> str:
        return f"{found[1]}{FILL[found[2]](to_root)}\n{found[4]}"

    return PLACE.sub(fill, page.read_text(encoding="utf-8"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    stale = [page for page in PAGES if filled(page) != page.read_text(encoding="utf-8")]
    for page in stale:
        print(page.relative_to(ROOT))
        if not check:
            page.write_text(filled(page), encoding="utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
