"""The recipes work: their files make a package, and what they do with it runs and prints what it says.

A recipe that changes ssdgym itself shows the change as a diff, which is applied to a copy.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest

from tests.docs import pages

PAGE = pages.RECIPES.read_text(encoding="utf-8")
#: A block that is a file begins with a comment that is its path.
FILE = re.compile(r"# ([\w/-]+\.(?:py|yaml|toml))\n")
INTRODUCTION, *RECIPES = re.split(r"^## (?=\d+\. )", PAGE, flags=re.MULTILINE)


def blocks(text: str) -> list[tuple[str, str]]:
    """Return language and content of every fenced block."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def write_package(recipe: str, folder: Path) -> None:
    """Write the files of a recipe, and install the package as far as its modules are there."""
    for _, content in [*blocks(INTRODUCTION), *blocks(recipe)]:
        if match := FILE.match(content):
            path = folder / match[1]
            path.parent.mkdir(exist_ok=True)
            path.write_text(content, encoding="utf-8")
    (folder / "my_lab").mkdir(exist_ok=True)
    (folder / "my_lab" / "__init__.py").touch()
    install(folder)


def patch_a_copy(diffs: list[str], folder: Path) -> None:
    """Copy ssdgym as it is installed into a folder that is looked through first, and change the copy."""
    shutil.copytree(pages.ROOT / "ssdgym", folder / "ssdgym")
    for name in ("agents", "baselines", "configs"):
        shutil.copytree(pages.ROOT / name, folder / "ssdgym" / name)
    for diff in diffs:
        subprocess.run(["git", "apply", "-"], cwd=folder, input=diff, text=True, check=True)


def install(folder: Path) -> None:
    """Make the entry points of pyproject.toml known, as an installation does."""
    project, points = ConfigParser(), ConfigParser()
    project.read(folder / "pyproject.toml")
    for section in project.sections():
        if group := re.fullmatch(r'project\.entry-points\."(.+)"', section):
            modules = {name: value.strip('"') for name, value in project[section].items()}
            there = {n: m for n, m in modules.items() if (folder / f"{m.replace('.', '/')}.py").exists()}
            if there:
                points[group[1]] = there
    info = folder / "my_lab-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-lab\nVersion: 1\n", encoding="utf-8")
    with (info / "entry_points.txt").open("w", encoding="utf-8") as file:
        points.write(file)


def run(arguments: list[str], folder: Path) -> list[str]:
    """Return the lines that a Python process prints in the folder of the package."""
    result = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path)])},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def test_page__has_a_recipe_for_each_kind() -> None:
    assert len(RECIPES) == 12


def recipes() -> list[object]:
    """Return every recipe as a parameter; one that changes the engine compiles it anew, and is slow."""
    return [
        pytest.param(
            recipe, marks=pytest.mark.slow if "```diff" in recipe else (), id=recipe.partition("\n")[0]
        )
        for recipe in RECIPES
    ]


@pytest.mark.parametrize("recipe", recipes())
def test_recipe__works(recipe: str, tmp_path: Path) -> None:
    write_package(recipe, tmp_path)
    if diffs := [content for language, content in blocks(recipe) if language == "diff"]:
        patch_a_copy(diffs, tmp_path)
    used = 0
    for language, content in blocks(recipe):
        if language == "python" and not FILE.match(content):
            said = re.findall(r"print\(.*\)  # (.+)$", content, re.MULTILINE)
            printed = run(["-c", content], tmp_path)
            assert [line for line in said if line not in printed] == [], printed
            used += 1
        if language == "console":
            for line in content.splitlines():
                assert run(["-m", *line.split()], tmp_path)
            used += 1
    assert used, "the recipe never uses what it adds"


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.partition("\n")[0])
def test_recipe__touches_as_many_files_as_it_says(recipe: str) -> None:
    said = re.search(r"^(One|Two|Three) files?\b", recipe, re.MULTILINE)
    assert said is not None, "the recipe does not say how many files it touches"
    written = {match[1] for _, content in blocks(recipe) if (match := FILE.match(content))}
    changed = {
        name for _, content in blocks(recipe) for name in re.findall(r"^\+\+\+ b/(\S+)", content, re.M)
    }
    assert (
        len([name for name in written | changed if name.endswith(".py")])
        == ["One", "Two", "Three"].index(said[1]) + 1
    )
