"""Thousands of spoilt YAML files: each is read, or refused with one short sentence."""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ssdgym.config.device import load_device
from ssdgym.config.loading import load_config
from ssdgym.errors import SsdgymError
from ssdgym.experiments.runs.config import load_experiment
from ssdgym.experiments.sweeps.config import load_sweep
from ssdgym.workloads.stream import load_workload
from ssdgym.workloads.synthetic.config import SyntheticTraceConfig

CONFIGS = Path(__file__).parents[2] / "configs"
LONGEST_SENTENCE = 2000
#: Comments, and fields that only say where numbers are from.
PROSE = re.compile(r"(?m)^\s*#.*\n|^(?:assumed|sources|description):.*\n(?: .*\n)*|\s+#.*$")

EVIL = (
    "!!timestamp x",
    "!!float name",
    "!!int said",
    "!!bool zipf99",
    "!!binary =",
    "!!map 5",
    "!!set [1]",
    "!!omap {a: 1}",
    "!!pairs x",
    "!!python/object:os.system {}",
    "!unknown x",
    "0b_",
    "0x_",
    "0o_",
    "190:_",
    "1:60:60",
    "2001-13-41",
    "2001-01-01",
    "9" * 5000,
    "0x" + "f" * 5000,
    "1e999",
    "-.inf",
    ".nan",
    "1e308",
    "-1",
    "0",
    "1" + "0" * 18,
    "1" + "0" * 40,
    "[" * 300 + "]" * 300,
    "{a: " * 200 + "1" + "}" * 200,
    "[" * 700,
    "{? [a] : 1}",
    "{? {a: b} : 1}",
    "{<<: 5}",
    "{<<: [1, {}]}",
    "&a [*a]",
    "*nowhere",
    "{a: 1, a: 2}",
    "{1: 2, null: 3, true: 4}",
    "~",
    "yes",
    "''",
    '"\\x"',
    '"\\uD800"',
    "x" * 5000,
    "'" + "many words " * 500 + "'",
    "[1, 2",
    "%YAML 9.9",
    "@",
    "\t",
    "\x00",
    "\ud7ff\u2028\ufeff",
    "{}",
    "[]",
    "[{}, {}]",
)


def kinds() -> list[tuple[str, Callable[[Path], Any]]]:
    """Return texts of each kind of configuration, and how they are read."""
    sources: list[tuple[str, Callable[[Path], Any]]] = [("devices/tiny", load_device)]
    sources += [("devices/demo-parallel", load_device), ("experiments/classic", load_experiment)]
    names = ("bursty", "drifting", "mixed", "tenants", "zipf99_rw")
    sources += [(f"workloads/{name}", load_workload) for name in names]
    sources += [
        ("synthetic_traces/hm_0", lambda path: load_config(SyntheticTraceConfig, path, "synthetic_traces")),
        ("sweeps/gc-threshold", load_sweep),
    ]
    texts = [((CONFIGS / f"{name}.yaml").read_text(), read) for name, read in sources]
    return [(PROSE.sub("", text), read) for text, read in texts]


def spoilt(text: str, draw: random.Random) -> str:
    """Return a configuration with one to three things wrong, or by chance none."""
    for _ in range(draw.randint(1, 3)):
        values = [match.span(1) for match in re.finditer(r"[:,\[-] +([^\s{}\[\],#][^\n{}\[\],#]*)", text)]
        where = draw.randrange(len(text) + 1)
        match draw.randrange(6):
            case 0 | 1 | 2 if values:
                start, end = draw.choice(values)
                text = text[:start] + draw.choice(EVIL) + text[end:]
            case 3:
                text = text[:where] + draw.choice(EVIL) + text[where:]
            case 4:
                text = text[:where] + text[where + draw.randint(1, 20) :]
            case _:
                text = text[:where] + draw.choice("[]{}:,-&*!|>'\"%@`#\n\t ?") + text[where:]
    return text


def read_many(count: int, seed: int, folder: Path) -> tuple[int, int]:
    """Read spoilt files; return how many were accepted, and how many refused."""
    draw = random.Random(seed)
    path = folder / "spoilt.yaml"
    known = kinds()
    accepted = 0
    for number in range(count):
        text, read = draw.choice(known)
        changed = draw.choice(EVIL) if number % 50 == 0 else spoilt(text, draw)
        path.write_text(changed, encoding="utf-8")
        try:
            read(path)
            accepted += 1
        except SsdgymError as error:
            sentence = str(error)
            assert 10 < len(sentence) < LONGEST_SENTENCE, changed
        except Exception as error:
            raise AssertionError(f"{type(error).__name__} for:\n{changed[:3000]}") from error
    return accepted, count - accepted


@pytest.mark.parametrize("part", range(2))
def test_spoilt_files__are_read_or_refused_with_a_sentence(part: int, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        accepted, refused = read_many(2_000, part, tmp_path)
    assert accepted > 50
    assert refused > 1000


@pytest.mark.slow
def test_spoilt_files__a_great_many(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read_many(200_000, 7, tmp_path)
