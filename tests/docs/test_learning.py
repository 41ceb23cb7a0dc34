"""The scripts of the page on learning run, and what they train can be evaluated."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from ssdgym.agents.card import read_parts
from ssdgym.agents.zoo import zoo_agents
from ssdgym.cli import main
from tests.docs.pages import PINNED
from tests.envs.cases import ENVIRONMENTS

pytest.importorskip("sb3_contrib")
torch = pytest.importorskip("torch")
pytest.importorskip("optuna")

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
#: So small that nothing is learned, with episodes that end.
SMALL = {
    "ppo_cleanrl": {"num_envs": 4, "num_steps": 32, "minibatch_size": 64, "horizon": 64},
    "ppo_sb3": {"num_envs": 8, "num_steps": 128, "horizon": 512},
}


@pytest.fixture(autouse=True)
def examples(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """The scripts can be imported, and write into a folder of the test."""
    monkeypatch.setattr(sys, "path", [str(EXAMPLES), *sys.path])
    monkeypatch.chdir(tmp_path)
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


def train(name: str, **settings: Any) -> ModuleType:
    script = import_module(name)
    small = SMALL[name]
    decisions = 2 * small["num_envs"] * small["num_steps"]
    script.train(script.Args(**{**small, "total_timesteps": decisions, **settings}))
    return script


def test_ppo_cleanrl__same_seed__same_weights() -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train("ppo_cleanrl", seed=seed, out=f"{name}.safetensors")
    first, again, other = (Path(f"{name}.safetensors").read_bytes() for name in "abc")
    assert first == again != other
    with open("a.csv") as file:
        assert [row["decisions"] for row in csv.DictReader(file)] == ["128", "256"]


@pytest.mark.parametrize(
    ("policy", "env_id"),
    [
        ("set", "ssdgym/ParallelErase-v0"),
        ("flat", "ssdgym/EraseVictim-v0"),
    ],
)
def test_sb3_stock__what_it_trains__can_be_evaluated(
    policy: str, env_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = import_module("sb3_stock")
    monkeypatch.setattr(script, "MaskablePPO", partial(script.MaskablePPO, n_steps=64))
    settings = {"policy": policy, "env_id": env_id, "timing": "event"}
    out = script.train(script.Args(**settings, num_envs=1, total_timesteps=1, out="agent.zip"))
    device = "demo-parallel" if "Parallel" in env_id else "demo"
    command = f"evaluate --agent {out} --trust --environment {env_id} --device {device} --policy greedy"
    command += " --workload zipf99 --seeds 1-2 --host-pages 300 --warmup 0 --workers 1"
    assert main(command.split()) == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_scripts__train_on_every_environment(name: str) -> None:
    few = {"env_id": f"ssdgym/{name}-v0", "num_envs": 2, "horizon": 256, "total_timesteps": 64}
    train("ppo_cleanrl", **few, num_steps=32, out="a.safetensors")
    stock = import_module("sb3_stock")
    assert Path(stock.train(stock.Args(**few, out="agent.zip"))).exists()
    assert Path("a.safetensors").exists()


def test_learning_curves__evaluates_the_agents_of_both_scripts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    curves = import_module("learning_curves")
    for method, (script, _) in curves.METHODS.items():
        for workload in curves.WORKLOADS:
            for seed in (1, 2):
                file = curves.agent_file(Path(), method, workload, seed)
                file.parent.mkdir(exist_ok=True)
                train(script.removesuffix(".py"), workload=workload, seed=seed, out=str(file))
    arguments = "learning_curves.py --out . --seeds 2 --jobs 1 --host-pages 200"
    monkeypatch.setattr(sys, "argv", arguments.split())
    curves.main()
    printed = capsys.readouterr().out
    assert "| random_action |" in printed and "| MaskablePPO |" in printed
    assert "On `zipf99`, CleanRL style is NOT shown to be below greedy." in printed
    assert Path("learning.svg").stat().st_size > 10_000


def test_improve_on_heuristics__trains_every_kind_and_evaluates(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = import_module("improve_on_heuristics")
    whole = script.config_of

    def small(*arguments: Any) -> Any:
        config = whole(*arguments)
        fields = config.model_dump() | {"n_envs": 4, "total_decisions": 128}
        fields["ppo"] |= {"rollout_steps": 32, "batch_decisions": 64}
        if fields["prior"]["policy"]:
            fields["prior"] |= {"clone_decisions": 256}
        fields["evaluation"] = {"episodes": 1, "kwargs": {"horizon": 100, "warmup": 50}}
        return type(config).model_validate(fields)

    monkeypatch.setattr(script, "config_of", small)
    for name, value in {"HOST_PAGES": 200, "WARMUP": 0, "UNSEEN": range(2)}.items():
        monkeypatch.setattr(script, name, value)
    monkeypatch.setattr(sys, "argv", ["improve_on_heuristics.py", "--out", ".", "--seeds", "2"])
    script.main()
    printed = capsys.readouterr().out
    assert all(f"| PPO {name} |" in printed for name in ("from cost-benefit", "from a clone of it"))
    assert "| PPO among 128 candidates |  | " in printed  # on hot90 alone
    baselines, kinds = 4 * 2, 2 + 2 + 1
    assert len(Path("results.csv").read_text().splitlines()) == 1 + 2 * (baselines + 2 * kinds)
    assert Path("improving.svg").stat().st_size > 10_000


#: Settings of the learners from credit, so small that nothing is learned.
CREDIT = {"total_steps": 600, "num_envs": 4, "learning_starts": 200, "test_pages": 400, "test_seeds": 2}


@pytest.mark.parametrize(("name", "method"), [("credit_per_page", "DQN"), ("ppo_credit", "PPO")])
def test_learner_from_credit__same_seed__learns_the_same_and_is_compared(
    name: str, method: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [f"--{name.replace('_', '-')}={value}" for name, value in CREDIT.items()]
    if method == "PPO":
        arguments += ["--num-steps=64", "--batch-size=64"]
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *arguments])
    script = import_module(name)
    printed = []
    for _ in range(2):
        script.main()
        printed.append([line.split() for line in capsys.readouterr().out.splitlines()[20:]])
    assert printed[0] == printed[1]
    table = {name: float(mean) for name, mean, *_ in printed[0]}
    assert list(table) == [method, "random", *import_module("credit_per_page").PLACEMENTS]
    assert all(mean > 1.5 for mean in table.values())


def test_credit_region__same_seed__same_agent__and_it_is_compared(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = {"total_steps": 400, "num_envs": 4, "learning_starts": 200, "test_pages": 100}
    options = [f"--{name.replace('_', '-')}={value}" for name, value in small.items()]
    monkeypatch.setattr(sys, "argv", ["credit_region.py", *options, "--out=a.zip"])
    script = import_module("credit_region")
    script.main()
    file, *ratios = capsys.readouterr().out.splitlines()
    again = script.train(script.Args(**small)).save("b.zip")
    assert read_parts(Path(file))[1] == read_parts(again)[1]
    workloads = script.load_suite("subftl").splits["validation"]
    assert len(ratios) == len(workloads) and all(0.5 < float(ratio.split()[0]) < 3 for ratio in ratios)


def test_credit_region__an_action_that_costs_less__is_the_cheapest_afterwards() -> None:
    script, credit = import_module("credit_region"), import_module("ssdgym.envs.rewards.credit")
    torch.manual_seed(0)
    network = script.CostNetwork(
        script.ScorerConfig(hidden=(8, 8), pooling="none", start="none", sharpness=1)
    )
    optimizer = torch.optim.Adam(network.parameters(), 1e-2)
    seen, actions = np.zeros((64, 16), np.float32), np.arange(64) % 2
    seen[:, 6], seen[:, 11] = -1, 1  # the numbers of the areas
    costs = np.where(actions == 0, 1, 3).astype(np.float32)
    batch = credit.Transitions(seen, actions, costs, 0 * seen, np.ones(64, bool))
    for _ in range(300):
        import_module("credit_per_page").update(network, network, optimizer, batch, 1.0)
    assert network(torch.as_tensor(seen[:1])).tolist()[0] == pytest.approx([1.0, 3.0], abs=0.1)
    assert network.cheapest(seen[:1]).tolist() == [0]


def test_ppo_credit__a_stream_that_cost_less_than_expected__is_likelier_afterwards() -> None:
    script, credit = import_module("ppo_credit"), import_module("ssdgym.envs.rewards.credit")
    torch.manual_seed(0)
    args = script.Args(batch_size=64, epochs=8)
    actor, critic = script.Actor(3, 2, 6, 16), script.critic_of(15, 16)
    rows = torch.randn(256, 15)
    with torch.no_grad():
        actions = actor.policy(rows).sample()
        logs = actor.policy(rows).log_prob(actions)
        before = actor.policy(rows).probs.mean(0)
    seen = torch.column_stack([rows, logs]).numpy()
    costs = (actions != 2).numpy().astype("float32")  # stream 2 costs nothing, all others 1
    over = costs >= 0
    batch = credit.Transitions(seen, actions.numpy(), costs, 0 * seen, over)
    optimizers = [torch.optim.Adam(part.parameters(), 1e-2) for part in (actor, critic)]
    script.update(args, actor, critic, optimizers, batch)
    after = actor.policy(rows).probs.mean(0)
    assert after[2] > 1.2 * before[2] and after.argmax() == 2
    assert actor.cheapest(rows.numpy()).tolist().count(2) > 128


def test_credit_curves__measures_what_the_file_lacks__and_draws_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    curves, file = import_module("credit_curves"), tmp_path / "credit.tsv"
    monkeypatch.setattr(curves, "PRICES", {"zipf80": 15.0})
    for _ in range(2):  # the second time it lacks nothing
        curves.measure(3, file, tmp_path / "networks", **CREDIT)
        rows = curves.read(file)
        assert len(rows) == 6 * 20 + 6 + 1 + len(curves.credit_per_page.PLACEMENTS)
    assert len({row[:4] for row in rows}) == len(rows)
    header, *_, learned, _ = curves.table(rows)
    assert header == ["", "streams", "`zipf80`"] and learned[:2] == ["**DQN with credit**, 3 seeds", "6"]
    ends = [row.write_amplification for row in rows if row.name == "DQN" and not row.decisions]
    mean, low, high = map(float, re.findall(r"\d\.\d{3}", learned[2]))
    assert mean == pytest.approx(sum(ends) / 3, abs=6e-4) and low < mean < high
    for look in curves.LOOKS:
        assert curves.draw(rows, look, tmp_path / f"{look}.svg").stat().st_size > 10_000


def test_credit_curves__table_and_pictures_show_what_the_file_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    curves = import_module("credit_curves")
    file, table = tmp_path / "credit.tsv", tmp_path / "table.csv"
    file.write_bytes(curves.FILE.read_bytes())
    monkeypatch.setattr(sys, "argv", ["credit_curves.py", f"--file={file}", f"--table={table}"])
    curves.main()
    shown = {table: curves.TABLE}
    shown |= {
        tmp_path / f"credit-{look}.svg": curves.FILE.with_name(f"credit-{look}.svg") for look in curves.LOOKS
    }
    for drawn, path in shown.items():
        assert drawn.read_bytes() == path.read_bytes() or not PINNED, "draw it again: make figures"


def test_search_settings__does_what_the_file_lacks__and_draws_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script, file = import_module("search_settings"), tmp_path / "settings.tsv"
    small = {"N_ENVS": 2, "CLONED": 64, "DECISIONS": 64, "UNSEEN": range(2), "VALIDATION": range(2, 4)}
    small["COMMON"] = {"rollout_steps": 32, "batch_decisions": 32, "epochs": 1}
    small["TASKS"] = {"SubpageRegion": script.TASKS["SubpageRegion"]._replace(horizon=96)}
    for name, value in small.items():
        monkeypatch.setattr(script, name, value)
    monkeypatch.setattr(sys, "argv", ["search_settings.py", "--trials=2", "--seeds=1", f"--file={file}"])
    for _ in range(2):  # the second time it lacks nothing
        script.main()
        rows = script.read(file)
        kinds = ["rule"] * 4 + ["random_action"] + ["trial"] * 2 + ["training"] + ["validation"] * 4
        assert [row.kind for row in rows] == kinds
    tried, (training,) = (script.of(rows, "SubpageRegion", kind) for kind in ("trial", "training"))
    assert training.name == max(tried, key=lambda row: row.mean).name
    assert len({row.name for row in tried}) == 2
    rule, main_area, region, stump, random = (row.returns for row in rows[:5])
    assert len({rule, main_area, region, stump, random}) == 5
    assert all(small < large for small, large in zip(main_area, region, strict=True))
    assert {path.name for path in tmp_path.glob("*.svg")} == {"settings-light.svg", "settings-dark.svg"}


def test_search_settings__pictures_show_what_the_file_has(tmp_path: Path) -> None:
    script = import_module("search_settings")
    for look in script.LOOKS:
        path = script.FILE.with_name(f"settings-{look}.svg")
        drawn = script.draw(script.read(script.FILE), look, tmp_path / path.name)
        assert drawn.read_bytes() == path.read_bytes() or not PINNED, "draw it again: make figures"


def test_tuned__the_tables_have_the_settings_and_results_of_today(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuned = import_module("tuned")
    monkeypatch.setattr(sys, "argv", ["tuned.py", f"--out={tmp_path}"])
    tuned.main()
    every: list[dict[str, str]] = []
    for name in ("tuned.csv", "tuned-reached.csv"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert text == (tuned.TABLES / name).read_text(encoding="utf-8"), "write it again: make figures"
        found = list(csv.DictReader(text.splitlines()))
        every = [before | row for before, row in zip(every or found, found, strict=True)]
    rows = {row["settings"]: row for row in every}
    wide = rows["`ppo-hot90-wide`"]
    assert (wide["learning rate"], wide["discount"]) == ("0.012", "0.9998")
    assert wide["best heuristic"].startswith("`cost_benefit(exponent=0.7)` 3.396")
    assert rows["`ppo_credit.py --price 15`"]["best heuristic"].startswith("`fadac(inclusive=1)`")
    shown = {row["environment"].strip("`") for row in every}
    assert shown >= {f"{name}-v0" for name in tuned.search_settings.TASKS}


def test_pretrained__a_card_says_how_far_behind_the_best_heuristic_the_agent_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script = import_module("pretrained")
    monkeypatch.setattr(script, "WORKLOADS", ("x", "y"))
    rivals = {"a": np.array([[2.0, 2.0], [2.0, 2.0]]), "b": np.array([[1.0, 2.0], [1.0, 2.0]])}
    agents = np.array([[[1.1, 2.0], [1.1, 2.0]], [[1.1, 2.4], [1.1, 2.4]]])
    measured = script.Measured(rivals, agents)
    one, both = measured.card(slice(0, 1)), measured.card(slice(None))
    assert measured.best == "b" and one["test × b"] == round(1.1**0.5, 4)
    assert one["test × b, worst"] == 1.1 and one["test × b, high"] >= one["test × b"] > 1.0
    assert both["test × b, 2 trainings"] == round((1.1**2 * 1.2) ** 0.25, 4)


def test_pretrained__cards_of_the_zoo_say_what_the_table_does() -> None:
    script = import_module("pretrained")
    with script.TABLE.open(newline="", encoding="utf-8") as file:
        rows = {row[""]: row for row in csv.DictReader(file)}
    for name in script.KINDS:
        shown = rows[f"**{name}**, 5 trainings"]["× best heuristic"]
        found = read_parts(zoo_agents()[name])[0].results
        ends = [
            found[key] for end in ("", ", low", ", high") for key in found if key.endswith(f"trainings{end}")
        ]
        assert shown == "{:.3f} [{:.3f}, {:.3f}]".format(*ends)
