# The two commands to start with are `make demo` and `make test`. Each target builds the virtual environment it needs.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: demo site serve-demo test test-long test-gpu coverage check types types-of-tests clients browser hooks faults torture mutants phrases bench docs gallery release image format clean
demo: $(READY)
	@$(BIN)/tideproof demo

# Builds the documentation into a folder that can be opened without a server or a network: site/index.html
site: $(READY)
	@$(BIN)/python tools/site site
	@echo "site/index.html is ready"

serve-demo: $(READY)
	@$(BIN)/python -m tideproof.serve.demo_shop

test: check clients browser
	$(BIN)/pytest -n 2 --dist worksteal

# The share of lines that the tests run, at least 95 %. Measuring it makes the tests 1.7 times slower, so `make test` leaves it out.
coverage: $(READY) clients browser
	$(BIN)/pytest -n 2 --dist worksteal --cov --cov-report= --cov-fail-under=95

# The slow tests that `make test` leaves out
test-long: $(READY)
	$(BIN)/pytest -n 2 --dist worksteal -m long

test-gpu: $(READY)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[gpu]"
	$(BIN)/pytest -m gpu tests/lab/test_gpu.py

# Installs OpenFeature's JavaScript clients and axe for tests/serve/test_clients.py. Without npm or a network, these tests are skipped.
clients: $(READY)
	@mkdir -p $(VENV)/node
	@cmp -s tests/serve/clients/package.json $(VENV)/node/package.json && test -d $(VENV)/node/node_modules || \
		(cp tests/serve/clients/package.json $(VENV)/node/ && cd $(VENV)/node && \
		npm install --no-audit --no-fund --no-package-lock --silent >/dev/null 2>&1) || \
		{ rm -rf $(VENV)/node; echo "npm could not install the JavaScript clients; their tests are skipped"; }

# Installs Chromium for tests of web pages, if the user is root on Debian, as on a CI machine. Elsewhere, these tests are
# skipped unless a browser is installed.
browser:
	@for name in chromium chromium-browser google-chrome; do command -v $$name >/dev/null && exit 0; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "Installing Chromium (once, about a minute) ..."; \
		export DEBIAN_FRONTEND=noninteractive; \
		(apt-get update -qq; apt-get install -qq -y --no-install-recommends chromium) >/dev/null 2>&1; \
	fi; \
	command -v chromium >/dev/null || \
		echo "Chromium is not installed, so browser tests are skipped; install it as root with 'apt-get install chromium'"

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	@$(MAKE) --no-print-directory -j 2 types types-of-tests

types: $(READY)
	$(BIN)/mypy

types-of-tests: $(READY)
	$(BIN)/mypy --config-file tests/mypy.ini --cache-dir .mypy_cache/tests tests tools/mutants tools/phrases.py

hooks: $(READY)
	$(BIN)/pre-commit install

faults: $(READY)
	TIDEPROOF_FAULTS=$(or $(FAULTS),2000) $(BIN)/pytest -n 2 --dist worksteal tests/experiment/test_interruptions.py tests/experiment/test_damaged_files.py \
		tests/experiment/test_experiment.py::test_updates_do_not_drift

torture: $(READY)
	TIDEPROOF_KILLS=$(or $(KILLS),1000) TIDEPROOF_RESTARTS=$(or $(RESTARTS),50) $(BIN)/pytest -s tests/torture

mutants: $(READY)
	$(BIN)/python tools/mutants $(MUTANTS)

phrases: $(READY)
	@$(BIN)/python tools/phrases.py $(PAPER)

bench: $(READY)
	$(BIN)/pip install --quiet --disable-pip-version-check --group bench
	OLD=$(OLD) $(BIN)/python benchmarks/run.py $(ONLY)

docs: $(READY)
	$(BIN)/python -m tideproof.report.policy_pages docs/policies
	$(BIN)/python tools/site/pictures.py

# Analyses real data sets and writes docs/gallery.md; DATA=folder also writes the data sets
gallery: $(READY)
	@$(BIN)/python tools/gallery docs/gallery.md $(if $(DATA),--data $(DATA))

# Builds a release and tests it in empty environments, see docs/release.md: make release PYTHONS="3.12 3.13" EXTRAS="none store"
release: $(READY)
	@$(BIN)/python tools/release $(if $(PYTHONS),--pythons $(PYTHONS)) $(if $(EXTRAS),--extras $(EXTRAS))

image: $(READY)
	@$(BIN)/python tools/release --build
	docker build -t tideproof .

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(READY): pyproject.toml constraints.txt
	@echo "Preparing $(VENV) (once, about a minute) ..."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "tideproof needs Python 3.11 or newer: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "pip>=25.1"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[all,docs]" --group dev
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .mutants build dist site demo.png hidden.png
