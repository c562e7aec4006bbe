"""Who is whose child in the trees that docstrings draw."""

from __future__ import annotations


def binomial_acts(num_ranks: int, rank: int, sign: str) -> tuple[str, ...]:
    """What `rank` does in a binomial tree: `+3`, `to 0`, `from 0`, `to 3`."""
    below = rank & -rank or 1 << (num_ranks - 1).bit_length()
    steps = (1 << turn for turn in range(below.bit_length() - 1))
    children = [rank + by for by in steps if rank + by < num_ranks]
    added = f"{sign}{' '.join(map(str, children))}"
    told = f"to {' '.join(map(str, reversed(children)))}"
    parent = (f"to {rank - below}", f"from {rank - below}") if rank else ()
    return (added, *parent, told) if children else parent


def binary_links(num_ranks: int, rank: int, tree: int, sign: str) -> str:
    """Whom `rank` adds and whom it tells in a binary tree: `+1 3 to 0`.

    In tree 1 every rank has the place that the next one has in tree 0.
    """
    place = (rank + tree) % num_ranks
    ranks = [(one + num_ranks - tree) % num_ranks for one in range(num_ranks)]
    children = [str(ranks[one]) for one in binary_children(num_ranks, place)]
    words = [f"{sign}{' '.join(children)}"] if children else []
    if place:
        words.append(f"to {ranks[_parent(num_ranks, place)]}")
    return " ".join(words)


def binary_children(num_ranks: int, place: int) -> list[int]:
    """The places below `place`, in the order in which it combines them."""
    others = (one for one in range(1, num_ranks) if _parent(num_ranks, one) == place)
    return sorted(others, key=lambda one: (abs(one - place), one))


def _parent(num_ranks: int, place: int) -> int:
    """`place` is an odd multiple of `by`: its parent is that far on, or back."""
    by = place & -place
    on = place + by
    return on if on % (4 * by) and on < num_ranks else place - by
