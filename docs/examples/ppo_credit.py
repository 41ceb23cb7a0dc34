"""PPO with credit for each page, in the style of CleanRL: learn where to write, from scratch.

`python ppo_credit.py --workload zipf80 --price 15` ends with a table of the network and of placements on the
same device and seeds. Environment, network and test are those of the DQN in `credit_per_page.py`.
Comments that begin with "Here" name what learning from credit needs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from credit_per_page import Args as Shared
from credit_per_page import Curve, QNetwork, arguments, compare, make, seen
from torch import Tensor, nn
from torch.distributions import Categorical

from ssdgym.envs.rewards.credit import CreditBuffer, Transitions


@dataclass
class Args(Shared):
    """The settings of a run; each is an option of the command line. Settings of DQN alone have no effect."""

    total_steps: int = 20_000  # steps; each has a decision in every environment
    num_steps: int = 512  # steps between two updates
    epochs: int = 3
    batch_size: int = 1024
    learning_rate: float = 2e-3  # at the start; it falls to zero
    clip: float = 0.5
    max_gradient: float = 0.5


class Actor(QNetwork):
    """A policy that is the softmax of negated costs, so that `cheapest` takes the most likely stream."""

    def policy(self, rows: Tensor) -> Categorical:
        """Return the distribution over streams at rows (n, page + streams * stream)."""
        return Categorical(logits=-self(rows), validate_args=False)


def critic_of(width: int, hidden: int) -> nn.Module:
    """Return a network that estimates the cost of a page from a decision on."""
    layers = (nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))
    return nn.Sequential(*layers, nn.Flatten(0))


def train(args: Args) -> tuple[Actor, Curve]:
    """Train; return the network and the learning curve."""
    torch.manual_seed(args.seed)
    # Here: a single endless episode, in the states that the network itself causes.
    envs = make(args, args.num_envs, horizon=1 << 24, credit=args.price)
    observation, infos = envs.reset(seed=1000 * args.seed)
    actor = Actor(
        observation["context"].shape[1], observation["candidates"].shape[2], args.streams, args.hidden
    )
    rows = seen(observation)
    critic = critic_of(rows.shape[1], args.hidden)
    # Here: each network has its own optimizer, since costs, and so the errors of the critic, may be large.
    optimizers = [torch.optim.Adam(one.parameters(), args.learning_rate, eps=1e-5) for one in (actor, critic)]
    # Here: a decision is learned from once its cost is known; until then its probability is stored, too.
    buffer, learned = CreditBuffer(args.buffer_size, (rows.shape[1] + 1,)), 0
    curve = Curve(args)
    for step in range(1, args.total_steps + 1):
        # 1. Draw a decision in every environment.
        with torch.no_grad():
            policy = actor.policy(torch.as_tensor(rows, dtype=torch.float32))
            actions = policy.sample()
            logs = policy.log_prob(actions)
        buffer.note(infos, np.column_stack([rows, logs.numpy()]), actions.numpy())
        observation, _, _, _, infos = envs.step(actions.numpy())
        # 2. Here: join known costs of earlier decisions, and the next decisions on their pages.
        buffer.join(infos)
        rows = seen(observation)
        # 3. Learn once from each decision whose cost has become known, even if an older policy has taken it.
        if step % args.num_steps == 0 and buffer.joined >= args.learning_starts:
            for optimizer in optimizers:
                optimizer.param_groups[0]["lr"] = args.learning_rate * (1 - step / args.total_steps)
            update(args, actor, critic, optimizers, buffer.newest(buffer.joined - learned))
            learned = buffer.joined
        curve.note(step, infos)
    return actor, curve


def update(
    args: Args,
    actor: Actor,
    critic: nn.Module,
    optimizers: list[torch.optim.Adam],
    batch: Transitions,
) -> None:
    """Raise the probability of decisions that cost less than the critic expected."""
    # Here: an invalid page among long-lived pages may wait very long for its erase; clip such outliers.
    batch = batch._replace(costs=batch.costs.clip(max=5))
    rows, before = torch.as_tensor(batch.seen[:, :-1]), torch.as_tensor(batch.seen[:, -1])
    actions = torch.as_tensor(batch.actions)
    with torch.no_grad():
        values, following = critic(rows).numpy(), critic(torch.as_tensor(batch.following[:, :-1])).numpy()
    gains = values - batch.costs - args.gamma * np.where(batch.done, 0, following.clip(min=0))
    gained, wanted = torch.as_tensor(gains), torch.as_tensor(values - gains)
    gained = (gained - gained.mean()) / (gained.std() + 1e-8)
    for _ in range(args.epochs):
        for chosen in torch.randperm(len(rows)).split(args.batch_size):
            policy = actor.policy(rows[chosen])
            # Here: clip around the policy that drew the decision; it is older by the life of the page's copy.
            # With clips around the present policy, a run on zipf80 ended at the level of random streams.
            ratio = (policy.log_prob(actions[chosen]) - before[chosen]).exp()
            clipped = ratio.clamp(1 - args.clip, 1 + args.clip)
            loss = -torch.min(ratio * gained[chosen], clipped * gained[chosen]).mean()
            loss = loss + nn.functional.mse_loss(critic(rows[chosen]), wanted[chosen])
            loss.backward()
            for part, optimizer in zip((actor, critic), optimizers, strict=True):
                nn.utils.clip_grad_norm_(part.parameters(), args.max_gradient)
                optimizer.step()
                optimizer.zero_grad()


def main() -> None:
    """Train and compare."""
    args = arguments(Args, __doc__)
    compare(args, "PPO", train(args)[0])


if __name__ == "__main__":
    main()
