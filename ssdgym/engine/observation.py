"""Specifications of observations, and the arrays of a step: requests, actions, observations, rewards."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import types

from ssdgym.engine.core import observed
from ssdgym.engine.core.family import Arrays
from ssdgym.engine.core.kernel import compiled_address, function_at, inlined
from ssdgym.engine.core.pointer import pointer_type
from ssdgym.engine.core.records import ERASE_PAIR, MAX_PAIRS
from ssdgym.engine.decisions import KINDS, device_type, no_rules
from ssdgym.requests import REQUEST


class ObservationSpec(NamedTuple):
    """What an observation of K candidates contains, and the rules of the decisions not taken outside."""

    rules: Any  # (kinds + trackers,) RULE: rules of the decisions not taken outside the engine
    external: Any  # int64: set of the kinds that are decided outside the engine
    proposers: Any  # (n,) RULE: victim rules (or merge rules) whose picks are always among the candidates
    every: Any  # bool: the candidates are all erase sets of the plane, each at a fixed place
    most_blocks: Any  # int64: most blocks of an erase set that no proposer has picked
    pairs: Any  # (MAX_PAIRS,) ERASE_PAIR: scratch
    # Used for ERASE and LEVEL decisions; `context_features` and `decision` for all kinds.
    candidate_features: Any = np.zeros(0, observed.FEATURE)
    context_features: Any = np.zeros(0, observed.FEATURE)
    proposed_columns: Any = np.zeros(0, np.int64)  # (proposers,): column that marks each pick, or -1
    sampled_pages: Any = 0  # int64: pages of a block that are sampled to count host writes; 0: none
    tallies: Any = np.zeros(0, observed.CANDIDATE)  # (K,): scratch
    decision: Any = np.zeros(1, observed.DECISION)  # scratch
    keys: Any = np.zeros(0, np.int64)  # (K,): scratch, hashes of candidates
    outside: Any = np.zeros(1, observed.OUTSIDE)  # output: the first value out of its bounds
    # Used for other kinds of decisions. An observer is compiled when it is first used.
    observers: Any = np.zeros(len(KINDS), np.int64)  # addresses of observers by kind; 0: described as ERASE
    stream_features: Any = np.zeros(0, observed.FEATURE)  # their columns follow those of `candidate_features`
    page_features: Any = np.zeros(0, observed.FEATURE)  # in the context, they follow `context_features`
    stream_columns: Any = np.zeros(0, np.int64)  # columns of picks of the placement and the trackers, or -1
    streams: Any = np.zeros(0, observed.STREAM_SEEN)  # (K,): scratch
    page: Any = np.zeros(1, observed.PAGE_SEEN)  # scratch
    answer_features: Any = np.zeros(0, observed.FEATURE)  # their columns follow those of `stream_features`
    die_features: Any = np.zeros(0, observed.FEATURE)  # in the context they follow `page_features`
    answer_columns: Any = np.zeros(0, np.int64)  # column of the pick of the device's idle rule, or -1
    answers: Any = np.zeros(0, observed.ANSWER_SEEN)  # (K,): scratch
    die: Any = np.zeros(1, observed.DIE_SEEN)  # scratch
    # Used by the other families: only the arrays for their kind of decision, REGION or MERGE, are not empty.
    way_features: Any = np.zeros(0, observed.FEATURE)
    sector_features: Any = np.zeros(0, observed.FEATURE)
    way_columns: Any = np.zeros(0, np.int64)  # column of the pick of the engine's rule for REGION, or -1
    ways: Any = np.zeros(0, observed.WAY_SEEN)  # (K,): scratch
    sector: Any = np.zeros(1, observed.SECTOR_SEEN)  # scratch
    plan_features: Any = np.zeros(0, observed.FEATURE)
    bundle_features: Any = np.zeros(0, observed.FEATURE)
    plans: Any = np.zeros(0, observed.PLAN_SEEN)  # (K,): scratch
    bundle: Any = np.zeros(1, observed.BUNDLE_SEEN)  # scratch


class ObservationBuffers(NamedTuple):
    """Arrays that the observation of one device is written to."""

    sets: Any  # (K, MAX_PAIRS) ERASE_PAIR: the erase sets; behind a set's pairs, masks are 0
    features: Any  # (K, columns) float32: features of the candidates
    mask: Any  # (K,) int8: 1 if the candidate may be chosen
    context: Any  # (entries,) float32: features of the decision, its subject and the device
    proposed: Any  # (proposers,) int32: candidate that each proposer picks, or -1
    taken: Any  # () TAKEN: clock and time of the device's last decision

    @classmethod
    def allocate(
        cls, count: int, candidates: int, columns: int, entries: int, proposers: int = 0
    ) -> ObservationBuffers:
        """Allocate arrays for `count` devices, with the device as first axis; `entries` is of the context."""
        return cls(
            sets=np.zeros((count, candidates, MAX_PAIRS), ERASE_PAIR),
            features=np.zeros((count, candidates, columns), np.float32),
            mask=np.zeros((count, candidates), np.int8),
            context=np.zeros((count, entries), np.float32),
            proposed=np.full((count, proposers), -1, np.int32),
            taken=np.zeros(count, observed.TAKEN),
        )


class Shared(NamedTuple):
    """Arrays of a step of n devices. Devices and specifications of observations are stored elsewhere."""

    devices: Any  # (n,) int64: addresses at which the devices are stored
    views: Any  # (n,) int64: addresses of the `ObservationBuffers` of the devices
    visit: Any  # int64: address of the function that carries out the step for one device
    tally: Any  # int64: address of the `Tally`
    loops: Any  # (2,) int64: result of `loop_addresses`
    which: Any  # (n,) int64: first, the numbers of the devices in this step; other items are unused
    actions: Any  # (n,) int64: the candidate chosen for each device; -1: the decision stays due
    mask: Any  # (n, K) int8: 1 for candidates that may be chosen
    requests: Any  # (n, m) REQUEST: the present chunk of input of each device
    counts: Any  # (n,) int64: number of requests of each device
    status: Any  # (n,) int64, output: status as `advance` or `apply` returns it
    outside: Any  # (threads,) OUTSIDE, output: first value out of bounds that each thread has found
    words: Any  # (m,) int64: how the step is divided among threads; see `stepping`
    portion: Any  # int64: how many devices a thread claims at once

    @classmethod
    def allocate(cls, views: ObservationBuffers, requests: int) -> Shared:
        """Allocate the arrays for the devices of `views`, with at most `requests` requests per device."""
        count = len(views.mask)
        devices, addresses, which, counts, status = np.zeros((5, count), np.int64)
        return cls(
            devices=devices,
            views=addresses,
            visit=0,
            tally=0,
            loops=np.zeros(2, np.int64),
            which=which,
            actions=np.full(count, -1, np.int64),
            mask=views.mask,
            requests=np.zeros((count, requests), REQUEST),
            counts=counts,
            status=status,
            outside=np.zeros(1, observed.OUTSIDE),
            words=np.zeros(1, np.int64),
            portion=count,
        )


class Tally(NamedTuple):
    """Counters of n devices: inputs of the rewards, and values shown after every step.

    A term of a reward is minus the costs, since the device's last reward, of the counts of its counters.
    """

    ends: Any  # (terms,) int64: number of the row of `counters` behind the last row of each term
    counters: Any  # (counters, n) int64: addresses of counters, sorted by term
    costs: Any  # (counters, n) float64: cost of one count
    weights: Any  # (terms,) float64: factors of the terms in the reward
    totals: Any  # (terms, n) float64: cost of each term up to the device's last reward
    terms: Any  # (terms, n) float64, output: each term since the last reward, not weighted
    reward: Any  # (n,) float64, output
    reclaimed: Any  # (n,) int64: pages reclaimed up to the last reward
    reclaiming: Any  # (2, n) int64: addresses of two counters: reclaimed pages are the first minus the second
    reclaimed_pages: Any  # (n,) int64: pages for one count of the first of these counters
    price: Any  # (n,) float64: reward of a reclaimed page
    unit: Any  # (n,) float64: the sum of terms and reclaimed pages is divided by this number
    pays: Any  # (1,) int64: whether reclaimed pages have a price
    shown: Any  # (1 + shown, n) int64, output: host pages since the last decision; values of `shown_counters`
    shown_counters: Any  # (shown, n) int64: addresses of counters


@inlined
def clear_view(dev, view):
    """Clear picks and context; return the plane of the decision due or, if none is, of the last host page."""
    control = dev.control[0]
    view.proposed[:] = -1
    view.context[:] = np.float32(0.0)
    return np.int64(control.decision_plane if control.decision_plane >= 0 else control.host_plane)


@inlined
def note_decision(dev, kind, plane, candidates, taken, decision):
    """Fill in the record DECISION; `taken` is the record TAKEN of the device's last decision."""
    control = dev.control[0]
    decision.kind = kind
    decision.plane = plane
    decision.candidates = candidates
    decision.mean_erases = 0.0
    decision.host_pages = control.clock - taken.clock
    decision.elapsed_ns = control.now - taken.now


@inlined
def mark_pick(view, j, pick, column):
    """Store the pick of proposer `j` (below 0: none), and set it to 1 in feature `column` (below 0: none)."""
    view.proposed[j] = max(pick, -1)
    if pick >= 0 and column >= 0:
        view.features[pick, column] = np.float32(1.0)


@inlined
def checked(spec, column, feature, value):
    """Return the value of a feature, or 0 if it is NaN or out of bounds; the first such value is stored."""
    if not feature.low <= value <= feature.high:
        outside = spec.outside[0]
        if outside.column == 0:
            outside.column = column + 1
            outside.value = value
        return np.float32(0.0)
    return np.float32(value)


@inlined
def describe_decision(dev, spec, context):
    """Fill in the first entries of the context: the features of the decision and of the device."""
    handle = dev.decider.victim_view
    behind = spec.candidate_features.shape[0]
    for place in range(spec.context_features.shape[0]):
        feature = spec.context_features[place]
        if feature.of_device:
            value = observed.device_feature_at(feature.address)(handle)
        else:
            value = observed.decision_feature_at(feature.address)(handle, spec.decision[0])
        context[place] = checked(spec, behind + place, feature, value)


def describing_kernel(row: str, about: str) -> Any:
    """Make the kernel that describes one kind of decision, with a row of features for each answer.

    Args:
        row: kind, in `FEATURE_SHAPES`, of the features that describe an answer.
        about: kind, in `FEATURE_SHAPES`, of the features that describe the decision's subject.

    Returns:
        A kernel with the arguments (device, spec, handle of the rules' view, features of an answer, first
        column of these features, records of the answers, number of answers, features of the subject, first
        entry of these in the context, record of the subject, `ObservationBuffers` of the device).
    """
    row_feature_at = function_at(types.FunctionType(observed.FEATURE_SHAPES[row]))
    about_feature_at = function_at(types.FunctionType(observed.FEATURE_SHAPES[about]))

    @inlined
    def describe(dev, spec, handle, row_features, first, rows, count, about_features, place, seen, view):
        describe_decision(dev, spec, view.context)
        number = first + place
        for k in range(row_features.shape[0]):
            feature = row_features[k]
            call = row_feature_at(feature.address)
            for answer in range(count):
                value = call(handle, rows[answer], seen)
                view.features[answer, first + k] = checked(spec, number + k, feature, value)
        number += row_features.shape[0]
        for k in range(about_features.shape[0]):
            feature = about_features[k]
            value = about_feature_at(feature.address)(handle, seen)
            view.context[place + k] = checked(spec, number + k, feature, value)

    return describe


def observer_type(arrays: Arrays) -> Any:
    """Return numba's signature of the observers of a family: (device, spec, buffers, plane)."""
    spec = ObservationSpec(no_rules(), 0, no_rules(), False, 1, np.zeros(MAX_PAIRS, ERASE_PAIR))
    view = ObservationBuffers(*(array[0] for array in ObservationBuffers.allocate(1, 1, 1, 1, 1)))
    return types.void(device_type(arrays), pointer_type(spec), pointer_type(view), types.int64)


def observer_by_kind(arrays: Arrays) -> Any:
    """Make `family_observe` for a family that has an observer for each of its kinds of decisions."""
    observer_at = function_at(types.FunctionType(observer_type(arrays)))

    @inlined
    def observe_kind(dev, spec, view):
        plane = clear_view(dev, view)
        address = spec.observers[dev.control[0].decision_kind]
        if address != 0:
            observer_at(address)(dev, spec, view, plane)

    return observe_kind


def describer(observe: Callable[..., None], arrays: Arrays) -> Callable[[], int]:
    """Return a getter for the address of an observer; its first call compiles the observer."""
    compiled = cache(lambda: compiled_address(observe, observer_type(arrays)))
    return lambda: compiled()[0]
