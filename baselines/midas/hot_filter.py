"""The hot filter of MiDAS: a page is hot while its counter of 2 bits is 3; `mida_hot` defines the counter."""

from typing import Any

import numpy as np

from ssdgym.policy import kernel

#: Records of the filter: for a page (`heat` is its counter), and for the device.
PAGE: list[Any] = [("heat", "u1")]
MEMORY: list[Any] = [
    ("tau", "f8"),  # threshold of ages and length of a window, in host pages; 0 = the number of logical pages
    ("ignored", "i8"),  # events ignored so far; the filter ignores as many as there are logical pages
    ("overwrites", "i8"),  # in the present window, like the next two fields
    ("hot_victims", "i8"),  # blocks of the hot group collected
    ("hot_ages", "f8"),  # sum of the host pages between closing and collecting these blocks
]
FULL = 3
#: Numbers of the groups of hot and of other host pages. Events of pages in later groups change no counter.
HOT, HOST = 0, 1


@kernel
def heat_after_overwrite(heat, group, age, tau):
    """Return the new counter of a page overwritten `age` host pages after its block, in `group`, closed."""
    if group == HOT or (group == HOST and age <= tau):
        return min(heat + 1, FULL)
    return max(heat - 1, 0) if group == HOST else heat


@kernel
def heat_after_move(heat, group):
    """Return the new counter of a page that is relocated from a block in `group`."""
    if group == HOT:
        return max(heat - 2, 0)
    return max(heat - 1, 0) if group == HOST else heat


@kernel
def next_tau(tau, mean_age):
    """Return the next `tau` after a window with `tau` in which hot victims had the mean age `mean_age`."""
    return 1.5 * tau if mean_age >= 2.0 * tau else (mean_age + tau) / 2.0


@kernel
def is_asleep(view):
    """Return whether the filter still ignores events."""
    return view.memory[0].ignored < view.params[0].logical_pages


@kernel
def _tau(view):
    tau = view.memory[0].tau
    return tau if tau > 0.0 else float(view.params[0].logical_pages)


@kernel
def heat_after(view, lpn, page, group, clock):
    """Return the new counter of a page whose copy `page`, in a block of `group`, is overwritten now."""
    heat = np.int64(view.page_memory[lpn].heat)
    if is_asleep(view):
        return heat
    block = view.block[page // view.params[0].pages_per_block]
    age = clock - block.closed_at if block.written == view.params[0].pages_per_block else 0
    return heat_after_overwrite(heat, group, age, _tau(view))


@kernel
def note_overwrite(view, lpn, old_page, group):
    """Count an overwrite of a page whose old copy is in a block of `group`."""
    if is_asleep(view):
        view.memory[0].ignored += 1
        return
    view.page_memory[lpn].heat = heat_after(view, lpn, old_page, group, view.control[0].clock - 1)
    view.memory[0].overwrites += 1


@kernel
def note_move(view, lpn, group):
    """Lower the counter of a page that is relocated from a block in `group`, or ignore the event."""
    if group <= HOST and is_asleep(view):
        view.memory[0].ignored += 1
    elif group <= HOST:
        view.page_memory[lpn].heat = heat_after_move(view.page_memory[lpn].heat, group)


@kernel
def note_victim(view, block):
    """Count the age of a block of the hot group that is collected."""
    view.memory[0].hot_victims += 1
    view.memory[0].hot_ages += view.control[0].clock - view.block[block].closed_at


@kernel
def window_is_over(view):
    """Return whether the window has had `tau` overwrites and a victim of the hot group."""
    memory = view.memory[0]
    return memory.overwrites >= _tau(view) and memory.hot_victims > 0


@kernel
def begin_window(view):
    """Compute `tau` from the window that ends, and begin the next window."""
    memory = view.memory[0]
    memory.tau = next_tau(_tau(view), memory.hot_ages / memory.hot_victims)
    memory.overwrites = memory.hot_victims = 0
    memory.hot_ages = 0.0
