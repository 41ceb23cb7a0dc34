"""Text formats whose lines are of several kinds: an expression finds the columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ssdgym.workloads.traces.files import without_marks
from ssdgym.workloads.traces.reading.fields import mask
from ssdgym.workloads.traces.reading.text import Split


class Patterned:
    """Splits lines by an expression.

    A format derives from this to sort its kinds of lines out.

    Attributes:
        pattern: expression of a line without blanks around it; its groups, by number, are the columns.
        passed: expression of the start of lines that are no requests, whose kind has the name `passed_as`.
        misfit: why a line is bad that fits neither.
    """

    pattern: str
    passed: str
    passed_as = "heading"
    misfit: str

    def split(self, first_line: int, block: bytes) -> Split:
        """Split a block of whole lines; a group that takes no part gives an empty text."""
        import pyarrow as pa
        import pyarrow.compute as pc

        text = without_marks(block.replace(b"\r\n", b"\n")).decode("utf-8", "replace")
        lines = pc.utf8_trim(pa.array(text.split("\n")[:-1], pa.string()), " \t")
        numbers = iter(range(100))
        named = re.sub(r"\((?!\?)", lambda _: f"(?P<c{next(numbers)}>", self.pattern)
        found = pc.extract_regex(lines, rf"^(?:{named})$")
        is_passed = mask(pc.match_substring_regex(lines, rf"^(?:{self.passed})"))
        fits = mask(pc.is_valid(found)) & ~is_passed
        rest = ~fits & mask(pc.not_equal(lines, ""))
        of_rows = found.filter(pa.array(fits))
        columns = [of_rows.field(number) for number in range(len(found.type))]
        number = first_line + np.arange(len(lines))
        malformed = [(line, self.misfit) for line in number[rest & ~is_passed].tolist()]
        passed = {self.passed_as: int(is_passed.sum())} if is_passed.any() else {}
        return Split(number[fits], columns, malformed, passed)


def kept(
    split: Split,
    rows: npt.NDArray[np.bool_],
    bad: Mapping[int, str],
    passed: Mapping[str, int],
) -> Split:
    """Return some rows of split lines.

    Args:
        split: the lines.
        rows: which are kept, if they are not bad, shape (rows,).
        bad: reasons by row.
        passed: how many of the others are no requests, by what they are.
    """
    import pyarrow as pa

    rows = rows.copy()
    rows[[*bad]] = False
    malformed = [(int(split.number[row]), reason) for row, reason in bad.items()]
    taken = pa.array(rows)
    return Split(
        split.number[rows],
        [column.filter(taken) for column in split.columns],
        split.malformed + malformed,
        Counter(split.passed) + Counter(passed),
    )
