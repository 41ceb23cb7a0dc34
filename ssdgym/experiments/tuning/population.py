"""A member of a population: trained from checkpoint to checkpoint, its own or that of another member.

The folder of a member has one folder in `stages/` for each checkpoint: the training between the checkpoint
before and this one, and when both that and its held-out runs are done, `stage.json`. A finished stage is not
repeated as long as its parameters and the agent that it began with are the same; so a population that was
killed makes its decisions again from what is there, and goes on where it was.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ssdgym.errors import SsdgymError
from ssdgym.experiments.tuning.measuring import ALL, Stage, TrialReport, measure
from ssdgym.experiments.tuning.ranges import Parameters
from ssdgym.experiments.tuning.trials import Trial
from ssdgym.files import file_hash, writable_folder, write_bytes

if TYPE_CHECKING:
    from ssdgym.agents.train import TrainingRun

_STAGES = "stages"
_RECORD = "stage.json"


@dataclass(frozen=True)
class StageRecord:
    """A finished stage.

    Attributes:
        number: from 1 on.
        parameters: that it was trained with.
        parent: folder of the stage that it began with, below that of the sweep; empty for the first stage.
        parent_agent: hash of the agent that it began with.
        percent: of the training that was done at its end.
        decisions: that had trained its network by then.
    """

    number: int
    parameters: Parameters
    parent: str
    parent_agent: str
    percent: int
    decisions: int

    def copied(self, own: int) -> int | None:
        """Return the number of the trial that has been copied, if that is not the own one."""
        other = int(Path(self.parent).parts[1]) if self.parent else own
        return other if other != own else None


#: Called with the report of a stage and its folder.
StageListener = Callable[[TrialReport, Path], None]


def run_member(
    trial: Trial, metric: str, folder: Path, begin_with: Path | None, listener: StageListener
) -> None:
    """Run a member to its end, unless the listener ends it before.

    Args:
        trial: the member, with the parameters that it has now.
        metric: name of what is reported.
        folder: of this member alone, made where missing.
        begin_with: folder of the finished stage to go on with, its own or another member's; `None` at first.
        listener: called after every stage; may end the member by raising.

    Raises:
        SsdgymError: a stage fails.
    """
    percent = 0
    while percent < ALL:
        own = _stage_folder(folder, 1 if begin_with is None else read_record(begin_with).number + 1)
        stage = _stage(trial, own, _finished(trial, own, begin_with) or _train(trial, own, begin_with))
        report = measure(stage, metric, folder, {})
        percent, begin_with = report.percent, own
        listener(report, own)


def stages_of(trial: Trial, folder: Path) -> list[Stage]:
    """Return the finished stages of a member in order.

    Args:
        trial: the member.
        folder: that of the member.
    """
    return [_stage(trial, _stage_folder(folder, one.number), one) for one in records_of(folder)]


def records_of(folder: Path) -> list[StageRecord]:
    """Return the records of a member's finished stages in order."""
    return [read_record(path.parent) for path in sorted((folder / _STAGES).glob(f"*/{_RECORD}"))]


def read_record(folder: Path) -> StageRecord:
    """Return the record in the folder of a finished stage.

    Raises:
        SsdgymError: it is missing or damaged.
    """
    try:
        return StageRecord(**json.loads((folder / _RECORD).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise SsdgymError(
            f"{folder / _RECORD}: is missing or damaged; remove {folder}, then resume the sweep"
        ) from error


def _stage_folder(folder: Path, number: int) -> Path:
    return folder / _STAGES / f"{number:04}"


def _stage(trial: Trial, own: Path, record: StageRecord) -> Stage:
    from ssdgym.agents.train import LAST_AGENT

    # what goes on is the agent of now, and not the best one that its validation has seen
    runs = [replace(run, agent=own / LAST_AGENT) for run in trial.runs]
    return Stage(record.percent, runs, record.decisions)


def _finished(trial: Trial, own: Path, begin_with: Path | None) -> StageRecord | None:
    if not (own / _RECORD).exists():
        return None
    record = read_record(own)
    same = record.parameters == trial.parameters and record.parent_agent == _agent_hash(begin_with)
    return record if same else None


def _agent_hash(stage: Path | None) -> str:
    from ssdgym.agents.train import LAST_AGENT

    return "" if stage is None else file_hash(stage / LAST_AGENT)


def _train(trial: Trial, own: Path, begin_with: Path | None) -> StageRecord:
    """Train until the next checkpoint, and write the record of that."""
    from ssdgym.agents.train import train

    assert trial.training is not None
    shutil.rmtree(own, ignore_errors=True)  # a stage that was killed, or one of other parameters
    writable_folder(own)
    done: list[tuple[float, int]] = []

    def at_checkpoint(run: TrainingRun) -> None:
        done.append((run.share, run.decisions))

    train(
        trial.training,
        own,
        resume=begin_with,
        progress=False,
        report=at_checkpoint,
        checkpoints=1,
        branch=begin_with is not None,
    )
    share, decisions = done[-1]
    record = StageRecord(
        number=int(own.name),
        parameters=trial.parameters,
        parent="" if begin_with is None else "/".join(begin_with.parts[-4:]),
        parent_agent=_agent_hash(begin_with),
        percent=min(ALL, int(ALL * share)),
        decisions=decisions,
    )
    write_bytes(own / _RECORD, json.dumps(asdict(record), indent=2).encode())
    return record
