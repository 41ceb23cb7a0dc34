"""The notebooks run to their end and show what their text says; they are kept without their outputs."""

from __future__ import annotations

import tempfile
from pathlib import Path

import nbformat
import pytest

nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("sb3_contrib")

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
#: What a notebook needs beside the packages of the others.
NEEDS = {"03_what_it_learned": "sklearn", "06_a_sweep": "ray"}
#: What the text of a notebook says of its figures, checked after its last cell.
LESSONS = {
    "02_learning_on_the_device": """
late = {name: np.mean(curve[-16:]) for name, curve in curves.items()}
assert late["td_lifetime"] < 0.93 * min(late["sepbit"], late["fadac"]), late
""",
    "03_what_it_learned": """
assert chance < shares["greedy"] < shares["cost_benefit"] < 0.3, shares
little = ["valid_fraction", "log_age_closed", "log_neighbour_rate"]
assert all(changed[name] > 0.15 and dearer[name] < 0.015 for name in little), (changed, dearer)
assert all(changed[name] > 0.9 and dearer[name] > 0.1 for name in ("log_benefit", "log_age")), changed
assert changed["open_room"] < 0.05, changed
assert costs["the sum"] < 1.02 * own < costs["cost_benefit"], costs
assert costs["a tree of 8 leaves"] > 3 * own, costs
""",
    "04_five_papers": """
rising = ("Block size, 6", "IPPBE:\\ntime", "subFTL over cgm:\\nrequests")
for name, found in changes.items():
    assert min(found) > 0 if name.startswith(rising) else max(found) < 0, (name, found)
""",
    "05_a_trace": """
ranks = {name: sorted(POLICIES[1:], key=lambda policy: found[name, policy]) for name in ("trace", "twin")}
assert ranks["trace"][0] == ranks["twin"][-1], found
""",
    "06_a_sweep": """
assert len(rows) == 6 and all(row["state"] == "finished" for row in rows), rows
""",
    "07_your_own": """
assert play(players["greedy"])[1] == play(players["surplus"])[1] > play(players["mellow"])[1]
""",
}
#: For one cell; the first that needs the engine may have to compile it.
CELL_SECONDS = 300


def test_there_are_notebooks() -> None:
    names = [
        "01_first_steps",
        "02_learning_on_the_device",
        "03_what_it_learned",
        "04_five_papers",
        "05_a_trace",
        "06_a_sweep",
        "07_your_own",
    ]
    assert [path.stem for path in NOTEBOOKS] == names


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook__kept_without_outputs(path: Path) -> None:
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert cells
    assert all(not cell.outputs and cell.execution_count is None for cell in cells)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook__runs_to_its_end(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if path.stem in NEEDS:
        pytest.importorskip(NEEDS[path.stem])
    monkeypatch.setenv("RAY_TMPDIR", tempfile.gettempdir())  # paths of its sockets have to be short
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.read(path, as_version=4)
    if path.stem in LESSONS:
        notebook.cells.append(nbformat.v4.new_code_cell(LESSONS[path.stem]))
    nbclient.NotebookClient(
        notebook,
        timeout=CELL_SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    ).execute()
    figures = [
        output
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if "image/png" in output.get("data", {})
    ]
    assert len(figures) >= 2
