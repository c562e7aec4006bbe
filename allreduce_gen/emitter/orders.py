"""In which order contributions are combined, as the expression of an element.

`x2` is rank 2's element. Only algorithms whose order no sentence says are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence

from allreduce_gen.spec import Algorithm, AllReduceSpec

from .trees import binary_children


def reduction_orders(
    spec: AllReduceSpec, sign: str, *, core: int, groups: int
) -> tuple[str, ...]:
    """`(x0 + x1) + (x2 + x3)`, once for each part of the vector that has its own.

    Ranks from `core` on are folded into the first ones; there are `groups` groups.
    """
    ranks = _fold([f"x{rank}" for rank in range(spec.num_ranks)], core, sign)
    match spec.algorithm:
        case Algorithm.RECURSIVE_DOUBLING | Algorithm.TREE:
            return (_neighbours(ranks, sign),)
        case Algorithm.HALVING_DOUBLING:
            return (_halves(ranks, sign),)
        case Algorithm.HIERARCHICAL:
            members = core // groups
            parts = [ranks[at : at + members] for at in range(0, core, members)]
            return (_chain([_chain(part, sign) for part in parts], sign),)
        case Algorithm.DOUBLE_TREE:
            return tuple(
                _tree([*ranks[-tree:], *ranks[:-tree]] if tree else ranks, 0, sign)
                for tree in (0, 1)
            )
        case _:
            return ()


def _chain(parts: Sequence[str], sign: str) -> str:
    """One after another; what is already an expression has brackets."""
    if len(parts) == 1:
        return parts[0]
    return f" {sign} ".join(f"({one})" if " " in one else one for one in parts)


def _fold(ranks: list[str], core: int, sign: str) -> list[str]:
    folded = ranks[core:]
    pairs = [_chain(pair, sign) for pair in zip(ranks, folded, strict=False)]
    return [*pairs, *ranks[len(folded) : core]]


def _neighbours(ranks: list[str], sign: str) -> str:
    """Neighbours first, then pairs of them, and so on."""
    while len(ranks) > 1:
        ranks = [_chain(ranks[at : at + 2], sign) for at in range(0, len(ranks), 2)]
    return ranks[0]


def _halves(ranks: list[str], sign: str) -> str:
    """Who is half of all apart first, neighbours last."""
    while half := len(ranks) // 2:
        pairs = zip(ranks[:half], ranks[half:], strict=True)
        ranks = [_chain(pair, sign) for pair in pairs]
    return ranks[0]


def _tree(ranks: list[str], place: int, sign: str) -> str:
    """A place's own elements, then what its children have, the nearest one's first."""
    children = binary_children(len(ranks), place)
    return _chain(
        [ranks[place], *(_tree(ranks, child, sign) for child in children)], sign
    )
