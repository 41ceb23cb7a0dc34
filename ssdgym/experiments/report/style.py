"""The style of all figures, and functions that write them; equal figures give equal bytes.

The bytes depend on the version of matplotlib. Figures need no display. The palette is safe for the
colour-blind (Okabe, Ito: Color Universal Design, 2008).
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
#: Line styles. After every eight lines, the colours repeat, with the next style.
DASHES = ("-", "--", ":", "-.")

_STYLE = {
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "legend.fontsize": 8.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.alpha": 0.3,
    "errorbar.capsize": 2.0,
    # Without this salt, names of clip paths in SVG would be random.
    "svg.hashsalt": "ssdgym",
    # Outlines in SVG and embedded fonts in PDF look the same everywhere.
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
    "savefig.dpi": 150.0,
}

#: Metadata to leave out, by format: the time of writing and the version of matplotlib.
_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
FORMATS = tuple(_METADATA)


@contextmanager
def styled() -> Iterator[None]:
    """Apply the plot style of ssdgym inside the `with` block; also usable as a decorator."""
    with matplotlib.style.context(["default", _STYLE]):
        yield


def color_of(index: int) -> str:
    """Return the colour of the `index`-th policy."""
    return PALETTE[index % len(PALETTE)]


def marker_of(index: int) -> str:
    """Return the marker of the `index`-th policy; policies of the same colour have different markers."""
    return MARKERS[(index + index // len(PALETTE)) % len(MARKERS)]


def dashes_of(index: int) -> str:
    """Return the line style of the `index`-th policy."""
    return DASHES[index // len(PALETTE) % len(DASHES)]


def save_figure(figure: Figure, path: Path) -> Path:
    """Write a figure atomically, and return its path.

    Args:
        figure: figure to write.
        path: path whose ending, .png, .svg or .pdf, is the format.

    Raises:
        SsdgymError: the path has another ending, or the file cannot be written.
    """
    file_format = check_figure_name(path)
    write_atomically(path, lambda file: _write(figure, file, file_format))
    return path


def check_figure_name(path: Path) -> str:
    """Return the format of a figure, `png`, `svg` or `pdf`, from the ending of its path; raise for others."""
    file_format = path.suffix.removeprefix(".")
    if file_format not in FORMATS:
        raise SsdgymError(f"{path}: figures are written as .png, .svg or .pdf, not as {path.suffix!r}")
    return file_format


@styled()
def _write(figure: Figure, file: IO[bytes], file_format: str, transparent: bool = False) -> None:
    figure.savefig(file, format=file_format, metadata=_METADATA[file_format], transparent=transparent)


def inline_svg(figure: Figure, name: str) -> str:
    """Return a figure as an SVG element for an HTML page: transparent, with black as the text colour.

    `name` is put before every identifier, so that several figures on a page have different identifiers.
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
    """Label the decades of a logarithmic axis in plain numbers; below two decades, also label 2, 3 and 5."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0) if high < 100 * low else (1.0,)))
    axis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axis.set_minor_locator(NullLocator())


#: Widths in a legend, in inches: a marker with the space around it, and a letter of a label.
_MARK_INCHES, _LETTER_INCHES = 0.6, 0.075


def legend_below(figure: Figure, *panels: Axes, columns: int = 4) -> None:
    """Put a common legend of all panels below the figure; repeated labels appear once.

    The legend has at most `columns` columns, and fewer in a narrow figure.
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
