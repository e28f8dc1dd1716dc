"""Which texts go through an encoder together."""

from collections.abc import Iterator, Sequence


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


def equal_batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield rows of one length together.

    Without padding a text gets the same vector whatever company it is in, to the last bit; with padding sums are taken in
    another order, and in 8 bits a rounding may then fall the other way. So queries of one moment are batched like this.
    """
    by_length: dict[int, list[int]] = {}
    for row, length in enumerate(lengths):
        by_length.setdefault(length, []).append(row)
    yield from by_length.values()
