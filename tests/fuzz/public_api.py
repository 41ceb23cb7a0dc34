"""Call the public API at random, also with what nobody should hand in; run as a script by `test_public_api`.

Every call returns, or raises an SsdgymError. Whatever has happened, no device has lost a page.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from ssdgym.envs import EraseVictimVectorEnv
from ssdgym.errors import SsdgymError
from ssdgym.policy import (
    choose_block,
    eligible,
    get_policy,
    most_invalid_block,
    placement_policy,
    victim_policy,
)
from ssdgym.requests import REQUEST
from ssdgym.simulator import Recording, Simulator
from tests.engine.audit import first_fault
from tests.engine.devices import device, random_writes, same_as

# Rules have no types.
# mypy: disable-error-code="no-untyped-def"

NUMBERS = (0, 1, -1, 2, 3, 7, 63, 64, 255, 2**15, 2**31 - 1, -(2**31), 2**31, 2**62, 2**63, -(2**63), 10**30)
ODD = (None, "x", 1.5, float("nan"), True, (), [], {}, np.int64(3), np.zeros(3), b"", object())


@victim_policy("fuzz_block", source="a test", parameters={"block": 0, "shift": 0})
def fuzz_block(view, plane, parameters, choice):
    """Look at one block after another from anywhere on; choose one that may be none."""
    block = int(parameters.block)
    for k in range(3):
        if eligible(view, block + k * plane):
            return choose_block(view, choice, block + k)
    return choose_block(view, choice, most_invalid_block(view, plane) + int(parameters.shift))


@victim_policy("fuzz_pairs", source="a test", parameters={"pairs": 1, "place": 0}, memory=[("seen", "i8")])
def fuzz_pairs(view, plane, parameters, choice):
    """Write a pair to any place and return any number of them."""
    choice[int(parameters.place)].block = most_invalid_block(view, plane)
    choice[int(parameters.place)].mask = 1
    return int(parameters.pairs) + 0 * view.memory[int(parameters.place)].seen


@victim_policy("fuzz_python", source="a test", parameters={"block": 0}, compiled=False)
def fuzz_python(view, plane, parameters, choice):
    """Do so in plain Python, which may try to write to the device."""
    block = int(parameters.block)
    if block == 7:
        view.block[0].invalid = 10**6
    return choose_block(view, choice, block if eligible(view, block) else most_invalid_block(view, plane))


@placement_policy(
    "fuzz_place",
    source="a test",
    streams=2,
    relocation_streams=1,
    parameters={"stream": 0, "shift": 0},
    page=[("writes", "i4")],
)
def fuzz_place(view, plane, lpn, source, parameters):
    """Place pages by the memory of any page, in a stream that may be none."""
    return int(parameters.stream) + 0 * view.page_memory[lpn + int(parameters.shift)].writes


@fuzz_place.on("written")
def count(view, plane, lpn, old_page, page, parameters):
    """Write to the memory of any page."""
    view.page_memory[lpn + int(parameters.shift)].writes += 1


class Fuzz:
    """Calls at random on simulators and environments of small devices."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.calls: Counter[str] = Counter()
        gc = {"free_blocks": 2, "preemptible": True, "idle": "idle_hazard(blocks=20)"}
        self.devices = [
            device({"blocks_per_plane": 64}, {"timing": "none", "queue_depth": 4}),
            device({"blocks_per_plane": 64}, {"timing": "event", "queue_depth": 4, "gc": gc}),
        ]
        self.start()

    def start(self) -> None:
        """Make new simulators, one of them without a policy."""
        config = self.draw.choice(self.devices)
        recording = Recording(self.draw.choice((0, 1, 50)), self.draw.choice((0, 1, 8)))
        seed = self.number(64) % 2**64
        self.sim = Simulator(config, policy=self.policy(), seed=seed, recording=recording)
        self.other = Simulator(config, policy=self.draw.choice((None, "greedy")), recording=recording)
        self.saved = [self.sim.snapshot(), self.other.snapshot()]

    def number(self, bits: int = 31) -> int:
        """Draw a number, often one at an edge."""
        if self.draw.random() < 0.3:
            return self.draw.choice(NUMBERS)
        return self.draw.randrange(2 ** self.draw.randrange(1, bits))

    def policy(self) -> str:
        """Draw a policy, in half of the cases one that does as it should."""
        small = self.draw.choice((0, 0, 1, 5, -1, 2**40, -(2**40), 10**7))
        pairs, stream = self.draw.choice((1, 1, 2, 9, 10**12)), self.draw.choice((0, 1, 1, 2, -1))
        return self.draw.choice(
            (
                "greedy",
                "cost_benefit",
                "random",
                "greedy+sep_gc",
                f"fuzz_block(block={small}, shift={self.draw.choice((0, 0, 1, 10**9))})",
                f"fuzz_pairs(pairs={pairs}, place={self.draw.choice((0, 0, 7, 8, small))})",
                f"fuzz_python(block={self.draw.choice((0, 7, 10**7))})",
                f"greedy+fuzz_place(stream={stream}, shift={self.draw.choice((0, 0, small))})",
            )
        )

    def requests(self) -> np.ndarray:
        """Draw requests, by chance with a few that cannot be played, or of another layout."""
        requests = random_writes(
            self.draw.randrange(1, 200), self.sim.logical_pages, seed=self.draw.randrange(99)
        )
        if self.draw.random() < 0.3:
            requests["op"] = self.draw.randrange(5)
            requests["arrival_ns"] = np.sort(
                np.arange(len(requests)) * self.draw.choice((1, 10**6, -5, 2**55))
            )
        if self.draw.random() < 0.2:
            field = self.draw.choice(REQUEST.names or ())
            number = self.number() % 2 ** (8 * REQUEST[field].itemsize - 1)
            requests[field][self.draw.randrange(len(requests))] = number
        if self.draw.random() < 0.1:
            requests.flags.writeable = False
        return requests[:: self.draw.choice((1, 1, 1, 2, -1))]

    # -- calls

    def feed_and_change(self) -> None:
        sim, requests = self.draw.choice((self.sim, self.other)), self.requests()
        sim.feed(requests)
        if requests.flags.writeable:
            requests["lpn"], requests["pages"], requests["op"] = (
                self.draw.choice(NUMBERS[:8]) % 2**31,
                2**31 - 1,
                9,
            )
        sim.advance(last=self.draw.random() < 0.5)

    def run(self) -> None:
        self.sim.run(self.requests())

    def run_named(self) -> None:
        pages = self.draw.choice((1, 20, 100, *NUMBERS[:3], np.int64(5), *ODD[:4]))
        self.sim.run("uniform", host_pages=pages, seed=self.draw.choice((1, np.int32(3), *ODD[:3])))

    def take(self) -> None:
        self.other.feed(self.requests())
        self.other.advance()
        blocks = self.other.device.geometry.planes * 64
        for block in self.draw.sample(range(blocks), 5):
            self.other.apply(block)

    def take_odd(self) -> None:
        pairs: list[Any] = [(self.number(), self.number(64)) for _ in range(self.draw.randrange(12))]
        self.other.apply(
            self.draw.choice((self.number(), pairs, self.draw.choice(ODD))), self.draw.choice((None, 1, 3))
        )

    def restore(self) -> None:
        which = self.draw.randrange(2)
        (self.sim, self.other)[which].restore(self.saved[which])

    def save(self) -> None:
        self.saved = [self.sim.snapshot(), self.other.snapshot()]

    def restore_damaged(self) -> None:
        snapshot = self.sim.snapshot()
        array = self.draw.choice([array for array in (*snapshot.state, snapshot.requests) if array.size])
        name = self.draw.choice(array.dtype.names) if array.dtype.names else None
        numbers = array.reshape(-1) if name is None else array[name].reshape(-1)
        if numbers.dtype.kind in "iu" and array.dtype != snapshot.state.latency.dtype:
            before = numbers.copy()
            limits = np.iinfo(numbers.dtype)
            numbers[self.draw.randrange(numbers.size)] = self.draw.randint(limits.min, limits.max)
            changed = array.reshape(-1) if name is None else array[name].reshape(-1)
            if not np.shares_memory(numbers, array) or np.array_equal(before, changed):
                return
            try:
                self.sim.restore(snapshot)
            except SsdgymError:
                return
            raise AssertionError("a damaged snapshot was accepted")

    def write_to_the_state(self) -> None:
        array = self.draw.choice(self.sim.state)
        try:
            array[0] = 0
        except ValueError:
            return
        raise AssertionError("the state was written to")

    def look(self) -> None:
        self.sim.metrics()
        same_as(self.other, self.sim)
        self.draw.choice((self.sim.reset_metrics, self.sim.metrics))()

    def horizon(self) -> None:
        self.sim.set_horizon(self.draw.choice((None, *NUMBERS, *ODD)))
        self.sim.set_horizon(None)

    def change_policy(self) -> None:
        self.sim.policy = self.draw.choice((self.policy(), *ODD[:2], "greedy"))

    def make_odd(self) -> None:
        odd = self.draw.choice((*ODD, *NUMBERS))
        made: tuple[Callable[[], Any], ...] = (
            lambda: Recording(odd, 1),
            lambda: Recording(1, odd),
            lambda: Simulator(self.devices[0], seed=odd, recording=Recording(1, 1)),
            lambda: Simulator(self.devices[0], policy=odd, recording=Recording(1, 1)),
            lambda: Simulator(odd),
            lambda: self.sim.feed(odd),
            lambda: self.sim.restore(odd),
            lambda: get_policy(odd),
        )
        self.draw.choice(made)()

    def two_threads(self) -> None:
        requests = [self.requests() for _ in range(2)]
        unexpected: list[Exception] = []

        def play(own: np.ndarray) -> None:
            try:
                self.sim.run(own)
            except SsdgymError:
                pass
            except Exception as error:  # noqa: BLE001 - to be raised by the thread that waits
                unexpected.append(error)

        threads = [threading.Thread(target=play, args=(own,)) for own in requests]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if unexpected:
            raise unexpected[0]

    def environment(self) -> None:
        """Play a few decisions, valid and not, and write to all that is handed out."""
        copied = self.draw.random() < 0.5
        proposers = [
            "greedy",
            self.draw.choice(("cost_benefit", "fuzz_block(block=5)", "fuzz_block(block=1e9)")),
        ]
        env = EraseVictimVectorEnv(
            2, device=self.devices[0], workload="uniform", horizon=50, proposers=proposers, copy=copied
        )
        try:
            observation, _ = env.reset(seed=self.draw.randrange(9))
            for _ in range(40):
                self.calls["environment step"] += 1
                action = np.array(
                    [self.draw.randrange(16) if self.draw.random() < 0.9 else self.number(62)] * 2
                )
                for array in observation.values():
                    array[...] = self.draw.choice((0, 1, 100))
                try:
                    observation, *_ = env.step(action)
                except SsdgymError:
                    self.calls["refused step"] += 1
        finally:
            env.close()

    # -- all of them

    def call(self) -> None:
        """Make one call of any kind."""
        kinds = (
            *[self.feed_and_change, self.run, self.take] * 6,
            *[self.take_odd, self.restore, self.save, self.horizon, self.look] * 3,
            *[
                self.run_named,
                self.restore_damaged,
                self.write_to_the_state,
                self.change_policy,
                self.make_odd,
            ]
            * 2,
            self.two_threads,
        )
        kind = self.draw.choice(kinds)
        if self.draw.random() < 0.002:
            kind = self.environment
        self.calls[kind.__name__] += 1
        try:
            kind()
        except SsdgymError as error:
            self.calls["refused"] += 1
            assert 10 < len(str(error)) < 2000, error

    def check(self) -> None:
        """Check that no page is lost, and the books of devices whose rules have not failed in mid-step."""
        for sim in (self.sim, self.other):
            assert sim.metrics()["lost_pages"] == 0
            if not sim._broken:
                fault = first_fault(sim.arrays, 0)
                assert fault == "none", fault


def play(seed: int, count: int) -> dict[str, Any]:
    """Make so many calls; return how many of each kind."""
    warnings.simplefilter("ignore")
    fuzz = Fuzz(seed)
    for number in range(count):
        if number % 60 == 59:
            fuzz.check()
            fuzz.start()
        fuzz.call()
    fuzz.check()
    return dict(fuzz.calls)


if __name__ == "__main__":
    started = time.process_time()
    result = play(int(sys.argv[1]), int(sys.argv[2]))
    print(json.dumps({**result, "cpu_s": round(time.process_time() - started, 1)}))
