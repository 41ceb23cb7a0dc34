"""What the text and the picture of a device show."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from ssdgym.engine.core.records import ERASE_PAIR
from ssdgym.engine.decisions import ERASE, IDLE, KINDS, MERGE, PLACE, REGION, RELOCATE
from ssdgym.envs.render import Scene, draw_picture, draw_text, layout_of
from ssdgym.simulator.families import FREE, INVALID, VALID, PageMap

#: From a toy to a drive: planes, blocks, pages.
SHAPES = [(1, 1, 1), (2, 16, 8), (1, 256, 32), (8, 64, 64), (4, 2048, 256), (64, 1024, 384), (3, 7, 5)]
each_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)
BLUE, ORANGE, GREEN, DARK, PINK = (0, 114, 178), (240, 180, 90), (0, 158, 115), (40, 40, 40), (204, 51, 140)


def erase_sets(*blocks: int) -> np.ndarray:
    sets = np.zeros((len(blocks), 8), ERASE_PAIR)
    sets["block"][:, 0], sets["mask"][:, 0] = blocks, 1
    return sets


def scene(shape: tuple[int, int, int] = (1, 4, 4), **fields: Any) -> Scene:
    """A full device of valid pages where nothing is offered."""
    pages = np.full(shape, VALID, np.int8)
    parts = {
        "device": "small",
        "map": PageMap(pages, np.zeros(shape[:2], bool)),
        "kind": ERASE,
        "choices": len(fields.get("candidates", ())),
        "candidates": erase_sets(),
        "chosen": None,
        "counters": {"host_pages_written": 0, "relocated_pages": 0},
    }
    return Scene(**{**parts, **fields})


def pixels(picture: np.ndarray, colour: tuple[int, int, int]) -> int:
    """How many pixels of the picture, without its legend, have a colour."""
    return int((picture[:-48] == colour).all(axis=2).sum())


def plain(text: str) -> str:
    return re.sub(r"\x1b\[\d+m", "", text)


@each_shape
def test_picture__any_geometry__of_a_size_that_fits_a_screen(shape: tuple[int, int, int]) -> None:
    height, width, channels = draw_picture(scene(shape)).shape
    assert channels == 3
    assert height <= 720 and width <= 1000


@each_shape
def test_layout__any_geometry__has_a_place_for_every_page(shape: tuple[int, int, int]) -> None:
    planes, blocks, pages = shape
    layout = layout_of(*shape)
    assert np.prod(layout.grid) * layout.blocks >= blocks
    assert np.prod(layout.cell) * layout.pages >= pages
    corners = {layout.corner(plane) for plane in range(planes)}
    assert len(corners) == planes
    assert all(x < layout.size(planes)[0] and y < layout.size(planes)[1] for x, y in corners)


def test_picture__a_square_for_each_page__in_its_colour() -> None:
    pages = np.full((1, 4, 4), VALID, np.int8)
    pages[0, 1, :3], pages[0, 2] = INVALID, FREE
    picture = draw_picture(scene(map=PageMap(pages, np.zeros((1, 4), bool))))
    area = layout_of(1, 4, 4).dot ** 2
    assert pixels(picture, BLUE) == 9 * area
    assert pixels(picture, ORANGE) == 3 * area


def test_picture__frames__one_for_each_marked_block_the_choice_before_all() -> None:
    opened = np.array([[True, False, False, False]])
    blank = pixels(draw_picture(scene()), DARK)
    picture = draw_picture(
        scene(
            map=PageMap(np.full((1, 4, 4), VALID, np.int8), opened),
            candidates=erase_sets(1, 3),
            chosen=erase_sets(3)[0],
        )
    )
    assert pixels(picture, GREEN) and pixels(picture, PINK)
    assert pixels(picture, DARK) > blank


def test_picture__many_pages_in_a_square__their_mean_colour() -> None:
    pages = np.full((64, 1024, 256), VALID, np.int8)
    pages[..., 1::2] = INVALID
    picture = draw_picture(scene(map=PageMap(pages, np.zeros(pages.shape[:2], bool))))
    mean = tuple(round((a + b) / 2) for a, b in zip(BLUE, ORANGE, strict=True))
    assert pixels(picture, mean) > 10_000 and not pixels(picture, BLUE)


def test_text__a_character_for_each_block__with_marks_in_colour() -> None:
    pages = np.full((2, 4, 4), VALID, np.int8)
    pages[0, 1, :2], pages[1, 3] = INVALID, FREE
    text = draw_text(
        scene(
            map=PageMap(pages, np.zeros((2, 4), bool)),
            candidates=erase_sets(1, 2),
            chosen=erase_sets(5)[0],
            counters={"host_pages_written": 1000, "relocated_pages": 500},
            write_amplification=1.5,
        )
    )
    assert plain(text).splitlines()[:4] == [
        "small: 2 planes of 4 blocks of 4 pages; 1,000 host pages written, write amplification 1.500",
        "2 candidates offered; chosen before: block 5",
        "plane 0   █▄██",
        "plane 1   ███·",
    ]
    assert "\x1b[43m▄\x1b[0m" in text and "\x1b[45m█\x1b[0m" in text


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (PLACE, "4 streams offered for a page of the host"),
        (RELOCATE, "4 streams offered for a page that is relocated"),
        (IDLE, "4 answers offered for an idle die"),
        (REGION, "4 places offered for part of a page"),
        (MERGE, "4 plans offered for blocks to be merged"),
        (len(KINDS), "4 choices offered"),
    ],
)
def test_decision__of_another_kind__says_what_is_chosen(kind: int, said: str) -> None:
    assert scene(kind=kind, choices=4).decision == said
    after = scene(kind=kind, choices=4, chosen=erase_sets(3)[0])
    assert after.decision == f"{said}; chosen before: block 3"


@each_shape
def test_text__any_geometry__fits_a_terminal(shape: tuple[int, int, int]) -> None:
    lines = plain(draw_text(scene(shape))).splitlines()
    assert len(lines) <= 52
    assert max(map(len, lines[2:-1])) <= 75
