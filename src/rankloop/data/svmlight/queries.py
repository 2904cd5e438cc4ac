"""The queries of rows in text files: from their qid, or from the sizes in a file beside them."""

from pathlib import Path
from typing import Any

import numpy as np

from rankloop._arrays import Ints, Singles
from rankloop.data.columns import check
from rankloop.data.columns.group import Grouping, group_rows
from rankloop.data.columns.text_ids import is_text, text_ids
from rankloop.data.svmlight.block import Block, shown
from rankloop.data.svmlight.header_texts import header_texts
from rankloop.data.svmlight.side_files import side_sizes, side_weights

__all__ = ["FileQueries"]


class FileQueries:
    """Collects where queries begin while files are read, and checks the side files against them."""

    def __init__(self, *, side_files: bool, shared_queries: bool, weights: str) -> None:
        self.side_files, self.shared_queries, self.weights = side_files, shared_queries, weights
        self.starts: list[int] = []
        self.ids: list[bytes] = []
        self.texts: dict[bytes, str] = {}
        self.rows = 0
        self.numbered = 0  # queries without ids, separated by a side file
        self.owner: dict[bytes, Path] = {}
        self.row_weights: list[Singles] = []
        self.list_weights: list[Singles] = []
        self.files = 0

    def begin(self, path: Path) -> None:
        self.path = path
        self.first_row, self.first_run = self.rows, len(self.starts)
        self.texts = {**header_texts(path), **self.texts}
        self.named: bool | None = None
        self.sizes = side_sizes(path) if self.side_files else None

    def add(self, block: Block) -> None:
        for (row, qid, line), text in zip(block.runs, block.texts, strict=True):
            if self.named is not None and self.named != (qid is not None):
                has, lacks = ("has no", "have one") if self.named else ("has a", "have none")
                raise ValueError(
                    f"{self.path}, line {line} (row {self.rows + row - self.first_row}): this line {has} qid "
                    f"and the lines before {lacks}; give every line a qid, or none"
                )
            self.named = qid is not None
            if qid is None:
                continue
            if not is_text(qid):
                raise ValueError(
                    f"{self.path}, line {line} (row {self.rows + row - self.first_row}): "
                    f"query id {shown(qid)} is not UTF-8 text; convert the file to UTF-8"
                )
            if text:
                self.texts.setdefault(qid, text)
            if len(self.ids) > self.first_run and self.ids[-1] == qid:
                continue
            self.starts.append(self.rows + row)
            self.ids.append(qid)
        self.rows += len(block.y)

    def finish(self) -> None:
        """Check the file that ended."""
        rows = self.rows - self.first_row
        if rows == 0:
            raise ValueError(f"{self.path} holds no documents; expected lines such as '2 qid:17 1:0.5 2:3'")
        self.files += 1
        if self.sizes is not None:
            self._check_sizes(*self.sizes, rows)
        elif not self.named:
            raise ValueError(
                f"{self.path}, line 1 (row 0): the line has no query id; write qid:17 after each label, "
                f"or the rows of each query, one number per line, in {self.path}.query"
            )
        if bool(self.numbered) and self.named:
            raise ValueError(f"{self.path} has query ids and the files before it have none; name all or none")
        if self.named and not self.shared_queries:
            for qid in set(self.ids[self.first_run :]):
                other = self.owner.setdefault(qid, self.path)
                if other is not self.path:
                    raise ValueError(
                        f"query {shown(qid)[1:-1]} is in both {other} and {self.path}; pass "
                        "shared_queries=True to join its rows, or leave one file out"
                    )
        weights = side_weights(self.path) if self.side_files else None
        if weights is not None:
            self._add_weights(*weights, rows)

    def _check_sizes(self, path: Path, sizes: Ints, rows: int) -> None:
        if sizes.sum() != rows:
            raise ValueError(
                f"{path} counts {sizes.sum()} rows in {len(sizes)} queries, but {self.path} has {rows}; "
                "make them agree, or pass side_files=False"
            )
        starts = self.first_row + np.concatenate(([0], np.cumsum(sizes)[:-1]))
        if self.named:
            there = np.array(self.starts[self.first_run :], np.int64)
            if not np.array_equal(starts, there):
                odd = int(np.setxor1d(starts, there)[0])
                raise ValueError(
                    f"{path} and the query ids of {self.path} do not match: they differ at row "
                    f"{odd - self.first_row}; correct one of them, or pass side_files=False"
                )
            return
        if self.ids and not self.numbered:
            raise ValueError(f"{self.path} has no query ids and the files before it have; name all or none")
        self.starts.extend(starts.tolist())
        self.ids.extend(str(self.numbered + i + 1).encode() for i in range(len(sizes)))
        self.numbered += len(sizes)

    def _add_weights(self, path: Path, values: Singles, rows: int) -> None:
        queries = len(self.starts) - self.first_run
        if len(values) not in (rows, queries):
            raise ValueError(
                f"{path} has {len(values)} weights, but {self.path} has {rows} rows in {queries} queries; "
                "give one weight per row or per query, or pass side_files=False"
            )
        if len(values) == rows:
            self.row_weights.append(values)
        else:
            runs = np.diff([*self.starts[self.first_run :], self.rows])
            self.list_weights.append(np.repeat(values, runs))

    def grouping(self) -> Grouping:
        """The queries in the order of their first rows."""
        qid = text_ids(np.array(self.ids, np.bytes_))
        offsets = np.array([*self.starts, self.rows], np.int64)
        if len(np.unique(qid)) == len(qid):
            return Grouping(qid, offsets, None)
        return group_rows(np.repeat(qid, np.diff(offsets)))

    def text_column(self, grouping: Grouping) -> dict[str, Any]:
        """`query_text`, where the comments of the files have any."""
        if not self.texts:
            return {}
        spelled = grouping.qid.astype(np.str_).tolist()
        texts = [self.texts.get(qid.encode("utf-8", "surrogatepass"), "") for qid in spelled]
        return {"query_text": np.array(texts, np.str_)} if any(texts) else {}

    def weight_columns(self, grouping: Grouping) -> dict[str, Any]:
        """`item_weight` or `query_weight` as the side files gave them."""
        if not self.row_weights and not self.list_weights:
            return {}
        if len(self.row_weights) + len(self.list_weights) != self.files:
            raise ValueError("some of the files have a .weight file and some have none; give each one")
        if self.row_weights and self.list_weights:
            raise ValueError("some .weight files count rows and some queries; make them alike")
        by_row = grouping.apply(np.concatenate(self.row_weights or self.list_weights))
        if self.row_weights and self.weights == "item":
            return {"item_weight": by_row}
        return {
            "query_weight": check.one_per_query(
                by_row, grouping, "the weights differ", "pass weights='item' for weights of documents"
            )
        }
