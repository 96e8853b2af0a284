# The environment is built on first use and again when pyproject.toml changes. PYTHON chooses the interpreter.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
COMPILED := .venv/compiled
# The tests start many interpreters: what these compile is kept, whatever the caller's environment says.
export PYTHONPYCACHEPREFIX := $(CURDIR)/.venv/bytecode
unexport PYTHONDONTWRITEBYTECODE

define say
@printf '\n== %s\n' '$(1)'
endef

# A key pair in a directory, as `openssl genpkey` and `openssl pkey -pubout` write it, which may not be here.
define KEY_PAIR
import pathlib, sys
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
place, key = pathlib.Path(sys.argv[1]), Ed25519PrivateKey.generate()
(place / "private.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
(place / "public.pem").write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
endef
export KEY_PAIR

.PHONY: help env verify deep test types tests audit docs bench format
.DELETE_ON_ERROR:

help:
	@echo 'make verify   prove and show every claim (quick profile); report in reports/out/'
	@echo 'make deep     the same with all pairs of crash points, after the tests that make test leaves out'
	@echo 'make test     format, lint, tests, verify, then types and audit; stops at the first red one'
	@echo 'make audit    bundle the newest run with a key that is thrown away, and audit the bundle as docs/audit.md says'
	@echo 'make docs     the documentation as a site, in build/site; warnings are errors'
	@echo 'make bench    measure this program beside its rivals: docs/performance.md'
	@echo 'make format   format the code and mend what the linter can'
	@echo 'make env      only build the environment, .venv'

env: $(READY)

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'crashwindow needs Python 3.11 or later as "$(PYTHON)". Another one: make PYTHON=/path/to/python3' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo '"$(PYTHON)" cannot create environments (no ensurepip). On Debian and Ubuntu: apt install python3-venv.' \
	    'Another Python: make PYTHON=/path/to/python3' >&2; exit 1; }
	$(call say,environment: $(PYTHON) -m venv .venv (about a minute, once))
	@$(PYTHON) -m venv --clear .venv
	@$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-compile --editable '.[test]'
	@touch $@

verify: $(READY)
	@$(BIN)/crashwindow verify

deep: $(READY)
	$(call say,tests that are marked deep: pytest)
	@$(BIN)/pytest -m deep -n 2 --dist loadfile --benchmark-disable
	$(call say,claims: crashwindow verify)
	@$(BIN)/crashwindow verify --profile deep

test: $(READY)
	$(call say,format: ruff format --check)
	@$(BIN)/ruff format --check .
	$(call say,lint: ruff check)
	@$(BIN)/ruff check .
	@$(MAKE) --no-print-directory tests
	$(call say,claims: crashwindow verify)
	@$(BIN)/crashwindow verify
	@$(MAKE) --no-print-directory -j2 types audit

# Beside the audit: each has one core busy for a minute, and the tests have both.
types: $(READY)
	$(call say,types: mypy --strict)
	@$(BIN)/mypy

# What each of four workers would compile for itself, and pytest's rewriting of the tests most of all: by two processes, half each.
$(COMPILED): $(READY)
	$(call say,compiled modules: pytest --collect-only (half a minute, once))
	@ls tests/test_*.py | xargs -P 2 -n 96 $(BIN)/pytest --collect-only -qq >/dev/null
	@touch $@

tests: $(COMPILED)
	$(call say,tests: pytest)
	@$(BIN)/pytest -n 4 --dist loadfile --no-loadscope-reorder --benchmark-disable --durations=60 --durations-min=3

audit: $(READY)
	$(call say,audit: crashwindow bundle; crashwindow audit --regenerate)
	@place=$$(mktemp -d) && trap 'rm -r "$$place"' EXIT && $(BIN)/python -c "$$KEY_PAIR" "$$place" && \
	  $(BIN)/crashwindow bundle --key "$$place/private.pem" --output "$$place/run.tar.gz" && \
	  $(BIN)/crashwindow audit "$$place/run.tar.gz" --key "$$place/public.pem" --regenerate

# Not with --quiet: that hides warnings from --strict, too.
docs: $(READY)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo 'build/site/index.html'

bench: $(READY)
	@$(BIN)/crashwindow bench

format: $(READY)
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .
