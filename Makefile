# Each target calls scripts/dev.py, which also works without make: python scripts/dev.py book
PYTHON ?= $(shell command -v python3.13 || command -v python3.12 || command -v python3.11 || command -v python3)
DEV = $(PYTHON) scripts/dev.py

.DEFAULT_GOAL := help
.PHONY: help book html test notebooks treebank widgets lab address bench mutants screenshot clean

help:       ; @$(DEV) --help
book:       ; @$(DEV) book
html:       ; @$(DEV) html
test:       ; @$(DEV) test
notebooks:  ; @$(DEV) notebooks $(ONLY)
treebank:   ; @$(DEV) treebank
widgets:    ; @$(DEV) widgets
lab:        ; @$(DEV) lab
address:    ; @$(DEV) address $(REPO)
bench:      ; @$(DEV) bench
mutants:    ; @$(DEV) mutants
screenshot: ; @$(DEV) screenshot
clean:      ; @$(DEV) clean
