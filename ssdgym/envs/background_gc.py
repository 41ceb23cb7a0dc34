"""The environment of background GC: how far idle dies go with collecting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ssdgym.config.device import DeviceConfig, with_ftl
from ssdgym.config.page import PageFtl
from ssdgym.engine.decisions import IDLE, IDLE_STEPS
from ssdgym.engine.observation import ObservationSpec
from ssdgym.engine.page.describing import idle_describer
from ssdgym.envs.decision_env import DecisionEnv
from ssdgym.envs.decisions import DescribedDecision, Options, spec_without_sets, victims_of, with_victims
from ssdgym.envs.vector import vectorized
from ssdgym.errors import SsdgymError
from ssdgym.policy.on_device import beside_on

#: The label of the device's own idle rule, which proposes.
IDLE_RULE = "idle_rule"
#: The idle rule of devices that have none.
DEFAULT_IDLE = "threshold(blocks=5)"


class IdleDecision(DescribedDecision):
    """How many commands of background collection an idle die takes; action k takes `IDLE_STEPS[k]`.

    `victims` names the policy that chooses victims, if no other decision does.
    """

    kind: ClassVar[int] = IDLE

    def __init__(self, victims: str | None) -> None:
        self.policy = victims_of(victims)
        self.propose("answer", [IDLE_RULE])

    def adapt(self, device: DeviceConfig) -> DeviceConfig:
        """Return a device with an idle rule, which proposes, and with the policy that chooses victims.

        Raises:
            SsdgymError: no time passes there, or its idle rule needs the next arrival.
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

    def candidates_on(self, devices: Sequence[DeviceConfig]) -> int:
        """Return the number of answers."""
        return len(IDLE_STEPS)

    def spec(self) -> ObservationSpec:
        """Return the request for observations without features."""
        return spec_without_sets(1 << IDLE, idle_describer())


@dataclass(frozen=True, kw_only=True)
class BackgroundGCOptions(Options):
    """The arguments of `BackgroundGCEnv`."""

    device: Any = "demo-idle"
    workload: Any = "idle_bursts"
    victims: str = "greedy"

    default_objective: ClassVar[Mapping[str, float]] = {"latency": 1.0, "relocations": 64.0}

    def decision(self) -> IdleDecision:
        """Return the decision that the agent takes."""
        return IdleDecision(self.victims)


class BackgroundGCEnv(DecisionEnv):
    """Choose how far an idle die collects garbage.

    ## Description
    A workload comes in bursts. Between them dies have time to collect: early collection has free blocks when
    the next burst comes, and moves pages that would have become invalid by themselves had it waited. A
    decision is due whenever a die finds nothing to do and has something to collect, and again when it has
    done what it was given. See `ssdgym.envs.DecisionEnv` for spaces, rewards and episodes shared by all
    environments.

    ## Action Space
    `Discrete(8)`: 0, 1, 2, 4, 8, 16 or 32 commands of the round that is under way in the die, or that it
    starts; 7 stands for all to the end of the round. A command moves a page (of several planes together), or
    is the erase that ends the round. After 0 there is no decision before the die has had work of the host.
    The plane is the engine's choice: that of the round under way, or the one with fewest free pages. A host
    request that comes meanwhile waits for one command at most where the device has `gc.preemptible: true`;
    else writes wait for the whole round.

    `info["proposed"][0]` is what the idle rule of the device (`ftl.gc.idle`) would answer, rounded down to an
    answer; one that would wait for some time proposes 0. To play it leaves the device that the rule leaves,
    bit for bit, where the rule has these answers only, as `blocking` and `threshold` do.

    ## Observation Space
    Of each answer: its share of the round's commands, whether it ends the round, its nominal time, and that
    time against the mean idle time of the die. Of the die: room in the plane's pool, whether a round is under
    way, what it has to move, for how long the die has been idle, the last and the mean idle time, how many
    decisions there were since; requests outstanding. When the next request comes is nowhere among them.

    ## Rewards
    The default is `{"latency": 1.0, "relocations": 64.0}` and `"plain"`: the latencies of reads and writes
    that finish, in page programs, and 64 of them for as many relocated pages as a block has.

    ## Arguments
    | name | type | default | meaning |
    |---|---|---|---|
    | `device` | as everywhere | `"demo-idle"` | four dies, with interrupted rounds |
    | `workload` | as everywhere | `"idle_bursts"` | it has to leave idle time: arrival times, or reads |
    | `victims` | str | `"greedy"` | policy that chooses what is erased |

    Devices need time (`ftl.timing: event`). One without an idle rule has `threshold(blocks=5)`, one with
    `gc.background_fraction` has `threshold` with that share.
    """

    options_type = BackgroundGCOptions


BackgroundGCVectorEnv = vectorized(BackgroundGCEnv)
