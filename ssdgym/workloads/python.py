"""Workloads made in Python: an array of requests, or a function that returns requests."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import ConfigDict, Field, field_serializer, field_validator

from ssdgym.errors import SsdgymError, shown
from ssdgym.requests import REQUEST, WRITE, Requests
from ssdgym.workloads.base import (
    CHUNK,
    NO_REQUESTS,
    Loops,
    RequestStream,
    StartAt,
    WorkloadConfig,
    drawn_start,
)

#: A function (seed, number of logical pages) that returns an array of dtype REQUEST or yields several arrays.
RequestFunction = Callable[[int, int], Requests | Iterable[Requests]]
#: Types that a Python program may pass as a workload.
PythonSource = Requests | RequestFunction

#: Number of consecutive empty arrays after which a function is refused.
_MOST_EMPTY = 10_000


class PythonWorkload(WorkloadConfig):
    """Base of workloads that are made in Python; YAML files cannot contain them."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    kind: Literal["python"] = "python"

    def writes_nothing(self) -> bool:
        """Return False, because the requests of a function are not known in advance."""
        return False


class FrozenRequests:
    """A read-only copy of an array of requests.

    Attributes:
        array: shape (m,), m > 0, dtype REQUEST.
    """

    def __init__(self, array: Requests) -> None:
        _check(array, "the array of a workload")
        if not len(array):
            raise SsdgymError("the array of a workload holds no request; give at least one.")
        self.array = np.array(array, REQUEST)
        self.array.flags.writeable = False

    def __deepcopy__(self, memo: dict[int, object]) -> FrozenRequests:
        """Return this object; a copy is not needed because the array cannot change."""
        return self


class ArrayWorkload(PythonWorkload):
    """An array of requests, which are issued in order."""

    requests: FrozenRequests = Field(description="Requests, in order.")
    start: StartAt | None = Field(None, description="As `start` of kind trace, but not a number.")
    loops: int | None = Field(1, description="As `loops` of kind trace.")

    @field_serializer("requests")
    def _digest(self, requests: FrozenRequests) -> str:
        fields = (requests.array[name].tobytes() for name in REQUEST.names or ())
        return hashlib.sha256(b"".join(fields)).hexdigest()

    @property
    def is_endless(self) -> bool:
        """See `WorkloadConfig`."""
        return self.loops is None

    @property
    def has_pace(self) -> bool:
        """See `WorkloadConfig`."""
        return bool(np.ptp(self.requests.array["arrival_ns"]) > 0)

    def writes_nothing(self) -> bool:
        """See `WorkloadConfig`."""
        return not (self.requests.array["op"] == WRITE).any()

    def with_start(self, start: StartAt) -> Self:
        """See `WorkloadConfig`."""
        return self.model_copy(update={"start": start}) if self.start is None else self

    def open(self, logical_pages: int, page_size: int, seed: int) -> RequestStream:
        """See `WorkloadConfig`."""
        first = drawn_start(len(self.requests.array), seed) if self.start == "random" else 0
        return RequestStream(Loops(partial(_ArrayLap, self.requests, first), self.loops), self._report)

    def _report(self) -> dict[str, int]:
        return {"requests": len(self.requests.array)}


class _ArrayLap:
    """One lap of an array; lap 0 begins at request `first`, the other laps at request 0."""

    def __init__(self, requests: FrozenRequests, first: int, number: int) -> None:
        first = 0 if number else first
        self._all = requests
        self._start_ns = int(requests.array["arrival_ns"][first])
        self._next = first
        self.requests = 0
        self.last_ns = 0

    def chunk(self) -> Requests:
        requests = self._all.array[self._next : self._next + CHUNK].copy()
        if len(requests):
            requests["arrival_ns"] -= self._start_ns
            self.last_ns = int(requests["arrival_ns"][-1])
        self._next += len(requests)
        self.requests += len(requests)
        return requests


class FunctionWorkload(PythonWorkload):
    """Requests that a function (seed, number of logical pages) returns as one array or yields as arrays."""

    function: Any = Field(description="Called as `function(seed, logical_pages)`, once for every episode.")

    @field_validator("function", mode="after")
    @classmethod
    def _takes_a_seed_and_pages(cls, function: Any) -> Any:
        try:
            inspect.signature(function).bind(0, 1)
        except TypeError:
            raise SsdgymError(
                f"workload {_name_of(function)} must take two arguments, a seed and the number of logical "
                "pages; add what is missing."
            ) from None
        except ValueError:  # some functions written in C have no signature
            pass
        return function

    @property
    def name(self) -> str:
        """Name of the workload in errors."""
        return _name_of(self.function)

    @property
    def is_endless(self) -> bool:
        """Return False, because it is not known in advance whether a function ends."""
        return False

    def open(self, logical_pages: int, page_size: int, seed: int) -> RequestStream:
        """See `WorkloadConfig`."""
        return RequestStream(_Called(self.function, seed, logical_pages), partial(dict[str, int]))


class _Called:
    """A source of the requests that a function returns; see `ssdgym.workloads.base.Source`.

    Iterators cannot be copied, so a copy calls the function again and skips the arrays already read.
    """

    def __init__(self, function: RequestFunction, seed: int, logical_pages: int) -> None:
        self._function = function
        self._arguments = seed, logical_pages
        self._taken = 0
        self._has_begun = False
        self._arrays: Iterator[Requests] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without the iterator."""
        return {**vars(self), "_arrays": None}

    def chunk(self) -> Requests:
        """See `Source`; small arrays of the function are concatenated to at least `CHUNK` requests."""
        if self._arrays is None:
            self._arrays = self._call()
            for _ in range(self._taken):
                next(self._arrays, None)
        parts: list[Requests] = []
        count = empty = 0
        while count < CHUNK and empty < _MOST_EMPTY:
            requests = next(self._arrays, None)
            if requests is None:
                break
            _check(requests, f"workload {_name_of(self._function)}")
            self._taken += 1
            count += len(requests)
            empty = 0 if len(requests) else empty + 1
            parts.append(np.asarray(requests, REQUEST))
        self._has_begun |= count > 0
        if not self._has_begun or empty == _MOST_EMPTY:
            raise SsdgymError(f"workload {_name_of(self._function)} gives no request; let it give some.")
        # A single array is not copied, because it may be long and the run may use only its first requests.
        return parts[0] if len(parts) == 1 else np.concatenate(parts or [NO_REQUESTS])

    def _call(self) -> Iterator[Requests]:
        given = self._function(*self._arguments)
        if isinstance(given, np.ndarray):
            return iter([given])
        if not isinstance(given, Iterable):
            raise SsdgymError(
                f"workload {_name_of(self._function)} must return an array of ssdgym.requests.REQUEST or "
                f"yield such arrays; it returned {shown(given)}."
            )
        return iter(given)


def _check(requests: Any, subject: str) -> None:
    """Raise an error that begins with `subject` if `requests` is no array of requests."""
    if isinstance(requests, np.ndarray) and requests.dtype == REQUEST and requests.ndim == 1:
        return
    given = shown(requests)
    if isinstance(requests, np.ndarray):
        kind = "REQUEST" if requests.dtype == REQUEST else f"{requests.dtype!s:.60}"
        given = f"an array of {kind} of shape {requests.shape}"
    raise SsdgymError(
        f"{subject} must be of one-dimensional arrays of ssdgym.requests.REQUEST, not {given}; "
        "ssdgym.workloads.page_writes makes one of page numbers."
    )


def _name_of(function: Any) -> str:
    return getattr(function, "__name__", type(function).__name__)


def from_python(source: Any) -> PythonWorkload | None:
    """Return the workload of an array or a function; a `PythonWorkload` unchanged; None for anything else."""
    if isinstance(source, PythonWorkload):
        return source
    if isinstance(source, np.ndarray):
        return ArrayWorkload(requests=FrozenRequests(source))
    if isinstance(source, Iterator):
        raise SsdgymError(
            f"a workload is played many times, and {shown(source)} only once; "
            "give the function that makes it."
        )
    return FunctionWorkload(function=source) if callable(source) else None


def page_writes(pages: npt.ArrayLike, interarrival_ns: int = 0) -> Requests:
    """Return requests that write the given pages, one request for each page.

    Args:
        pages: numbers of logical pages, whole numbers from 0 to 2**31 - 1, shape (n,).
        interarrival_ns: time between two requests in ns. The first request arrives at 0.

    Returns:
        The requests, shape (n,), dtype REQUEST.

    Raises:
        SsdgymError: `pages` has another shape, or contains something else.
    """
    numbers = np.asarray(pages)
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        raise SsdgymError(
            "page_writes takes whole numbers of pages in one dimension, "
            f"not {numbers.dtype} in {numbers.ndim}."
        )
    if numbers.size and not 0 <= numbers.min() <= numbers.max() < 2**31:
        raise SsdgymError("page_writes was given a page number that is not from 0 to 2**31 - 1.")
    requests = np.zeros(len(numbers), REQUEST)
    requests["lpn"], requests["pages"], requests["op"] = numbers, 1, WRITE
    requests["arrival_ns"] = np.arange(len(numbers)) * interarrival_ns
    return requests
