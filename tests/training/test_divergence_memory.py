import os
import subprocess
import sys

import pytest

SCRIPT = """
import sys, torch
from pathlib import Path
from healthgym.training.divergence import chunked_divergence, full_divergence

def kib(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1])

torch.manual_seed(0)
positions, vocabulary, width = 512, 60000, 16
hidden, weight = torch.randn(positions, width, requires_grad=True), torch.randn(vocabulary, width, requires_grad=True)
teacher, teacher_weight = torch.randn(positions, width), torch.randn(vocabulary, width)
(hidden.sum() + weight.sum()).backward()  # gradients are in place before the baseline

def naive(rows):
    logps = (hidden[:rows] @ weight.T).log_softmax(-1)
    with torch.no_grad():
        teacher_logps = (teacher[:rows] @ teacher_weight.T).log_softmax(-1)
    full_divergence(logps, teacher_logps).mean().backward()

def chunked(rows):
    chunked_divergence(
        hidden[:rows], weight, teacher[:rows], teacher_weight, divergence=full_divergence, chunk_size=8
    ).mean().backward()

form = {"naive": naive, "chunked": chunked}[sys.argv[1]]
form(8)  # code pages and the matrix library's own buffers are in place too: what is measured is tensors
Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew: it would be the parent's, carried over exec
before = kib("VmRSS")
form(positions)
print(kib("VmHWM") - before)
"""


def peak_kib(form: str) -> int:
    # glibc keeps freed blocks of a few MB for itself; returned at once, the peak is that of live tensors.
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, form], capture_output=True, text=True, check=True, env=environment
    )
    return int(done.stdout)


@pytest.mark.slow
def test_chunked_heads_need_an_eighth_of_the_naive_peak():
    # 512 x 60,000 float32 logits are 120 MB; the naive form holds several copies, the chunked one 8 / 512 of each.
    naive, chunked = peak_kib("naive"), peak_kib("chunked")
    assert naive > 400_000
    assert chunked * 8 <= naive, (naive, chunked)
