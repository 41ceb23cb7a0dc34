"""Draw what each environment decides: `python environments.py` writes two small SVG files for each."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

WIDTH, HEIGHT = 360, 170
#: Side of a page, and distance between pages.
PAGE, STEP = 11, 13


@dataclass(frozen=True)
class Look:
    """Colours of a picture: text and lines; valid, invalid and free pages; the agent's choice."""

    name: str
    ink: str
    faint: str
    valid: str
    invalid: str
    choice: str


LOOKS = (
    Look("light", "#263238", "#b0bec5", "#0072b2", "#cfd8dc", "#d55e00"),
    Look("dark", "#eceff1", "#607d8b", "#56b4e9", "#455a64", "#ff9f40"),
)


@dataclass
class Picture:
    """Collects the elements of one picture."""

    look: Look
    parts: list[str] = field(default_factory=list)

    def box(self, x: float, y: float, wide: float, high: float, fill: str, line: str, dash: str = "") -> None:
        """Draw a rectangle."""
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}" rx="2" fill="{fill}" '
            f'stroke="{line}" stroke-width="1.5"{dashed}/>'
        )

    def text(self, x: float, y: float, words: str, *, anchor: str = "middle", chosen: bool = False) -> None:
        """Write words; words that name the choice have its colour."""
        colour = self.look.choice if chosen else self.look.ink
        weight = ' font-weight="bold"' if chosen else ""
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{colour}"{weight}>{words}</text>'
        )

    def arrow(self, x: float, y: float, to_x: float, to_y: float, *, dash: str = "4 3") -> None:
        """Draw an arrow in the colour of the choice; a dashed arrow is one of several options."""
        self.parts.append(
            f'<path d="M{x:g} {y:g} L{to_x:g} {to_y:g}" stroke="{self.look.choice}" stroke-width="1.8" '
            f'fill="none" stroke-dasharray="{dash}" marker-end="url(#tip)"/>'
        )

    def page(self, x: float, y: float, holds: str) -> None:
        """Draw a page: `v` valid, `x` invalid, any other free."""
        fill = {"v": self.look.valid, "x": self.look.invalid}.get(holds, "none")
        self.box(x, y, PAGE, PAGE, fill, self.look.faint)

    def block(self, x: float, y: float, holds: str, columns: int = 2, *, candidate: bool = False) -> None:
        """Draw a block from its lower left page on, with a frame if it may be chosen."""
        rows = -(-len(holds) // columns)
        for number, what in enumerate(holds):
            row, column = divmod(number, columns)
            self.page(x + column * STEP, y + (rows - 1 - row) * STEP, what)
        line = self.look.choice if candidate else self.look.faint
        self.box(x - 4, y - 4, columns * STEP + 6, rows * STEP + 6, "none", line, "4 3" if candidate else "")

    def cost(self, x: float, y: float, *blocks: str) -> None:
        """Write how many pages an erase relocates and reclaims."""
        moved = "".join(blocks).count("v")
        self.text(x, y, f"{moved} moved", chosen=True)
        self.text(x, y + 16, f"{sum(map(len, blocks)) - moved} reclaimed")

    def svg(self) -> str:
        """Return the file."""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
            f'height="{HEIGHT}" font-family="sans-serif" font-size="11.5">'
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" '
            f'orient="auto"><path d="M0 0 L8 4 L0 8 Z" fill="{self.look.choice}"/></marker></defs>'
            + "".join(self.parts)
            + "</svg>\n"
        )


def erase_victim(picture: Picture) -> None:
    """Draw candidates, and the pages that each relocates and reclaims."""
    blocks = ("vxvvxvvv", "vvxvvvvv", "xvxxvxxx", "vvvvvvvv", "xxxxvxvv", "vvv.....")
    for number, holds in enumerate(blocks):
        is_candidate = number % 2 == 0
        picture.block(26 + 54 * number, 56, holds, candidate=is_candidate)
        if is_candidate:
            picture.cost(39 + 54 * number, 128, holds)
    picture.text(309, 128, "open")
    picture.text(WIDTH / 2, 26, "Which candidate is erased next?", chosen=True)


def parallel_erase(picture: Picture) -> None:
    """Draw one block, and several blocks that are erased in the time of one."""
    together = ("xxxxvxvx", "xvxxvxxx", "vxvvxvxx", "xvxvxvxv")
    for number, holds in enumerate(together):
        picture.block(150 + 46 * number, 54, holds)
    picture.block(34, 54, together[0], candidate=True)
    picture.box(138, 42, 186, 70, "none", picture.look.choice, "4 3")
    picture.text(47, 129, "1 block")
    picture.cost(47, 144, together[0])
    picture.text(231, 129, "4 blocks in one erase time")
    picture.cost(231, 144, *together)
    picture.text(98, 84, "or")
    picture.text(WIDTH / 2, 26, "How many blocks together, and which?", chosen=True)


def _streams(picture: Picture, x: float, y: float, from_x: float, from_y: float) -> None:
    for number, holds in enumerate(("vvvvv...", "vv......", "vvvvvvv.")):
        top = y + 37 * number
        picture.block(x, top, holds, columns=4)
        picture.text(x + 62, top + 17, f"stream {number}", anchor="start")
        picture.arrow(from_x, from_y, x - 8, top + 12)


def placement(picture: Picture) -> None:
    """Draw a host page and a relocated page before three streams."""
    picture.page(52, 64, "v")
    picture.text(58, 56, "of the host")
    picture.page(52, 118, "v")
    picture.text(58, 146, "relocated")
    _streams(picture, 196, 46, 90, 94)
    picture.text(WIDTH / 2, 26, "Which stream does the page go to?", chosen=True)


def joint_gc(picture: Picture) -> None:
    """Draw a victim, and the stream that each of its valid pages goes to."""
    for number, holds in enumerate(("vxvvxvvv", "xxxxvxvx")):
        picture.block(26 + 54 * number, 60, holds, candidate=True)
    picture.text(66, 132, "1. a victim", chosen=True)
    picture.text(66, 150, "then each of its pages", chosen=False)
    _streams(picture, 212, 46, 126, 86)
    picture.text(WIDTH / 2, 26, "What is erased, and where does each page go?", chosen=True)


def background_gc(picture: Picture) -> None:
    """Draw the commands that an idle die could take before the next request."""
    look, y = picture.look, 70
    picture.box(14, y + 28, 332, 0.5, look.faint, look.faint)
    for x in (18, 44, 304):
        picture.box(x, y, 22, 24, look.valid, look.faint)
    for number in range(4):
        picture.box(80 + 48 * number, y, 42, 24, "none", look.choice, "4 3")
        picture.text(101 + 48 * number, y + 16, "move" if number < 3 else "erase")
    picture.text(42, y - 10, "host")
    picture.text(WIDTH / 2, y + 50, "0, 1, 2, 4 ... commands of a round, or all to its end")
    picture.text(315, y - 10, "host, when?")
    picture.text(WIDTH / 2, 26, "How far does an idle die go?", chosen=True)


def subpage_region(picture: Picture) -> None:
    """Draw a part of a page, which may go to the region or to the main area."""
    picture.block(34, 86, "v", columns=1)
    picture.text(41, 78, "4 KiB")
    picture.arrow(62, 90, 164, 66)
    picture.arrow(62, 94, 164, 122)
    picture.block(174, 58, "xxv.", columns=4)
    picture.block(174, 116, "vvvv", columns=4)
    picture.text(238, 62, "region: one subpage,", anchor="start")
    picture.text(238, 77, "no rest to read", anchor="start")
    picture.text(238, 120, "main area: the rest", anchor="start")
    picture.text(238, 135, "is read and written", anchor="start")
    picture.text(WIDTH / 2, 26, "Where does part of a page go?", chosen=True)


def merge_plan(picture: Picture) -> None:
    """Draw a data block, its update block, and the two ways to merge them."""
    for number, holds in enumerate(("vvvv", "vxxv", "vvvv", "xxvx")):
        picture.block(34 + 34 * number, 58, holds, candidate="x" in holds)
    picture.text(98, 50, "data block, in four parts")
    picture.block(34, 112, "vvvvv...", columns=8)
    picture.text(84, 142, "update block")
    picture.arrow(176, 71, 226, 71)
    picture.block(238, 58, "........" * 2, columns=8)
    picture.text(288, 50, "Merge: a new block", chosen=True)
    picture.text(276, 118, "M-Merge: framed parts", chosen=True)
    picture.text(276, 133, "are erased in place")
    picture.text(WIDTH / 2, 26, "How are the blocks merged?", chosen=True)


def wear_level(picture: Picture) -> None:
    """Draw blocks of cold data with few erases, and a worn free block."""
    for number, (holds, erases) in enumerate((("vvvvvvvv", 2), ("vvvxvvvv", 3))):
        x = 40 + 64 * number
        picture.block(x, 62, holds, candidate=True)
        picture.text(x + 12, 136, f"{erases} erases")
    picture.text(192, 94, "or none", chosen=True)
    picture.arrow(222, 90, 270, 90)
    picture.block(284, 62, "........")
    picture.text(296, 136, "31 erases")
    picture.text(WIDTH / 2, 26, "Do cold data move to a worn block?", chosen=True)


DRAWN: dict[str, Callable[[Picture], None]] = {
    "EraseVictim": erase_victim,
    "ParallelErase": parallel_erase,
    "Placement": placement,
    "JointGC": joint_gc,
    "BackgroundGC": background_gc,
    "SubpageRegion": subpage_region,
    "MergePlan": merge_plan,
    "WearLevel": wear_level,
}


def draw(folder: Path) -> Iterator[Path]:
    """Write every picture in both looks, and yield the paths."""
    for name, add in DRAWN.items():
        for look in LOOKS:
            picture = Picture(look)
            add(picture)
            path = folder / f"{name}-{look.name}.svg"
            path.write_text(picture.svg(), encoding="utf-8")
            yield path


def main() -> None:
    """Write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="docs/pictures/environments")
    out = Path(parser.parse_args().out)
    out.mkdir(parents=True, exist_ok=True)
    for path in draw(out):
        print(path)


if __name__ == "__main__":
    main()
