"""The environment of background GC: the agent chooses how much garbage an idle die collects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ssdgym.config.device import DeviceConfig, with_ftl
from ssdgym.config.page import PageFtl
from ssdgym.engine.decisions import IDLE, IDLE_STEPS
from ssdgym.engine.observation import ObservationSpec
from ssdgym.engine.page.describing import idle_describer
from ssdgym.envs.decision_env import DecisionEnv
from ssdgym.envs.decisions import Decision, Options, basic_spec, victims_of, with_victims
from ssdgym.envs.vector import vectorized
from ssdgym.errors import SsdgymError
from ssdgym.policy.on_device import beside_on

#: The name of the only proposer: the device's idle rule.
IDLE_RULE = "idle_rule"
#: The idle rule for devices without an idle rule of their own.
DEFAULT_IDLE = "threshold(blocks=5)"


class IdleDecision(Decision):
    """The decision how many commands of background GC an idle die executes: `IDLE_STEPS[k]` for action k.

    The argument `victims` names the victim policy. If it is None, the agent also chooses victims.
    """

    kind: ClassVar[int] = IDLE
    candidates = len(IDLE_STEPS)

    def __init__(self, victims: str | None) -> None:
        self.policy = victims_of(victims)
        self.propose("answer", [IDLE_RULE])

    def adapt(self, device: DeviceConfig) -> DeviceConfig:
        """Return the device with its idle rule (a default if it has none), as proposer, and a victim policy.

        Raises:
            SsdgymError: the device does not simulate time, or its idle rule uses future requests.
        """
        if device.ftl.timing == "none":
            raise SsdgymError(f"device {device.name} has no idle time; set ftl.timing to event.")
        rule, share = beside_on(device).get("idle"), PageFtl.of(device.ftl).gc.background_fraction
        if rule is not None and rule.oracle:
            raise SsdgymError(
                f"device {device.name}: idle rule {rule.name} uses the future, which environments do not "
                "tell; choose another one."
            )
        own = DEFAULT_IDLE if share is None else f"threshold(share={share})"
        return with_victims(with_ftl(device, {"gc.idle": own if rule is None else rule.label}), self.policy)

    def spec(self) -> ObservationSpec:
        """Return the specification of observations without features, which `ask` adds."""
        return basic_spec(1 << IDLE, idle_describer())


@dataclass(frozen=True, kw_only=True)
class BackgroundGCOptions(Options):
    """The arguments of `BackgroundGCEnv`."""

    device: Any = "demo-idle"
    workload: Any = "idle_bursts"
    victims: str = "greedy"

    default_objective: ClassVar[Mapping[str, float]] = {"latency": 1.0, "relocations": 64.0}

    def decision(self) -> IdleDecision:
        """Return the `Decision` that has the values of these arguments."""
        return IdleDecision(self.victims)


class BackgroundGCEnv(DecisionEnv):
    """Choose how much garbage an idle die collects.

    ## Description
    The requests of the workload arrive in bursts, and dies have time to collect garbage between bursts. Early
    collection provides free blocks before the next burst. However, it also relocates pages that would soon
    have become invalid. A decision is due when a die becomes idle and one of its blocks may be a victim, and
    again when the die has executed the commands that the last action allowed. See
    `ssdgym.envs.DecisionEnv` for spaces, rewards and episodes shared by all environments.

    ## Action Space
    `Discrete(8)`: actions 0 to 6 let the die execute 0, 1, 2, 4, 8, 16 or 32 commands of its round of GC, and
    action 7 lets it execute all commands to the end of the round. If no round is under way, the die starts
    one in its plane with fewest free pages. A command relocates a page, or one page of each of several
    planes. The last command of a round is the erase. After action 0 the next decision is due when the die has
    served the host again. With `gc.preemptible: true`, a host request that arrives during a round waits for
    at most one command. With `gc.preemptible: false`, host writes wait for the whole round.

    `info["proposed"][0]` is the choice of the device's idle rule (`ftl.gc.idle`), rounded down to an action;
    it is 0 while the rule would wait. An agent that always chooses it leaves the same device as the rule, bit
    for bit, if the rule only chooses among these eight numbers of commands, as `blocking` and `threshold` do.

    ## Observation Space
    For each action: its share of the round's commands, whether it ends the round, its nominal time, the ratio
    of this time to the mean of the die's idle times, and whether the idle rule proposes it. For the die: the
    free pages in the plane's pool, whether a round is under way, the pages that the round still relocates,
    the time and the number of decisions since the die became idle, the last and the mean idle time, and the
    number of outstanding requests. The arrival of the next request is not observed.

    ## Rewards
    The default objective is `{"latency": 1.0, "relocations": 64.0}`, and the default reward is `"plain"`. The
    unit of latencies is a page program. Relocating as many pages as a block has costs 64.

    ## Arguments
    | name | type | default | meaning |
    |---|---|---|---|
    | `device` | see `DecisionEnv` | `"demo-idle"` | a device of four dies with `gc.preemptible: true` |
    | `workload` | see `DecisionEnv` | `"idle_bursts"` | a workload that leaves dies idle between requests |
    | `victims` | str | `"greedy"` | policy that chooses the blocks to erase |

    Devices must simulate time (`ftl.timing: event`). A device without an idle rule gets
    `threshold(blocks=5)` or, if it sets `gc.background_fraction: F`, `threshold(share=F)`.
    """

    options_type = BackgroundGCOptions


BackgroundGCVectorEnv = vectorized(BackgroundGCEnv)
