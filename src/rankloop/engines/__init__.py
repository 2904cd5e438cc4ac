"""One interface over whatever retrieves: the embedded index, OpenSearch, Solr.

An `Engine` retrieves candidates, describes and explains them, and takes documents. `open` finds the one
behind an address. `engine.retriever(k) >> Features.standard(engine) >> ranker >> first(10)` is the same for
all of them.
"""

from typing import TYPE_CHECKING

from rankloop._lazy import lazy

if TYPE_CHECKING:
    from rankloop.engines.answer import Answer as Answer
    from rankloop.engines.deploy import Deployed as Deployed
    from rankloop.engines.deploy import deploy as deploy
    from rankloop.engines.embedded import Embedded as Embedded
    from rankloop.engines.engine import Engine as Engine
    from rankloop.engines.engine_away import EngineAway as EngineAway
    from rankloop.engines.engine_features import EngineFeatures as EngineFeatures
    from rankloop.engines.health import Health as Health
    from rankloop.engines.open import open as open
    from rankloop.engines.opensearch import OpenSearch as OpenSearch
    from rankloop.engines.score_part import ScorePart as ScorePart
    from rankloop.engines.solr import Solr as Solr
    from rankloop.engines.unsupported import Unsupported as Unsupported

_HOME = {
    "Answer": "answer",
    "Deployed": "deploy",
    "Embedded": "embedded",
    "Engine": "engine",
    "EngineAway": "engine_away",
    "EngineFeatures": "engine_features",
    "Health": "health",
    "OpenSearch": "opensearch",
    "ScorePart": "score_part",
    "Solr": "solr",
    "Unsupported": "unsupported",
    "deploy": "deploy",
    "open": "open",
}

__all__ = list(_HOME)

__getattr__ = lazy(__name__, _HOME)
