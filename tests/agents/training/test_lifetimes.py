"""Lifetimes of placed pages: what is recorded, and a network that predicts them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from ssdgym.agents.card import AgentCard, OrdinalConfig
from ssdgym.agents.networks import OrdinalNetwork
from ssdgym.agents.rules import CompiledNetwork, register_recorder, register_trainable
from ssdgym.agents.scoring import ROOM
from ssdgym.agents.training.lifetimes import Lifetimes, fit_lifetimes, record_lifetimes
from ssdgym.errors import SsdgymError
from ssdgym.requests import REQUEST, WRITE
from ssdgym.simulator import Simulator
from ssdgym.simulator.future import BEYOND
from ssdgym.workloads.stream import load_workload, open_on

FEATURES = ("page_relocated", "page_age", "page_updates")
CARD: dict[str, Any] = {
    "algorithm": "none",
    "decisions": 0,
    "environment": "ssdgym/Placement-v0",
    "candidate_features": ("stream_number",),
    "context_features": FEATURES,
    "ordinal": {"hidden": [4], "actions": 6, "ranges": [[0, 6], [2, 4]]},
}
RUN, WARMUP = 6_000, 2_000


def card_and_weights() -> tuple[AgentCard, dict[str, np.ndarray]]:
    """A placement that draws its weights."""
    card = AgentCard.model_validate(CARD)
    assert card.ordinal is not None
    torch.manual_seed(3)
    network = OrdinalNetwork(card.context_features, card.ordinal)
    for parameter in (network.weights, network.body[-1].weight):
        torch.nn.init.normal_(parameter.data, std=0.3)
    return card, {name: tensor.numpy() for name, tensor in network.state_dict().items()}


def simulator_with(policy: str) -> Simulator:
    """A device full of data."""
    simulator = Simulator(
        "demo-placement", ftl={"timing": "none"}, policy=f"cost_benefit(since_close=1)+{policy}"
    )
    simulator.fill()
    return simulator


def requests_on(simulator: Simulator) -> np.ndarray:
    """Requests that go on behind a run as long as lifetimes are looked for."""
    stream = open_on(load_workload("zipf80"), simulator.device, 5)
    wanted = RUN + WARMUP + (BEYOND + 1) * simulator.logical_pages
    requests = np.concatenate([np.array(stream.next(4096)) for _ in range(wanted // 4096 + 1)])
    assert (requests["op"] == WRITE).all()
    assert (requests["pages"] == 1).all()
    return requests


@pytest.fixture(scope="module")
def recorded() -> tuple[Simulator, CompiledNetwork, np.ndarray, int, Lifetimes]:
    card, weights = card_and_weights()
    name, network = register_recorder(card, weights)
    simulator = simulator_with(name)
    requests = requests_on(simulator)
    begin = int(simulator.arrays.control["clock"][0, 0])
    return simulator, network, requests, begin, record_lifetimes(simulator, network, requests, RUN, WARMUP)


def test_placement_that_notes__places_as_the_one_that_does_not(recorded: Any) -> None:
    simulator, _, requests, _, _ = recorded
    name, _ = register_trainable(*card_and_weights())
    other = simulator_with(name)
    other.proceed(iter([requests]), WARMUP)
    other.proceed(iter([requests[WARMUP:]]), RUN)
    assert simulator.metrics()["relocated_pages"] == other.metrics()["relocated_pages"] > 1_000
    assert np.array_equal(simulator.arrays.logical["ppn"], other.arrays.logical["ppn"])


def test_every_page_that_is_placed__is_noted_with_its_lifetime(recorded: Any) -> None:
    simulator, network, requests, begin, pages = recorded
    [record] = network.records
    used = int(record["used"])
    assert used == len(pages.lives) < ROOM
    lpn, clock, written = (record[name][:used] for name in ("lpn", "clock", "written"))
    assert written.sum() == RUN
    events = requests["lpn"]
    assert np.array_equal(lpn[written == 1], events[WARMUP : WARMUP + RUN])
    assert np.array_equal(pages.heads, 1 - written)
    for k in range(0, used, 97):
        first = int(clock[k] - begin) + int(written[k])
        later = np.flatnonzero(events[first:] == lpn[k])
        life = int(later[0]) + int(written[k]) if len(later) else 1 << 40
        life = min(max(life, 1), BEYOND * simulator.logical_pages)
        assert pages.lives[k] == pytest.approx(np.log2(10 * life / simulator.logical_pages) / 2, abs=1e-5)


def test_what_is_seen__is_what_the_network_reads(recorded: Any) -> None:
    *_, pages = recorded
    assert np.array_equal(pages.features[:, 0], pages.heads.astype(np.float32))
    assert pages.features[:, 1].std() > 0.1


def test_record__of_victims__is_refused() -> None:
    card = AgentCard.model_validate(
        {
            **CARD,
            "environment": "ssdgym/BackgroundGC-v0",
            "context_features": ("idle_room",),
            "ordinal": {"actions": 6, "ranges": [[0, 6]]},
        }
    )
    network = OrdinalNetwork(("idle_room",), OrdinalConfig(actions=6, ranges=((0, 6),)))
    weights = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    with pytest.raises(SsdgymError, match="lifetimes are for a placement with ordinal"):
        register_recorder(card, weights)


def made_up(count: int = 6_000) -> Lifetimes:
    """Pages whose lifetimes follow from what is seen of them, in each head in another way, with noise."""
    rng = np.random.default_rng(2)
    features = rng.normal(size=(count, 3)).astype(np.float32)
    heads = (features[:, 0] > 0).astype(np.int64)
    features[:, 0] = heads
    lives = np.where(heads == 1, features[:, 1] - 1, 2 * features[:, 2] + np.abs(features[:, 1]))
    return Lifetimes(features, heads, (lives + rng.normal(scale=0.3, size=count)).astype(np.float32))


def test_fit__explains_what_can_be_explained__and_the_hidden_layer_what_is_not_linear() -> None:
    shares = {}
    for hidden in ((), (16,)):
        torch.manual_seed(0)
        network = OrdinalNetwork(FEATURES, OrdinalConfig(hidden=hidden, actions=6, ranges=((0, 6), (2, 4))))
        shares[hidden] = fit_lifetimes(network, made_up(), epochs=60, learning_rate=0.02, seed=1)
    assert 0.8 < shares[()] < shares[(16,)] - 0.03
    assert shares[(16,)] == pytest.approx(0.97, abs=0.015)


def test_thresholds__share_the_pages_of_each_head_out() -> None:
    network = OrdinalNetwork(FEATURES, OrdinalConfig(actions=6, ranges=((0, 6), (2, 4))))
    pages = made_up()
    fit_lifetimes(network, pages, epochs=20, learning_rate=0.02, seed=1)
    with torch.no_grad():
        scores = network(
            torch.zeros(len(pages.lives), 6, 1),
            torch.from_numpy(pages.features),
            torch.ones(len(pages.lives), 6),
        )
    actions = scores.argmax(-1).numpy()
    for head, (first, count) in enumerate(((0, 6), (2, 4))):
        shares = np.bincount(actions[pages.heads == head], minlength=6) / (pages.heads == head).sum()
        assert shares[first : first + count] == pytest.approx(1 / count, abs=0.01)


def test_fit__of_the_same_seed__has_the_same_bits() -> None:
    weights = []
    for _ in range(2):
        network = OrdinalNetwork(FEATURES, OrdinalConfig(actions=6, ranges=((0, 6), (2, 4))))
        fit_lifetimes(network, made_up(500), epochs=2, learning_rate=0.02, seed=1)
        weights.append({name: tensor.numpy().copy() for name, tensor in network.state_dict().items()})
    assert all(np.array_equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_fit__of_any_number_of_threads__has_the_same_bits() -> None:
    weights = []
    before = torch.get_num_threads()
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            torch.manual_seed(0)
            network = OrdinalNetwork(
                FEATURES, OrdinalConfig(hidden=(16, 16), actions=6, ranges=((0, 6), (2, 4)))
            )
            fit_lifetimes(network, made_up(), epochs=1, learning_rate=0.02, seed=1)
            weights.append(network.weights.detach().numpy().copy())
    finally:
        torch.set_num_threads(before)
    assert np.array_equal(weights[0], weights[1])


def test_head_of_one_action__has_no_threshold() -> None:
    network = OrdinalNetwork(FEATURES, OrdinalConfig(actions=6, ranges=((0, 6), (5, 1))))
    before = network.first_threshold[1].item()
    fit_lifetimes(network, made_up(500), epochs=1, learning_rate=0.02, seed=1)
    assert network.first_threshold[1].item() == before


def test_fit__where_nothing_is_relocated__says_so() -> None:
    pages = made_up(500)
    written = Lifetimes(pages.features, np.zeros_like(pages.heads), pages.lives)
    network = OrdinalNetwork(FEATURES, OrdinalConfig(actions=6, ranges=((0, 6), (2, 4))))
    with pytest.raises(SsdgymError, match="no page is relocated in the training tasks"):
        fit_lifetimes(network, written, epochs=1, learning_rate=0.02, seed=1)


def test_record__with_time__is_refused() -> None:
    name, network = register_recorder(*card_and_weights())
    simulator = Simulator(
        "demo-placement", ftl={"timing": "event"}, policy=f"cost_benefit(since_close=1)+{name}"
    )
    with pytest.raises(SsdgymError, match="a record of lifetimes uses the future"):
        record_lifetimes(simulator, network, np.zeros(0, REQUEST), RUN, WARMUP)
