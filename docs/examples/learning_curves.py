"""Train with `ppo_cleanrl.py` and `ppo_sb3.py` on several seeds, and compare the agents with heuristics.

`python learning_curves.py --out results/learning --jobs 2` takes about half an hour of CPU time; finished
work is not repeated. Writes `results.csv` (every evaluated run), `learning.md` (the table) and
`learning.svg` (the learning curves).
"""

from __future__ import annotations

import argparse
import csv
import math
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from ppo_cleanrl import FEATURES
from scipy import stats

from ssdgym.agents.training.config import EnvironmentConfig
from ssdgym.experiments.report.style import PALETTE, save_figure, styled
from ssdgym.experiments.results import Result, write_results
from ssdgym.experiments.runs.evaluate import run_all
from ssdgym.experiments.runs.spec import RunSpec

HERE = Path(__file__).resolve().parent
#: Workloads, and the settings of both methods on each. On hot90 the cost of a choice appears latest.
WORKLOADS = {
    "zipf99": "--total-timesteps 655360 --gamma 0.998 --gae-lambda 0.98",
    "hot90": "--total-timesteps 524288 --gamma 0.999 --gae-lambda 0.99",
}
#: For each name in the tables: the script, and the file extension of its agents.
METHODS = {"CleanRL style": ("ppo_cleanrl.py", ".safetensors"), "MaskablePPO": ("ppo_sb3.py", ".zip")}
BASELINES = ("random_action", "greedy", "cost_benefit", "cost_benefit(exponent=0.5)")
#: Seeds of the evaluation; training uses other seeds.
UNSEEN = range(60_000, 60_008)
#: Baselines that a method has to beat, by workload.
GOALS = {"zipf99": ("greedy", "cost_benefit"), "hot90": ("greedy", "random_action")}
#: Lines have one label if their write amplifications differ by less than this number.
_CLOSE = 0.08


def agent_file(out: Path, method: str, workload: str, seed: int) -> Path:
    """Return the file of a training's agent."""
    script, ending = METHODS[method]
    return out / workload / f"{Path(script).stem}-{seed}{ending}"


def train(out: Path, method: str, workload: str, seed: int, options: Sequence[str]) -> None:
    """Train one agent in a separate process, unless its file exists."""
    file = agent_file(out, method, workload, seed)
    if file.exists():
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, HERE / METHODS[method][0], "--workload", workload, "--seed", seed]
    command += [*WORKLOADS[workload].split(), *options, "--out", file]
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
    print(f"trained {file}", flush=True)


def evaluate(out: Path, seeds: Sequence[int], host_pages: int, jobs: int) -> list[Result]:
    """Measure all agents and baselines on the unseen seeds."""
    runs = []
    observing = EnvironmentConfig(kwargs={"features": list(FEATURES)})
    for workload in WORKLOADS:
        deciders = {name: "random_action" if name == "random_action" else None for name in BASELINES}
        for method in METHODS:
            for seed in seeds:
                file = str(agent_file(out, method, workload, seed).resolve())
                text = f"ppo_cleanrl:load(path={file})" if file.endswith(".safetensors") else file
                deciders[f"{method}, seed {seed}"] = text
        for policy, agent in deciders.items():
            for seed in UNSEEN:
                run = RunSpec("demo", workload, policy, seed, (("timing", "none"),), agent=agent, trust=True)
                run = replace(run, host_pages=host_pages, warmup=host_pages // 2)
                runs.append(replace(run, environment=observing) if agent else run)
    return run_all(runs, jobs)


def amplifications(results: Sequence[Result], workload: str) -> dict[str, np.ndarray]:
    """Return write amplifications: for a baseline one per unseen seed, for a method one per training seed."""
    of_policy: dict[str, list[float]] = {}
    for result in results:
        if result.workload == workload:
            of_policy.setdefault(result.policy, []).append(result.metric("write_amplification"))
    found = {name: np.array(of_policy[name]) for name in BASELINES}
    for method in METHODS:
        runs = [values for name, values in of_policy.items() if name.startswith(f"{method}, seed ")]
        found[method] = np.array([np.mean(values) for values in runs])
    return found


def interval(values: np.ndarray) -> tuple[float, float]:
    """Return the 95 % interval of the mean (Student's t)."""
    half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values))
    return values.mean() - half, values.mean() + half


def table(results: Sequence[Result]) -> str:
    """Return the results in Markdown, and whether each method is below the baseline that it has to beat."""
    found = {workload: amplifications(results, workload) for workload in WORKLOADS}
    lines = [f"| | {' | '.join(f'`{workload}`' for workload in WORKLOADS)} |", "|---|---:|---:|"]
    for name in (*BASELINES, *METHODS):
        cells = []
        for workload in WORKLOADS:
            low, high = interval(found[workload][name])
            cells.append(f"{found[workload][name].mean():.3f} [{low:.3f}, {high:.3f}]")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines.append("")
    for workload, goals in GOALS.items():
        for method in METHODS:
            for goal in goals:
                high = interval(found[workload][method])[1]
                holds = high < interval(found[workload][goal])[0]
                verdict = "is below" if holds else "is NOT shown to be below"
                lines.append(f"* On `{workload}`, {method} {verdict} {goal}.")
    return "\n".join(lines) + "\n"


@styled()
def draw(out: Path, results: Sequence[Result], seeds: Sequence[int]) -> Path:
    """Draw the write amplification during every training as a curve, and the baselines as lines."""
    figure, panels = plt.subplots(1, len(WORKLOADS), figsize=(8, 3.4), sharey=True)
    for axes, workload in zip(panels, WORKLOADS, strict=True):
        found = amplifications(results, workload)
        labels: dict[float, str] = {}  # lines that are too close for two labels have one
        for level, name in sorted((found[name].mean(), name) for name in BASELINES):
            axes.axhline(level, color="0.45", linestyle="--", linewidth=0.9)
            near = [other for other in labels if level - other < _CLOSE]
            labels[near[0] if near else level] = "\n".join([name, labels[near[0]]] if near else [name])
        for level, name in labels.items():
            axes.text(1.01, level, name, va="center", fontsize=6, transform=axes.get_yaxis_transform())
        for color, method in zip(PALETTE, METHODS, strict=False):
            for seed in seeds:
                with agent_file(out, method, workload, seed).with_suffix(".csv").open() as file:
                    rows = list(csv.DictReader(file))
                seconds, values = (
                    [float(row[name]) for row in rows] for name in ("cpu_seconds", "write_amplification")
                )
                label = f"{method}, {len(seeds)} seeds" if seed == seeds[0] else None
                axes.plot(seconds, values, color=color, linewidth=0.8, alpha=0.8, label=label)
        axes.set_title(workload)
        axes.set_xlabel("CPU seconds of one thread")
        axes.grid(True)
    panels[0].set_ylabel("write amplification in training")
    panels[0].legend(loc="upper right")
    figure.tight_layout()
    return save_figure(figure, out / "learning.svg")


def main() -> None:
    """Train, evaluate, and write."""
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/learning"))
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--seeds", type=int, default=5, help="training runs of each method and workload")
    parser.add_argument(
        "--host-pages", type=int, default=40_000, help="per evaluated run, after half as many"
    )
    arguments, options = parser.parse_known_args()  # other options are those of the training scripts
    seeds = range(1, arguments.seeds + 1)
    with ThreadPoolExecutor(arguments.jobs) as pool:
        started = [
            pool.submit(train, arguments.out, method, workload, seed, options)
            for seed in seeds
            for workload in WORKLOADS
            for method in METHODS
        ]
        for one in started:
            one.result()
    results = evaluate(arguments.out, seeds, arguments.host_pages, arguments.jobs)
    write_results(results, arguments.out / "results")
    (arguments.out / "learning.md").write_text(table(results), encoding="utf-8")
    print(table(results), draw(arguments.out, results, seeds), sep="\n")


if __name__ == "__main__":
    main()
