"""The placement that learns on the device decides and learns in C what it does in the engine."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ssdgym.agents.c_header import td_lifetime_header
from ssdgym.cli import main
from ssdgym.engine.view import view_arrays
from ssdgym.errors import SsdgymError
from ssdgym.policy import get_policy
from ssdgym.requests import TRIM, WRITE
from tests.agents.exporting.test_c_header import COMPILER, needs_compiler
from tests.engine.comparing import run_both
from tests.engine.oracle import assert_same
from tests.reference import ReferenceConfig, placements
from tests.reference.placements.base import Placement

STREAMS, ENTRIES = 8, 3072
#: The functions by their names alone, for one device.
SOURCE = """#include "learner.h"
#include <stdlib.h>
static life_state s;
void begin(long logical, long physical, long kept, int planes, int pages)
{
    free(s.pages), free(s.is_open);
    life_init(&s, malloc(logical * sizeof *s.pages), malloc(planes * LIFE_STREAMS), logical, physical, kept,
              planes, pages);
}
int stream(int plane, long lpn, int relocated) { return life_stream(&s, plane, lpn, relocated); }
void written(long lpn, int is_newest) { life_written(&s, lpn, is_newest); }
void relocated(long lpn) { life_relocated(&s, lpn); }
void trimmed(long lpn) { life_trimmed(&s, lpn); }
void opened(int plane, int stream) { life_opened(&s, plane, stream); }
void closed(int plane, int stream) { life_closed(&s, plane, stream); }
const float *weights(void) { return s.weight; }
int streams(void) { return s.streams; }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The header under another name, with every warning as an error."""
    folder = tmp_path_factory.mktemp("learner")
    (folder / "learner.h").write_text(td_lifetime_header("life"))
    (folder / "learner.c").write_text(SOURCE)
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O2", "-ffp-contract=off"]
    path = folder / "learner.so"
    sources = [str(folder / "learner.c"), "-lm"]
    subprocess.run([str(COMPILER), *strict, "-shared", "-fPIC", "-o", str(path), *sources], check=True)
    loaded = ctypes.CDLL(str(path))
    loaded.begin.argtypes = [ctypes.c_long] * 3 + [ctypes.c_int] * 2
    loaded.stream.argtypes = [ctypes.c_int, ctypes.c_long, ctypes.c_int]
    loaded.written.argtypes = [ctypes.c_long, ctypes.c_int]
    loaded.relocated.argtypes = loaded.trimmed.argtypes = [ctypes.c_long]
    loaded.weights.restype = ctypes.POINTER(ctypes.c_float)
    return loaded


class InC(Placement):
    """A placement of the reference simulator that passes every question and event on to the header."""

    library: ctypes.CDLL

    def begin(self) -> None:
        c = self.device.config
        kept = c.planes * max(c.threshold_blocks or 0, c.floor) * c.pages_per_block
        physical = c.planes * c.blocks_per_plane * c.pages_per_block
        self.library.begin(c.logical_pages, physical, kept, c.planes, c.pages_per_block)

    def stream_of_host_page(self, plane: int, lpn: int) -> int:
        return self.library.stream(plane, lpn, 0)

    def stream_of_relocated_page(self, lpn: int, source: int) -> int:
        return self.library.stream(self.device.plane_of_page(source), lpn, 1)

    def written(self, lpn: int, old: int, new: int) -> None:
        self.library.written(lpn, self.is_alive(lpn, new))

    def relocated(self, lpn: int, old: int, new: int) -> None:
        self.library.relocated(lpn)

    def trimmed(self, lpn: int, old: int) -> None:
        self.library.trimmed(lpn)

    def opened(self, block: int, stream: int) -> None:
        super().opened(block, stream)
        self.library.opened(self.device.plane_of_block(block), stream)

    def closed(self, block: int) -> None:
        self.library.closed(self.device.plane_of_block(block), self.streams[block])


@needs_compiler
@pytest.mark.parametrize("timing", ["none", "event"])
def test_td_lifetime_header__a_device_that_it_places_for__is_that_of_the_engine(
    timing: str, library: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(InC, "library", library, raising=False)
    monkeypatch.setitem(placements.PLACEMENTS, "td_lifetime", InC)
    config = ReferenceConfig(
        planes_per_die=2,
        blocks_per_plane=44,
        logical_pages=200,
        placement="td_lifetime",
        threshold_blocks=9,
        timing=timing,
        read_ns=1,
        program_ns=3,
        erase_ns=10,
    )
    rng = np.random.default_rng(1)
    pages = np.minimum(rng.zipf(1.2, 4000) - 1, rng.integers(0, 198, 4000))
    requests = [
        (8 * k, int(lpn), 1 + (k % 7 == 0), TRIM if k % 50 == 49 else WRITE, 0, 0)
        for k, lpn in enumerate(pages)
    ]
    sim, reference = run_both(config, "cost_benefit", requests, [], None)
    assert_same(sim, reference)
    rule = get_policy("cost_benefit+td_lifetime").placement
    assert rule is not None
    memory = view_arrays(sim.state, 0, rule.memory, "place").memory[0]
    np.testing.assert_array_equal(np.ctypeslib.as_array(library.weights(), (ENTRIES,)), memory["weight"])
    assert library.streams() == memory["streams"] > 0
    assert sim.metrics()["relocated_pages"] > 1000


def test_td_lifetime_header__every_name_begins_with_the_given_one() -> None:
    text = td_lifetime_header("life")
    assert re.findall(r"^static inline \w+ (?!life_)\w+", text, re.M) == []
    assert "td_lifetime_" not in text and "TD_LIFETIME_" not in text
    with pytest.raises(SsdgymError, match="name = '1st' is no name in C"):
        td_lifetime_header("1st")


def test_export__td_lifetime__writes_its_header(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "lifetime.h"
    assert main(["export", "td_lifetime", "--out", str(out), "--name", "lifetime"]) == 0
    assert "lifetime_stream" in out.read_text() and str(out) in capsys.readouterr().out
    assert main(["export", "td_lifetime", "--out", str(out), "--overwrite", "--json"]) == 0
    assert f'"{out}"' in capsys.readouterr().out
