"""Pictures of a device and its present decision, as arrays of pixels or as text.

A cell of a picture is a rectangle that stands for a block. A dot is a square in a cell; it stands for a page.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from gymnasium.utils import colorize
from PIL import Image, ImageDraw, ImageFont

from ssdgym.engine.decisions import ERASE, IDLE, MERGE, PLACE, REGION, RELOCATE
from ssdgym.errors import SsdgymError
from ssdgym.simulator.families import FREE, INVALID, VALID, PageMap

#: Largest width and height of the planes, in pixels.
_WIDTH, _HEIGHT = 960, 600
#: Possible sides of a dot in pixels, the largest first.
_DOTS = (12, 10, 8, 6, 5, 4, 3, 2, 1)
#: Possible numbers of blocks per cell, of pages per dot, and of planes side by side.
_GROUPS = tuple(2**k for k in range(24))
#: Pixels between cells, and between planes.
GAP, PLANE_GAP = 3, 10


class Layout(NamedTuple):
    """The sizes in a picture, which is a grid of planes. A plane is a grid of cells, a cell a grid of dots.

    Attributes:
        dot: side of a dot, in pixels.
        pages: number of pages that a dot stands for.
        blocks: number of blocks that a cell stands for.
        cell: columns and rows of dots in a cell.
        grid: columns and rows of cells in a plane.
        abreast: number of planes side by side.
    """

    dot: int
    pages: int
    blocks: int
    cell: tuple[int, int]
    grid: tuple[int, int]
    abreast: int

    @property
    def pitch(self) -> tuple[int, int]:
        """Distance from one cell to the next, in pixels (across, down)."""
        return self.cell[0] * self.dot + GAP, self.cell[1] * self.dot + GAP

    @property
    def plane_pitch(self) -> tuple[int, int]:
        """Distance from one plane to the next, in pixels (across, down)."""
        (columns, rows), (across, down) = self.grid, self.pitch
        return columns * across + GAP + PLANE_GAP, rows * down + GAP + PLANE_GAP

    def corner(self, plane: int) -> tuple[int, int]:
        """Return the position of the upper left corner of a plane, in pixels (x, y)."""
        row, column = divmod(plane, self.abreast)
        return column * self.plane_pitch[0], row * self.plane_pitch[1]

    def size(self, planes: int) -> tuple[int, int]:
        """Return the width and height of all planes together, in pixels."""
        across, down = self.plane_pitch
        return self.abreast * across, -(-planes // self.abreast) * down


def layout_of(planes: int, blocks: int, pages: int) -> Layout:
    """Return the layout with fewest blocks per cell, then fewest pages per dot, then largest dots, that fits.

    `blocks` is the number of blocks per plane, `pages` the number of pages per block.
    """
    for together in _GROUPS:
        for per_dot, dot, abreast in product(_GROUPS, _DOTS, _GROUPS):
            if per_dot >= 2 * pages or abreast >= 2 * planes:
                continue
            cells, dots = -(-blocks // together), -(-pages // per_dot)
            wide = max(round(math.sqrt(dots / 2)), 1)
            columns = min((_WIDTH // abreast - PLANE_GAP - GAP) // (wide * dot + GAP), cells)
            if columns > 0:
                cell, grid = (wide, -(-dots // wide)), (columns, -(-cells // columns))
                found = Layout(dot, per_dot, together, cell, grid, abreast)
                if found.size(planes)[1] <= _HEIGHT:
                    return found
    return Layout(1, pages, blocks, (1, 1), (1, 1), math.isqrt(planes - 1) + 1)


#: For each kind of decision: the word for a candidate, and the purpose of the decision.
_CHOICES = {
    ERASE: ("candidate", ""),
    PLACE: ("stream", " for a page of the host"),
    RELOCATE: ("stream", " for a page that is relocated"),
    IDLE: ("answer", " for an idle die"),
    REGION: ("place", " for part of a page"),
    MERGE: ("plan", " for blocks to be merged"),
}


@dataclass(frozen=True)
class Scene:
    """The data of a picture: the state of a device at a decision.

    Attributes:
        device: name of the device.
        map: state of the device's pages.
        kind: number of the kind of decision, from `ssdgym.engine.decisions`.
        choices: number of candidates that may be chosen now.
        candidates: erase sets that may be chosen now, ERASE_PAIR (k, pairs); empty in other decisions.
        chosen: the erase set chosen last in the episode, ERASE_PAIR (pairs,); None if none was chosen.
        counters: `host_pages_written` and `relocated_pages` of the episode, without its warm-up.
        write_amplification: that of the episode, without its warm-up; None if nothing was written.
    """

    device: str
    map: PageMap
    kind: int
    choices: int
    candidates: np.ndarray
    chosen: np.ndarray | None
    counters: Mapping[str, int]
    write_amplification: float | None = None

    @property
    def offered_blocks(self) -> np.ndarray:
        """Whether each block is part of a candidate, bool (planes, blocks)."""
        return self._marked(self.candidates)

    @property
    def chosen_blocks(self) -> np.ndarray:
        """Whether each block is part of the erase set chosen last, bool (planes, blocks)."""
        return self._marked(self.candidates[:0] if self.chosen is None else self.chosen)

    @property
    def caption(self) -> str:
        """A line with the device, its size, its host writes and its write amplification."""
        planes, blocks, pages = self.map.pages.shape
        written, ratio = self.counters["host_pages_written"], self.write_amplification
        wa = "" if ratio is None else f", write amplification {ratio:.3f}"
        return (
            f"{self.device}: {_count(planes, 'plane')} of {_count(blocks, 'block')} of "
            f"{_count(pages, 'page')}; {written:,} host pages written{wa}"
        )

    @property
    def decision(self) -> str:
        """A line with the number of candidates, the purpose of the decision, and the last erase set."""
        thing, purpose = _CHOICES.get(self.kind, ("choice", ""))
        offered = f"{_count(self.choices, thing)} offered{purpose}"
        if self.chosen is None:
            return f"{offered}; none chosen yet" if self.kind == ERASE else offered
        pairs = self.chosen[self.chosen["mask"] != 0]
        return f"{offered}; chosen before: block {', '.join(str(block) for block in pairs['block'])}"

    def _marked(self, pairs: np.ndarray) -> np.ndarray:
        marked = np.zeros(self.map.open.shape, bool)
        marked.ravel()[pairs["block"][pairs["mask"] != 0]] = True
        return marked


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


#: Largest number of characters in a line of blocks, and of such lines for all planes together.
_TEXT_WIDTH, _LINES = 64, 48
#: Characters for a block by its share of valid pages, from 0 to 1.
_LEVELS = " ▁▂▃▄▅▆▇█"
_FREE = "·"
_TEXT_LEGEND = "height: valid pages   ·: free   "


def draw_text(scene: Scene) -> str:
    """Draw a device as lines of text with ANSI colours, a caption above and a legend below.

    A character stands for a block. On large devices it stands for several blocks, and shows their mean share
    of valid pages and the mark of highest rank in `_MARKS` that one of them has.
    """
    planes, blocks, _ = scene.map.pages.shape
    lines_per_plane = max(_LINES // planes, 1)
    shown = min(planes, _LINES)
    together = -(-blocks // (_TEXT_WIDTH * lines_per_plane))
    starts = np.arange(0, blocks, together)
    characters = _characters(scene, starts)
    lines = [scene.caption, scene.decision]
    for plane in range(shown):
        for first in range(0, len(starts), _TEXT_WIDTH):
            place = f"plane {plane:<3}" if first == 0 else " " * 9
            lines.append(f"{place} {''.join(characters[plane][first : first + _TEXT_WIDTH])}")
    if shown < planes:
        lines.append(f"... and {planes - shown} more planes")
    return "\n".join([*lines, _legend(together)]) + "\n"


def _characters(scene: Scene, starts: np.ndarray) -> list[list[str]]:
    """Return a character for each group of blocks, by plane; `starts` are the first blocks of groups."""
    pages = scene.map.pages
    valid = np.add.reduceat((pages == VALID).mean(axis=2), starts, axis=1)
    empty = (pages == FREE).all(axis=2)
    free = np.logical_and.reduceat(empty, starts, axis=1)
    sizes = np.diff(np.append(starts, pages.shape[1]))
    levels = np.ceil(valid / sizes * (len(_LEVELS) - 1)).astype(int)
    characters = np.where(free, _FREE, np.array(list(_LEVELS))[levels])
    marks = _marks(scene, scene.map.open & ~empty, starts)
    return [
        [_painted(str(character), mark) for character, mark in zip(*plane, strict=True)]
        for plane in zip(characters, marks, strict=True)
    ]


def _marks(scene: Scene, is_open: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the largest mark, an index of `_MARKS`, that a block of each group has, (planes, groups)."""
    marks = np.zeros((len(is_open), len(starts)), int)
    for number, marked in enumerate((is_open, scene.offered_blocks, scene.chosen_blocks), 1):
        marks[np.logical_or.reduceat(marked, starts, axis=1)] = number
    return marks


#: Marks of blocks, by rising rank: name, colour of the text, and whether the text is highlighted.
_MARKS = (
    ("", "", False),
    ("open", "green", False),
    ("candidate", "yellow", True),
    ("chosen before", "magenta", True),
)


def _painted(text: str, mark: int) -> str:
    _, colour, highlight = _MARKS[mark]
    return colorize(text, colour, highlight=highlight) if mark else text


def _legend(together: int) -> str:
    blocks = "" if together == 1 else f"   each character: {together} blocks"
    marks = "   ".join(_painted(_MARKS[mark][0], mark) for mark in (1, 2, 3))
    return f"{_TEXT_LEGEND}{marks}{blocks}"


#: Colours that colour-blind people can distinguish (after Okabe and Ito).
_COLOURS = {FREE: (226, 230, 234), VALID: (0, 114, 178), INVALID: (240, 180, 90)}
_OPEN, _OFFERED, _CHOSEN = (0, 158, 115), (40, 40, 40), (204, 51, 140)
_PAPER, _INK = (255, 255, 255), (40, 40, 40)
_MARGIN, _LINE = 12, 18
#: Entries of the legend: text, colour, and whether the colour marks a frame.
_LEGEND = (
    ("valid", _COLOURS[VALID], False),
    ("invalid", _COLOURS[INVALID], False),
    ("free", _COLOURS[FREE], False),
    ("block being written", _OPEN, True),
    ("candidate", _OFFERED, True),
    ("chosen before", _CHOSEN, True),
)
_LEAST_WIDTH = 560


def draw_picture(scene: Scene) -> np.ndarray:
    """Draw a device as a picture, uint8 (height, width, 3); its size depends on the geometry only.

    On large devices a dot stands for several pages and has their mean colour. On the largest devices a cell
    stands for several blocks, and its frame has the colour of the largest mark that one of them has.
    """
    layout, planes = layout_of(*scene.map.pages.shape), len(scene.map.pages)
    width, height = layout.size(planes)
    top = _MARGIN + 2 * _LINE
    size = max(width, _LEAST_WIDTH) + 2 * _MARGIN, top + height + 2 * _LINE + _MARGIN
    image = Image.new("RGB", size, _PAPER)
    _write(image, scene, layout, top + height + 4)
    canvas = np.array(image)
    cells = _cells(scene.map.pages, layout)
    starts = np.arange(0, scene.map.open.shape[1], layout.blocks)
    frames = np.array([_PAPER, _OPEN, _OFFERED, _CHOSEN], np.uint8)[_marks(scene, scene.map.open, starts)]
    for plane in range(planes):
        x, y = layout.corner(plane)
        _paint_plane(canvas[top + y :, _MARGIN + x :], cells[plane], frames[plane], layout)
    return canvas


def _cells(pages: np.ndarray, layout: Layout) -> np.ndarray:
    """Return the colours of all dots, uint8 (planes, cells, rows, columns, 3)."""
    planes, blocks, _ = pages.shape
    columns, rows = layout.cell
    cells = -(-blocks // layout.blocks)
    starts = np.arange(0, blocks, layout.blocks), np.arange(0, pages.shape[2], layout.pages)
    mixed = np.zeros((planes, cells, len(starts[1]), 3))
    total = np.zeros((planes, cells, len(starts[1]), 1))
    for held, colour in _COLOURS.items():
        counts = np.add.reduceat((pages == held).astype(np.int64), starts[1], axis=2)
        counts = np.add.reduceat(counts, starts[0], axis=1)[..., np.newaxis]
        mixed += counts * np.array(colour)
        total += counts
    dots = np.full((planes, cells, rows * columns, 3), _PAPER, np.uint8)
    dots[:, :, : len(starts[1])] = np.round(mixed / total)
    return dots.reshape(planes, cells, rows, columns, 3)


def _paint_plane(canvas: np.ndarray, cells: np.ndarray, frames: np.ndarray, layout: Layout) -> None:
    """Paint a plane's cells and their frames; the plane begins at the upper left corner of the canvas."""
    across, down = layout.pitch
    for k, (cell, frame) in enumerate(zip(cells, frames, strict=True)):
        row, column = divmod(k, layout.grid[0])
        x, y = column * across, row * down
        if tuple(frame) != _PAPER:
            canvas[y : y + down + GAP, x : x + across + GAP] = frame
        dots = cell.repeat(layout.dot, axis=0).repeat(layout.dot, axis=1)
        canvas[y + GAP : y + down, x + GAP : x + across] = dots


def _write(image: Image.Image, scene: Scene, layout: Layout, below: int) -> None:
    """Write the caption above the planes, and the legend at the height `below`, in pixels."""
    draw, font, small = ImageDraw.Draw(image), ImageFont.load_default(13), ImageFont.load_default(11)
    draw.text((_MARGIN, _MARGIN - 4), scene.caption, _INK, font)
    draw.text((_MARGIN, _MARGIN - 4 + _LINE), scene.decision, _INK, font)
    x = _MARGIN
    for name, colour, hollow in _LEGEND:
        swatch = (x, below + 3, x + 11, below + 14)
        draw.rectangle(swatch, None if hollow else colour, colour, width=3 if hollow else 1)
        draw.text((x + 17, below), name, _INK, small)
        x += 17 + int(draw.textlength(name, small)) + 16
    draw.text((_MARGIN, below + _LINE), _scale(layout), _INK, small)


def _scale(layout: Layout) -> str:
    pages = "a square is a page" if layout.pages == 1 else f"a square is {layout.pages} pages"
    return f"{pages}, a cell a block" if layout.blocks == 1 else f"{pages} of {layout.blocks} blocks"


#: The functions that draw a scene, by render mode.
VIEWERS: Mapping[str, Callable[[Scene], str | np.ndarray]] = {"ansi": draw_text, "rgb_array": draw_picture}


def check_render_mode(render_mode: str | None) -> None:
    """Raise SsdgymError if `render_mode` is neither None nor a render mode."""
    if render_mode is not None and render_mode not in VIEWERS:
        known = ", ".join(map(repr, VIEWERS))
        raise SsdgymError(f"render_mode must be None or one of {known}, not {render_mode!r:.60}.")
