"""The benchmark of FTL families: rates of flash operations, on devices that collect garbage."""

from __future__ import annotations

import json

import pytest

from ssdgym.bench import policies as families
from ssdgym.bench.policies import FTLS, measure_families
from ssdgym.cli import main


@pytest.fixture(autouse=True)
def few_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(families, "DEVICES", ("subftl-tiny", "pen-tiny"))
    monkeypatch.setattr(families, "REQUESTS", 2000)


#: What is measured, in order: of the first device in both timings, then of the other.
NAMES = [
    " ".join(filter(None, ftl))
    for mapping in ("subpage", "block")
    for ftl in (*FTLS[mapping], *FTLS[mapping])
]


def test_rates__of_every_ftl_in_both_timings() -> None:
    announced: list[str] = []
    found = measure_families(1, announced.append, requests=2000)
    assert [row.ftl for row in found] == NAMES
    assert [row.timing for row in found] == [*["none"] * 4, *["event"] * 4] * 2
    assert announced[0] == "cgm, timing none, beside page"
    work = {row.ftl: row.operations_per_request for row in found if row.timing == "event"}
    assert work["cgm"] > work["subftl"] > 1, "small writes read and write a page where pages are mapped"
    assert all(0 < row.ratio.low <= row.ratio.median <= row.ratio.high for row in found)


def test_cli__prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--families", "--repeats", "1", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["ftl"] for row in rows] == NAMES


def test_cli__with_policies__refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--families", "--policies"]) == 2
    assert "--policies and --families are measured apart" in capsys.readouterr().err


def test_cli__a_device_that_maps_pages__refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--families", "--device", "demo"]) == 2
    assert (
        "device demo maps pages, as what it would be measured beside does; choose one such as"
        in capsys.readouterr().err
    )
