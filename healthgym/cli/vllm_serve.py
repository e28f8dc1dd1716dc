"""`healthgym vllm-serve`: a vLLM server that trainers sample from and push their weights to."""

from typing import Annotated

import typer

EXTRA = {"allow_extra_args": True, "ignore_unknown_options": True}


def vllm_serve(
    context: typer.Context,
    model: Annotated[str, typer.Argument(help="Folder or hub name; a run's start/ folder, for instance.")],
    host: Annotated[
        str, typer.Option(help="Where to listen. Whoever reaches it can replace the weights.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 8000,
    dtype: Annotated[str, typer.Option(help="float32 or bfloat16: what the trainer computes in.")] = "bfloat16",
    max_model_len: Annotated[int | None, typer.Option(help="Positions; the model's own when absent.")] = None,
    gpu_memory_utilization: Annotated[float, typer.Option(help="Share of each GPU's memory, or of a CPU's.")] = 0.9,
    kv_cache_gb: Annotated[float | None, typer.Option(help="Memory of the cache in GiB, instead.")] = None,
    tensor_parallel_size: Annotated[int, typer.Option(help="GPUs that share the model.")] = 1,
    lora_rank: Annotated[
        int | None, typer.Option(help="Largest rank of adapters it will be sent; none when absent.")
    ] = None,
    enforce_eager: Annotated[bool, typer.Option("--enforce-eager", help="Start without compiling.")] = False,
    restarts: Annotated[int, typer.Option(help="How often a crashed server is started again.")] = 3,
) -> None:
    """Serve a model for rollouts, for recipes with rollout.engine vllm and rollout.vllm.mode server.

    Options it does not know go to vLLM's own server as they are.

    Example: healthgym vllm-serve runs/first/start --dtype float32 --port 8000
    """
    from healthgym.rollout.vllm_server import ServerSettings, serve_model

    settings = ServerSettings(
        model=model,
        host=host,
        port=port,
        dtype=dtype,
        max_model_len=max_model_len,
        gpu_memory_utilization=gpu_memory_utilization,
        kv_cache_gb=kv_cache_gb,
        tensor_parallel_size=tensor_parallel_size,
        lora_rank=lora_rank,
        enforce_eager=enforce_eager,
    )
    raise typer.Exit(serve_model(settings, context.args, restarts=restarts))
