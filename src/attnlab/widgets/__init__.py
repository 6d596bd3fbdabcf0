"""The interactive figures, for notebooks with a kernel and for pages without one.

Displaying a figure gives two forms of it: a widget view, which a live kernel uses, and HTML, which holds the
figure's settings and the real table of its numbers. A page's script turns the HTML into the same figure;
without scripts, in print and for screen readers the table still tells the truth. In Colab, anywidget asks for
the permission that widgets from elsewhere need there.
"""

from attnlab import book  # noqa: F401  (says what is missing)
from attnlab.widgets.alignment import DateAlignment
from attnlab.widgets.block import Block
from attnlab.widgets.calculator import Calculator
from attnlab.widgets.decoder import Decoding
from attnlab.widgets.figure import Figure
from attnlab.widgets.heads import HeadsWorkshop
from attnlab.widgets.inside import HeadsViewer
from attnlab.widgets.linear import LinearAgainstSoftmax
from attnlab.widgets.lookup import SoftLookup
from attnlab.widgets.masks import MaskPainter
from attnlab.widgets.online import OnlineSoftmax
from attnlab.widgets.patterns import SparsePatterns
from attnlab.widgets.playground import Playground
from attnlab.widgets.positions import PositionsLab
from attnlab.widgets.rope import RopeDial
from attnlab.widgets.sampler import Sampling
from attnlab.widgets.saturation import Saturation
from attnlab.widgets.state import StateFilling
from attnlab.widgets.tag import TagSentence

__all__ = [
    "Block",
    "Calculator",
    "DateAlignment",
    "Decoding",
    "Figure",
    "HeadsViewer",
    "HeadsWorkshop",
    "LinearAgainstSoftmax",
    "MaskPainter",
    "OnlineSoftmax",
    "Playground",
    "PositionsLab",
    "RopeDial",
    "Sampling",
    "Saturation",
    "SoftLookup",
    "SparsePatterns",
    "StateFilling",
    "TagSentence",
]
