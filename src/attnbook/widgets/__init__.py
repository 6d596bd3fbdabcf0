"""The interactive figures, for notebooks with a kernel and for pages without one.

Displaying a figure gives two forms of it: a widget view, which a live kernel uses, and HTML, which holds the
figure's settings and the real table of its numbers. A page's script turns the HTML into the same figure;
without scripts, in print and for screen readers the table still tells the truth. In Colab, anywidget asks for
the permission that widgets from elsewhere need there.
"""

from attnbook.widgets.alignment import DateAlignment
from attnbook.widgets.anatomy import Anatomy
from attnbook.widgets.block import Block
from attnbook.widgets.calculator import Calculator
from attnbook.widgets.configuration import Configuration
from attnbook.widgets.decoder import Decoding
from attnbook.widgets.design import AttentionDesign
from attnbook.widgets.figure import Figure
from attnbook.widgets.heads import HeadsWorkshop
from attnbook.widgets.inside import HeadsViewer
from attnbook.widgets.linear import LinearAgainstSoftmax
from attnbook.widgets.lookup import SoftLookup
from attnbook.widgets.masks import MaskPainter
from attnbook.widgets.online import OnlineSoftmax
from attnbook.widgets.patterns import SparsePatterns
from attnbook.widgets.playground import Playground
from attnbook.widgets.positions import PositionsLab
from attnbook.widgets.ring import DevicesInSteps
from attnbook.widgets.rope import RopeDial
from attnbook.widgets.sampler import Sampling
from attnbook.widgets.saturation import Saturation
from attnbook.widgets.state import StateFilling
from attnbook.widgets.tag import TagSentence

__all__ = [
    "Anatomy",
    "AttentionDesign",
    "Block",
    "Calculator",
    "Configuration",
    "DateAlignment",
    "Decoding",
    "DevicesInSteps",
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
