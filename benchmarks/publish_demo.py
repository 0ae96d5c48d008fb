"""Put the results of ``make demo`` where the documentation shows them.

    make demo
    python benchmarks/publish_demo.py demo
    python benchmarks/page_numbers.py

Writes ``benchmarks/results/demo.png``, ``demo.md`` and ``demo.json``.
"""

import argparse
import json
import shutil
from pathlib import Path

import numpy as np

from gbrank.noise.presets import restore_preset
from gbrank.noise.store import Store
from gbrank.noise.trial import Result, Trial

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
FIGURE = "demo-synthetic-labels_and_validation.png"


def values_by_level(
    results: dict[Trial, Result], objectives: tuple[str, ...], metric: str
) -> tuple[list[float], dict[str, list[list[float]]]]:
    """Return the levels, and the metric of every trial by objective and level."""
    levels = sorted({trial.level for trial in results})
    kept = {
        name: [
            [r.means[metric] for t, r in results.items() if (t.objective, t.level) == (name, level)]
            for level in levels
        ]
        for name in objectives
    }
    return levels, kept


def mean_and_error(values: np.ndarray) -> str:
    """Return the mean and its standard error."""
    error = values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():.4f} ± {error:.4f}"


def make_table(levels: list[float], kept: dict[str, list[list[float]]], baseline: str) -> str:
    """Return the table; its last column is paired by trial."""
    heads = [f"{level:.0%} of labels replaced" for level in levels]
    rows = [["objective", *heads, f"against {baseline}, {levels[-1]:.0%}"]]
    for name, values in kept.items():
        cells = [mean_and_error(np.array(level)) for level in values]
        change = np.array(values[-1]) - np.array(kept[baseline][-1])
        last = f"{change.mean():+.4f} ± {change.std(ddof=1) / np.sqrt(len(change)):.4f}"
        alone = name == baseline or name.startswith("ceiling:")
        rows.append([name, *cells, "" if alone else last])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, ["-" * width for width in widths])
    return "\n".join("| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="what make demo wrote: demo")
    folder = parser.parse_args().folder
    store = Store(folder, create=False)
    [(name, data, whole, facts)] = [run for run in store.runs() if run[0] == "demo"]
    preset = restore_preset(whole)
    metric = preset.metrics[0]
    results = store.results(name, data)
    levels, kept = values_by_level(results, preset.objectives, metric)
    table = make_table(levels, kept, preset.baseline)
    settings = ", ".join(f"{key} {value}" for key, value in preset.settings["default"].items())
    origin = (
        f"Mean {metric} ± standard error over {len(kept[preset.baseline][0])} trials; the last "
        f"column is paired by trial. {preset.about} Trees: {settings}. "
        + ", ".join(f"{key} {value}" for key, value in facts.items())
    )
    (RESULTS / "demo.md").write_text(f"# Demo\n\n{table}\n\n{origin}\n", encoding="utf-8")
    (RESULTS / "demo.json").write_text(
        json.dumps({"origin": origin, "noise": levels, metric: kept}, indent=1) + "\n",
        encoding="utf-8",
    )
    shutil.copyfile(folder / "figures" / FIGURE, RESULTS / "demo.png")
    print(table)


if __name__ == "__main__":
    main()
