"""What rules see is of one type in all families, so that a rule is compiled once."""

from __future__ import annotations

import pytest
from numba import typeof

from ssdgym.engine.core.family import Family
from ssdgym.engine.page.family import PAGE
from ssdgym.engine.subpage.family import SUBPAGE_FAMILY
from ssdgym.engine.view import VIEW_TYPE, PolicyView, view_arrays


@pytest.mark.parametrize("family", [PAGE, SUBPAGE_FAMILY])
def test_view__is_of_one_type_in_all_families(family: Family) -> None:
    sample = family.arrays.sample()
    assert typeof(PolicyView(*(getattr(sample, name)[0] for name in PolicyView._fields))) == VIEW_TYPE


def test_view_arrays__cannot_be_written_to() -> None:
    assert not any(array.flags.writeable for array in view_arrays(PAGE.arrays.sample(), 0))
