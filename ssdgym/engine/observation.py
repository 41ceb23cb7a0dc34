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
    """What an observation contains (features, proposers), and the rules that take the other decisions."""

    rules: Any  # (kinds + trackers,) RULE: rules of the decisions not taken outside the engine
    external: Any  # int64: set of the kinds that are decided outside the engine
    proposers: Any  # (n,) RULE: victim rules whose picks are always among the candidates; or merge rules
    every: Any  # bool: list all erase sets at fixed places
    most_blocks: Any  # int64: most blocks of the erase sets that no proposer has picked
    pairs: Any  # (MAX_PAIRS,) ERASE_PAIR: scratch
    # The description of an ERASE decision.
    candidate_features: Any = np.zeros(0, observed.FEATURE)
    context_features: Any = np.zeros(0, observed.FEATURE)
    proposed_columns: Any = np.zeros(0, np.int64)  # (proposers,): column that marks each pick, or -1
    sampled_pages: Any = 0  # int64: pages of a block that are sampled to count updates
    tallies: Any = np.zeros(0, observed.CANDIDATE)  # (K,): scratch
    decision: Any = np.zeros(1, observed.DECISION)  # scratch
    keys: Any = np.zeros(0, np.int64)  # (K,): scratch
    outside: Any = np.zeros(1, observed.OUTSIDE)  # output: the first value out of its bounds
    # The descriptions of other kinds of decisions, by observers that are compiled when they are used.
    observers: Any = np.zeros(len(KINDS), np.int64)  # addresses by kind; 0: described as ERASE
    stream_features: Any = np.zeros(0, observed.FEATURE)  # their columns follow those of `candidate_features`
    page_features: Any = np.zeros(0, observed.FEATURE)  # in the context they follow `context_features`
    stream_columns: Any = np.zeros(0, np.int64)  # columns of picks of the placement and the trackers, or -1
    streams: Any = np.zeros(0, observed.STREAM_SEEN)  # (K,): scratch
    page: Any = np.zeros(1, observed.PAGE_SEEN)  # scratch
    answer_features: Any = np.zeros(0, observed.FEATURE)  # their columns follow those of `stream_features`
    die_features: Any = np.zeros(0, observed.FEATURE)  # in the context they follow `page_features`
    answer_columns: Any = np.zeros(0, np.int64)  # column of the pick of the device's idle rule, or -1
    answers: Any = np.zeros(0, observed.ANSWER_SEEN)  # (K,): scratch
    die: Any = np.zeros(1, observed.DIE_SEEN)  # scratch
    # Of the following arrays, only those for the observed kind of decision are not empty.
    way_features: Any = np.zeros(0, observed.FEATURE)
    sector_features: Any = np.zeros(0, observed.FEATURE)
    way_columns: Any = np.zeros(0, np.int64)  # column of the pick of the FTL's own rule, or -1
    ways: Any = np.zeros(0, observed.WAY_SEEN)  # (K,): scratch
    sector: Any = np.zeros(1, observed.SECTOR_SEEN)  # scratch
    plan_features: Any = np.zeros(0, observed.FEATURE)
    bundle_features: Any = np.zeros(0, observed.FEATURE)
    plans: Any = np.zeros(0, observed.PLAN_SEEN)  # (K,): scratch
    bundle: Any = np.zeros(1, observed.BUNDLE_SEEN)  # scratch


class ObservationBuffers(NamedTuple):
    """Arrays for the observation of one device; the caller provides them."""

    sets: Any  # (K, MAX_PAIRS) ERASE_PAIR: pairs of a set, then empty masks
    features: Any  # (K, columns) float32
    mask: Any  # (K,) int8
    context: Any  # (columns,) float32
    proposed: Any  # (proposers,) int32: index of each proposer's pick
    taken: Any  # () TAKEN: clock and time of the device's last decision

    @classmethod
    def allocate(
        cls, count: int, candidates: int, columns: int, entries: int, proposers: int = 0
    ) -> ObservationBuffers:
        """Allocate arrays for several devices; the first axis is the device."""
        return cls(
            sets=np.zeros((count, candidates, MAX_PAIRS), ERASE_PAIR),
            features=np.zeros((count, candidates, columns), np.float32),
            mask=np.zeros((count, candidates), np.int8),
            context=np.zeros((count, entries), np.float32),
            proposed=np.full((count, proposers), -1, np.int32),
            taken=np.zeros(count, observed.TAKEN),
        )


class Shared(NamedTuple):
    """Arrays of a step of n devices, except the devices and the specifications of their observations."""

    devices: Any  # (n,) int64: addresses at which the devices are stored
    views: Any  # (n,) int64: addresses of the `ObservationBuffers` of the devices
    visit: Any  # int64: address of the function that is called for each device
    tally: Any  # int64: address of the `Tally`
    loops: Any  # (2,) int64, of `loop_addresses`
    which: Any  # (n,) int64: the devices of this step come first
    actions: Any  # (n,) int64: a candidate for each device; -1 leaves the decision due
    mask: Any  # (n, K) int8: the candidates that may be chosen
    requests: Any  # (n, m) REQUEST
    counts: Any  # (n,) int64: number of requests of each device
    status: Any  # (n,) int64, output: status as `advance` or `apply` returns it
    outside: Any  # (threads,) OUTSIDE, output
    words: Any  # int64: how the step is divided among threads
    portion: Any  # int64: how many devices a thread claims at once

    @classmethod
    def allocate(cls, views: ObservationBuffers, requests: int) -> Shared:
        """Allocate the arrays for these views and `requests` requests for each device."""
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
    """Counters of n devices: inputs of the rewards, and values shown after every step."""

    ends: Any  # (terms,) int64: row of `counters` behind the last one of each term
    counters: Any  # (counters, n) int64: addresses, sorted by term
    costs: Any  # (counters, n) float64: cost of one count
    weights: Any  # (terms,) float64
    totals: Any  # (terms, n) float64: cost of each device up to its last reward
    terms: Any  # (terms, n) float64, output
    reward: Any  # (n,) float64, output
    reclaimed: Any  # (n,) int64: pages reclaimed up to the last reward
    reclaiming: Any  # (2, n) int64: addresses of the counter that is added and the one subtracted
    reclaimed_pages: Any  # (n,) int64: pages for one count of the added counter
    price: Any  # (n,) float64
    unit: Any  # (n,) float64
    pays: Any  # (1,) int64: whether reclaimed pages have a price
    shown: Any  # (1 + shown, n) int64, output: host pages since the last decision; counters
    shown_counters: Any  # (shown, n) int64: addresses


@inlined
def clear_view(dev, view):
    """Clear picks and context; return the plane of the decision due, otherwise of the last host page."""
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
    """Store the candidate that proposer `j` has picked (below 0: none), and mark it in feature `column`."""
    view.proposed[j] = max(pick, -1)
    if pick >= 0 and column >= 0:
        view.features[pick, column] = np.float32(1.0)


@inlined
def checked(spec, column, feature, value):
    """Return the value of a feature, 0 if the value is out of bounds or NaN; store the first such value."""
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
        A kernel with the arguments (device, spec, handle of the rules' view, features of an answer, their
        first column, records of the answers, number of answers, features of the subject, their first entry in
        the context, record of the subject, buffers to write to).
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
    """Return numba's signature of the observer of a family: (device, spec, view, plane)."""
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
    """Return a function that returns the address of an observer, which its first call compiles."""
    compiled = cache(lambda: compiled_address(observe, observer_type(arrays)))
    return lambda: compiled()[0]
