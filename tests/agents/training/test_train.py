"""Training learns, can be stopped anywhere, and repeats itself bit for bit."""

import csv
from collections.abc import Callable

import pytest
import torch
from stable_baselines3.common.utils import set_random_seed
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from ssdgym.agents.agent import Agent
from ssdgym.agents.training.checkpoint import Checkpoint
from ssdgym.agents.training.train import TrainingRun, train
from ssdgym.errors import SsdgymError


def weights_of(path) -> dict[str, torch.Tensor]:
    return Agent.load(path).scorer.state_dict()


def assert_same_weights(left, right) -> None:
    a, b = weights_of(left), weights_of(right)
    assert a.keys() == b.keys()
    assert all(torch.equal(a[name], b[name]) for name in a)


def evaluations_in(folder) -> list[dict[str, str]]:
    with (folder / "evaluations.csv").open() as file:
        return list(csv.DictReader(file))


def stop_after_checkpoint(decisions: int) -> Callable[[TrainingRun], None]:
    """Return a report that makes training die, as if killed, after the checkpoint at `decisions`."""

    def report(run: TrainingRun) -> None:
        if run.decisions == decisions:
            raise KeyboardInterrupt

    return report


def test_train__visible_best_candidate__found(make_config, tmp_path) -> None:
    config = make_config(total_decisions=8192, checkpoint_decisions=8192)
    train(config, tmp_path / "run", progress=False)
    rows = evaluations_in(tmp_path / "run")
    start, end = (float(row["return_mean"]) / 16 for row in (rows[0], rows[-1]))
    # the start knows nothing of the feature that pays; the best of the valid ones has about 0.4 on average
    assert abs(start) < 0.2
    assert end > 0.3


def test_train__same_seed__same_bits(make_config, tmp_path) -> None:
    for number, (name, seed) in enumerate((("a", 1), ("b", 1), ("c", 2))):
        set_random_seed(number)  # whatever the caller did with the global generators
        train(make_config(seed=seed), tmp_path / name, progress=False)
    assert_same_weights(tmp_path / "a/agent-last.zip", tmp_path / "b/agent-last.zip")
    assert (tmp_path / "a/evaluations.csv").read_bytes() == (tmp_path / "b/evaluations.csv").read_bytes()
    last_a, last_c = (weights_of(tmp_path / name / "agent-last.zip") for name in "ac")
    assert any(not torch.equal(last_a[name], last_c[name]) for name in last_a)


def test_train__killed_and_resumed__equals_uninterrupted(make_config, tmp_path) -> None:
    config = make_config()
    train(config, tmp_path / "whole", progress=False)
    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path / "stopped", progress=False, report=stop_after_checkpoint(512))
    assert Agent.load(tmp_path / "stopped/agent-last.zip").card.decisions == 512

    train(config, tmp_path / "resumed", resume=tmp_path / "stopped", progress=False)

    for name in ("agent.zip", "agent-last.zip"):
        assert_same_weights(tmp_path / "whole" / name, tmp_path / "resumed" / name)
    assert evaluations_in(tmp_path / "whole") == evaluations_in(tmp_path / "resumed")
    assert [row["decisions"] for row in evaluations_in(tmp_path / "whole")] == ["0", "512", "1024"]
    whole, resumed = (Checkpoint.load(tmp_path / name).algorithm for name in ("whole", "resumed"))
    assert whole["counters"] == resumed["counters"]
    steps = [state["optimizer"]["state"][0]["step"] for state in (whole, resumed)]
    assert steps[0] == steps[1] > 0


def test_train__resumed_with_more_decisions__goes_on(make_config, tmp_path) -> None:
    out = tmp_path / "run"
    train(make_config(), out, progress=False)
    train(make_config(total_decisions=1536), out, resume=out, progress=False)
    assert [row["decisions"] for row in evaluations_in(out)] == ["0", "512", "1024", "1536"]


def test_train__best_agent__is_the_best_evaluated(make_config, tmp_path, monkeypatch) -> None:
    returns = iter([1.0, 3.0, 2.0])
    monkeypatch.setattr(
        "ssdgym.agents.training.train.validate", lambda *_: {"return_mean": next(returns), "reward_mean": 0.0}
    )
    best = train(make_config(), tmp_path / "run", progress=False)
    assert best == tmp_path / "run/agent.zip"
    assert Agent.load(best).card.decisions == 512
    assert Agent.load(tmp_path / "run/agent-last.zip").card.decisions == 1024


def test_train__start_that_stays_the_best__is_said_to_be_untrained(
    make_config, tmp_path, monkeypatch, capsys
) -> None:
    returns = iter([3.0, 1.0, 2.0])
    monkeypatch.setattr(
        "ssdgym.agents.training.train.validate", lambda *_: {"return_mean": next(returns), "reward_mean": 0.0}
    )
    card = Agent.load(train(make_config(), tmp_path / "run")).card
    assert (card.algorithm, card.decisions, card.trained_by) == ("none", 0, ())
    assert "trained by nothing: it is the untrained network" in capsys.readouterr().err
    assert [row["stage"] for row in evaluations_in(tmp_path / "run")] == ["untrained", "ppo", "ppo"]


def test_train__resumed__counts_all_decisions_and_cpu_seconds(make_config, tmp_path) -> None:
    out = tmp_path / "run"
    train(make_config(), out, progress=False)
    (first,) = Agent.load(out / "agent-last.zip").card.trained_by
    train(make_config(total_decisions=1536), out, resume=out, progress=False)
    (stage,) = Agent.load(out / "agent-last.zip").card.trained_by
    assert (first.decisions, stage.decisions) == (1024, 1536)
    assert stage.cpu_seconds > first.cpu_seconds > 0


def test_train__tensorboard__has_training_and_validation(make_config, tmp_path) -> None:
    train(make_config(), tmp_path / "run", progress=False)
    log = EventAccumulator(str(tmp_path / "run/tensorboard")).Reload()
    assert {"rollout/ep_rew_mean", "train/value_loss", "validation/return_mean"} <= set(log.Tags()["scalars"])
    assert [event.step for event in log.Scalars("validation/return_mean")] == [0, 512, 1024]


def test_train__progress_bar__shows_rate(make_config, tmp_path, capsys) -> None:
    train(make_config(), tmp_path / "run", progress=True)
    assert "/s" in capsys.readouterr().err


def test_train__unwritable_folder__refused_before_any_work(make_config, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(TrainingRun, "__init__", lambda *_: pytest.fail("training began"))
    (tmp_path / "file").write_text("")
    with pytest.raises(SsdgymError, match="file/run: cannot be written to"):
        train(make_config(), tmp_path / "file" / "run", progress=False)


def test_train__folder_with_a_run__refused_unless_overwritten(make_config, tmp_path) -> None:
    out = tmp_path / "run"
    train(make_config(total_decisions=256), out, progress=False)
    with pytest.raises(SsdgymError, match="run: already holds a training run"):
        train(make_config(total_decisions=256), out, progress=False)
    train(make_config(total_decisions=512), out, progress=False, overwrite=True)
    assert Agent.load(out / "agent-last.zip").card.decisions == 512


def test_resume__another_configuration__names_the_field(make_config, tmp_path) -> None:
    train(make_config(total_decisions=256), tmp_path / "run", progress=False)
    with pytest.raises(SsdgymError, match="made with another 'scorer'"):
        train(make_config(scorer={"hidden": [8]}), tmp_path / "new", resume=tmp_path / "run", progress=False)


@pytest.mark.parametrize(
    ("content", "message"), [(None, "there is no checkpoint"), (b"nonsense", "not a checkpoint")]
)
def test_resume__no_checkpoint__says_so(make_config, tmp_path, content: bytes | None, message: str) -> None:
    if content:
        (tmp_path / "checkpoint.pt").write_bytes(content)
    with pytest.raises(SsdgymError, match=message):
        train(make_config(), tmp_path / "run", resume=tmp_path / "checkpoint.pt", progress=False)


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"id": "ssdgym-test/Nothing-v0"}, "environment.id: Environment `Nothing` doesn't exist"),
        ({"id": "MountainCar-v0"}, "environment.id: 'MountainCar-v0' has no native vector environment"),
        ({"id": "ssdgym-test/Toy-v0", "kwargs": {"horizn": 3}}, r"kwargs\.horizn: .* has no such argument"),
    ],
)
def test_train__environment_that_cannot_be_made__names_the_field(
    make_config, tmp_path, environment: dict, message: str
) -> None:
    with pytest.raises(SsdgymError, match=message):
        train(make_config(environment=environment), tmp_path / "run", progress=False)
