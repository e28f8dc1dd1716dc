"""Runs inside vLLM's workers: takes weights from a folder, and says which ones are served."""

from pathlib import Path
from typing import Any

from healthgym.rollout.weight_folder import read_weights
from healthgym.rollout.weights import combined, tensor_digest


class WeightsExtension:
    """Methods that vLLM adds to its worker class (`worker_extension_cls`) and that `collective_rpc` calls by name."""

    model_runner: Any
    reload_weights: Any

    def load_healthgym_weights(self, folder: str, version: str) -> dict[str, str]:
        """Replace the weights by those of a published version and return what is served now.

        Args:
            folder: A version of a `WeightFolder`.
            version: The trainer's fingerprint of them, reported by `healthgym_weights` from now on.
        """
        seen: list[str] = []

        def watched() -> Any:
            for name, tensor in read_weights(Path(folder)):
                seen.append(tensor_digest(name, tensor))
                yield name, tensor

        self.reload_weights(weights_iterator=watched())
        repack(self.model_runner.get_model())
        self._healthgym = {"version": version, "received": combined(seen)}
        return self._healthgym

    def healthgym_weights(self) -> dict[str, str]:
        """Return the version last loaded; empty strings when the engine still serves what it started with."""
        return getattr(self, "_healthgym", {"version": "", "received": ""})


def repack(model: Any) -> None:
    """Renew the packed copies that CPU kernels read, where the weight itself is kept as well.

    A head that shares the embedding's weight is such a layer: reloading writes the embedding and leaves the packed
    copy as it was. On other devices there is no packed copy and nothing to do.
    """
    stale = [
        module
        for module in model.modules()
        if hasattr(module, "cpu_linear") and getattr(module, "weight", None) is not None and module.weight.numel()
    ]
    if stale:
        from vllm.model_executor.layers.utils import dispatch_cpu_unquantized_gemm

        for module in stale:
            dispatch_cpu_unquantized_gemm(module, remove_weight=False)
