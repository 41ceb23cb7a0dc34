"""What a device goes through before it is measured; no simulated time passes."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from ssdgym.config.loading import Config, Source, load_config

PreconditioningKind = Literal[
    "none",  # nothing: the device is empty
    "fill",  # every page is written once
    "uniform",  # that, and uniformly random overwrites under the usual policy until collection is steady
    "workload",  # likewise, with the writes of the workload
    "reads",  # what the workload reads before it writes it is on the device, and nothing else
    "until_gc",  # random pages, under the policy that is measured, until every plane has collected
    "until_gc_greedy",  # likewise, under greedy in one stream; then the policy's own placement begins
]
#: The kinds that begin with a fill.
_FILLING = ("fill", "uniform", "workload")
#: The kinds that draw pages by the seed of the run.
DRAWN_BY_THE_RUN = ("until_gc", "until_gc_greedy")
_WRITTEN = re.compile(r"(\w+)\(share=([^()]+)\)")


class PreconditioningConfig(Config):
    """A kind, and how much of the device is written first.

    As text `fill`, or `fill(share=0.5)` where it is not all of it; so runs keep it.
    """

    kind: PreconditioningKind
    share: float = Field(1.0, gt=0, le=1, description="share of the logical pages written first, in order")

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, data: Any) -> Any:
        return _fields_of(data) if isinstance(data, str) else data

    @model_validator(mode="after")
    def _only_a_fill_has_a_share(self) -> PreconditioningConfig:
        if self.share != 1 and self.kind not in _FILLING:
            raise ValueError(f"share = {self.share} needs a kind that fills: {', '.join(_FILLING)}")
        return self

    @property
    def is_the_runs_own(self) -> bool:
        """Whether it depends on the policy that is measured, or on what a run with its seed plays."""
        return self.kind in ("reads", *DRAWN_BY_THE_RUN)

    @property
    def text(self) -> str:
        """The short form."""
        return self.kind if self.share == 1 else f"{self.kind}(share={self.share})"


def _fields_of(text: str) -> dict[str, str]:
    written = _WRITTEN.fullmatch(text)
    return {"kind": text} if written is None else {"kind": written[1], "share": written[2]}


#: A field that is given as text or as a mapping, and holds the text.
Preconditioning = Annotated[
    str, BeforeValidator(lambda data: PreconditioningConfig.model_validate(data).text)
]


def read_preconditioning(source: Source) -> PreconditioningConfig:
    """Return the preconditioning that a text, a mapping or a ready model describes.

    Raises:
        SsdgymError: it describes none.
    """
    fields = _fields_of(source) if isinstance(source, str) else source
    return load_config(PreconditioningConfig, fields, "", "preconditioning")
