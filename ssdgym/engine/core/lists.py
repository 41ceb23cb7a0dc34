"""Lists threaded through records: doubly linked lists and queues, each written once for any fields."""

from __future__ import annotations

from typing import Any

from ssdgym.engine.core.kernel import inlined


def list_verbs(head: str, tail: str, following: str, previous: str) -> tuple[Any, Any]:
    """Make the kernels of a doubly linked list; every operation is O(1).

    Args:
        head: field of the record that holds the list: its first item, -1 for none.
        tail: its last item.
        following: field of an item: the one behind it.
        previous: the one before it.

    Returns:
        (append, remove), both called with the items, the record that holds the list, and a number of an item.
    """

    @inlined
    def append(items, holder, number):
        last = holder[tail]
        items[number][previous] = last
        items[number][following] = -1
        if last >= 0:
            items[last][following] = number
        else:
            holder[head] = number
        holder[tail] = number

    @inlined
    def remove(items, holder, number):
        before = items[number][previous]
        after = items[number][following]
        if before >= 0:
            items[before][following] = after
        else:
            holder[head] = after
        if after >= 0:
            items[after][previous] = before
        else:
            holder[tail] = before

    return append, remove


def queue_verbs(head: str, tail: str, following: str) -> tuple[Any, Any]:
    """Make the kernels of a queue.

    Args:
        head: field of the record that holds the queue: its first item, -1 for none.
        tail: its last item.
        following: field of an item: the one behind it.

    Returns:
        (push, pop): push is called with the items, the record that holds the queue, and a number of an item;
        pop with the items and that record of a queue that is not empty, and returns the number of its head.
    """

    @inlined
    def push(items, holder, number):
        items[number][following] = -1
        if holder[head] < 0:
            holder[head] = number
        else:
            items[holder[tail]][following] = number
        holder[tail] = number

    @inlined
    def pop(items, holder):
        number = holder[head]
        holder[head] = items[number][following]
        return number

    return push, pop
