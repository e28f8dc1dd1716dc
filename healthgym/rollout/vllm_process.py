"""The loop that runs vLLM in a process of its own: `python -m healthgym.rollout.vllm_process FD ARGUMENTS SCRATCH`.

The trainer never imports vLLM, which patches torch where it is imported, and an engine that dies leaves the trainer
alive. Weights travel through a folder, everything else through a pipe.
"""

import json
import os
import shutil
import sys
import traceback
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any

from healthgym.rollout.vllm_messages import Adapter, Failed, Generate, Reply, Served, Written


class SteppedEngine:
    """vLLM's engine, advanced one step at a time by whoever holds it.

    Args:
        arguments: Of vLLM's `EngineArgs`.
    """

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        from vllm import EngineArgs, LLMEngine

        self.engine = LLMEngine.from_engine_args(EngineArgs(**arguments))
        self._adapter: Adapter | None = None

    @property
    def is_busy(self) -> bool:
        """Whether any request is being written."""
        return self.engine.has_unfinished_requests()

    def generate(self, request: Generate) -> None:
        """Queue one turn."""
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        settings = SamplingParams(
            temperature=request.sampling["temperature"],
            top_p=request.sampling["top_p"],
            top_k=int(request.sampling["top_k"]),
            seed=request.seed,
            max_tokens=request.max_tokens,
            logprobs=0,  # the sampled token's alone
            ignore_eos=True,
            stop_token_ids=list(request.end_ids),
            detokenize=False,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )
        prompt: Any = {"prompt_token_ids": list(request.prompt_ids)}
        self.engine.add_request(request.key, prompt, settings, lora_request=_lora(request.adapter))

    def step(self) -> list[Written | Failed]:
        """Advance every request by a token and return the finished ones."""
        finished: list[Written | Failed] = []
        for output in self.engine.step():
            if not output.finished:
                continue
            made: Any = output.outputs[0]
            if made.finish_reason not in ("stop", "length"):
                finished.append(Failed(output.request_id, f"vLLM ended the request with {made.finish_reason!r}"))
                continue
            ids = list(made.token_ids)
            logprobs = [entry[token].logprob for entry, token in zip(made.logprobs, ids, strict=True)]
            cached = int(getattr(output, "num_cached_tokens", None) or 0)
            finished.append(Written(output.request_id, ids, logprobs, cached))
        return finished

    def abort(self, key: str) -> None:
        """Drop a request."""
        self.engine.abort_request([key])

    def load(self, folder: str, version: str) -> Served:
        """Load published weights on every worker and forget what was cached under the old ones."""
        served = self.engine.collective_rpc("load_healthgym_weights", args=(folder, version))
        self.engine.reset_prefix_cache()
        return Served(**served[0])

    def serving(self) -> Served:
        """Tell which weights the workers hold."""
        return Served(**self.engine.collective_rpc("healthgym_weights")[0])

    def use_adapter(self, adapter: Adapter) -> None:
        """Load an adapter and drop the one before."""
        self.engine.add_lora(_lora(adapter))
        if self._adapter is not None:
            self.engine.remove_lora(self._adapter.number)
        self._adapter = adapter

    def score(self, ids: Sequence[int], adapter: Adapter | None) -> list[float]:
        """Return the log-probability of each token but the first; only while nothing else is being written."""
        from vllm import SamplingParams

        settings = SamplingParams(max_tokens=1, prompt_logprobs=0, detokenize=False, temperature=1.0)
        prompt: Any = {"prompt_token_ids": list(ids)}
        self.engine.add_request("score", prompt, settings, lora_request=_lora(adapter))
        outputs: list[Any] = []
        while not outputs:
            outputs = [output for output in self.engine.step() if output.finished]
        entries = outputs[0].prompt_logprobs[1:]
        return [entry[token].logprob for entry, token in zip(entries, ids[1:], strict=True)]

    def sleep(self) -> None:
        """Give the accelerator's memory back."""
        self.engine.sleep(level=1)

    def wake(self) -> None:
        """Take it again."""
        self.engine.wake_up()


def _lora(adapter: Adapter | None) -> Any:
    if adapter is None:
        return None
    from vllm.lora.request import LoRARequest

    return LoRARequest(lora_name=adapter.name, lora_int_id=adapter.number, lora_path=adapter.folder)


def serve(pipe: Connection, engine: SteppedEngine) -> None:
    """Answer messages and send finished turns until the pipe closes."""
    while True:
        while pipe.poll(0 if engine.is_busy else None):
            message = pipe.recv()
            if isinstance(message, Generate):
                engine.generate(message)
                continue
            value = getattr(engine, message.method)(*message.arguments)
            if message.method != "abort":
                pipe.send(Reply(value))
        if finished := engine.step():
            pipe.send(finished)


def main(descriptor: str, arguments: str, scratch: str) -> None:
    """Run an engine for the process at the other end of a pipe.

    Args:
        descriptor: The pipe's file descriptor.
        arguments: Of vLLM's `EngineArgs`, as JSON.
        scratch: Folder to delete when the other end has gone.
    """
    pipe = Connection(int(descriptor))
    try:
        engine = SteppedEngine(json.loads(arguments))
        pipe.send(Reply(engine.engine.model_config.max_model_len))
        serve(pipe, engine)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        shutil.rmtree(scratch, ignore_errors=True)
        os._exit(0)  # vLLM's threads are not waited for
    except BaseException:
        pipe.send(Reply(error=traceback.format_exc(limit=-6)))
        raise


if __name__ == "__main__":
    main(*sys.argv[1:])
