"""Settings that every kind of test shares."""

import hypothesis

# A slow machine is no failure, and a failure must come back on the next run.
hypothesis.settings.register_profile("attnlab", deadline=None, derandomize=True)
hypothesis.settings.load_profile("attnlab")
