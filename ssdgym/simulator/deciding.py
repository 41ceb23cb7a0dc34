"""A device that runs under a policy, and decisions that are taken outside the engine, in Python."""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from ssdgym.config.device import DeviceConfig
from ssdgym.config.fields import is_whole, seed_number
from ssdgym.config.ftl import FtlConfig
from ssdgym.config.loading import Source
from ssdgym.engine.core import status as codes
from ssdgym.engine.core.family import State
from ssdgym.engine.core.records import MAX_PAIRS, MAX_PLANS
from ssdgym.engine.decisions import MERGE
from ssdgym.engine.entries import advance, apply
from ssdgym.engine.view import view_arrays
from ssdgym.errors import SsdgymError, shown
from ssdgym.policy import Policy, Rule, device_for, new_choice, policy_for, rules_for
from ssdgym.policy.names import DEFAULT
from ssdgym.policy.on_device import ROLES, beside_on, rules_on
from ssdgym.policy.rules import PERIODIC, rule_error
from ssdgym.requests import REQUEST
from ssdgym.simulator.build import Recording, make_state
from ssdgym.simulator.families import family_of
from ssdgym.simulator.future import Future, check_order, foresee, look_ahead
from ssdgym.simulator.input import NO_HORIZON, check_horizon, check_requests, start_input
from ssdgym.simulator.metrics import metrics_of, reset_metrics
from ssdgym.threads import OneThread, exclusive
from ssdgym.workloads.base import NO_REQUESTS

#: Reasons in error messages, by the negative code that the engine returns.
_REASONS = {
    codes.OUT_OF_SPACE: "is out of space: no free block is left for relocations",
    codes.NO_VICTIM: "needs a victim, and the policy {policy} named no erase set",
    codes.ILLEGAL_BLOCK: "cannot erase this block: it is open, free, or not of the plane that collects "
    "(with multi_plane, or of another plane of its die in which no round runs)",
    codes.ILLEGAL_MASK: "cannot erase this set of sub-blocks: its erase_unit does not allow it",
    codes.NOTHING_TO_GAIN: "would gain nothing: the erase set holds no invalid page, or no more than its "
    "neighbours hold valid ones while GC has to reclaim some; choose one with more invalid pages",
    codes.ILLEGAL_PAIRS: f"cannot erase these blocks together: give 1 to {MAX_PAIRS} different ones, at "
    "least one of the plane that collects, and with multi_plane strict of other planes only those with the "
    "number of one of its own",
    codes.NO_ROOM_TO_MOVE: "has no room for the valid pages of all these blocks before they are erased; "
    "erase fewer together",
    codes.NO_DECISION: "waits for no decision now; call advance first",
    codes.OUT_OF_TIME: "has come to a time too far in the future to be counted; let requests arrive earlier",
    codes.ILLEGAL_ANSWER: "cannot put a page there: the placement {placement} named neither a stream of the "
    "device nor a sub-block with unwritten pages of the plane's pool; name one of these, and register a "
    "placement that names sub-blocks with targets=True",
    codes.NOT_FREE: "has no such free block: the allocation of {policy} named one outside the plane's pool",
    codes.NOT_CLOSED: "cannot level wear by this block: {policy} named one of another plane, or one "
    "that is open or free",
    codes.OUT_OF_ORDER: "has programmed a subpage of a page out of order, which is a fault of ssdgym; please "
    "report it",
    codes.STUCK: "has come to a standstill with requests outstanding, which is a fault of ssdgym; please "
    "report it",
}

#: The reason for the code `ILLEGAL_ANSWER` if the decision is a merge.
_NO_CANDIDATE = (
    "cannot merge by the candidate of {policy}, which does not exist or is not allowed; a merge is chosen by "
    "the number of one that is, without a mask"
)


def failure(status: int, device: DeviceConfig, policy: str, more: str = "") -> SsdgymError:
    """Return the error for a negative code of the engine; `more` is appended to its reason."""
    merges = status == codes.ILLEGAL_ANSWER and family_of(device).policy_decision == MERGE
    reason = _NO_CANDIDATE if merges else _REASONS[status]
    placement = getattr(device.ftl, "placement", policy)
    return SsdgymError(f"device {device.name} {reason.format(policy=policy, placement=placement)}{more}.")


def erase_choice(
    block: int | list[tuple[int, int]], mask: int | None, device: DeviceConfig, policy: str
) -> np.ndarray:
    """Return the erase set, (MAX_PAIRS,) ERASE_PAIR, for the arguments of `Simulator.apply`, or raise."""
    if isinstance(block, list) and mask is not None:
        raise SsdgymError("apply takes a mask with a single block only; give each pair of the list its own.")
    whole = (1 << device.geometry.sub_blocks_per_block) - 1
    pairs = block if isinstance(block, list) else [(block, whole if mask is None else mask)]
    if not 1 <= len(pairs) <= MAX_PAIRS or not all(isinstance(p, tuple) and len(p) == 2 for p in pairs):
        raise failure(codes.ILLEGAL_PAIRS, device, policy)
    choice = new_choice()
    for k, (number, chosen) in enumerate(pairs):
        if not is_whole(chosen) or not 1 <= chosen <= whole:
            raise failure(codes.ILLEGAL_MASK, device, policy)
        if not is_whole(number) or not -(2**31) <= number < 2**31:
            raise failure(codes.ILLEGAL_BLOCK, device, policy)
        choice[k]["block"], choice[k]["mask"] = number, chosen
    return choice


def begin_period(state: State, i: int, rule: Rule, future: Future | None = None) -> None:
    """Call the `period` function of a placement, with `future` if it is an oracle; store when it is due next.

    Raises:
        SsdgymError: the function has failed, or has returned something else than a number of host pages.
    """
    control = state.control[i, 0]
    known = (future,) if rule.oracle else ()
    seen = view_arrays(state, i, rule.memory, "place")
    pages = _answer(rule, rule.hooks[PERIODIC], seen, rule.values, *known)
    if not is_whole(pages) or not 1 <= pages < 2**62:
        raise SsdgymError(
            f"policy {rule.name}: its function for periods returned {shown(pages)} and must return after how "
            "many host pages, at least 1, it is due next."
        )
    control["period_at"] = control["clock"] + int(pages)


class DecidedDevice(OneThread):
    """One device and its policy, made with the arguments of `Simulator`.

    Attributes:
        arrays: the arrays of the device, a batch of one. Only code of ssdgym may write to them.
    """

    def __init__(
        self,
        device: Source | DeviceConfig,
        *,
        ftl: FtlConfig | dict[str, Any] | None = None,
        policy: str | Policy | None = DEFAULT,
        seed: int = 0,
        recording: Recording | None = None,
    ) -> None:
        number = seed_number(seed, "the seed of a Simulator")
        self._policy = policy_for(policy, device, ftl)
        self._device = device_for(device, ftl, self._policy)
        self.arrays: State = make_state([self._device], [number], recording or Recording())
        self._choice = new_choice()
        self._broken = False
        self._future: Future | None = None
        self._input = NO_REQUESTS

    @property
    def device(self) -> DeviceConfig:
        """The configuration of the device, with the fields that the policy changes (`Policy.adapt`)."""
        return self._device

    @property
    def policy(self) -> Policy | None:
        """The policy that takes the decisions. A policy that needs the same device fields may be assigned."""
        return self._policy

    @policy.setter
    def policy(self, policy: str | Policy | None) -> None:
        new = policy_for(policy, self._device)
        if new is not None and new != self._policy and new.adapt(self._device) != self._device:
            raise SsdgymError(
                f"policy {new.label} runs device {self._device.name} another way; make a new Simulator."
            )
        self._policy = new
        vars(self).pop("_rules", None)

    @cached_property
    def state(self) -> State:
        """The device: read-only views of its arrays; the first axis has length 1."""
        views = type(self.arrays)(*(array.view() for array in self.arrays))
        for view in views:
            view.flags.writeable = False
        return views

    @exclusive
    def feed(self, requests: np.ndarray) -> None:
        """Replace the input by a copy of requests (m,) REQUEST; the rest of the old input is dropped."""
        check_requests(requests, self.device)
        # Copied as bytes, because numpy copies records slowly, one by one.
        copied = np.ascontiguousarray(requests).view(np.uint8).copy().view(REQUEST)
        start_input(self.arrays, 0, self._input)
        self._input = copied

    @exclusive
    def set_horizon(self, host_pages: int | None) -> None:
        """Stop the admission of requests after `host_pages` more host pages; None: never stop it."""
        control = self.arrays.control[0, 0]
        check_horizon(host_pages)
        control["horizon"] = NO_HORIZON if host_pages is None else control["admitted_pages"] + host_pages

    @exclusive
    def proceed(
        self,
        chunks: Iterator[np.ndarray],
        host_pages: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Run the rest of the present input, and then chunks of requests.

        Args:
            chunks: arrays of REQUEST.
            host_pages: number of host pages after which to stop; None: stop at the end of the chunks.
            progress: function called after each chunk with the host pages written so far by this call.

        Raises:
            SsdgymError: the chunks end before `host_pages` have been written.
        """
        self.set_horizon(host_pages)
        before = int(self.arrays.counters["host_pages_written"][0, 0])
        kind = self._finish(last=False)
        while kind not in (codes.HORIZON, codes.END_OF_LIFE):
            chunk = next(chunks, None)
            self.feed(NO_REQUESTS if chunk is None else chunk)
            kind = self._finish(last=chunk is None)
            if progress is not None:
                progress(int(self.arrays.counters["host_pages_written"][0, 0]) - before)
            if chunk is None:
                break
        self.set_horizon(None)
        if host_pages is not None and kind not in (codes.HORIZON, codes.END_OF_LIFE):
            written = int(self.arrays.counters["host_pages_written"][0, 0]) - before
            raise SsdgymError(
                f"the workload ended after {written} of {host_pages} host pages; give it more requests or "
                "loops, or ask for fewer host pages."
            )

    @exclusive
    def metrics(self) -> dict[str, Any]:
        """Return the metrics since the last reset."""
        return metrics_of(self.arrays, 0, self.device)

    @exclusive
    def reset_metrics(self) -> None:
        """Reset counters and latencies; device and wear do not change."""
        reset_metrics(self.arrays, 0)

    def _advance(self, last: bool) -> int:
        """Run to the end of the input, to the horizon, or to a decision that is taken outside the engine."""
        inside = self._policy is not None and self._policy.main.compiled
        external = 0 if inside else 1 << family_of(self._device).policy_decision
        self._choice[:] = 0
        kind = self._call(advance, self._input, bool(last), self._rules, external, self._choice)
        while kind == codes.PERIOD_DUE:
            begin_period(self.arrays, 0, rules_on(self._device)[0], self._future)
            kind = self._call(advance, self._input, bool(last), self._rules, external, self._choice)
        if kind < 0:
            self._fail(kind)
        return kind

    def _finish(self, last: bool) -> int:
        """Run to the end of the input or to the horizon; a policy that is not compiled decides in Python."""
        while True:
            kind = self._advance(last)
            if kind != codes.FIRST_DECISION + family_of(self._device).policy_decision:
                return kind
            if self._policy is None:
                raise SsdgymError(
                    "a simulator without a policy stops at decisions; use advance() and apply()."
                )
            self._decide_in_python(self._policy)

    def _refuse_broken(self) -> None:
        """Raise if a rule has failed in the middle of a step."""
        if self._broken:
            raise SsdgymError(
                f"device {self._device.name} stands where its policy failed; restore an earlier snapshot, or "
                "make a new Simulator."
            )

    def _decide_in_python(self, policy: Policy) -> None:
        """Take the decision that is due by the main rule of the policy, which is not compiled."""
        rule = policy.main
        if rule.kind == "merge":
            # The rule is called with copies of the candidates, (K,) PLAN, and of what is merged, (1,) CASE.
            arrays: Any = self.arrays
            case = arrays.case[0].copy().view(np.recarray)
            plans = arrays.figure[0, : int(case["candidates"][0])].copy().view(np.recarray)
            self._merge(_answer(rule, rule.function, plans, case, rule.values))
            return
        plane = int(self.arrays.control["decision_plane"][0, 0])
        choice = self._choice.view(np.recarray)
        seen = view_arrays(self.arrays, 0, rule.memory)
        pairs = _answer(rule, rule.function, seen, plane, rule.values, choice)
        if not is_whole(pairs) or not 0 <= pairs <= MAX_PAIRS:
            raise SsdgymError(
                f"policy {rule.name} returned {shown(pairs)} and must return the number of pairs that it "
                f"chose, 0 to {MAX_PAIRS}."
            )
        if pairs == 0:
            self._fail(codes.NO_VICTIM)
        self._choice["mask"][int(pairs) :] = 0
        self._apply(self._choice)

    def _apply(self, choice: np.ndarray, action: int = 0) -> None:
        """Take the decision that is due by an erase set, or by the number of an action if it is a merge."""
        status = self._call(apply, self._rules, choice, action)
        if status < 0:
            self._fail(status, choice)

    def _merge(self, number: Any, mask: int | None = None) -> None:
        """Take the merge decision that is due, by the number of a candidate; raise if a mask is given."""
        legal = mask is None and is_whole(number) and 0 <= int(number) < MAX_PLANS
        self._apply(new_choice(), int(number) if legal else MAX_PLANS)

    @cached_property
    def _rules(self) -> np.ndarray:
        """The records of the rules that decide inside the engine (`rules_for`), looked up once per policy."""
        return rules_for(self._device, self._policy)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickles, without views of arrays and without addresses in this process."""
        made_anew = ("state", "_rules")
        return {name: value for name, value in super().__getstate__().items() if name not in made_anew}

    def _call(self, entry: Callable[..., int], *arguments: Any) -> int:
        """Call the engine. If a rule raises, mark the device as broken: it is in the middle of a step."""
        self._refuse_broken()
        try:
            return int(entry(self.arrays, 0, *arguments))
        except Exception as error:  # whatever a rule of a user raises
            self._broken = True
            beside = [rule for role in ROLES for rule in rules_on(self._device, role)]
            main = [] if self._policy is None else [self._policy.main]
            raise rule_error(error, [*main, *beside]) from error

    def _foreseen(self, chunks: Iterator[np.ndarray], host_pages: int | None) -> Iterator[np.ndarray]:
        """Return the chunks; for an oracle placement, first store the future of a run of `host_pages`."""
        placement = beside_on(self._device).get("placement")
        self._future = None
        if placement is None or not placement.oracle:
            return chunks
        check_order(self._device, f"placement {placement.name}")
        drawn = look_ahead(chunks, host_pages, self._device.logical_pages)
        clock = int(self.arrays.control["clock"][0, 0])
        self._future = foresee(drawn, self._device.logical_pages, clock)
        self.arrays.control["period_at"][0, 0] = clock
        return iter(drawn)

    def _fail(self, status: int, choice: np.ndarray | None = None) -> None:
        """Raise for a negative code of the engine."""
        policy, more = self._policy, ""
        label = "none" if policy is None else policy.label
        if policy is not None and codes.NO_ROOM_TO_MOVE <= status <= codes.ILLEGAL_BLOCK:
            pair = (self._choice if choice is None else choice)[0]
            more = f"; policy {label} chose block {pair['block']} with the sub-blocks {int(pair['mask']):#x}"
        raise failure(status, self._device, label, more)


def _answer(rule: Rule, function: Any, *arguments: Any) -> Any:
    """Call a function of a rule in plain Python; raise an error that names the rule if it fails."""
    try:
        return function(*arguments)
    except Exception as error:  # whatever a rule of a user raises
        raise rule_error(error, [rule]) from error
