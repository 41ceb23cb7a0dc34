"""Execute notebooks and keep their outputs in them: `python -m tests.notebooks.execute [PATH ...]`."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
#: For one cell; the first that needs the engine may have to compile it.
CELL_SECONDS = 300


def execute(path: Path, folder: Path, last_cell: str = "") -> Any:
    """Return a notebook as executed in a folder, with outputs but without progress bars.

    Args:
        path: of the notebook; the file stays as it is.
        folder: the working directory, also for temporary files.
        last_cell: code to run after the last cell.
    """
    notebook = nbformat.read(path, as_version=4)
    if last_cell:
        notebook.cells.append(nbformat.v4.new_code_cell(last_cell))
    metadata = dict(notebook.metadata)
    os.environ |= {"TMPDIR": str(folder), "IPYTHONDIR": str(folder / "ipython")}
    os.environ.setdefault("RAY_TMPDIR", tempfile.gettempdir())  # paths of its sockets have to be short
    # What a cell prints comes in as many pieces as it happens to.
    options = {
        "timeout": CELL_SECONDS,
        "kernel_name": "python3",
        "record_timing": False,
        "coalesce_streams": True,
    }
    NotebookClient(notebook, resources={"metadata": {"path": str(folder)}}, **options).execute()
    notebook.metadata = metadata
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if _stays(output)]
    return notebook


def _stays(output: Any) -> bool:
    """Return whether an output is neither progress nor empty."""
    return output.get("name") != "stderr" and bool(output.get("data", {}).get("text/html", "no").strip())


def texts(notebook: Any) -> list[str]:
    """Return what the cells of a notebook print and return, without pictures."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    return [output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs]


def pictures(notebook: Any) -> int:
    """Return the number of pictures in the outputs."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    return sum("image/png" in output.get("data", {}) for output in outputs)


def main() -> None:
    """Execute all notebooks, or those named."""
    for path in [Path(name).resolve() for name in sys.argv[1:]] or NOTEBOOKS:
        with tempfile.TemporaryDirectory(prefix="ssdgym-") as folder:
            nbformat.write(execute(path, Path(folder)), path)
        print(path.name, f"{path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
