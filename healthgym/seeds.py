"""Seeds that come from what they are for, so that nothing is seeded by an order of events."""

from hashlib import blake2b


def mix_seed(*parts: int | str, bits: int = 63) -> int:
    """Return a seed that depends on every part, the same on every platform.

    Args:
        parts: What the seed is for; the order counts.
        bits: Size of the seed, at most 64; generators that take 32-bit integers want 31.
    """
    digest = blake2b("/".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> (64 - bits)
