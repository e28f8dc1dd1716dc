"""How far averaging LoRA factors lies from averaging their product, and what each costs.

A small model with adapters learns to continue a fixed random text; after every step two teachers follow it, one by its factors
and one by the product, refactored at the adapters' rank, and both are compared with the exact average of the products.

Run: python benchmarks/ema_space.py
"""

import argparse
import time

import torch
from peft import LoraConfig, get_peft_model
from transformers import Qwen3Config, Qwen3ForCausalLM

from healthgym.training.ema import EMATeacher
from healthgym.training.lowrank import factor_pairs


def main() -> None:
    """Print a line per space: relative error against the exact average, and CPU milliseconds an update."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--decay", type=float, default=0.9)
    parser.add_argument("--learning-rate", type=float, default=5e-3)
    parser.add_argument("--rank", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    model = small_model(options.rank)
    adapters = {name: p for name, p in model.named_parameters() if p.requires_grad}
    teachers = {
        "factors": EMATeacher(adapters, decay=options.decay),
        "delta": EMATeacher(adapters, decay=options.decay, space="delta"),
        "delta, twice the rank": EMATeacher(adapters, decay=options.decay, space="delta", rank_factor=2),
    }
    exact = products(adapters)
    spent = dict.fromkeys(teachers, 0.0)
    text = torch.randint(0, 512, (8, 48))
    optimiser = torch.optim.AdamW(adapters.values(), lr=options.learning_rate)
    for step in range(1, options.steps + 1):
        loss = model(input_ids=text, labels=text).loss
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        with torch.no_grad():
            student = products(adapters)
            exact = {name: options.decay * exact[name] + (1 - options.decay) * now for name, now in student.items()}
            for name, teacher in teachers.items():
                started = time.process_time()
                teacher.after_step(step, adapters)
                spent[name] += time.process_time() - started
    lag = distance(exact, products(adapters))
    print(f"{options.steps} steps, decay {options.decay}, rank {options.rank}, loss {loss.item():.3f}")
    print(f"exact average of the products: {lag:.3f} of the student's norm away from the student")
    print(f"{'space':24}{'error against exact':>20}{'distance to student':>21}{'CPU ms an update':>18}")
    for name, teacher in teachers.items():
        made = products(teacher.weights)
        print(
            f"{name:24}{distance(made, exact):20.4f}{distance(made, products(adapters)):21.3f}"
            f"{1e3 * spent[name] / options.steps:18.1f}"
        )


def small_model(rank: int) -> torch.nn.Module:
    """Return two layers of width 128 with adapters on every linear layer."""
    config = Qwen3Config(
        vocab_size=512, hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=32, max_position_embeddings=128,
    )  # fmt: skip
    adapters = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear")
    return get_peft_model(Qwen3ForCausalLM(config), adapters)


def products(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return B A of every adapter, in double precision."""
    return {a: weights[b].detach().double() @ weights[a].detach().double() for a, b in factor_pairs(weights)}


def distance(made: dict[str, torch.Tensor], wanted: dict[str, torch.Tensor]) -> float:
    """Return the Frobenius distance over all adapters, relative to the norm of what is wanted."""
    gap = sum(float((made[name] - wanted[name]).square().sum()) for name in wanted)
    return (gap / sum(float(one.square().sum()) for one in wanted.values())) ** 0.5


if __name__ == "__main__":
    main()
