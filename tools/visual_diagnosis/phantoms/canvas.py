"""What every phantom is drawn with: soft shapes, texture, colour."""

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from healthgym.errors import ContentError

Field = npt.NDArray[np.float64]
Pixels = npt.NDArray[np.uint8]
Colour = tuple[float, float, float]


def grid(height: int, width: int) -> tuple[Field, Field]:
    """Return row and column of every pixel, each (height, width)."""
    y, x = np.mgrid[0:height, 0:width]
    return y.astype(float), x.astype(float)


def ramp(distance: Field, edge_px: float = 1.0) -> Field:
    """Return 1 where a signed distance is well below 0, 0 well above, 0.5 at 0, linear over `edge_px`."""
    return np.clip(0.5 - distance / edge_px, 0.0, 1.0)


def ellipse(
    y: Field,
    x: Field,
    centre: tuple[float, float],
    radii: tuple[float, float],
    *,
    turn: float = 0.0,
    edge_px: float = 1.5,
) -> Field:
    """Return the coverage in [0, 1] of an ellipse.

    Args:
        y: Rows.
        x: Columns.
        centre: Row and column.
        radii: Half-axes in px, along rows and along columns before the turn.
        turn: Radians.
        edge_px: Width of the soft edge.
    """
    dy, dx = y - centre[0], x - centre[1]
    u, v = dy * np.cos(turn) - dx * np.sin(turn), dy * np.sin(turn) + dx * np.cos(turn)
    return ramp((np.hypot(u / radii[0], v / radii[1]) - 1.0) * min(radii), edge_px)


def polyline(y: Field, x: Field, points: npt.NDArray[np.float64], width_px: float) -> Field:
    """Return the coverage of a line through `points`, (n, 2) rows and columns."""
    nearest = np.full(y.shape, np.inf)
    reach = width_px / 2 + 1
    for (y0, x0), (y1, x1) in pairwise(points):
        rows = slice(max(0, int(min(y0, y1) - reach)), max(0, int(max(y0, y1) + reach) + 2))
        columns = slice(max(0, int(min(x0, x1) - reach)), max(0, int(max(x0, x1) + reach) + 2))
        v, u, part = y[rows, columns], x[rows, columns], nearest[rows, columns]
        length = (y1 - y0) ** 2 + (x1 - x0) ** 2
        along = np.clip(((v - y0) * (y1 - y0) + (u - x0) * (x1 - x0)) / max(length, 1e-9), 0.0, 1.0)
        np.minimum(part, np.hypot(v - y0 - along * (y1 - y0), u - x0 - along * (x1 - x0)), out=part)
    return ramp(nearest - width_px / 2)


def blur(field: Field, sigma_px: float) -> Field:
    """Return the field after a Gaussian of `sigma_px`, with wrapped edges."""
    frequency_y = np.fft.fftfreq(field.shape[0])[:, None]
    frequency_x = np.fft.rfftfreq(field.shape[1])[None, :]
    gain = np.exp(-2 * (np.pi * sigma_px) ** 2 * (frequency_y**2 + frequency_x**2))
    return np.fft.irfft2(np.fft.rfft2(field) * gain, s=field.shape)


def texture(rng: np.random.Generator, shape: tuple[int, int], sigma_px: float, amount: float) -> Field:
    """Return smooth noise of standard deviation `amount`."""
    noise = blur(rng.standard_normal(shape), sigma_px)
    return noise * (amount / noise.std())


def paint(image: Field, cover: Field, colour: Colour) -> None:
    """Lay a colour over (h, w, 3) `image` in place where `cover` is above 0."""
    image += cover[..., None] * (np.array(colour) - image)


def finish(image: Field) -> Pixels:
    """Return the image as read-only uint8."""
    pixels = np.clip(np.rint(image), 0, 255).astype(np.uint8)
    pixels.setflags(write=False)
    return pixels


def scatter(
    rng: np.random.Generator,
    count: int,
    low: tuple[float, float],
    high: tuple[float, float],
    gap_px: float,
    taken: list[tuple[float, float]],
    allowed: npt.NDArray[np.bool_] | None = None,
) -> list[tuple[float, float]]:
    """Return `count` centres at least `gap_px` from each other and from `taken`, which grows.

    Args:
        rng: Randomness.
        count: How many are wanted.
        low: Smallest row and column.
        high: Largest row and column.
        gap_px: Least distance between centres.
        taken: Centres already used.
        allowed: Mask of where a centre may lie; anywhere when None.

    Raises:
        ContentError: There is no room for so many; what is drawn must be what the chart says.
    """
    found: list[tuple[float, float]] = []
    for _ in range(count * 400):
        if len(found) == count:
            break
        spot = (float(rng.uniform(low[0], high[0])), float(rng.uniform(low[1], high[1])))
        if allowed is not None and not allowed[int(spot[0]), int(spot[1])]:
            continue
        if all((spot[0] - other[0]) ** 2 + (spot[1] - other[1]) ** 2 >= gap_px**2 for other in taken):
            found.append(spot)
            taken.append(spot)
    if len(found) < count:
        raise ContentError(f"a phantom has room for {len(found)} of {count} things, {gap_px:g} px apart; draw fewer")
    return found
