# Each target calls scripts/dev.py, which also works without make: python scripts/dev.py book
# The first Python that is new enough and really starts (a version manager's stand-in may not).
NEW_ENOUGH = import sys, venv; sys.exit(sys.version_info < (3, 11))
ifndef PYTHON
PYTHON := $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
  $$p -c '$(NEW_ENOUGH)' >/dev/null 2>&1 && echo $$p && break; done)
endif
ifeq ($(strip $(PYTHON)),)
$(error attnlab needs Python 3.11 or newer, with its venv module, on the PATH; or say make PYTHON=path/to/python)
endif
DEV = $(PYTHON) scripts/dev.py

.DEFAULT_GOAL := help
.PHONY: help book html test torches notebooks treebank widgets lab teacher quizzes address bench mutants screenshot stills pdf clean

help:       ; @$(DEV) --help
book:       ; @$(DEV) book
html:       ; @$(DEV) html
test:       ; @$(DEV) test
torches:    ; @$(DEV) torches $(ONLY)
notebooks:  ; @$(DEV) notebooks $(ONLY)
treebank:   ; @$(DEV) treebank
widgets:    ; @$(DEV) widgets
lab:        ; @$(DEV) lab
teacher:    ; @$(DEV) teacher $(OPTIONS)
quizzes:    ; @$(DEV) quizzes
address:    ; @$(DEV) address $(REPO)
bench:      ; @$(DEV) bench
mutants:    ; @$(DEV) mutants
screenshot: ; @$(DEV) screenshot
stills:     ; @$(DEV) stills
pdf:        ; @$(DEV) pdf $(ONLY)
clean:      ; @$(DEV) clean
