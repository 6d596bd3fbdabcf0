"""Ask ten properties of anybody's attention, in one call.

Nothing here knows how a layer computes: it is called on small inputs, and what comes out is held to what must
hold of any attention. `battery` runs all ten.

>>> from attnbook.properties import battery
>>> battery(lambda q, k, v: (q / q.shape[-1] ** 0.5 @ k.mT).softmax(-2) @ v).broken
('definition', 'weights', 'pieces')
"""

from attnbook.properties.asking import PROPERTIES, battery
from attnbook.properties.findings import Finding, Findings

__all__ = ["PROPERTIES", "Finding", "Findings", "battery"]
