# The first run of a target sets up what it needs (a few minutes); later runs start at once.

CURRENT := .venv/ready
TENSORFLOW := .venv37/ready
INPUTS := pyproject.toml setup.py scripts/setup.sh
TOOL_TESTS := tests --ignore=tests/runtime --ignore=tests/samples
SAMPLES := bert resnet50
UNTRAINED := tests/samples/test_migrated.py tests/samples/test_bridge_names.py

.PHONY: help setup demo test test-current test-37 test-runtime docs docs-pages samples lint format \
  bench clean

help:
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' $(MAKEFILE_LIST)

setup: $(CURRENT) $(TENSORFLOW) ## make .venv and .venv37

$(CURRENT): $(INPUTS) constraints/current.txt
	scripts/setup.sh current
	@touch $@

$(TENSORFLOW): $(INPUTS) constraints/python37.txt
	scripts/setup.sh tensorflow
	@touch $@

demo: $(CURRENT) $(TENSORFLOW) ## migrate the BERT sample, train both, compare
	@.venv/bin/python scripts/demo.py

test: test-current test-37 test-runtime ## all tests, on a current Python and on 3.7

test-current: $(CURRENT)
	.venv/bin/python -m pytest -n 2 $(TOOL_TESTS)
	.venv/bin/python -m pytest $(UNTRAINED)

test-37: $(TENSORFLOW)
	.venv37/bin/python -m pytest -n 2 $(TOOL_TESTS) --ignore=tests/hardness --ignore=tests/verify

test-runtime: $(TENSORFLOW)
	.venv37/bin/python -m pytest tests/runtime tests/samples tests/verify

docs: $(CURRENT) ## build the site in build/site
	.venv/bin/mkdocs build --strict

docs-pages: $(CURRENT) $(TENSORFLOW) ## write the pages of rules and options, and what examples print
	.venv/bin/python scripts/doc_pages.py
	.venv37/bin/python scripts/doc_examples.py

samples: $(CURRENT) ## migrate the samples anew
	@for sample in $(SAMPLES); do \
	  rm -rf samples/$$sample/migrated; \
	  .venv/bin/npu-migrate -q samples/$$sample/original -o samples/$$sample/migrated || exit 1; \
	done

lint: $(CURRENT) ## ruff and mypy
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

format: $(CURRENT) ## ruff's formatter and safe fixes
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

bench: $(CURRENT) $(TENSORFLOW) ## time the tool, also over the folders TREES=
	.venv37/bin/python -m benchmarks $(TREES)
	.venv37/bin/python benchmarks/runtime_loss_scaling.py

clean: ## remove the environments and caches
	rm -rf .venv .venv37 .venv-uv .pytest_cache .mypy_cache .ruff_cache
