"""The kinds of claims about figures of papers; a new one is a class with a field `kind` in `AnyClaim`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ssdgym.experiments.papers.claims import changes, values

#: A claim of any kind, as YAML files give it.
AnyClaim = Annotated[
    changes.ChangeClaim
    | changes.RangeClaim
    | changes.ExtremeClaim
    | changes.ShareClaim
    | values.ValueClaim
    | values.AtMostClaim
    | values.TrendClaim
    | values.ResemblesClaim,
    Field(discriminator="kind"),
]
