"""The environment of background GC: how far idle dies go with collecting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ssdgym.config.device import DeviceConfig, with_ftl
from ssdgym.config.ftl import page_ftl
from ssdgym.engine.decisions import IDLE, IDLE_STEPS, KINDS
from ssdgym.engine.idling import idle_describer
from ssdgym.engine.observation import ObservationSpec
from ssdgym.envs.decision_env import DecisionEnv
from ssdgym.envs.decisions import DescribedDecision, spec_without_sets, victims_of, with_victims
from ssdgym.envs.features import Setting, select
from ssdgym.envs.options import Options
from ssdgym.envs.vector import DecisionVectorEnv
from ssdgym.errors import SsdgymError
from ssdgym.policy import rules_for
from ssdgym.policy.policy import idle_of

#: The label of the device's own idle rule, which proposes.
IDLE_RULE = "idle_rule"


class IdleDecision(DescribedDecision):
    """How many commands of background collection an idle die takes; action k takes `IDLE_STEPS[k]`.

    Args:
        victims: policy that chooses what is erased, without a placement; None: somebody else does.

    Raises:
        SsdgymError: it is none.
    """

    kind: ClassVar[int] = IDLE

    def __init__(self, victims: str | None) -> None:
        self.policy = victims_of(victims)
        self.names = [IDLE_RULE]
        self.observe("default", ())

    def observe(self, features: Any, devices: Sequence[DeviceConfig]) -> None:
        """Choose the features to observe.

        Args:
            features: `"default"`, `"all"` or a list of names.
            devices: all that the environment has.

        Raises:
            SsdgymError: it is none of these, or names what is not registered.
        """
        setting = Setting(tuple(devices), kinds=(KINDS[IDLE],))
        self._selection = select(features, setting, {"answer": self.names})

    def adapt(self, device: DeviceConfig) -> DeviceConfig:
        """Return a device with an idle rule, which proposes, and with the policy that chooses victims.

        Raises:
            SsdgymError: no time passes there, or its idle rule needs the next arrival.
        """
        if device.ftl.timing == "none":
            raise SsdgymError(f"device {device.name} has no idle time; set ftl.timing to event.")
        rule, share = idle_of(device), page_ftl(device.ftl).gc.background_fraction
        if rule is not None and rule.oracle:
            raise SsdgymError(
                f"device {device.name}: idle rule {rule.name} knows the future, which environments do not "
                "tell; choose another one."
            )
        own = "blocking" if share is None else f"threshold(share={share})"
        return with_victims(with_ftl(device, {"gc.idle": own if rule is None else rule.label}), self.policy)

    def candidates_on(self, devices: Sequence[DeviceConfig]) -> int:
        """Return the number of answers.

        Args:
            devices: all that the environment has, adapted.
        """
        return len(IDLE_STEPS)

    def spec(self, candidates: int) -> ObservationSpec:
        """Return the request for observations, with addresses of this process, without the features.

        Args:
            candidates: K.
        """
        return spec_without_sets(1 << IDLE, idle_describer())

    def ask(self, candidates: int, device: DeviceConfig) -> ObservationSpec:
        """Return the request for observations of a batch, and the rules for the other decisions.

        Args:
            candidates: K.
            device: the first of the batch; its rules are those of all.
        """
        spec = self._selection.ask(self.spec(candidates), candidates)
        return spec._replace(rules=rules_for(device, self.policy))


@dataclass(frozen=True, kw_only=True)
class BackgroundGCOptions(Options):
    """The arguments of `BackgroundGCEnv`.

    Attributes:
        victims: policy that chooses what is erased.
    """

    device: Any = "demo-idle"
    workload: Any = "idle_bursts"
    victims: str = "greedy"

    default_objective: ClassVar[Mapping[str, float]] = {"latency": 1.0, "relocations": 64.0}

    def decision(self) -> IdleDecision:
        """Return the decision that the agent takes."""
        return IdleDecision(self.victims)


class BackgroundGCEnv(DecisionEnv):
    """Choose how far a die that has nothing else to do goes with collecting garbage.

    ## Description
    A device full of data serves a workload that comes in bursts. Between them its dies have time to collect:
    early collection has free blocks when the next burst comes, and moves pages that would have become
    invalid by themselves had it waited. The agent is asked whenever a die finds nothing to do and has
    something to collect, and again when it has done what it was given.
    What is not said here is as in every environment (`ssdgym.envs.DecisionEnv`).

    ## Action Space
    `Discrete(8)`: 0, 1, 2, 4, 8, 16 or 32 commands of the round that is under way in the die, or that it
    starts; 7 stands for all to the end of the round. A command moves a page (of several planes together), or
    is the erase that ends the round. After 0 the die is not asked again before it has had work of the host.
    The plane is the engine's choice: that of the round under way, else the one with fewest free pages.

    A host read or write that comes meanwhile waits for one command at most where the device has
    `gc.preemptible: true`; else writes wait for the whole round.

    `info["proposed"][0]` is what the idle rule of the device (`ftl.gc.idle`) would answer, rounded down to an
    answer; one that would wait for some time proposes 0. To play it leaves the device that the rule leaves,
    bit for bit, where the rule has these answers only, as `blocking` and `threshold` do.

    ## Observation Space
    Of each answer: its share of the round's commands, whether it ends the round, its nominal time, and that
    time against the mean idle time of the die. Of the die: room in the plane's pool, whether a round is under
    way, what it has to move, for how long the die has been idle, the last and the mean idle time, how often
    it was asked since; requests outstanding. `ssdgym.envs.features` has all of them. When the next request
    comes is nowhere among them.

    ## Rewards
    The default objective, `{"latency": 1.0, "relocations": 64.0}`, costs the latencies of reads and writes
    that finish, in page programs, and 64 of them for as many relocated pages as a block has.

    ## Starting State
    Full and preconditioned by its workload, with greedy victims.

    ## Episode End
    After `horizon` host pages; truncated, never terminated.

    ## Arguments
    Those of every environment, and

    | name | type | default | meaning |
    |---|---|---|---|
    | `device` | as everywhere | `"demo-idle"` | four dies, with interrupted rounds |
    | `workload` | as everywhere | `"idle_bursts"` | it has to leave idle time: arrival times, or reads |
    | `victims` | str | `"greedy"` | policy that chooses what is erased |

    Devices need time (`ftl.timing: event`). One without an idle rule has `blocking`, and one with
    `gc.background_fraction` has `threshold` with that share.

    ## Vectorized environment
    `BackgroundGCVectorEnv`, which `gym.make_vec` makes: many devices in one compiled call per step.

    ## Version History
    * v0: first version.
    """

    options_type = BackgroundGCOptions


class BackgroundGCVectorEnv(DecisionVectorEnv):
    """Many `BackgroundGCEnv` in one compiled call per step; see `ssdgym.envs.DecisionVectorEnv`."""

    options_type = BackgroundGCOptions
