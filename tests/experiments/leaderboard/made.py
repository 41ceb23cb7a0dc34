"""A suite of real policies with made-up results."""

from __future__ import annotations

from typing import Any

from ssdgym.experiments.leaderboard.board import Leaderboard, Row, SuiteBoard
from ssdgym.experiments.leaderboard.standings import suite_board
from ssdgym.experiments.leaderboard.suites import SuiteConfig, load_suite
from ssdgym.experiments.results import Result

FIELDS: dict[str, Any] = {
    "description": "made up",
    "devices": ["tiny"],
    "splits": {"training": ["uniform"], "test": ["zipf99", "hot90"]},
    "baseline": "cost_benefit+sep_gc",
    "ceilings": ["greedy+oracle_k", "future_benefit+oracle_k"],
    "policies": ["greedy+sep_gc", "cost_benefit+sepbit", "midas"],
    "agents": [
        {
            "name": "ours",
            "policies": ["cost_benefit(exponent=0.7)+sepbit", "cost_benefit(exponent=0.8)+sepbit"],
        },
        "cost_benefit+dac",
    ],
    "rivals": ["cost_benefit+sepbit", "midas"],
    "seeds": [1, 2],
    "host_pages": 100,
}
SUITE: SuiteConfig = load_suite(FIELDS)
#: Of every policy on two workloads with two seeds.
AMPLIFICATION: dict[str, dict[str, list[float]]] = {
    "zipf99": {
        "cost_benefit+sep_gc": [3.0, 3.0],
        "greedy+sep_gc": [4.0, 4.0],
        "cost_benefit+sepbit": [2.0, 2.2],
        "midas": [2.4, 2.4],
        "cost_benefit(exponent=0.7)+sepbit": [1.6, 1.6],
        "cost_benefit(exponent=0.8)+sepbit": [1.8, 1.8],
        "cost_benefit+dac": [2.0, 2.2],
        "greedy+oracle_k": [1.5, 1.5],
        "future_benefit+oracle_k": [1.1, 1.1],
    },
    "hot90": {
        "cost_benefit+sep_gc": [3.0, 3.0],
        "greedy+sep_gc": [4.0, 4.0],
        "cost_benefit+sepbit": [2.0, 2.0],
        "midas": [1.6, 1.6],
        "cost_benefit(exponent=0.7)+sepbit": [1.9, 2.1],
        "cost_benefit(exponent=0.8)+sepbit": [2.4, 2.4],
        "cost_benefit+dac": [1.5, 1.5],
        "greedy+oracle_k": [1.0, 1.0],
        "future_benefit+oracle_k": [1.4, 1.4],
    },
}


def results(
    amplification: dict[str, dict[str, list[float]]] = AMPLIFICATION, **metrics: float
) -> list[Result]:
    return [
        Result("tiny", "", workload, policy, seed, metrics={**metrics, "write_amplification": value})
        for workload, policies in amplification.items()
        for policy, values in policies.items()
        for seed, value in enumerate(values, start=1)
    ]


def made_board() -> SuiteBoard:
    return suite_board("made", SUITE, ["test"], results(), (100, 0))


def made_leaderboard() -> Leaderboard:
    return Leaderboard(suites=(made_board(),))


def row(board: SuiteBoard, name: str) -> Row:
    return next(row for row in board.rows if row.name == name)
