"""``ssdgym/EraseVictim-v0``: which block, or which of its sub-blocks, to erase next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ssdgym.config.device import FtlConfig
from ssdgym.envs.episodes import DEFAULT_PROPOSERS, Options
from ssdgym.envs.erase_env import EraseEnv, EraseVectorEnv, names_of


class EraseVictimEnv(EraseEnv):
    """Choose what garbage collection erases next.

    A device full of data serves a workload. Whenever a plane runs short of free pages it must erase
    something, and relocate the valid pages of it first: every relocation is a page program the host did not
    ask for. The agent is asked for each erase.

    ## Action
    ``Discrete(K)``: which candidate to erase. A candidate is an *erase set*: a whole block or, on devices
    that can erase them, some of a block's sub-blocks (of several blocks only where a proposer picks them;
    :class:`ssdgym.envs.ParallelEraseEnv` offers more of those). Only candidates with ``action_mask`` 1 may
    be chosen; any other action raises :class:`ssdgym.errors.SsdgymError` and changes nothing.

    The candidates are the picks of the ``proposers`` (equal picks once, in that order), then the blocks with
    most invalid pages, then random ones. ``info["proposed"][j]`` is where the pick of proposer ``j`` stands,
    so that a heuristic can be played through the environment exactly. With ``candidates="all"`` candidate
    ``k`` is always the same erase set of the plane.

    ## Observation
    ``Dict``, all finite:

    | key | shape, type | meaning |
    |---|---|---|
    | ``candidates`` | (K, 12) float32 | :data:`ssdgym.envs.features.CANDIDATE_FEATURES`; 0 if masked |
    | ``context`` | (9,) float32 | the plane: :data:`ssdgym.envs.features.CONTEXT_FEATURES` |
    | ``action_mask`` | (K,) int8 | 1 where the candidate may be chosen; never all 0 |

    ## Reward
    The weighted sum of the terms of ``objective``, each minus what it counts
    (:data:`ssdgym.envs.rewards.TERMS`). The default, ``{"relocations": 1.0}``, gives ``-relocated pages /
    pages per block``; the undiscounted return of an episode is exactly ``-(write amplification - 1) * horizon
    / pages per block``. ``info["terms"]`` has each term.

    ## Episode
    Starts from an aged device (full, overwritten until garbage collection is steady; made once and kept on
    disk) and runs until the host has written exactly ``horizon`` pages; it is then truncated, never
    terminated, and observed as if a decision were due (where none of the candidates could be erased,
    candidate 0 is marked valid). ``info["metrics"]`` then has all metrics. The first episode after
    ``reset(seed=s)`` is the one of seed ``s``; ``info["episode_seed"]`` names the seed that repeats any.

    ## Arguments
    * ``device``: name, YAML path, mapping or model; a list gives the environments of a vector different
      devices (default ``demo``)
    * ``ftl``: FTL fields to change, e.g. ``{"timing": "none"}``, which counts only and is fastest
    * ``workload``: name, path, mapping or model; of a list each episode draws one (default ``zipf99``)
    * ``objective``: term -> weight
    * ``horizon``: host pages of an episode (default 8192)
    * ``settling``: host pages before them that are played but neither rewarded nor measured (default 0)
    * ``candidates``: K (default 16), or ``"all"``
    * ``proposers``: victim policies whose picks are always candidates
    * ``ageing_seed``: of the workload that ages the device

    ## Scores
    Write amplification on the default device (interquartile mean over eight seeds, 95 % intervals below 1 %;
    ``ssdgym demo`` measures them). Nobody knows the best possible value.

    | workload | random | greedy | cost_benefit | cost_benefit(exponent=0.5) | the demo's agent |
    |---|---|---|---|---|---|
    | ``zipf99`` | 7.383 | 5.180 | 4.468 | 4.298 | 4.202 |
    | ``hot90`` | 6.203 | 5.211 | 3.502 | 3.485 | 3.597 |

    ## Version history
    * v0: first version.
    """

    def __init__(
        self,
        device: Any = "demo",
        ftl: FtlConfig | dict[str, Any] | None = None,
        workload: Any = "zipf99",
        objective: Mapping[str, float] | None = None,
        horizon: int = 8192,
        settling: int = 0,
        candidates: int | str = 16,
        proposers: Sequence[str] = DEFAULT_PROPOSERS,
        ageing_seed: int = 0,
        render_mode: str | None = None,
    ) -> None:
        options = Options(
            device, ftl, workload, objective, horizon, settling, candidates, names_of(proposers), ageing_seed
        )
        super().__init__(options, render_mode)


class EraseVictimVectorEnv(EraseVectorEnv):
    """Many :class:`EraseVictimEnv` in one compiled call per step; see
    :class:`ssdgym.envs.erase_env.EraseVectorEnv`.
    """

    def __init__(
        self,
        num_envs: int = 1,
        device: Any = "demo",
        ftl: FtlConfig | dict[str, Any] | None = None,
        workload: Any = "zipf99",
        objective: Mapping[str, float] | None = None,
        horizon: int = 8192,
        settling: int = 0,
        candidates: int | str = 16,
        proposers: Sequence[str] = DEFAULT_PROPOSERS,
        ageing_seed: int = 0,
        copy: bool = False,
        render_mode: str | None = None,
        max_episode_steps: int | None = None,
    ) -> None:
        options = Options(
            device, ftl, workload, objective, horizon, settling, candidates, names_of(proposers), ageing_seed
        )
        super().__init__(num_envs, options, copy, render_mode, max_episode_steps)
