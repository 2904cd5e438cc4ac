"""Lists of documents as flat arrays: offsets, ranks, ties, gains, discounts and sums; one of each.

A batch of lists is flat columns (`scores`, `labels`, item `weight`) and `offsets`, one more than there are
lists: list q is rows `offsets[q]` to `offsets[q + 1]`. Lists may be empty and of any length.

- `Lists` checks such columns once; `check_offsets` the offsets alone.
- `rank_lists` gives the rows by falling score, equal scores in their order; `top_lists` the best documents
  with their ties; `ranks` counts 1, 2, 3, ... in each list; `mean_ranks` ranks by score, ties at their mean.
- `Gain` and `gains` turn labels into gains; `discount` is 1 / log2(1 + rank), `list_discounts` that of every
  row; `ideal_dcg` is the DCG of the best order; `list_sums` adds up each list.

`lists/kernels` holds what numba kernels call for one list or one label, `lists/tensors` the same gains and
discounts for torch and Triton. A test compares them.
"""

from rankloop.lists.check_offsets import check_offsets
from rankloop.lists.discount import discount
from rankloop.lists.gain import Gain
from rankloop.lists.gains import gains
from rankloop.lists.ideal_dcg import ideal_dcg
from rankloop.lists.list_discounts import list_discounts
from rankloop.lists.list_sums import list_sums
from rankloop.lists.lists import Lists
from rankloop.lists.mean_ranks import mean_ranks
from rankloop.lists.rank_lists import rank_lists
from rankloop.lists.ranks import ranks
from rankloop.lists.top_lists import Ranked, top_lists

__all__ = [
    "Gain",
    "Lists",
    "Ranked",
    "check_offsets",
    "discount",
    "gains",
    "ideal_dcg",
    "list_discounts",
    "list_sums",
    "mean_ranks",
    "rank_lists",
    "ranks",
    "top_lists",
]
