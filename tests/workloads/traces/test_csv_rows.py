"""What the parser calls well-formed, pyarrow reads; whatever else is in a file, no line is lost."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ssdgym.workloads.traces.csv_rows import CsvParser

PARSER = CsvParser(
    ["time", "host", "op", "offset"],
    {"time": pa.float64(), "op": pa.dictionary(pa.int32(), pa.string()), "offset": pa.int64()},
)
GOOD = b"1.5,h,Write,4096"

fields = st.text("0123456789+-.eExX _\t\r\"'\x00\u00e9n", max_size=6).map(str.encode) | st.binary(max_size=4)
lines = (
    st.lists(fields, min_size=3, max_size=5).map(b",".join)
    | st.tuples(fields, st.just(b"h"), st.just(b"Read"), fields).map(b",".join)
).filter(lambda line: b"\n" not in line)


@given(st.lists(lines | st.just(GOOD), min_size=1, max_size=6))
@example([b"1.e5,h,Read,-0", b".5,h,Read, 7 "])
@example([b"1,h,Read," + b"9" * 5000])
@example([b'1,h,"Read,1', GOOD])
@settings(max_examples=400, deadline=None)
def test_every_line_is_a_row_or_malformed_or_blank(block: list[bytes]) -> None:
    rows = PARSER.parse(5, b"\n".join(block) + b"\n")
    malformed = [line for line, _ in rows.malformed]
    blank = [number for number, line in enumerate(block, 5) if not line.strip()]
    assert sorted([*rows.lines.tolist(), *malformed, *blank]) == list(range(5, 5 + len(block)))
    assert rows.table.num_rows == len(rows.lines)
    assert all(block[line - 5] != GOOD for line in malformed)
