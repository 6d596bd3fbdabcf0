"""Makes nbval's kernels talk through files, and waits for them as long as a loaded machine may take.

Through files, two kernels that start together never ask for the same TCP port.
"""

import functools
import os
import tempfile
from pathlib import Path

import nbval.kernel
import nbval.plugin
from jupyter_client.manager import KernelManager

PATIENCE = 600
"""Seconds; an idle machine waits for none of them."""

_folder = tempfile.TemporaryDirectory(prefix="attnlab-", ignore_cleanup_errors=True)

if os.name != "nt":
    nbval.kernel.KernelManager = functools.partial(
        KernelManager, transport="ipc", ip=str(Path(_folder.name, "kernel"))
    )

# nbval has no option for how long it waits for an output, and gives up after 5 s.
nbval.plugin.IPyNbCell.output_timeout = property(lambda cell: PATIENCE, lambda cell, seconds: None)
