"""README and tutorial, word by word: all blocks of a page in order, in one empty folder."""

from __future__ import annotations

import re
import runpy
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

from ssdgym.cli import main
from ssdgym.envs.features import registered_features
from ssdgym.experiments.results import to_pandas
from ssdgym.policy import available_policies
from tests.docs.pages import README, TUTORIAL, fenced

#: What makes the environment, and takes minutes: continuous integration does the first for every test.
INSTALLS = re.compile(r"^(python3 -m venv|pip install|(ssdgym|make) demo\b|make test\b)")
#: Takes minutes: the walk is shorter, and a slow test goes all the way.
LEARN = re.compile(r"learn\(262_144\)")
#: A block that begins with the name of a file goes into it, and prints nothing.
FILE = re.compile(r"# (\w+\.py)\n")


def said(code: str) -> list[str]:
    """Return the lines that a block says it prints: comments behind `print`, or of their own."""
    return re.findall(r"^(?:# (?!\w+\.py$)|print\(.*\)  # )(.+)$", code, re.MULTILINE)


@pytest.fixture
def built_in() -> None:
    """What ssdgym registers is there before a page registers more."""
    available_policies()
    registered_features()


@pytest.mark.usefixtures("built_in", "own_registrations")
@pytest.mark.parametrize("page", [README, *TUTORIAL], ids=lambda page: page.stem)
def test_page__followed_word_by_word__works_and_prints_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if "sb3_contrib" in page.read_text(encoding="utf-8"):
        pytest.importorskip("sb3_contrib")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    blocks = fenced(page)
    assert blocks
    for number, (language, content) in enumerate(blocks):
        if language == "console":
            for line in filter(lambda line: not INSTALLS.match(line), content.splitlines()):
                words = shlex.split(line)
                assert words[0] == "ssdgym" and main(words[1:]) == 0, line
                assert capsys.readouterr().out, line
        if language == "python":
            named = FILE.match(content)
            script = tmp_path / (named[1] if named else f"block_{number}.py")
            script.write_text(LEARN.sub("learn(4096)", content), encoding="utf-8")
            if named:
                sys.modules.pop(script.stem, None)  # of an earlier page or test
            else:
                runpy.run_path(str(script))
                printed = capsys.readouterr().out.splitlines()
                assert [line for line in said(content) if line not in printed] == [], printed


@pytest.mark.slow
@pytest.mark.usefixtures("built_in", "own_registrations")
def test_readme__its_agent_reaches_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sb3_contrib")
    monkeypatch.chdir(tmp_path)
    contents = [content for _, content in fenced(README)]
    number = next(number for number, content in enumerate(contents) if LEARN.search(content))
    (tmp_path / "train.py").write_text(contents[number], encoding="utf-8")
    runpy.run_path("train.py")
    assert main(shlex.split(contents[number + 1])[1:]) == 0
    table = to_pandas(Path("results/agent"))
    of_agent = np.sort(table[table["policy"] == "victims"]["write_amplification"])
    says = re.search(r"write amplification of ([\d.]+)", README.read_text(encoding="utf-8"))
    assert says and of_agent[1:-1].mean() == pytest.approx(float(says[1]), abs=0.02)


def test_tutorial__has_its_four_pages() -> None:
    assert [page.stem for page in TUTORIAL] == ["first_steps", "policy", "trace", "train"]
