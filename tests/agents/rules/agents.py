"""Agents with random weights, for each kind of decision that a rule takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from ssdgym.agents.agent import Agent
from ssdgym.agents.card import AgentCard
from ssdgym.agents.networks import network_of

BLOCKS = ("log_benefit", "log_age_closed", "log_age", "valid_fraction", "log_update_rate")
PLANE = ("utilisation", "pool", "open_room")
PAGE = (
    "page_relocated",
    "page_age",
    "page_interval",
    "page_interval_before",
    "page_updates",
    "page_group_updates",
    "page_moves",
    "page_block_age",
    "page_stream",
    "pool",
    "utilisation",
)
STREAMS = (
    "stream_fill",
    "stream_valid",
    "stream_blocks",
    "stream_age",
    "stream_intake",
    "stream_relocated",
    "stream_gap",
    "stream_holds_page",
)
WORN = ("log_wear_gap", "share", "wear", "valid_fraction", "log_age", "log_age_closed", "block_stream")
DIE = ("idle_room", "idle_space", "idle_running", "idle_moves", "idle_since", "idle_last", "idle_mean")

CARDS: dict[str, dict[str, Any]] = {
    "victims": {
        "environment": "ssdgym/EraseVictim-v0",
        "candidate_features": BLOCKS,
        "context_features": PLANE,
        "scorer": {"hidden": [8, 6], "pooling": "none"},
    },
    "linear victims": {
        "environment": "ssdgym/EraseVictim-v0",
        "candidate_features": BLOCKS,
        "context_features": PLANE,
        "scorer": {"hidden": [8], "pooling": "none"},
    },
    "streams": {
        "environment": "ssdgym/Placement-v0",
        "candidate_features": ["stream_number"],
        "context_features": PAGE,
        "ordinal": {"hidden": [8, 4], "actions": 6, "ranges": [[0, 4], [1, 5]]},
    },
    "linear streams": {
        "environment": "ssdgym/Placement-v0",
        "candidate_features": ["stream_number"],
        "context_features": PAGE,
        "ordinal": {"actions": 6, "ranges": [[0, 6], [0, 6]]},
    },
    "scored streams": {
        "environment": "ssdgym/Placement-v0",
        "candidate_features": STREAMS,
        "context_features": PAGE,
        "scorer": {"hidden": [8, 6], "pooling": "none", "start": "none"},
        "training": {"environment": {"kwargs": {"streams": 6}}},
    },
    "answers": {
        "environment": "ssdgym/BackgroundGC-v0",
        "candidate_features": ["answer_number"],
        "context_features": DIE,
        "ordinal": {"hidden": [8], "actions": 8, "ranges": [[0, 8]]},
    },
    "cold blocks": {
        "environment": "ssdgym/WearLevel-v0",
        "candidate_features": WORN,
        "context_features": ("wear_spread", "pool", "free"),
        "scorer": {"hidden": [8, 6], "pooling": "none", "start": "none"},
    },
}


def random_agent(kind: str, seed: int = 0, spread: float = 0.4) -> Agent:
    """Make an agent of a kind of `CARDS`, its weights moved at random."""
    card = AgentCard.model_validate({"algorithm": "none", "decisions": 0, **CARDS[kind]})
    torch.manual_seed(seed)
    network = network_of(card)
    for name, parameter in network.named_parameters():
        if kind != "linear victims" or name.startswith("linear"):
            parameter.data += spread * torch.randn_like(parameter)
    if card.ordinal:
        network.centre += 0.3
        network.scale *= 0.7
    return Agent(network, card)


def saved_agent(folder: Path, kind: str, seed: int = 0, spread: float = 0.4) -> str:
    """Save such an agent; return what it is written as in a policy."""
    path = random_agent(kind, seed, spread).save(folder / f"{kind.replace(' ', '_')}_{seed}.zip")
    return f"agent:{path}"
