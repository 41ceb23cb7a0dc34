"""FTLs side by side: where a workload was run on several, each of them has rows of its own."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from ssdgym.config.fields import dotted
from ssdgym.config.ftl import FtlConfig
from ssdgym.experiments.analysis.comparison import WRITE_AMPLIFICATION
from ssdgym.experiments.results import Result
from ssdgym.experiments.runs.run_spec import ftl_label, split_options

#: An FTL of which nothing is known but that it is the device's own.
OWN = "default"
#: Fields that name an FTL by their value alone: the kind or, in a family without kinds, the family.
_WORDS = ("kind", "mapping")

Options = Mapping[str, str]
Place = tuple[str, str]


def side_by_side(results: Sequence[Result], learned: Collection[str] = ()) -> tuple[list[Result], list[str]]:
    """Return results whose policies are distinguished by their FTLs, too, and the learned among these.

    On a device and workload with several FTLs, the name of the FTL goes before that of the policy, or stands
    for it where there is a single one, and what the FTLs have in common stays with the task. Where their
    logical pages are of several sizes and larger ones were written in part, the write amplification of these
    is left out: it is of pages, not of bytes.

    Args:
        results: of a whole grid.
        learned: the policies that learned.
    """
    shared, finest = _shared(results), dict[Place, float]()
    for result in results:
        finest[_place(result)] = max(finest.get(_place(result), 0), _logical_pages(result))
    is_single = len({result.policy for result in results}) == 1
    shown = []
    for result, name in zip(results, ftl_names(results), strict=True):
        if name:
            metrics = dict(result.metrics)
            if metrics.get("rmw_reads", 0) > 0 and _logical_pages(result) < finest[_place(result)]:
                metrics.pop(WRITE_AMPLIFICATION, None)
            label = name if is_single else f"{name}, {result.policy}"
            result = replace(
                result, policy=label, ftl=ftl_label(tuple(shared[_place(result)].items())), metrics=metrics
            )
        shown.append(result)
    labels = [new.policy for old, new in zip(results, shown, strict=True) if old.policy in learned]
    return shown, list(dict.fromkeys(labels))


def ftl_names(results: Sequence[Result]) -> list[str]:
    """Return the name of each result's FTL: what differs from the others that its workload was run on.

    A kind, or a family without kinds, goes by its word alone, such as `cgm` or `page`, other options as they
    are written. The name is empty where there is a single FTL.
    """
    shared, texts = _shared(results), dict[Place, set[str]]()
    for result in results:
        texts.setdefault(_place(result), set()).add(result.ftl)
    differing = [
        ftl_label(tuple(_options(result.ftl).items() - shared[place].items()))
        if len(texts[place]) > 1
        else None
        for result in results
        for place in [_place(result)]
    ]
    given = {text: _options(text) for text in differing if text is not None}
    if not given:
        return [""] * len(results)
    # Where every FTL was given another family or kind, what the device's own has is of no use.
    device = {} if any(word in options for options in shared.values() for word in _WORDS) else _own(results)
    named = {name for options in given.values() for name in options}
    whole = {text: _whole(options, device, named) for text, options in given.items()}
    names = {text: _name(options, list(whole.values())) for text, options in whole.items()}
    if len(set(names.values())) < len(names):
        names = {text: text or OWN for text in names}
    return ["" if text is None else names[text] for text in differing]


def _place(result: Result) -> Place:
    return result.device, result.workload


def _logical_pages(result: Result) -> float:
    return float(result.metrics.get("logical_pages", 0))


def _options(text: str) -> dict[str, str]:
    """Return the FTL options of a result by name, dotted for nested ones."""
    pairs = (option.partition("=") for option in split_options(text))
    return {name: value for name, _, value in pairs}


def _text(options: Options) -> str:
    return ftl_label(tuple(options.items()))


def _shared(results: Iterable[Result]) -> dict[Place, dict[str, str]]:
    """Return, by device and workload, the options that all FTLs there were given."""
    shared: dict[Place, dict[str, str]] = {}
    for result in results:
        given = _options(result.ftl)
        kept = shared.setdefault(_place(result), given)
        shared[_place(result)] = dict(kept.items() & given.items())
    return shared


def _own(results: Iterable[Result]) -> dict[str, str]:
    """Return what the FTLs of all devices have in common, by dotted names, where results tell."""
    specs = {result.device: result.spec for result in results}.values()
    fields = [dotted(json.loads(spec)["device"]["ftl"]) if spec else () for spec in specs]
    return dict(set.intersection(*({(name, str(value)) for name, value in pairs} for pairs in fields)))


def _whole(given: Options, device: Options, named: Collection[str]) -> dict[str, str]:
    """Return the options of an FTL with the device's own where only others were given some.

    Args:
        given: the options.
        device: the fields of its device's own FTL.
        named: the names of the options of all FTLs.
    """
    own = {name: device[name] for name in _WORDS if name in device}
    if given.get("mapping", own.get("mapping")) != own.get("mapping"):
        return dict(given)
    of_every_kind = ("gc", *FtlConfig.model_fields)
    is_own_kind = given.get("kind", own.get("kind")) == own.get("kind")
    kept = [name for name in named if is_own_kind or name.partition(".")[0] in of_every_kind]
    return {**own, **{name: device[name] for name in kept if name in device}, **given}


def _name(one: Options, every: Sequence[Options]) -> str:
    word = _word(one) if len({_word(options) for options in every}) > 1 else ""
    parts = [word] if word else []
    parts += [
        f"{name}={value}"
        for name, value in sorted(one.items())
        if name not in _WORDS and any(_differs(name, a, b) for a in every for b in every)
    ]
    return " ".join(parts) or OWN


def _word(options: Options) -> str:
    return next((options[name] for name in _WORDS if name in options), "")


def _differs(name: str, one: Options, other: Options) -> bool:
    """Return whether two FTLs differ in a field; one that only other kinds have is a part of the kind."""
    comparable = _word(one) == _word(other) or (name in one and name in other)
    return comparable and one.get(name) != other.get(name)
