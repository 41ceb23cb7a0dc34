"""Weights of networks as bytes that hold numbers only, and files of other kinds, which need to be trusted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from ssdgym.errors import SsdgymError

T = TypeVar("T")


def pack_weights(weights: Mapping[str, torch.Tensor]) -> bytes:
    """Return weights in the safetensors format.

    Args:
        weights: by name, as `state_dict` of a network returns them.
    """
    return save({name: tensor.detach().cpu().contiguous() for name, tensor in weights.items()})


def unpack_weights(data: bytes, where: str) -> dict[str, torch.Tensor]:
    """Read what `pack_weights` returned. Nothing in it is executed, whoever made it.

    Args:
        data: the bytes.
        where: names the file in errors.

    Returns:
        Tensors on the CPU by name.

    Raises:
        SsdgymError: the bytes are damaged, or in another format.
    """
    try:
        return load(data)
    except (SafetensorError, ValueError, KeyError, OverflowError) as error:
        raise SsdgymError(f"{where}: its weights are damaged ({error!s:.60}); train it again.") from error


def load_trusted(path: Path, load_file: Callable[[Path], T], *, trust: bool) -> T:
    """Load a file of a format that can run code, such as a zip file of Stable-Baselines3.

    Args:
        path: the file.
        load_file: reads it, for instance `MaskablePPO.load`.
        trust: whether the user has said that the file may run code.

    Returns:
        What `load_file` returned.

    Raises:
        SsdgymError: the file is not trusted, is not there, or cannot be read.
    """
    if not path.is_file():
        raise SsdgymError(f"{path}: there is no such file; correct the path.")
    if not trust:
        raise SsdgymError(
            f"{path}: a file of this kind can run any code when it is loaded; if you know who made it, give "
            "--trust (in Python: trust=True)."
        )
    try:
        return load_file(path)
    except Exception as error:  # code of other packages, and of the file itself
        reason = f"{type(error).__name__}: {error}"
        raise SsdgymError(f"{path}: cannot be loaded ({reason:.100}).") from error
