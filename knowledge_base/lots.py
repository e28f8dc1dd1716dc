"""Draws by name: a fact added later changes only the draws that bear its own name."""

from hashlib import blake2b
from statistics import NormalDist

import numpy as np

_STANDARD_NORMAL = NormalDist()


class Lots:
    """One random number a name, all from a single draw of the generator."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._key = int(rng.integers(2**62)).to_bytes(8, "big")

    def uniform(self, name: str) -> float:
        """Return the name's number, strictly between 0 and 1."""
        digest = blake2b(name.encode(), digest_size=6, key=self._key).digest()
        return (int.from_bytes(digest, "big") + 0.5) / 2**48

    def normal(self, name: str) -> float:
        """Return the name's number on the standard normal scale."""
        return _STANDARD_NORMAL.inv_cdf(self.uniform(name))
