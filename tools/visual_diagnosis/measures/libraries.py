"""The image libraries that measuring needs, imported when first used."""

from types import ModuleType

from healthgym.errors import MissingDependency


def ndimage() -> ModuleType:
    """Return scipy.ndimage. Raises MissingDependency naming the extra."""
    try:
        from scipy import ndimage as module
    except ImportError:
        raise MissingDependency.extra("Measuring images", "images") from None
    return module  # type: ignore[no-any-return]


def skimage(part: str) -> ModuleType:
    """Return a part of scikit-image, such as "measure". Raises MissingDependency naming the extra."""
    from importlib import import_module

    try:
        return import_module(f"skimage.{part}")
    except ImportError:
        raise MissingDependency.extra("Measuring images", "images") from None
