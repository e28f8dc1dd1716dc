"""An ECG strip of one lead on millimetre paper: 25 mm/s, 10 mm/mV, 0.25 mm/px."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .canvas import Pixels, finish

WIDTH_PX, HEIGHT_PX = 640, 160
PX_PER_MM = 4
PX_PER_S = 100.0
PX_PER_MV = 40.0
BASELINE_PX = 100.0
LINE_PX = 1.8
PAPER, THIN, THICK, INK = (255.0, 240.0, 236.0), (250.0, 208.0, 204.0), (240.0, 166.0, 164.0), (24.0, 24.0, 36.0)
TANGENT = 0.25 + 1 / (2 * np.pi)
"""Where the tangent at a raised cosine's steepest point meets the baseline, from its peak, as a share of its width."""
P_WIDTH_S = 0.10
T_SHARE = 0.42
"""Width of the T wave as a share of QT."""

Signal = npt.NDArray[np.float64]


def draw(truth: Mapping[str, Any]) -> Pixels:
    """Draw a strip, (160, 640, 3).

    Args:
        truth: seed, rr_ms, qrs_ms, qt_ms (both ends by tangent), and pr_ms, or absent in atrial fibrillation; rr_spread (share
            by which RR varies), t_mv, p_mv, r_mv, noise_mv.
    """
    rng = np.random.default_rng(truth["seed"])
    image = _paper()
    at_s = np.arange(0, WIDTH_PX, 0.1) / PX_PER_S
    signal = _signal(truth, at_s, rng)
    wander = 0.02 * np.sin(2 * np.pi * 0.25 * at_s + rng.uniform(0, 6))
    y = BASELINE_PX - PX_PER_MV * (signal + wander)
    y = y.reshape(WIDTH_PX, 10)
    y += (rng.standard_normal((WIDTH_PX, 1))) * PX_PER_MV * float(truth.get("noise_mv", 0.006))
    nexts = np.concatenate([y[1:, :1], y[-1:, -1:]])
    low, high = np.minimum(y.min(1), nexts[:, 0]), np.maximum(y.max(1), nexts[:, 0])
    rows = np.arange(HEIGHT_PX)[:, None]
    ink = np.clip(np.minimum(rows - (low - LINE_PX / 2), high + LINE_PX / 2 - rows) + 0.5, 0.0, 1.0)
    image += ink[..., None] * (np.array(INK) - image)
    image += rng.standard_normal((HEIGHT_PX, WIDTH_PX, 1)) * 2.0
    return finish(image)


def _paper() -> Signal:
    image = np.empty((HEIGHT_PX, WIDTH_PX, 3))
    image[:] = PAPER
    for every, colour in ((PX_PER_MM, THIN), (5 * PX_PER_MM, THICK)):
        image[::every] = colour
        image[:, ::every] = colour
    return image


def _signal(truth: Mapping[str, Any], at_s: Signal, rng: np.random.Generator) -> Signal:
    """Return the voltage in mV."""
    signal = np.zeros_like(at_s)
    r_mv, t_mv, p_mv = (float(truth.get(name, usual)) for name, usual in (("r_mv", 1.1), ("t_mv", 0.3), ("p_mv", 0.13)))
    for onset in onsets_s(truth):
        signal += _qrs(at_s - onset, truth["qrs_ms"] / 1000, r_mv)
        t_width = T_SHARE * truth["qt_ms"] / 1000
        signal += t_mv * _bump(at_s - onset - truth["qt_ms"] / 1000 + TANGENT * t_width, t_width)
        if "pr_ms" in truth:
            signal += p_mv * _bump(at_s - (onset - truth["pr_ms"] / 1000 + TANGENT * P_WIDTH_S), P_WIDTH_S)
    if "pr_ms" not in truth:
        for rate in (5.1, 6.3, 7.9):
            signal += 0.022 * np.sin(2 * np.pi * rate * at_s + rng.uniform(0, 6))
    return signal


def onsets_s(truth: Mapping[str, Any]) -> Signal:
    """Return where QRS complexes begin, from one beat before the strip to one after it."""
    rng = np.random.default_rng([truth["seed"], 1])
    rr_s, spread = truth["rr_ms"] / 1000, float(truth.get("rr_spread", 0.0))
    count = int(np.ceil(WIDTH_PX / PX_PER_S / rr_s)) + 2
    lengths = rr_s * (1 + spread * rng.permutation(np.linspace(-1, 1, count)))
    return float(rng.uniform(0.25, 0.45)) - lengths[0] + np.concatenate([[0.0], np.cumsum(lengths)])


def _bump(from_peak_s: Signal, width_s: float) -> Signal:
    """Return a raised cosine of height 1."""
    return np.where(np.abs(from_peak_s) < width_s / 2, 0.5 + 0.5 * np.cos(2 * np.pi * from_peak_s / width_s), 0.0)


def _qrs(from_onset_s: Signal, width_s: float, r_mv: float) -> Signal:
    """Return Q, R and S as straight lines, 0 outside the complex."""
    places = np.array([0.0, 0.18, 0.45, 0.74, 1.0]) * width_s
    return np.interp(from_onset_s, places, [0.0, -0.12, r_mv, -0.25, 0.0], left=0.0, right=0.0)
