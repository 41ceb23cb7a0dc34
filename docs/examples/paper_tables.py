"""Write the tables of the pages on papers from the results of `ssdgym reproduce`.

`python paper_tables.py results/small --paper results/paper` reads `PAPER/*/claims.csv` in each folder and
writes `docs/tables/paper-claims.csv`: every claim, its verdict before and now, and the cause of a change. The
verdict before stays as the table has it. Then it writes the tables in `docs/reproductions/claims`, with the
rows that `rows.yaml` names. Without a folder it only writes these tables.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from ssdgym.experiments.papers.report import beside

DOCS = Path(__file__).parents[1]
PAPERS = ("subftl", "speedupgc", "ippbe", "pen", "block-size")
COLUMNS = {
    "paper": "paper",
    "figure": "figure",
    "claim": "claim",
    "by": "by",
    "claimed": "claimed",
    "measured": "measured, scale `small`",
    "measured_paper": "scale `paper`",
    "verdict before": "verdict before",
    "why": "verdict now",
    "cause": "moved by",
}
#: Causes of changed verdicts, by a pattern for paper and figure.
CAUSES = {
    r"subftl .*": "placement by length, the printed rule of the region",
    r"speedupgc samples.*": "a condition on the input; reads written first",
    r"speedupgc .*": "all 14 hours, by a condition on the input; played 2 to 9 times; reads written first",
    r"ippbe .*": "one die in each chip, as printed",
    r"pen 13a": "the mean of the bars as drawn",
    r"pen 14.*": "three to five traces in the sweep, before all twelve",
    r"block-size .*": "blocks emptied in one go",
}
#: Hours of SpeedupGC with the same statistics as another hour, which is not shown.
_TWINS = {
    name: f"{name} (and {twin})"
    for name, twin in (("2016021619-LUN2", "vdi_03"), ("2016021719-LUN0", "vdi_01"))
}
_NEW = "none"
#: The end of a measured text: the values at other variants, or by other means.
_ELSEWHERE = re.compile(r" \((?!without )([^()]+: [^()]+)\)$")


def claims_in(folder: Path) -> pd.DataFrame:
    """Return the claims of all papers in a folder of results.

    Args:
        folder: `--out` of `ssdgym reproduce`, with a folder for each paper.
    """
    files = [file for paper in PAPERS for file in sorted((folder / paper).glob("*/claims.csv"))]
    return pd.concat([pd.read_csv(file, dtype={"figure": str}) for file in files], ignore_index=True)


def every_claim(now: pd.DataFrame, kept: pd.DataFrame, paper: pd.DataFrame) -> pd.DataFrame:
    """Return every claim: values at both scales, verdict before and now, and the cause of a change.

    Args:
        now: the present claims, at scale `small`.
        kept: the table that this one replaces, whose column `verdict before` stays.
        paper: the claims that were measured at scale `paper`.
    """
    key = ["paper", "figure", "claim", "claimed"]
    table = beside(now, paper=paper).merge(kept[[*key, "verdict before"]], "left", key, validate="one_to_one")
    table["verdict before"] = table["verdict before"].fillna(_NEW)
    table["by"] = table["ours"].map({True: "ours", False: "paper"})
    table["cause"] = [
        "" if before in (row.verdict, _NEW) else _cause(row)
        for row, before in zip(table.itertuples(), table["verdict before"], strict=True)
    ]
    return table[list(COLUMNS)].fillna("").rename(columns=COLUMNS)


def _cause(row: Any) -> str:
    return next(why for pattern, why in CAUSES.items() if re.fullmatch(pattern, f"{row.paper} {row.figure}"))


def counts(claims: pd.DataFrame) -> list[list[str]]:
    """Count the claims of each paper that hold, before and now; headings come first, our claims are left out.

    Args:
        claims: as of `every_claim`.
    """
    parts = {
        "come out": "holds|direction",
        "do not": "does not|negligible|carried",
        "no verdict": "no|one|too",
    }
    columns = {"before": "verdict before", "now": "verdict now"}
    head = ["paper", "claims", *(f"{part}, {when}" for part in parts for when in columns)]
    rows = [
        [paper, str(len(own))]
        + [
            str(own[column].str.match(pattern).sum())
            for pattern in parts.values()
            for column in columns.values()
        ]
        for paper, own in claims[claims["by"] == "paper"].groupby("paper", sort=False)
    ]
    return [head, *rows]


def table_of(claims: pd.DataFrame, name: str, spec: dict[str, Any]) -> list[list[str]]:
    """Return a table of a page, its headings first, without empty columns.

    Args:
        claims: as of `every_claim`.
        name: name of the table, which begins with the name of the paper.
        spec: description of the table in `rows.yaml`.
    """
    others = spec.get("beside", {})
    of_paper = claims[claims["paper"] == name.removesuffix("-measured")]
    rows = [
        [label, *_cells(_claim(of_paper, *words.split(": ", 1)), others)]
        for label, words in spec["rows"].items()
    ]
    scales = ("scale `small`", *others.values(), "scale `paper`")
    head = [spec["heading"], "claimed", *scales, "verdict before", "verdict"]
    kept = [index for index in range(len(head)) if any(row[index] for row in rows)]
    return [[row[index] for index in kept] for row in [head, *rows]]


def hours(claims: pd.DataFrame, folder: Path) -> list[list[str]]:
    """Return SpeedupGC's changes against GSM by hour, headings first, and whether the hour counts.

    Args:
        claims: as of `claims_in`.
        folder: folder of the results at scale `small`.
    """
    report = (folder / "speedupgc" / "figure8" / "figure8.md").read_text(encoding="utf-8")
    written = dict(re.findall(r"^- host pages written per spare page on (\S+): (\S+)$", report, re.MULTILINE))
    of_gsm = claims[claims["claim"].str.contains("against GSM|writes less than GSM")]
    changes = [
        dict(each.split(" ", 1) for each in row.per_workload.split("; "))
        for figure in ("8a", "9", "10", "11")
        for row in of_gsm[of_gsm["figure"] == figure].itertuples()
    ]
    rows = [
        [
            _TWINS.get(name, name),
            share,
            "yes" if float(share) >= 1 else "no",
            *(own.get(name, "") for own in changes),
        ]
        for name, share in written.items()
    ]
    parts = ("GC operation", "reads", "writes", "write amplification")
    head = ["hour", "written per spare page", "judges", *(name for part in parts for name in (part, "kept"))]
    return [head, *rows]


def _claim(claims: pd.DataFrame, figure: str, words: str) -> pd.Series:
    found = claims[(claims["figure"] == figure) & claims["claim"].str.contains(words, regex=False)]
    assert len(found) == 1, f"{figure}: {len(found)} claims have the words '{words}'; give those of one"
    return found.iloc[0]


def _cells(claim: pd.Series, others: dict[str, str]) -> Iterator[str]:
    measured = claim["measured, scale `small`"]
    elsewhere = _ELSEWHERE.search(measured)
    values = dict(part.split(": ", 1) for part in elsewhere[1].split("; ")) if elsewhere else {}
    yield claim["claimed"]
    yield _ELSEWHERE.sub("", measured)
    yield from (values.get(name, "") for name in others)
    yield _ELSEWHERE.sub("", claim["scale `paper`"]).replace(" (no interval)", "")
    yield _stressed(claim["verdict before"])
    yield _stressed(claim["verdict now"])


def _stressed(verdict: str) -> str:
    """Return a verdict without its reason; it is bold if the claim does not hold."""
    short = re.split(r"[:(]", verdict)[0].strip().removeprefix("holds ")
    return f"**{short}**" if short.startswith(("does not hold", "carried")) else short


def _write(path: Path, rows: list[list[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def main() -> None:
    """Write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("small", type=Path, nargs="?", help="folder of what was measured at scale small")
    parser.add_argument("--paper", type=Path, help="folder of what was measured at scale paper")
    parser.add_argument("--docs", type=Path, default=DOCS, help="folder of the pages")
    chosen = parser.parse_args()
    path = chosen.docs / "tables" / "paper-claims.csv"
    folder = chosen.docs / "reproductions" / "claims"
    if chosen.small:
        now = claims_in(chosen.small)
        kept = pd.read_csv(path, dtype=str, keep_default_na=False)
        every_claim(now, kept, claims_in(chosen.paper)).to_csv(path, index=False)
        _write(folder / "speedupgc-hours.csv", hours(now, chosen.small))
    claims = pd.read_csv(path, dtype=str, keep_default_na=False)
    for name, spec in yaml.safe_load((folder / "rows.yaml").read_text(encoding="utf-8")).items():
        _write(folder / f"{name}.csv", table_of(claims, name, spec))
    _write(chosen.docs / "tables" / "paper-verdicts.csv", counts(claims))


if __name__ == "__main__":
    main()
