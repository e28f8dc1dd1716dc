"""Measures a one-lead ECG strip on millimetre paper: beats, intervals, P waves."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from healthgym.errors import ToolError

from .libraries import ndimage

MM_PER_S, MM_PER_MV = 25.0, 10.0
Signal = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Trace:
    """The curve read off the paper, by column.

    mv: voltage from the baseline. extent_px: rows that the ink covers. line_px: their median. r_columns: columns of R waves.
    """

    mv: Signal
    extent_px: Signal
    line_px: float
    r_columns: npt.NDArray[np.int64]
    ms_per_px: float


def read_trace(pixels: npt.NDArray[np.uint8], mm_per_px: float) -> Trace:
    """Follow the ink. Raises ToolError when there is no continuous dark curve with at least three R waves."""
    image = pixels.astype(float)
    ink = np.clip((190.0 - (image if image.ndim == 2 else image.max(2))) / 120.0, 0.0, 1.0)
    weight = ink.sum(0)
    if (weight < 0.3).mean() > 0.05:
        raise ToolError("No continuous curve could be followed on this image. View it instead.")
    rows = np.arange(ink.shape[0])[:, None]
    centre = (ink * rows).sum(0) / np.maximum(weight, 1e-9)
    dark = ink > 0.5
    top = dark.argmax(0)
    bottom = ink.shape[0] - 1 - dark[::-1].argmax(0)
    base = float(np.median(centre))
    is_steep = (bottom - top) > 4
    value = np.where(is_steep, np.where(base - top >= bottom - base, top, bottom), centre)
    base_line = ndimage().median_filter(centre, size=121, mode="nearest")
    mv = (base_line - value) * mm_per_px / MM_PER_MV
    extent = (bottom - top + 1).astype(float)
    return Trace(mv, extent, float(np.median(extent)), _r_waves(mv), 1000 * mm_per_px / MM_PER_S)


def _r_waves(mv: Signal) -> npt.NDArray[np.int64]:
    """Return the columns of the tallest narrow peaks."""
    level = 0.55 * float(np.percentile(mv, 99.3))
    above = mv > max(level, 0.25)
    labels, count = ndimage().label(above)
    peaks = [int(np.nonzero(labels == i)[0][mv[labels == i].argmax()]) for i in range(1, count + 1)]
    kept: list[int] = []
    for peak in peaks:
        if kept and peak - kept[-1] < 20:
            kept[-1] = max(kept[-1], peak, key=lambda column: mv[column])
        elif 3 <= peak < len(mv) - 3:
            kept.append(peak)
    if len(kept) < 3:
        raise ToolError("Fewer than three R waves were found on this image. View it instead.")
    return np.array(kept)


def rhythm(pixels: npt.NDArray[np.uint8], mm_per_px: float) -> dict[str, float]:
    """Return rate_per_min, rr_ms (mean), rr_spread (standard deviation over mean) and p_share, of beats led by a P wave."""
    trace = read_trace(pixels, mm_per_px)
    rr = np.diff(trace.r_columns) * trace.ms_per_px
    found = [_p_onset(trace, before, r) for before, r in pairwise(trace.r_columns)]
    return {
        "rate_per_min": float(60_000 / rr.mean()),
        "rr_ms": float(rr.mean()),
        "rr_spread": float(rr.std() / rr.mean()),
        "p_share": float(np.mean([item is not None for item in found])) if found else 0.0,
    }


def intervals(pixels: npt.NDArray[np.uint8], mm_per_px: float) -> dict[str, float | None]:
    """Return pr_ms, qrs_ms and qt_ms, medians over beats; P onset and T end by tangent, pr_ms None without P waves.

    Source: tangent method, Lepeschkin and Surawicz, Circulation 1952;6:378.
    """
    trace = read_trace(pixels, mm_per_px)
    widths, qts, prs = [], [], []
    for r in trace.r_columns:
        onset = _onset(trace, r)
        if onset > 3:
            end = _end(trace, r)
            widths.append(end - onset)
            t_end = _t_end(trace, r, end)
            if t_end is not None:
                qts.append(t_end - onset)
    for before, r in pairwise(trace.r_columns):
        p = _p_onset(trace, before, r)
        if p is not None:
            prs.append(_onset(trace, r) - p)
    if not qts:
        raise ToolError("No whole beat with a T wave was found on this image. View it instead.")
    has_p = len(prs) >= 0.6 * (len(trace.r_columns) - 1)
    return {
        "pr_ms": _median(prs) * trace.ms_per_px if has_p else None,
        "qrs_ms": _median(widths) * trace.ms_per_px,
        "qt_ms": _median(qts) * trace.ms_per_px,
    }


def _median(values: Sequence[float]) -> float:
    return float(np.median(np.array(values)))


def _walk(trace: Trace, r: int, step: int) -> float:
    """Return the column where the complex ends on one side: the last of those whose ink is higher than the line's."""
    last, column = r, r
    while 0 < column + step < len(trace.mv) - 1 and abs(column - r) < 10:
        column += step
        if trace.extent_px[column] > trace.line_px + 1.2 or abs(trace.mv[column]) > 0.075:
            last = column
        elif abs(column - last) >= 2:
            break
    return float(last)


def _onset(trace: Trace, r: int) -> float:
    return _walk(trace, r, -1) - 0.5


def _end(trace: Trace, r: int) -> float:
    return _walk(trace, r, 1) + 0.5


def _t_end(trace: Trace, r: int, end: float) -> float | None:
    """Return where the tangent at the T wave's steepest descent meets the baseline."""
    later = trace.r_columns[trace.r_columns > r]
    stop = min(int(end) + 56, (int(later[0]) - 6) if len(later) else len(trace.mv) - 4)
    start = int(end) + 3
    if stop - start < 15:
        return None
    smooth = ndimage().gaussian_filter1d(trace.mv[start : stop + 4], 1.3)
    peak = int(smooth.argmax())
    if smooth[peak] < 0.08 or peak + 6 >= len(smooth):
        return None
    slope = np.gradient(smooth)
    steepest = peak + int(slope[peak : peak + 14].argmin())
    if steepest >= len(smooth) - 2 or slope[steepest] >= -0.004:
        return None
    return start + steepest + smooth[steepest] / -float(slope[steepest])


def _p_onset(trace: Trace, before: int, r: int) -> float | None:
    """Return where the tangent at the steepest rise of the P wave between two R waves meets the baseline, if there is one."""
    onset, end = _onset(trace, r), _end(trace, before)
    t_end = _t_end(trace, before, end)
    start, stop = max(int(onset) - 42, int(end + 20 if t_end is None else t_end) + 1), int(onset) - 3
    if stop - start < 8:
        return None
    smooth = ndimage().gaussian_filter1d(trace.mv[start:stop], 1.4)
    peak = int(smooth.argmax())
    if smooth[peak] < 0.075 or peak < 4:
        return None
    slope = np.gradient(smooth)
    first = max(0, peak - 9)
    steepest = first + int(slope[first : peak + 1].argmax())
    if slope[steepest] <= 0.005:
        return None
    return start + steepest - smooth[steepest] / float(slope[steepest])
