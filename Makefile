# Everything a person does with a clone. Each target sets up what it needs by itself, and only once.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup demo demo-full test room selftest bench soak lint images judge-image clean

BIN := .venv/bin

help: ## this list
	@echo "LAMBench Judge. Targets:"
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## the virtual environment in .venv
	@setup/python.sh

demo: ## build, submit and judge five examples by a small suite; a leaderboard in var/site/, its first page in minutes
	@setup/demo.sh

demo-full: ## the same by the suite quickstart, which has every kind of task
	@setup/demo.sh --full

test: ## set up, then every check and every test
	@setup/test.sh

room: setup ## the quick tests of one room, in less than a minute: ROOM=judge/records
	$(BIN)/python -m setup.tests $(ROOM)

selftest: ## attack this machine's sandbox with hostile images; a record in the store
	@setup/all.sh
	$(BIN)/judge selftest

bench: ## measure; a table, and var/bench.json. ONLY="wire judging": these alone (names: python -m benchmarks --list)
	@setup/all.sh
	@setup/servers.sh
	$(BIN)/python -m benchmarks $(ONLY)

soak: ## what takes longer than `make test` may. ONLY=kills: tests of that name; PART=1/4: the first of four parts
	@setup/all.sh
	$(BIN)/python -m pytest tests -v -m soak -p tests.shared_files $(if $(ONLY),-k "$(ONLY)") $(if $(PART),--part $(PART))

lint: setup ## ruff, mypy --strict, the import contract
	@setup/lint.sh

images: ## the base for authors and the four example images
	@setup/all.sh

judge-image: ## the judge's own image, lambench/judge
	@setup/python.sh && setup/engine.sh && setup/base-image.sh && setup/images.sh judge

clean: ## remove what was made in this clone (the cache outside it stays)
	rm -rf .venv var build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
