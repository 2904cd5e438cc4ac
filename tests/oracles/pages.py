"""Pages with clicks, and parameters of every click model, for the peers that have click models."""

import numpy as np

from rankloop.clicks import CCM, DBN, DCM, PBM, SDBN, UBM, Cascade, ClickLog, DocumentCTR, GlobalCTR, RankCTR
from rankloop.data import RankingDataset

__all__ = ["OURS", "ClickedPages"]

OURS = {
    "globalctr": GlobalCTR,
    "rankctr": RankCTR,
    "documentctr": DocumentCTR,
    "pbm": PBM,
    "ubm": UBM,
    "dcm": DCM,
    "dbn": DBN,
    "sdbn": SDBN,
    "ccm": CCM,
    "cascade": Cascade,
}


class ClickedPages:
    """Pages of one query with documents 0, 1, ... in random order and random clicks, short and long.

    Every document has its number as grade in `data`, so that parameters by grade are parameters by document.
    """

    def __init__(self, seed, *, pages, depth=6, documents=8, full=False):
        rng = np.random.default_rng(seed)
        self.depth, self.documents, self.pages = depth, documents, pages
        lengths = np.full(pages, depth) if full else rng.integers(1, depth + 1, pages)
        self.mask = np.arange(depth) < lengths[:, None]
        self.shown = np.argsort(rng.random((pages, documents)), axis=1)[:, :depth]
        self.data = RankingDataset.from_groups(
            np.zeros((documents, 1)), np.arange(documents), [documents], docid=np.arange(documents)
        )
        self.attraction, self.satisfaction = rng.uniform(0.05, 0.95, (2, documents))
        self.by_rank = rng.uniform(0.1, 0.95, depth)
        self.browsing = rng.uniform(0.1, 0.95, (depth, depth + 1))
        self.scalars = rng.uniform(0.2, 0.95, 3)
        self.log = self.log_of(rng.random((pages, depth)) < 0.3)

    def log_of(self, click):
        page, place = np.nonzero(self.mask)
        query = np.full(len(page), self.data.qid[0])
        return ClickLog(page, query, self.shown[self.mask], place + 1, click[self.mask].astype(int))

    def rows(self, flat):
        """One value per impression as padded rows."""
        made = np.zeros(self.mask.shape, np.asarray(flat).dtype)
        made[self.mask] = flat
        return made

    def clicked_by(self, model, seed=0):
        """The same pages with clicks that a model draws."""
        return self.log_of(self.rows(model.sample(self.log, self.data, seed=seed)))

    def parameters(self, name):
        documents = {"attraction": self.attraction}
        return {
            "globalctr": {"rate": float(self.scalars[0])},
            "rankctr": {"rate": self.by_rank},
            "documentctr": documents,
            "pbm": documents | {"examination": self.by_rank},
            "ubm": documents | {"examination": self.browsing},
            "dcm": documents | {"continuation": self.by_rank},
            "dbn": documents | {"satisfaction": self.satisfaction, "continuation": float(self.scalars[0])},
            "sdbn": documents | {"satisfaction": self.satisfaction},
            "ccm": documents
            | dict(zip(("after_skip", "after_poor", "after_good"), map(float, self.scalars), strict=True)),
            "cascade": documents,
        }[name]

    def learned(self, model, name):
        """What a model learned, in the form of `parameters`."""
        found = {}
        for parameter in self.parameters(name):
            value = getattr(model, f"{parameter}_")
            if parameter in ("attraction", "satisfaction"):
                query = self.data.qid[0]
                value = np.array([value[query, document] for document in range(self.documents)])
            found[parameter] = value
        return found
