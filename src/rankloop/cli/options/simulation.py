"""What `simulate` and `online` share: a simulated user, and the ranking that people saw before."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankloop.cli.options.reading import Reading

if TYPE_CHECKING:
    from rankloop.clicks import ClickModel
    from rankloop.data import RankingDataset

__all__ = ["By", "Eta", "Noise", "feature_column", "ranking_scores", "simulated_user"]

By = Annotated[
    str | None, typer.Option("--by", help="Take one feature as the scores instead: its number or name.")
]
Eta = Annotated[float, typer.Option("--eta", help="How steeply examination falls with the rank.")]
Noise = Annotated[
    float, typer.Option("--noise", help="The probability that a document of grade 0 is attractive.")
]


def simulated_user(name: str, eta: float, noise: float, data: "RankingDataset") -> "ClickModel":
    """A user by name, with the grades of the data set; or a saved click model."""
    from rankloop.clicks import load_model, user

    if Path(name).is_file():
        return load_model(name)
    return user(name, eta=eta, noise=noise, max_label=max(int(data.y.max()), 4))


def ranking_scores(
    data: "RankingDataset", ranking: str | None, by: str | None, reading: Reading, source: str
) -> Any:
    """Scores in row order or a ranker, from a file or from one feature; None where neither is given."""
    if by is not None:
        return feature_column(data, by)
    if ranking is None:
        return None
    found = reading.ranking(ranking, source)
    if not (hasattr(found, "predict") or hasattr(found, "shape")):
        raise ValueError(f"{ranking} is a run; wanted scores in row order, or a saved ranker")
    return found


def feature_column(data: "RankingDataset", by: str) -> Any:
    """One feature by its name, or by its number, counted from 1 as in the files."""
    if data.feature_names is not None and by in data.feature_names:
        return data.X[:, data.feature_names.index(by)]
    if by.isdigit() and 1 <= int(by) <= data.n_features:
        return data.X[:, int(by) - 1]
    raise ValueError(f"there is no feature {by!r}; name one, or a number from 1 to {data.n_features}")
