"""Claims of every kind about a made-up figure, and results whose answer is known."""

from __future__ import annotations

from typing import Any

from ssdgym.experiments.papers.checks import CheckedClaim, check_claims
from ssdgym.experiments.papers.config import FigureConfig
from ssdgym.experiments.papers.samples import Place, Sample
from ssdgym.experiments.results import Result

#: What is claimed by a name of its own; the first ones are all of the kind `change`.
CHANGES = ("change", "limit", "unchanged", "direction")
VALUES: dict[str, dict[str, Any]] = {
    "change": {"change": -0.6},
    "limit": {"limit": -0.6},
    "unchanged": {"within": 0.02},
    "direction": {"direction": "falls"},
    "between": {"low": -0.8, "high": -0.4},
    "value": {"claimed": 100.0},
    "trend": {"direction": "falls"},
    "at_most": {"claimed": 200.0},
    "share": {"variants": "4", "at": "1", "claimed": 0.5},
    "extreme": {"which": "lowest", "workloads": ("b",)},
    "resembles": {"metrics_compared": ("moves", "rounds")},
}
#: Of the fields of a function, those that are its arguments.
ARGUMENTS = ("claimed", "beyond", "or_less", "low", "high", "within", "which")


def claim(kind: str, **fields: Any) -> dict[str, Any]:
    against = {} if kind in ("value", "trend", "at_most") else {"against": "small"}
    own = {"said": "it falls", "source": "section 1", "series": "big"}
    given = {**against, **VALUES[kind], **fields}
    if kind in CHANGES or kind == "trend":
        return {"kind": "change" if kind in CHANGES else kind, **own, **given}
    arguments = {name: given.pop(name) for name in ARGUMENTS if name in given}
    return {"kind": "function", "function": kind, **own, **given, "arguments": arguments}


def figure(*claims: dict[str, Any], **fields: Any) -> FigureConfig:
    return FigureConfig(
        **{
            "paper": "a paper",
            "figure": "1",
            "title": "erases",
            "devices": ("small", "big"),
            "workloads": ("a", "b"),
            "series": "device",
            "panels": ({"metric": "erases", "unit": "blocks", "claims": claims},),
            "scales": {"smoke": {"seeds": 1}},
            **fields,
        }
    )


def check(samples: list[Sample], *claims: dict[str, Any], **fields: Any) -> list[CheckedClaim]:
    one = figure(*claims, **fields)
    return check_claims(one, one.panels[0], samples)


def samples(erases: dict[tuple[str, ...], list[int | None]]) -> list[Sample]:
    """Samples from erases by (device, workload) or (device, workload, variant), one for each seed."""
    return [
        Sample(
            Place(place[0], place[1], place[2] if len(place) > 2 else ""),
            Result(place[0], "", place[1], "greedy", seed, metrics={"erases": value}),
        )
        for place, values in erases.items()
        for seed, value in enumerate(values)
    ]


MEASURED = samples(
    {
        ("small", "a"): [100, 200],
        ("big", "a"): [50, 100],
        ("small", "b"): [1000, 1000],
        ("big", "b"): [200, 200],
    }
)
VARIANTS = {"axis": "layers", "variants": {"1": {}, "2": {}, "4": {}}}


def along(*means: int) -> list[Sample]:
    """One series over the three variants, on both workloads."""
    return samples({("big", name, v): [m, m] for name in "ab" for v, m in zip("124", means, strict=True)})
