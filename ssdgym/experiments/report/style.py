"""The one style of all figures; the same figure gives the same file, byte for byte.

Drawn without a display, in the colour-blind-safe palette of Okabe and Ito, "Color Universal Design", 2008.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

from ssdgym.errors import SsdgymError
from ssdgym.files import write_atomically

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999933")
MARKERS = "osD^vPX*"
#: Colours come round again after eight lines; the dashes differ between rounds.
DASHES = ("-", "--", ":", "-.")

_STYLE = {
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "legend.fontsize": 8.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.alpha": 0.3,
    "errorbar.capsize": 2.0,
    # Names of clip paths and the like are drawn from it, and at random without it.
    "svg.hashsalt": "ssdgym",
    # Letters as outlines in SVG, as fonts inside the file in PDF: both look alike everywhere.
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
    "savefig.dpi": 150.0,
}

#: Of every format, what would give the time of writing or the version of matplotlib.
_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
FORMATS = tuple(_METADATA)


@contextmanager
def styled() -> Iterator[None]:
    """Apply the plot style of ssdgym inside the block. Also a decorator."""
    with matplotlib.style.context(["default", _STYLE]):
        yield


def color_of(index: int) -> str:
    """Return the colour of the `index`-th policy."""
    return PALETTE[index % len(PALETTE)]


def marker_of(index: int) -> str:
    """Return the marker of the `index`-th policy; where its colour comes round again it is another one."""
    return MARKERS[(index + index // len(PALETTE)) % len(MARKERS)]


def dashes_of(index: int) -> str:
    """Return the line style of the `index`-th policy."""
    return DASHES[index // len(PALETTE) % len(DASHES)]


def save_figure(figure: Figure, path: Path) -> Path:
    """Write a figure, whole or not at all, and return its path.

    The same figure gives the same bytes, with the same version of matplotlib.

    Args:
        figure: what to write.
        path: a PNG, SVG or PDF by its ending.

    Raises:
        SsdgymError: the ending is another one, or the file cannot be written.
    """
    file_format = check_figure_name(path)
    write_atomically(path, lambda file: _write(figure, file, file_format))
    return path


def check_figure_name(path: Path) -> str:
    """Return the format that a figure of that name is written in."""
    file_format = path.suffix.removeprefix(".")
    if file_format not in FORMATS:
        raise SsdgymError(f"{path}: figures are written as .png, .svg or .pdf, not as {path.suffix!r}")
    return file_format


@styled()
def _write(figure: Figure, file: IO[bytes], file_format: str, transparent: bool = False) -> None:
    figure.savefig(file, format=file_format, metadata=_METADATA[file_format], transparent=transparent)


def inline_svg(figure: Figure, name: str) -> str:
    """Return a figure as an SVG element for an HTML page: transparent, with the text colour for black.

    The name goes before every identifier, so that several figures of a page do not mix theirs up.
    """
    file = io.BytesIO()
    _write(figure, file, "svg", transparent=True)
    text = file.getvalue().decode("utf-8")
    text = text[text.index("<svg") :].replace("#000000", "currentColor")
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", text)
    least, most = (round(figure.get_figwidth() * pixels_per_inch) for pixels_per_inch in (72, 125))
    size = f"width: 100%; height: auto; min-width: {least}px; max-width: {most}px"
    return text.replace("<svg ", f'<svg style="{size}" fill="currentColor" aria-hidden="true" ', 1)


def label_decades(axis: Axis, low: float, high: float) -> None:
    """Label a logarithmic axis in digits, and between the decades if it is short."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0) if high < 100 * low else (1.0,)))
    axis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axis.set_minor_locator(NullLocator())


#: Room for the mark of an entry of a legend with what is around it, and for a letter of its label.
_MARK_INCHES, _LETTER_INCHES = 0.6, 0.075


def legend_below(figure: Figure, *panels: Axes, columns: int = 4) -> None:
    """Put the legend beneath the whole figure, where it hides nothing; a label that repeats appears once.

    It has at most `columns` columns, and fewer in a narrow figure.
    """
    entries: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    longest = max(map(len, entries), default=0)
    fitting = int(figure.get_figwidth() / (_MARK_INCHES + longest * _LETTER_INCHES))
    figure.legend(
        entries.values(),
        entries,
        ncols=max(1, min(len(entries), columns, fitting)),
        loc="outside lower center",
        frameon=False,
    )
