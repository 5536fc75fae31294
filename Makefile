# Every command below makes the environment it needs in .venv: Python 3.11+, make and a package index are enough.
# Where pip looks for packages, and for a CPU build of torch, is pip's own configuration.

EXTRA  ?= cpu
# cpu or gpu: which build of faiss is installed
CORPUS ?=
# make demo CORPUS=dir: a corpus folder to use instead of the starter corpus
ONCE   ?=
# make demo ONCE=1: end after the printed recommendation
PORT   ?= 8000
# make demo PORT=n: where the page is served
TESTS  ?=
# make test-quick TESTS=tests/corpus: only these
WORKERS ?= $(shell n=$$(nproc 2>/dev/null || echo 2); [ $$n -lt 8 ] && echo $$((n + 1)) || echo 8)
# make test WORKERS=1: how many processes run the tests; by default one more than cores, for a third of a test's time is
# waiting for Ray's processes to start and to end
THOROUGH ?=
# make test THOROUGH=1: also the tests that are marked thorough
BENCHMARKS ?= $(foreach script,$(wildcard benchmarks/*.py),\
	$(if $(filter undefined,$(origin ARGS_$(basename $(notdir $(script))))),,$(script)))
# make bench BENCHMARKS=benchmarks/scale.py: only these; by default those with a line ARGS_… below

PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3 python; do \
	if $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then echo $$p; break; fi; done)
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed-$(EXTRA)
BENCH  := $(VENV)/.installed-bench
PARALLEL := $(if $(filter-out 1,$(WORKERS)),-n $(WORKERS) --dist loadfile)
PIP    := $(BIN)/python -m pip --disable-pip-version-check
# Python compiles a module where it is first imported: pip would compile all 32,000, one after the other.
INSTALL := $(PIP) install -q --no-compile -c constraints.txt
FAISS_cpu := faiss-cpu
FAISS_gpu := faiss-gpu-cu12
OTHER_cpu := $(FAISS_gpu)
OTHER_gpu := $(FAISS_cpu)

# Ray, MLflow and Haystack send no usage statistics, and no model is downloaded unless HF_HUB_OFFLINE=0 is given.
export RAY_USAGE_STATS_ENABLED ?= 0
export MLFLOW_DISABLE_TELEMETRY ?= true
export HAYSTACK_TELEMETRY_ENABLED ?= False
export HF_HUB_OFFLINE ?= 1
# Each of the hundreds of processes that the tests start would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help env demo test test-quick vscode vscode-test check format bench serve-bench gpu-bench clean distclean
.DEFAULT_GOAL := help

help: ## list these targets
	@echo "cocite: citation recommendation on Ray. Targets:"
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 16
	@echo "Options: EXTRA=cpu|gpu, PYTHON=python3.11, CORPUS=dir, ONCE=1, PORT=8000, TESTS=tests/corpus"

env: $(STAMP) ## make the environment in .venv (EXTRA=cpu or gpu)

$(STAMP): pyproject.toml constraints.txt
	@test -n "$(OTHER_$(EXTRA))" || { echo "EXTRA=$(EXTRA): must be cpu or gpu" >&2; exit 2; }
	@test -n "$(PYTHON)" || { echo "no Python 3.11 or newer found: install one, or name it with PYTHON=" >&2; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
		{ echo "$(PYTHON) cannot make a virtual environment: on Debian, apt-get install python3-venv" >&2; exit 2; }
	$(INSTALL) --upgrade pip
	$(INSTALL) torch
	$(PIP) uninstall -q -y $(OTHER_$(EXTRA))
	$(INSTALL) -e '.[$(EXTRA),dev]'
	@rm -f $(VENV)/.installed-*
	@touch $@

$(BENCH): $(STAMP)
	$(INSTALL) -e '.[$(EXTRA),dev,bench]'
	@touch $@

demo: $(STAMP) ## corpus, training, index, evaluation, endpoint, page (CORPUS=dir, ONCE=1, PORT=n)
	$(BIN)/cocite demo $(if $(CORPUS),--corpus '$(CORPUS)') $(if $(ONCE),--once) --port $(PORT)

test: check ## every check and every test (THOROUGH=1: also those that repeat others with further steps and settings)
	$(if $(THOROUGH),COCITE_THOROUGH=1 )$(BIN)/python -m pytest $(PARALLEL) --durations=20

test-quick: $(STAMP) ## tests that start no Ray, Serve, MLflow or browser (TESTS=path for some of them)
	$(BIN)/python -m pytest -m 'not integration' $(PARALLEL) $(TESTS)

EXTENSION   := integrations/vscode
CODE_SERVER := .cache/code-server
CODE_SERVER_STAMP := $(CODE_SERVER)/.installed

vscode: ## the extension for VS Code, as integrations/vscode/cocite.vsix (Node 20 or newer, npm)
	cd $(EXTENSION) && npm ci && npm run build && npm run package

$(CODE_SERVER_STAMP): $(EXTENSION)/install-code-server.sh
	rm -rf $(CODE_SERVER)
	sh $(EXTENSION)/install-code-server.sh $(CODE_SERVER)
	@touch $@

vscode-test: $(STAMP) $(CODE_SERVER_STAMP) ## the extension in VS Code itself (Node 20, a C++ compiler, Chromium)
	COCITE_CODE_SERVER=$(CODE_SERVER) $(BIN)/python -m pytest tests/integration/vscode

check: $(STAMP) ## ruff, mypy strict, import contracts
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy --num-workers auto
	$(BIN)/lint-imports --no-logo

format: $(STAMP) ## let ruff mend what it can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# What the benchmarks that need a corpus are run on: CORPUS=store, or a synthetic one. A benchmark without a line here
# needs trained models, real texts or a running endpoint, and is run by hand, as its first lines say.
BENCH_CORPUS := $(or $(CORPUS),.cache/bench/corpus)
BENCH_INDEX  := .cache/bench/index
BENCH_PAPERS ?= 100000
# make bench BENCH_PAPERS=1000000: how many papers the scale benchmarks go up to
ARGS_bm25_engines      = $(BENCH_CORPUS)
ARGS_cross_encoder_scoring = --corpus $(BENCH_CORPUS)
ARGS_data_steps        = indexing mining ranking --papers 4000 --rounds 1
ARGS_embedding         = --corpus $(BENCH_CORPUS)
ARGS_first_stage       = $(BENCH_CORPUS)
ARGS_fusion_training   = $(BENCH_CORPUS)
ARGS_kernel_caches     = --batches 50 --capacities 1024,64
ARGS_known_papers      = $(BENCH_CORPUS)
ARGS_language_server   = --index $(BENCH_INDEX)
ARGS_mp_bert4cr_training = --corpus $(BENCH_CORPUS)
ARGS_negative_draws    = --corpus $(BENCH_CORPUS)
ARGS_nnselect_training = --corpus $(BENCH_CORPUS)
ARGS_pooled_first_stage = $(BENCH_INDEX)
ARGS_seeds             = $(BENCH_CORPUS)
ARGS_serve_floor       =
ARGS_serve_latency     = --index $(BENCH_INDEX)
ARGS_serve_rest        = --index $(BENCH_INDEX) --rounds 1
ARGS_serve_slow_bodies = --index $(BENCH_INDEX)
ARGS_serving           = --index $(BENCH_INDEX) --json .cache/bench/serving.json
ARGS_corpus_scale      = --sizes 10000,$(BENCH_PAPERS)
ARGS_import_scale      = --papers $(BENCH_PAPERS)
ARGS_scale             = --papers $(BENCH_PAPERS) --results .cache/bench/scale.jsonl
ARGS_training_inputs   = --papers 1000 10000 --work .cache/bench/inputs
ARGS_training_restart  = --papers 1000 10000 --work .cache/bench/inputs
ARGS_vector_index      =

# make serve-bench INDEX=folder MODEL=folder: the endpoint's own measurements, by default on a synthetic corpus; without
# MODEL, replicas are killed beside a cross-encoder of random weights, so that there are rerankers
BENCH_MODEL  := .cache/bench/model
SERVED_INDEX := $(or $(INDEX),$(BENCH_INDEX))
SERVED := --index $(SERVED_INDEX)
SERVED_MODEL := $(if $(MODEL),--model $(MODEL))
FEW_CLIENTS := --clients 1,8

.cache/bench/corpus: | $(BENCH)
	$(BIN)/cocite corpus synth --papers 3000 --to $@

$(BENCH_MODEL): | $(BENCH)
	$(BIN)/python -m benchmarks._small_model $@

bench: $(BENCH) | $(BENCH_CORPUS) ## the measurements under benchmarks/ (BENCHMARKS=path for some, CORPUS=store)
	$(BIN)/cocite index build $(BENCH_CORPUS) --to $(BENCH_INDEX)
	@$(foreach script,$(BENCHMARKS),echo "== $(script)"; \
		$(BIN)/python -m benchmarks.$(basename $(notdir $(script))) $(ARGS_$(basename $(notdir $(script)))) || exit 1;)

serve-bench: $(BENCH) | $(BENCH_CORPUS) $(if $(MODEL),,$(BENCH_MODEL)) ## the endpoint under load, overload, deaths, slow bodies and generated cases (INDEX=folder, MODEL=folder)
	$(if $(INDEX),,$(BIN)/cocite index build $(BENCH_CORPUS) --to $(BENCH_INDEX))
	$(BIN)/python -m benchmarks.serve_latency $(SERVED) $(FEW_CLIENTS)
	$(BIN)/python -m benchmarks.serve_latency $(SERVED) $(FEW_CLIENTS) --on process
	$(if $(MODEL),$(BIN)/python -m benchmarks.serve_latency $(SERVED) $(SERVED_MODEL) $(FEW_CLIENTS))
	$(BIN)/python -m benchmarks.serve_rest $(SERVED)
	$(BIN)/python -m benchmarks.serving $(SERVED) --seconds 60
	$(BIN)/python -m benchmarks.serve_deaths $(SERVED) --model $(or $(MODEL),$(BENCH_MODEL))
	$(BIN)/python -m benchmarks.serve_rollouts $(SERVED)
	$(BIN)/python -m benchmarks.serve_slow_bodies $(SERVED)
	$(BIN)/python -m benchmarks.serve_cases
	$(BIN)/python -m benchmarks.serve_cases --on ray --max-examples 60 --cases 1000
	$(BIN)/python -m benchmarks.serve_cases --keys --phases examples,fuzzing --max-examples 8 --cases 600
	$(BIN)/python -m benchmarks.serve_cases --on ray --beside split --phases examples,fuzzing --max-examples 8 --cases 300
	$(BIN)/python -m pytest -q tests/integration/endpoint/test_texts.py # clients of text-embeddings-inference

# Without an environment it runs in the Python that is there: little may be installed beside a GPU.
gpu-bench: ## training and scoring beside their limit on this machine's GPU, tiny without one (PARTS=training, JSON=file)
	PYTHONPATH=platform $(or $(wildcard $(BIN)/python),$(PYTHON)) -m benchmarks.gpu $(if $(PARTS),--parts $(PARTS)) $(if $(JSON),--json '$(JSON)')

clean: ## remove caches and what demo made
	rm -rf demo .cache/bench .cache/code-server .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist mlruns mlartifacts mlflow.db
	rm -rf $(EXTENSION)/node_modules $(EXTENSION)/dist $(EXTENSION)/LICENSE $(EXTENSION)/cocite.vsix
	find platform jobs tuning serve tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## remove the environment too
	rm -rf $(VENV)
