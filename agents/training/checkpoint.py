"""Checkpoints of a training run: everything that is needed to resume it, without pickled code."""

from __future__ import annotations

import json
import pickle
import zipfile
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch

from ssdgym.agents.training.config import TrainConfig
from ssdgym.errors import SsdgymError
from ssdgym.files import DAMAGED_ZIP, write_atomically

FILE_NAME = "checkpoint.pt"
_FORMAT = 3


@dataclass
class Checkpoint:
    """The state of a training run.

    Attributes:
        config: the run's configuration, as `TrainConfig.model_dump_json` wrote it.
        algorithm: the state of the learner, from `Learner.state`.
        evaluations: one row per validation so far, each with `decisions` and `return_mean`.
        best: weights of the network that was best in validation, by name.
        stages: stages of training so far (`ssdgym.agents.training.stages.Stage`), as mappings.
        best_stages: stages of training of the best network, as mappings.
    """

    config: str
    algorithm: dict[str, Any]
    evaluations: list[dict[str, Any]]
    best: dict[str, torch.Tensor]
    stages: list[dict[str, Any]]
    best_stages: list[dict[str, Any]]

    def save(self, folder: Path) -> Path:
        """Write the checkpoint into `folder`, replace the previous one, and return the path.

        Raises:
            SsdgymError: the checkpoint cannot be written.
        """
        path = folder / FILE_NAME
        content = {"format": _FORMAT, **vars(self)}
        write_atomically(path, lambda file: torch.save(content, file))
        return path

    @classmethod
    def load(cls, path: Path) -> Checkpoint:
        """Read a checkpoint from a file, or from a run's folder. Nothing in the file is executed.

        Raises:
            SsdgymError: the file is missing, damaged or of another format.
        """
        path = path / FILE_NAME if path.is_dir() else path
        content = _load(path)
        expected = {"format", *(field.name for field in fields(cls))}
        if not isinstance(content, dict) or set(content) != expected or content.pop("format") != _FORMAT:
            raise SsdgymError(f"{path}: not a checkpoint of this version of ssdgym; train again.")
        return cls(**content)

    def require_config(self, config: TrainConfig, path: Path) -> None:
        """Check that a configuration differs from the one of this run in `total_decisions` only.

        Args:
            config: configuration with which the run will be resumed.
            path: path of the checkpoint, for error messages.

        Raises:
            SsdgymError: another field differs. The error names the first such field.
        """
        saved = json.loads(self.config)
        wanted = config.model_dump(mode="json")
        for name in wanted:
            if name != "total_decisions" and saved.get(name) != wanted[name]:
                raise SsdgymError(
                    f"{path}: was made with another {name!r}; resume with the same configuration "
                    "(only total_decisions may change) or start a new run."
                )


def _load(path: Path) -> Any:
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()  # torch does not look at the checksums
        if damaged is not None:
            raise zipfile.BadZipFile(damaged)
        return torch.load(path, weights_only=True, map_location="cpu")
    except FileNotFoundError as error:
        raise SsdgymError(f"{path}: there is no checkpoint; correct the path, or start a new run.") from error
    except (pickle.UnpicklingError, *DAMAGED_ZIP) as error:
        raise SsdgymError(f"{path}: not a checkpoint, or a damaged one; start a new run.") from error
