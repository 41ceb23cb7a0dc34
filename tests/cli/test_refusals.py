"""Command lines that are refused: one sentence on stderr, exit code 2, nothing written."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

GRID = """
devices: [tiny]
workloads: [uniform, zipf99]
policies: [greedy, "cost_benefit(exponent=0.5)"]
seeds: 1-3
ftls: [{timing: none}]
host_pages: 1000
"""
TINY = "run --device tiny --host-pages 3000"
FEW = "evaluate --device tiny --workload uniform --host-pages 100"

#: A command line, and what its sentence says.
REFUSED = f"""
no-such-command | No such command
run --no-such-option | No such option
run --device no-such-device | no device named 'no-such-device'
run --workload no-such-workload | no workload named 'no-such-workload'
{TINY} --policy gredy | did you mean greedy?
{TINY} --warmup -1 | --warmup
{TINY} --set loops=3 | loops
{TINY} --ftl placement | write it as NAME=VALUE
{TINY} --ftl gc.free_blocks=0 | gc.free_blocks must be greater than or equal to 1
{TINY} --ftl gc.free_blocks=[1,2] | its value must be a number or a word
{TINY} --timing none --ftl timing=event | timing is set already; give one of the two
{TINY} --ftl gc=barrier --ftl gc.mode=barrier | gc is set already
{TINY} --ftl queue_depth=99999999999999999999 | queue_depth must be
{TINY} --ftl window_pages=99999999999999 | window_pages must be
{TINY} --warmup 99999999999999999999 | warmup must be a whole number
{TINY} --seed 99999999999999999999 | --seed
{TINY} --policy "d_choices(d=3, d=5)" | given twice
run --workload zipf99 --transform head(requests=1) | zipf99 is not a trace
run --workload zipf99 --columns time | zipf99 is not a trace
run --workload zipf99 --set "window=[0, 0.5]" | window
run --workload synthetic:hm_0 --set start=last | start must be first, random or the number
run --workload synthetic:hm_0 --set "window=[1, 0]" | needs window to begin before it ends
run --workload synthetic:hm_0 --set skip_bad=1 | skip_bad
trace info synthetic:hm_0 --set volumes=overlay | volumes
evaluate --agent no-such-agent.zip | no-such-agent.zip: there is no such agent
evaluate --set loops=3 | name one
{FEW} --seeds 1-99999999999 | give the lower seed first
{FEW} --policy greedy --policy greedy | give each once
evaluate grid.yaml --policy gredy | did you mean greedy
evaluate grid.yaml --seeds 9-1 | --seeds '9-1': give the lower seed first
evaluate grid.yaml --workers 1 --address 127.0.0.1:1 | has its own; leave --workers out
evaluate grid.yaml --ftls kind=cgm --ftls kind=cgm | twice; give each once
evaluate grid.yaml --ftl kind=fgm --ftls kind=cgm | kind is set already; give one of the two
evaluate grid.yaml --device pen-tiny | pen-tiny
leaderboard nowhere | there is no suite named 'nowhere' in configs/suites
leaderboard wa --split exam | --split exam: the suite has training and validation and test
reproduce block-size --volumes overlay | give --traces with it, or leave it out
reproduce pen --figure 14a --workload w92 | --workload w92: these figures play hm_0, prn_0,
reproduce subftl --figure 2 --policy greedy | no figure here has a bar for subftl's design
train --resume --overwrite | give one of the two
train placement-v2 --decisions 8 | total_decisions
train placement-v2 --resume | cannot go on from a checkpoint
train ppo-smoke --set generations=8 | generations
train ppo-smoke --seed 99999999999 | seed
tune no-such-sweep | no sweep named 'no-such-sweep'
tune gc-threshold --size small | --size
tune gc-threshold --resume a --out b | leave --out out
zoo show nobody | there is no agent nobody; give a path, or one of the zoo:
zoo watch --policy best --env-arg device=tiny | policy best is no proposer of the environment
zoo watch --policy greedy --agent random_action | give one of the two
zoo watch Erase-v9 | list environments
zoo dataset "no id" | is no id of Minari
zoo dataset erase/none | is no id of Minari
zoo dataset aa/b-v0 --policy best --env-arg device=tiny | policy best is no proposer of the environment
zoo dataset aa/b-v0 --environment ssdgym/Erase-v9 | list environments
"""


@pytest.mark.parametrize("line", REFUSED.strip().splitlines(), ids=lambda line: line.partition(" | ")[0])
def test_command__that_is_wrong__is_one_sentence_on_stderr(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: Callable[..., str]
) -> None:
    words, _, said = line.partition(" | ")
    for package in {"tune": ["ray"], "zoo dataset": ["minari"], "train": ["torch"]}.get(words.split()[0], ()):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "data"))
    (tmp_path / "grid.yaml").write_text(GRID)
    assert said in refusal(*shlex.split(words))
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["grid.yaml"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("polices: [greedy]", "grid.yaml: field polices is unknown"),
        ("warmup: -1", "grid.yaml: field warmup must be greater than or equal to 0"),
        ("vary: {geometry.colour: [1]}", "field geometry.colour is unknown"),
        ("agents: [no-such.zip]", "no-such.zip: there is no such agent"),
    ],
)
def test_experiment__that_is_wrong__is_refused_before_anything_runs(
    change: str, said: str, tmp_path: Path, refusal: Callable[..., str]
) -> None:
    (tmp_path / "grid.yaml").write_text(f"{GRID}{change}\n")
    assert said in refusal("evaluate", tmp_path / "grid.yaml", "--out", tmp_path / "out")
    assert os.listdir(tmp_path) == ["grid.yaml"]
