"""How a step's trajectories may be cut into micro-batches."""

from healthgym.errors import ConfigError


def micro_batches(tasks_per_step: int, num_generations: int, *, processes: int = 1) -> list[int]:
    """Return the sizes of micro-batch that cut a step into equal parts on every process, largest first.

    Going down this list keeps the step's loss and gradient, but for the order of float sums, and needs less memory;
    with loss_type bnpo alone the loss changes, since each of its micro-batches is normalised by its own tokens.

    Raises:
        ConfigError: The processes cannot share the step's trajectories equally.
    """
    batch = tasks_per_step * num_generations
    if batch % processes:
        raise ConfigError(
            f"optim.tasks_per_step * optim.num_generations = {batch} trajectories cannot be shared by {processes} processes. "
            f"Make it a multiple of {processes}."
        )
    share = batch // processes
    return [size for size in range(share, 0, -1) if share % size == 0]
