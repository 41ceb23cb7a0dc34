"""`ssdgym demo`: watch a placement rule learn online, train PPO, and compare both with heuristics."""

from __future__ import annotations

from itertools import repeat
from pathlib import Path
from typing import Any

from ssdgym.cli.console import note, show
from ssdgym.cli.evaluate import carry_out, report
from ssdgym.errors import needing

_VICTIMS = "cost_benefit(since_close=1)"
LEARNED = f"{_VICTIMS}+td_lifetime"
#: Policies that are watched, by the names that are printed. None of them was trained before.
WATCHED = {
    "greedy": "greedy+sep_gc",
    "sepbit": f"{_VICTIMS}+sepbit",
    "fadac": f"{_VICTIMS}+fadac(inclusive=1)",
    "td_lifetime": LEARNED,
}
#: The workloads, which each device runs one after the other.
PHASES = ("zipf99", "drifting")
#: Host pages per window (one measurement), and windows per workload.
WINDOW, WINDOWS = 4_096, 32


def demo(ppo: bool = True, out: Path = Path("results/demo")) -> None:
    """Watch a placement learn on a new device, train PPO for a minute, and compare with heuristics.

    `td_lifetime` starts without training and was not tuned to this device and these workloads. It "beats" a
    policy if the 95 % interval of their difference excludes zero. `ssdgym evaluate demo` only compares.

    Examples:
        ssdgym demo
        ssdgym demo --no-ppo
    """
    from ssdgym.experiments.runs.config import load_experiment
    from ssdgym.files import writable_folder

    if ppo:
        with needing("agents", "PPO (leave it out with --no-ppo) needs"):
            from ssdgym.agents.training.config import TrainConfig
            from ssdgym.agents.training.train import train
            from ssdgym.config.loading import load_config
    writable_folder(out)
    note(f"Learning on a new device: write amplification of {WINDOW:,} host pages")
    watch()
    shown: dict[str, tuple[Any, list[Any]]] = {}
    if ppo:
        config = load_config(TrainConfig, "ppo-scratch", "training")
        note(f"PPO on {config.environment.id}, {config.total_decisions:,} decisions")
        agent = train(config, out / "training", overwrite=True)
        trained = {"base": "demo-ppo", "agents": ["random_action", str(agent)]}
        agents, results = carry_out(load_experiment(trained), out / "ppo")
        learned = [name for name, source in agents.items() if source.learns]
        shown["ppo"] = report(results, learned, out / "ppo")
    note("Comparing placements on five workloads")
    _, results = carry_out(load_experiment("demo"), out / "placement")
    shown["placement"] = report(results, [LEARNED], out / "placement")
    data = {name: data for name, (data, _) in shown.items()}
    show(data, [part for _, parts in shown.values() for part in parts])


def watch(windows: int = WINDOWS, seed: int = 50_000) -> dict[str, list[float]]:
    """Run `WATCHED` on new devices; print write amplification of some windows, and return that of all."""
    from ssdgym.config.device import load_device
    from ssdgym.simulator import Simulator
    from ssdgym.workloads.stream import load_workload, open_on

    device = load_device("demo-placement")
    simulators = {
        name: Simulator(device, policy=policy, ftl={"timing": "none"}) for name, policy in WATCHED.items()
    }
    curves: dict[str, list[float]] = {name: [] for name in simulators}
    for simulator in simulators.values():
        simulator.fill()
    for phase, workload in enumerate(PHASES):
        model = load_workload(workload)
        chunks = {name: map(open_on(model, device, seed).next, repeat(1024)) for name in simulators}
        for number in range(1, windows + 1):
            for name, simulator in simulators.items():
                simulator.reset_metrics()
                simulator.proceed(chunks[name], WINDOW)
                curves[name].append(simulator.metrics()["write_amplification"])
            if number & (number - 1) == 0:
                pages = (phase * windows + number) * WINDOW
                line = ", ".join(f"{name} {curve[-1]:.2f}" for name, curve in curves.items())
                note(f"{pages:>9,} host pages, {workload}, write amplification: {line}")
    return curves
