"""Measurements on pixels, one module a kind of image. Nothing here knows how a phantom was drawn."""
