"""``ssdgym/ParallelErase-v0``: how many and which blocks to erase together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ssdgym.config.checks import is_whole
from ssdgym.config.device import FtlConfig
from ssdgym.engine.core.records import MAX_PAIRS
from ssdgym.envs.episodes import Options
from ssdgym.envs.erase_env import EraseEnv, EraseVectorEnv, names_of
from ssdgym.errors import SsdgymError

#: Of a device of which a quarter is spare, few victims have less than half of their pages valid; ``ippbe``'s
#: own threshold would add no block there.
PARALLEL_PROPOSERS = (
    "greedy",
    "cost_benefit",
    "ippbe(limit=2, tau=0.75)",
    "ippbe(limit=4, tau=0.75)",
    "random",
)
#: What erasing together saves is time; relocations alone would not show it.
PARALLEL_OBJECTIVE = {"latency": 1.0}


def _check_together(candidates: int | str, most_blocks: int) -> None:
    if not is_whole(most_blocks) or not 2 <= most_blocks <= MAX_PAIRS:
        raise SsdgymError(f"most_blocks must be a whole number from 2 to {MAX_PAIRS}, not {most_blocks!r}.")
    if candidates == "all":
        raise SsdgymError(
            "candidates='all' cannot be had where blocks are erased together: there are too many sets of "
            "them; give a number of candidates."
        )


def _options(
    device: Any,
    ftl: FtlConfig | dict[str, Any] | None,
    workload: Any,
    objective: Mapping[str, float] | None,
    horizon: int,
    settling: int,
    candidates: int,
    most_blocks: int,
    proposers: Sequence[str],
    ageing_seed: int,
) -> Options:
    """The arguments that the single environment and the vector have in common, checked."""
    _check_together(candidates, most_blocks)
    return Options(
        device,
        ftl,
        workload,
        PARALLEL_OBJECTIVE if objective is None else objective,
        horizon,
        settling,
        candidates,
        names_of(proposers),
        ageing_seed,
        most_blocks,
    )


class ParallelEraseEnv(EraseEnv):
    """Choose how many blocks garbage collection erases next, and which.

    A device full of data serves a workload. Whenever a plane runs short of free pages it must erase
    something, and relocate the valid pages of it first. Several blocks of a plane can be erased in the time
    of one erase (and those of sibling planes with them, on devices that take commands of several planes), but
    all their valid pages have to be moved before, and the host waits as long. The agent is asked for each
    erase.

    ## Action
    ``Discrete(K)``: which candidate to erase. A candidate is an *erase set* of one block or several: of each
    a whole block or, on devices that can erase them, some of its sub-blocks. Only candidates with
    ``action_mask`` 1 may be chosen; any other action raises :class:`ssdgym.errors.SsdgymError` and changes
    nothing.

    | candidates | erase sets |
    |---|---|
    | the first | the picks of the ``proposers``, equal ones once, in that order |
    | half the others | by falling invalid pages: each block alone, each with the first, the first 2, 3 ... |
    | the rest | random blocks, a random number of them |

    The last two kinds have 1 to ``most_blocks`` blocks of the plane that collects. Where sub-blocks can be
    erased, they take of each block its best set. Sets that are not legal are left out: the plane must have
    room for all the valid pages before the erase frees any. ``info["proposed"][j]`` is where the pick of
    proposer ``j`` stands (-1: it is not legal), so that a heuristic can be played through the environment
    exactly.

    ## Observation
    ``Dict``, all finite:

    | key | shape, type | meaning |
    |---|---|---|
    | ``candidates`` | (K, 12) float32 | :data:`ssdgym.envs.features.CANDIDATE_FEATURES`; 0 if masked |
    | ``context`` | (9,) float32 | the plane: :data:`ssdgym.envs.features.CONTEXT_FEATURES` |
    | ``action_mask`` | (K,) int8 | 1 where the candidate may be chosen; never all 0 |

    ## Reward
    The weighted sum of the terms of ``objective``, each minus what it counts
    (:data:`ssdgym.envs.rewards.TERMS`). The default, ``{"latency": 1.0}``, gives minus the latencies of the
    reads and writes that were finished, in units of a page program. ``info["terms"]`` has each term.

    ## Episode
    Starts from an aged device (full, overwritten until garbage collection is steady; made once and kept on
    disk) and runs until the host has written exactly ``horizon`` pages; it is then truncated, never
    terminated, and observed as if a decision were due (where none of the candidates could be erased,
    candidate 0 is marked valid). ``info["metrics"]`` then has all metrics. The first episode after
    ``reset(seed=s)`` is the one of seed ``s``; ``info["episode_seed"]`` names the seed that repeats any.

    ## Arguments
    * ``device``: name, YAML path, mapping or model; a list gives the environments of a vector different
      devices (default ``demo-parallel``; on ``demo`` no two blocks ever fit together)
    * ``ftl``: FTL fields to change; with ``{"timing": "none"}``, which counts only and is fastest,
      ``objective`` has to name terms that need no time
    * ``workload``: name, path, mapping or model; of a list each episode draws one (default ``zipf99``)
    * ``objective``: term -> weight
    * ``horizon``: host pages of an episode (default 8192)
    * ``settling``: host pages before them that are played but neither rewarded nor measured (default 0)
    * ``candidates``: K (default 16)
    * ``most_blocks``: most blocks of a candidate that no proposer picked, 2 to 8 (default 4)
    * ``proposers``: victim policies whose picks are always candidates, whatever their number of blocks
    * ``ageing_seed``: of the workload that ages the device

    ## Scores
    On the default device, episodes of 150,000 host pages after 30,000 of settling (interquartile means over
    the seeds 50000 to 50007, 95 % intervals within 0.6 % of them). Nobody knows the best possible values.

    | | write amplification | | mean write latency, ms | |
    |---|---|---|---|---|
    | | ``zipf99`` | ``hot90`` | ``zipf99`` | ``hot90`` |
    | a random valid action | 2.602 | 2.231 | 71.5 | 60.8 |
    | ``random`` | 3.750 | 3.317 | 110.9 | 97.7 |
    | ``greedy`` | 2.502 | 2.571 | 72.9 | 75.0 |
    | ``ippbe(limit=2, tau=0.75)`` | 2.491 | 2.530 | 68.2 | 69.4 |
    | ``ippbe(limit=4, tau=0.75)`` | 2.484 | 2.528 | 65.9 | 67.1 |
    | ``ippbe(limit=8, tau=0.75)`` | 2.452 | 2.458 | 63.9 | 64.1 |
    | ``cost_benefit`` | 2.175 | 1.687 | 63.0 | 48.1 |
    | ``cost_benefit(exponent=0.5)`` | 2.159 | 1.774 | 62.5 | 50.8 |

    None of them chooses by age and erases several blocks together. The tail is another matter: greedy has the
    lowest p99.

    ## Version history
    * v0: first version.
    """

    def __init__(
        self,
        device: Any = "demo-parallel",
        ftl: FtlConfig | dict[str, Any] | None = None,
        workload: Any = "zipf99",
        objective: Mapping[str, float] | None = None,
        horizon: int = 8192,
        settling: int = 0,
        candidates: int = 16,
        most_blocks: int = 4,
        proposers: Sequence[str] = PARALLEL_PROPOSERS,
        ageing_seed: int = 0,
        render_mode: str | None = None,
    ) -> None:
        options = _options(
            device,
            ftl,
            workload,
            objective,
            horizon,
            settling,
            candidates,
            most_blocks,
            proposers,
            ageing_seed,
        )
        super().__init__(options, render_mode)


class ParallelEraseVectorEnv(EraseVectorEnv):
    """Many :class:`ParallelEraseEnv` in one compiled call per step; see
    :class:`ssdgym.envs.erase_env.EraseVectorEnv`.
    """

    def __init__(
        self,
        num_envs: int = 1,
        device: Any = "demo-parallel",
        ftl: FtlConfig | dict[str, Any] | None = None,
        workload: Any = "zipf99",
        objective: Mapping[str, float] | None = None,
        horizon: int = 8192,
        settling: int = 0,
        candidates: int = 16,
        most_blocks: int = 4,
        proposers: Sequence[str] = PARALLEL_PROPOSERS,
        ageing_seed: int = 0,
        copy: bool = False,
        render_mode: str | None = None,
        max_episode_steps: int | None = None,
    ) -> None:
        options = _options(
            device,
            ftl,
            workload,
            objective,
            horizon,
            settling,
            candidates,
            most_blocks,
            proposers,
            ageing_seed,
        )
        super().__init__(num_envs, options, copy, render_mode, max_episode_steps)
