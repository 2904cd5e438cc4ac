"""Documents as people see them: title, link, snippet."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rankloop.search import Candidates, Searchable
from rankloop.search.text.snippet import Snippets
from rankloop.serve.http.schema import Result
from rankloop.serve.json_value import clean_text, json_value

__all__ = ["Presenter"]


@dataclass(frozen=True)
class Presenter:
    """Turns candidates into results; `title` and `url` are the stored fields to take them from."""

    title: str | None
    url: str | None

    @classmethod
    def of(cls, index: Searchable, title: str = "", url: str = "") -> "Presenter":
        """With the fields that were chosen, or those that the names of the index's fields suggest."""
        texts = [name for name, field in index.fields.items() if field.kind == "text"]
        likely = next((name for name in ("title", "name") if name in index.fields), None)
        return cls(title or likely or (texts[0] if texts else None), url or "url")

    def results(
        self, found: Candidates, fields: Sequence[str] | None = None, *, first: int = 1
    ) -> list[Result]:
        """The candidates as results, from position `first`, with all stored fields or those named."""
        snippets, snapshot = Snippets(found.snapshot, found.leaves, found.rows), found.snapshot
        results = []
        for at, (id, row, score) in enumerate(
            zip(found.ids.tolist(), found.rows.tolist(), found.scores.tolist(), strict=True), first
        ):
            found.query.check_time()
            document = snapshot.document(row)
            sent = (
                document if fields is None else {name: document[name] for name in fields if name in document}
            )
            results.append(
                Result(
                    position=at,
                    id=str(id),
                    score=score if math.isfinite(score) else 0.0,
                    title=self.title_of(id, document),
                    url=self.url_of(document),
                    snippet=clean_text(snippets.of(row, document)),
                    document=json_value(sent),
                )
            )
        return results

    def title_of(self, id: Any, document: Mapping[str, Any]) -> str:
        """The title of a result; its id where it has none."""
        value = document.get(self.title) if self.title else None
        text = " ".join(map(str, value)) if isinstance(value, list) else str(value or "")
        return clean_text(text)[:300].strip() or str(id)

    def url_of(self, document: Mapping[str, Any]) -> str | None:
        """The link of a result, if it is http or https: no scripts, no other schemes."""
        value = document.get(self.url) if self.url else None
        if isinstance(value, str) and value.startswith(("https://", "http://")):
            return clean_text(value)
        return None
