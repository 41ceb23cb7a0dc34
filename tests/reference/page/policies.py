"""The victim policies of docs/engine.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, sqrt

from ..erase_sets import Pair, best_sets, invalid_in_set, valid_in_set, whole
from ..flash import UNMAPPED
from ..placements.lives import Oracle
from ..placements.midas import Midas
from ..randomness import POLICY_STREAM, TRIES, below, draw, mix
from .device import Device

__all__ = [
    "Policy",
    "below",
    "best_set",
    "chain",
    "cost_benefit",
    "d_choices",
    "draw",
    "fifo",
    "future_benefit",
    "greedy",
    "ippbe",
    "mix",
    "parallel_gc",
    "random_victim",
    "rate_benefit",
    "windowed_greedy",
]

Policy = Callable[[Device, int], list[Pair]]


def _whole(device: Device, block: int) -> list[Pair]:
    return [(block, whole(device.config))]


def _eligible(device: Device, blocks: Sequence[int]) -> list[int]:
    return [block for block in blocks if device.is_eligible(block)]


def _random_eligible(device: Device, plane: int, first_draw: int) -> int:
    """An eligible block by the draws `first_draw` to `first_draw + 64`."""
    blocks = device.blocks_of_plane(plane)

    def drawn(k: int) -> int:
        z = draw(device.config.seed, POLICY_STREAM, device.rounds_started, first_draw + k)
        return below(len(blocks), z)

    for k in range(TRIES):
        if device.is_eligible(blocks[drawn(k)]):
            return blocks[drawn(k)]
    start = drawn(TRIES)
    return _eligible(device, [*blocks[start:], *blocks[:start]])[0]


def random_victim(device: Device, plane: int) -> list[Pair]:
    return _whole(device, _random_eligible(device, plane, 0))


def fifo(device: Device, plane: int) -> list[Pair]:
    return _whole(device, _eligible(device, device.ages[plane])[0])


def greedy(device: Device, plane: int) -> list[Pair]:
    fullest = [bucket for bucket in device.buckets[plane] if bucket][-1]
    return _whole(device, fullest[0])


def d_choices(d: int) -> Policy:
    def policy(device: Device, plane: int) -> list[Pair]:
        blocks = [_random_eligible(device, plane, (TRIES + 1) * j) for j in range(d)]
        return _whole(device, max(blocks, key=device.invalid_in_block))

    return policy


def windowed_greedy(w: int) -> Policy:
    def policy(device: Device, plane: int) -> list[Pair]:
        blocks = _eligible(device, device.ages[plane][:w])
        if not blocks:
            return fifo(device, plane)
        return _whole(device, max(blocks, key=device.invalid_in_block))

    return policy


def cost_benefit(exponent: float, since_close: bool) -> Policy:
    def policy(device: Device, plane: int) -> list[Pair]:
        def score(block: int) -> float:
            since = device.closed_at[block] if since_close else device.invalidated_at[block]
            age = float(device.clock - since + 1)
            valid = device.valid_in_block(block)
            return age**exponent * device.invalid_in_block(block) / (2 * valid) if valid else inf

        return _whole(device, max(_eligible(device, device.blocks_of_plane(plane)), key=score))

    return policy


def _by_known_future(benefit: Callable[[Device, Oracle, list[int], int], float]) -> Policy:
    """Of the bounds: the block of the largest benefit, by its valid pages and its number of invalid ones."""

    def policy(device: Device, plane: int) -> list[Pair]:
        rule = device.rule
        assert isinstance(rule, Oracle)

        def score(block: int) -> float:
            held = [lpn for lpn, page in enumerate(device.logical) if page.ppn != UNMAPPED]
            valid = [lpn for lpn in held if device.block_of_page(device.logical[lpn].ppn) == block]
            return benefit(device, rule, valid, device.invalid_in_block(block)) if valid else inf

        return _whole(device, max(_eligible(device, device.blocks_of_plane(plane)), key=score))

    return policy


@_by_known_future
def future_benefit(device: Device, rule: Oracle, valid: list[int], invalid: int) -> float:
    """Cost-benefit by how long the valid pages still live."""
    life = sum(rule.dies_at[lpn] for lpn in valid) / len(valid) - device.clock
    return invalid / len(valid) * max(life, 0.0)


@_by_known_future
def rate_benefit(device: Device, rule: Oracle, valid: list[int], invalid: int) -> float:
    """Cost-benefit by the writes of the valid pages in the whole run."""
    writes = sum(rule.writes.get(lpn, 0) for lpn in valid)
    return invalid / len(valid) * sqrt(len(valid) / writes) if writes else inf


def chain(device: Device, plane: int) -> list[Pair]:
    """Of MiDAS: the oldest block of the first group over its size, else cost-benefit within the last one."""
    rule = device.rule
    assert isinstance(rule, Midas)
    last, first = int(rule.memory.last), 0
    if last > 1:
        passed_on: list[int] = []
        for group in range(last):
            members, passed_on = [*rule.members(plane, group), *passed_on], []
            while len(members) > rule.memory.limit[group]:
                oldest = members.pop(0)
                if _eligible(device, [oldest]):
                    return _whole(device, oldest)
                passed_on.append(oldest)
        first = last

    def score(block: int) -> float:
        age = float(device.clock - device.closed_at[block] + 1)
        valid = device.valid_in_block(block)
        return sqrt(age) * device.invalid_in_block(block) / (2 * valid) if valid else inf

    eligible = _eligible(device, device.blocks_of_plane(plane))
    of_last = [block for block in eligible if rule.blocks[block].group >= first]
    return _whole(device, max(of_last or eligible, key=score))


def best_set(device: Device, plane: int) -> list[Pair]:
    """`gsm` on devices that erase runs of sub-blocks, `pb` on those that erase any set of them."""
    choice = best_sets(device, device.ages[plane])[:1]
    return choice if device.objection(plane, choice) is None else greedy(device, plane)


def parallel_gc(device: Device, plane: int) -> list[Pair]:
    """The same block of every plane of the die, as far as that is legal."""
    chosen = greedy(device, plane)
    number = device.number_in_plane(chosen[0][0])
    for sibling in device.siblings(plane):
        longer = chosen + _whole(device, device.blocks_of_plane(sibling)[number])
        if device.objection(plane, longer) is None:
            chosen = longer
    return chosen


def ippbe(limit: int, tau: float, together: bool = False) -> Policy:
    """With `together` a unit is heavy by the pages of all that are chosen with it."""

    def with_more(device: Device, plane: int, chosen: list[Pair], pairs: list[Pair], most: int) -> list[Pair]:
        """Add up to `most` of the pairs, of blocks not chosen yet; the first illegal or heavy one ends it."""
        added: list[Pair] = []
        for pair in pairs:
            all_so_far = chosen + added
            if pair[0] in [block for block, _ in all_so_far]:
                continue
            heavy = not _are_sparse(device, [*(all_so_far if together else []), pair], tau)
            if len(added) == most or heavy or device.objection(plane, [*all_so_far, pair]) is not None:
                break
            added.append(pair)
        return chosen + added

    def policy(device: Device, plane: int) -> list[Pair]:
        first, *others = _units(device, plane)
        if device.objection(plane, [first]) is not None:
            return greedy(device, plane)
        led = with_more(device, plane, [first], others, limit - 1)
        chosen = led
        for sibling in device.siblings(plane) if device.config.multi_plane != "none" else []:
            if device.config.multi_plane == "strict":
                for pair in _partners(device, led, sibling):
                    chosen = with_more(device, plane, chosen, [pair], 1)
            else:
                chosen = with_more(device, plane, chosen, _units(device, sibling), limit)
        return chosen

    return policy


def _partners(device: Device, led: list[Pair], sibling: int) -> list[Pair]:
    """Of the blocks of a sibling with the numbers of those led, the unit with most invalid pages of each."""
    units = _units(device, sibling)
    found = []
    for block, _ in led:
        partner = device.blocks_of_plane(sibling)[device.number_in_plane(block)]
        found += [pair for pair in units if pair[0] == partner][:1]
    return found


def _units(device: Device, plane: int) -> list[Pair]:
    """What `ippbe` chooses from, each with an invalid page, those with most of them first."""
    if device.config.erase_unit != "sub_block_set":
        fullest_first = [block for bucket in reversed(device.buckets[plane]) for block in bucket]
        return [(block, whole(device.config)) for block in fullest_first if device.is_eligible(block)]
    pairs = [(b, 1 << bit) for b in device.ages[plane] for bit in range(device.config.sub_blocks_per_block)]
    with_invalid = [pair for pair in pairs if invalid_in_set(device, *pair) > 0]
    return sorted(with_invalid, key=lambda pair: (-invalid_in_set(device, *pair), pair))


def _are_sparse(device: Device, pairs: list[Pair], tau: float) -> bool:
    """Do the units hold fewer valid pages than the share `tau` of their pages?"""
    sub_blocks = sum(mask.bit_count() for _, mask in pairs)
    valid = sum(valid_in_set(device, block, mask) for block, mask in pairs)
    return valid < tau * sub_blocks * device.config.pages_per_sub_block
