"""Learned selection: a cheap score finds whom to read, and attention reads those keys alone.

The line that changes: `attention(q, k, v)` becomes `attention(q, k[places], v[places])`, where every query
has places of its own. Scores that choose are still made for all pairs, n² of them, with fewer numbers each;
what follows costs n times the keys that are read. A place is the number of a key, from 0; -1 is nobody.
"""

from attnlab.selection.choosing import (
    imitation_loss,
    index_scores,
    keys_of_blocks,
    selection_mask,
    top_keys,
)
from attnlab.selection.gathered import branched_attention, selected_attention
from attnlab.selection.layers import IndexedCache, Indexer, SelectedAttention

__all__ = [
    "IndexedCache",
    "Indexer",
    "SelectedAttention",
    "branched_attention",
    "imitation_loss",
    "index_scores",
    "keys_of_blocks",
    "selected_attention",
    "selection_mask",
    "top_keys",
]
