"""What all tests share: one thread per process."""

from __future__ import annotations

import os

# The tests run in several processes on few cores; the thread pools of BLAS and OpenMP would only compete.
# Set before anything imports NumPy or torch.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
