"""Averages and distances of LoRA products B A, computed from the factors without forming the product."""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor


def factor_pairs(names: Mapping[str, Tensor] | Iterable[str]) -> list[tuple[str, str]]:
    """Return the (A, B) name pairs of the LoRA factors among parameter names."""
    known = set(names)
    pairs = [(name, name.replace("lora_A", "lora_B")) for name in names if "lora_A" in name]
    return [(a, b) for a, b in pairs if b in known]


def average_products(
    old_b: Tensor, old_a: Tensor, new_b: Tensor, new_a: Tensor, *, decay: float, rank: int
) -> tuple[Tensor, Tensor, float]:
    """Average two LoRA products and factor the result at `rank`.

    decay old_b old_a + (1 - decay) new_b new_a has rank at most the sum of both; the best approximation of rank `rank`
    (Eckart-Young) comes from a QR of the stacked factors and an SVD of their small core.

    Args:
        old_b: (out, R) with old_a (R, in), the teacher's factors.
        new_b: (out, r) with new_a (r, in), the student's factors.
        decay: Share of the old product, in [0, 1].
        rank: Rank of the result.

    Returns:
        B (out, rank), A (rank, in), and the relative Frobenius error of their product.
    """
    left = torch.cat([old_b * decay, new_b * (1 - decay)], dim=1).double()
    right = torch.cat([old_a, new_a], dim=0).double()
    left_basis, left_core = torch.linalg.qr(left)
    right_basis, right_core = torch.linalg.qr(right.T)
    u, singular, vh = torch.linalg.svd(left_core @ right_core.T, full_matrices=False)
    kept = min(rank, len(singular))
    root = singular[:kept].sqrt()
    b = left.new_zeros(left.shape[0], rank)
    a = left.new_zeros(rank, right.shape[1])
    b[:, :kept] = left_basis @ (u[:, :kept] * root)
    a[:kept] = (root[:, None] * vh[:kept]) @ right_basis.T
    total = float(singular.square().sum())
    error = (float(singular[kept:].square().sum()) / total) ** 0.5 if total else 0.0
    return b.to(old_b.dtype), a.to(old_a.dtype), error


def factors_error(terms: list[tuple[Tensor, Tensor, float]], b: Tensor, a: Tensor, *, absolute: bool = False) -> float:
    """Return ||B A - sum_i c_i B_i A_i||_F, relative to the norm of the sum unless `absolute`.

    Args:
        terms: Triples (B_i, A_i, c_i).
        b: (out, r).
        a: (r, in).
        absolute: Return the norm itself.
    """
    difference = _product_norm([b, *(-c * b_i for b_i, _, c in terms)], [a, *(a_i for _, a_i, _ in terms)])
    if absolute:
        return difference
    exact = _product_norm([c * b_i for b_i, _, c in terms], [a_i for _, a_i, _ in terms])
    return difference / exact if exact else float(difference > 0)


def _product_norm(lefts: list[Tensor], rights: list[Tensor]) -> float:
    """Frobenius norm of [B_1 B_2 ...] [A_1; A_2; ...], through the triangular factors of both sides."""
    left_core = torch.linalg.qr(torch.cat(lefts, dim=1).double(), mode="r").R
    right_core = torch.linalg.qr(torch.cat(rights, dim=0).double().T, mode="r").R
    return float((left_core @ right_core.T).norm())
