"""Which texts go through an encoder together."""

from collections.abc import Iterator, Sequence

WIDTH_STEP = 8
"""Texts are padded to multiples of this number of tokens."""


def batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Yield rows in batches, longest first, each of at most `budget` tokens when padded to its longest row."""
    batch: list[int] = []
    for row in sorted(range(len(lengths)), key=lambda row: -lengths[row]):
        if batch and (len(batch) + 1) * lengths[batch[0]] > budget:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def equal_batches(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Yield rows of one length together, at most `most` at a time.

    A text whose rows all have one length gets the same vector whatever company it is in, to the last bit: padding to another
    length would take sums in another order, and in 8 bits a rounding may then fall the other way. So queries of one moment
    are batched like this.
    """
    by_length: dict[int, list[int]] = {}
    for row, length in enumerate(lengths):
        by_length.setdefault(length, []).append(row)
    for rows in by_length.values():
        yield from (rows[start : start + most] for start in range(0, len(rows), most))


def width(length: int, longest: int) -> int:
    """Return the tokens that a text of `length` tokens is always padded to: the next multiple of 8, `longest` at most.

    Few widths make large batches of the queries of one moment, and let a runtime that prepares itself for each shape, and
    remembers that, do so seldom; a fixed one for each query keeps its vector the same in any company.
    """
    return min(-(-length // WIDTH_STEP) * WIDTH_STEP, longest)
