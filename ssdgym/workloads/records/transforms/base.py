"""Interface of transforms, and the base of their models."""

from __future__ import annotations

from abc import abstractmethod
from typing import Protocol

from ssdgym.config.loading import Config
from ssdgym.workloads.records.record import Records, Volumes


class Transform(Protocol):
    """One change. Its state is in plain attributes, so that a source can be copied and pickled.

    Attributes:
        volumes: what the field `volume` of the records refers to afterwards.
        is_finished: whether no more records will come out.
    """

    volumes: Volumes

    @property
    def is_finished(self) -> bool:
        """Whether no more records will come out."""

    def __call__(self, records: Records) -> Records:
        """Return what becomes of the records of a chunk, shape (m,); may change them in place."""


class TransformBase(Config):
    """Base of all transforms."""

    @abstractmethod
    def start(self, volumes: Volumes) -> Transform:
        """Return the transform of a source that has these volumes.

        Raises:
            SsdgymError: it does not fit them.
        """
