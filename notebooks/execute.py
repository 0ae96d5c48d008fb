"""Run notebooks from top to bottom, and write their outputs back into them.

    python notebooks/execute.py                          # all of them
    python notebooks/execute.py notebooks/01_quickstart.ipynb

Each runs in a new process and an empty folder, with one thread, so that outputs hold no paths and
do not depend on the machine more than they must. Needs ``pip install ".[notebooks]"``.
"""

import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent


def execute(path: Path, folder: Path, timeout: int = 300) -> nbformat.NotebookNode:
    """Return a notebook with fresh outputs; a cell that raises an error raises it here.

    Parameters
    ----------
    path : the notebook, which is not changed.
    folder : where it runs.
    timeout : seconds that one cell may take.
    """
    notebook = nbformat.read(path, as_version=4)
    inline = "module://matplotlib_inline.backend_inline"  # pytest may have set another one
    environment = os.environ | {"OMP_NUM_THREADS": "1", "MPLBACKEND": inline}
    client = NotebookClient(
        notebook,
        timeout=timeout,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute(env=environment)
    return _without_traces(notebook)


def _without_traces(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Drop what differs from one machine, or one run, to the next."""
    notebook.metadata = nbformat.NotebookNode(
        kernelspec={"display_name": "Python 3", "language": "python", "name": "python3"},
        language_info={"name": "python"},
    )
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        cell.metadata = nbformat.NotebookNode()
        if cell.cell_type == "code":
            cell.outputs = _joined(cell.outputs)
    return notebook


def _joined(outputs: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """Join printed text that arrived in pieces; drop the ports that LightGBM's workers report."""
    kept: list[nbformat.NotebookNode] = []
    for output in outputs:
        if output.output_type == "stream" and "[LightGBM] [Info]" in output.text:
            continue
        last = kept[-1] if kept else None
        if output.output_type == "stream" and last is not None and output.name == last.get("name"):
            last.text += output.text
        else:
            kept.append(output)
    return kept


def main(names: list[str]) -> None:
    """Run the notebooks named, or all of them, and write them back."""
    for path in [Path(name) for name in names] or sorted(FOLDER.glob("*.ipynb")):
        with tempfile.TemporaryDirectory() as empty:
            notebook = execute(path, Path(empty))
        nbformat.validate(notebook)
        nbformat.write(notebook, path)
        print(path.name)


if __name__ == "__main__":
    main(sys.argv[1:])
