"""Settings that every kind of test shares."""

import gc
import os

import hypothesis

# A slow machine is no failure, and a failure must come back on the next run.
hypothesis.settings.register_profile(
    "attnlab", deadline=None, derandomize=True, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("attnlab")

# The models here are tiny. A second thread would mostly wait for the first, and fight with other tests. Said
# before torch is imported, and in words that the processes hear too which a test starts. Who sets it decides.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_collection_finish():
    # torch and the tests themselves are half a million objects that stay: Python's collector, which goes
    # through them again and again and finds nothing, took a twentieth of the time.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
