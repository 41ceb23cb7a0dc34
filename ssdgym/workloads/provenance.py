"""Provenance of the values of a workload: published, or assumed for a reason."""

from __future__ import annotations

from pydantic import Field, model_validator

from ssdgym.workloads.base import WorkloadConfig

_NOTES = ("sources", "assumed")


class NotedConfig(WorkloadConfig):
    """Base of workloads whose values are either published somewhere, or assumed for a reason."""

    sources: dict[str, str] = Field(
        default_factory=dict, description="Where values were published, by name of the field."
    )
    assumed: dict[str, str] = Field(
        default_factory=dict,
        description="Values that no source gives, by name of the field, with the reason.",
    )

    def assumptions(self) -> tuple[str, ...]:
        """See `WorkloadConfig`."""
        return tuple(sorted(self.assumed))

    @classmethod
    def noted_names(cls) -> list[str]:
        """Return the names that a note may be on."""
        return [name for name in cls.model_fields if name not in ("kind", *_NOTES)]

    @model_validator(mode="after")
    def _notes_are_on_values(self) -> NotedConfig:
        names = self.noted_names()
        for notes in _NOTES:
            unknown = sorted(set(getattr(self, notes)) - set(names))
            if unknown:
                raise ValueError(
                    f"has a note in {notes} on {unknown[0]}, which is none of {', '.join(names)}"
                )
        twice = sorted(self.sources.keys() & self.assumed.keys())
        if twice:
            raise ValueError(f"names {twice[0]} in both sources and assumed; a value is one or the other")
        return self
