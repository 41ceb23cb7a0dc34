"""Decorators that register functions as features, one for each kind."""

from __future__ import annotations

from collections.abc import Callable

from ssdgym.envs.features.registry import Function, Setting, When, register
from ssdgym.types import Feature

#: The watcher of ssdgym: what has happened to each page, and what went to each stream.
PAGE_HISTORY = "page_history"


def _never(setting: Setting) -> bool:
    return False


class FeatureDecorator:
    """Registers functions as features of one kind: `@decorator(name, meaning, low=-1)`.

    Args:
        kind: one of `ssdgym.envs.features.registry.KINDS`, which has what functions are called with.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __call__(
        self,
        name: str,
        meaning: str,
        *,
        unit: str = "share",
        low: float = 0.0,
        high: float = 1.0,
        default: When = _never,
    ) -> Callable[[Function], Function]:
        """Register the decorated function as a feature.

        Args:
            name: by which environments and agents have it.
            meaning: what it says, as a phrase.
            unit: of its values.
            low: smallest value.
            high: largest value.
            default: in which settings it is observed without being named; never, unless said.

        Returns:
            The decorator; the function stays as it is.

        Raises:
            SsdgymError: another module has registered a feature of this name, or the bounds are wrong.
        """
        return register(Feature(name, meaning, unit, low, high), self.kind, default)


class SamplingDecorator(FeatureDecorator):
    """Registers functions as features that may look at sampled pages."""

    def __call__(
        self,
        name: str,
        meaning: str,
        *,
        unit: str = "share",
        low: float = 0.0,
        high: float = 1.0,
        default: When = _never,
        samples_pages: bool = False,
    ) -> Callable[[Function], Function]:
        """Register the decorated function as a feature; see `FeatureDecorator`.

        With `samples_pages` it may read `sampled`, `updates`, `neighbours` or `neighbour_updates`.
        """
        return register(Feature(name, meaning, unit, low, high), self.kind, default, samples_pages)


class WatchingDecorator(FeatureDecorator):
    """Registers functions as features that read the records of a rule that watches."""

    def __call__(
        self,
        name: str,
        meaning: str,
        *,
        unit: str = "share",
        low: float = 0.0,
        high: float = 1.0,
        default: When = _never,
        watcher: str = PAGE_HISTORY,
    ) -> Callable[[Function], Function]:
        """Register the decorated function as a feature; see `FeatureDecorator`.

        `watcher` names the rule whose records it reads; environments have it watch.
        """
        return register(Feature(name, meaning, unit, low, high), self.kind, default, watcher=watcher)


# In what functions are called with, `view` is what rules see, with the records of the watcher where there is
# one; the others are records of `ssdgym.engine.core.observed`.

#: Of every candidate: `(view, candidate, decision)`, a CANDIDATE and a DECISION.
candidate_feature = SamplingDecorator("candidate")
#: Of the context, changing from decision to decision: `(view, decision)`.
decision_feature = FeatureDecorator("decision")
#: Of the context, telling devices apart: `(view)`.
device_feature = FeatureDecorator("device")
#: Of every write stream that a page can go to: `(view, stream, page)`, a STREAM_SEEN and a PAGE_SEEN.
stream_feature = WatchingDecorator("stream")
#: Of the context, telling about the page that is placed: `(view, page)`.
page_feature = WatchingDecorator("page")
#: Of how far an idle die may go: `(view, answer, die)`, an ANSWER_SEEN and a DIE_SEEN.
answer_feature = FeatureDecorator("answer")
#: Of the context, telling about the die that is idle: `(view, die)`.
die_feature = FeatureDecorator("die")
#: Of the two places that data of a region can go to: `(view, way, sector)`, a WAY_SEEN and a SECTOR_SEEN.
way_feature = FeatureDecorator("way")
#: Of the context, telling about this data: `(view, sector)`.
sector_feature = FeatureDecorator("sector")
#: Of every way to merge blocks: `(view, plan, bundle)`, a PLAN_SEEN and a BUNDLE_SEEN.
plan_feature = FeatureDecorator("plan")
#: Of the context, telling about the bundle whose blocks are merged: `(view, bundle)`.
bundle_feature = FeatureDecorator("bundle")
