"""Reports: train, compare, and show on one page how good a ranker is and why."""

import os
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

import rankloop as rl
from rankloop import interleaving, propensity, report
from rankloop.rankers import lambdas

quick = "RANKLOOP_QUICK" in os.environ
trees, pages = (30, 500) if quick else (200, 5_000)
folder = Path(mkdtemp())

data = rl.synthetic(n_queries=300, docs_per_query=20, n_features=12, seed=0)
train, valid, test = data.split(0.5, 0.25, seed=0)
rankers = {
    "one feature": test.X[:, 0],
    "linear": rl.LinearRanker(loss="ranknet").fit(train, valid),
    "trees": rl.LambdaMART(trees=trees, leaves=8, threads=1, seed=0).fit(train, valid),
}

# A result of another family becomes a page: intervals, p-values, gains and losses by query.
compared = rl.compare(rankers, test, ["ndcg@10", "map"])
report.report_of_comparison(compared).save(folder / "compared.html")

# Or make your own page of text, tables and figures.
chosen = rankers["trees"]
a, b = test.offsets[:2]
scores = chosen.predict(test)
page = report.Report("Trees on synthetic lists", "Learning curves, features, one list, clicks.")
page.add("Figures", compared, report.gains_and_losses(compared, system="trees"))
page.add("Learning", report.learning_picture({"valid": chosen.curve_}, x="trees", best=chosen.n_trees_))
page.add(
    "Features", report.importance_picture({by: rl.importance(chosen, by=by) for by in ("split", "gain")})
)
page.add(
    "One list",
    "NDCG from gain, discount and order, and the lambdas of LambdaRank.",
    report.ndcg_picture(scores[a:b], test.y[a:b]),
    report.lambdas_picture(lambdas("lambdarank", scores, test.y, test.offsets)),
)

# Figures of clicks.
log = rl.simulate(test, logging_policy=test.X[:, 0], sessions=20 * pages, k=10, randomize="swap", seed=0)
curve = propensity.swap_intervention(log)
duel = interleaving.simulate_duel(test, {"trees": chosen, "one feature": test.X[:, 0]}, pages=pages)
page.add("Clicks", report.ctr_by_position(log), report.position_curve({"swaps": curve}), report.heat_map(log))
page.add("What people prefer", report.preference(duel.verdicts()))
page.save(folder / "trees.html")

# A figure is plain SVG, for notebooks and papers.
report.position_curve({"swaps": curve}, truth=1 / (1 + np.arange(10))).save(folder / "bias.svg")
for path in (*page.save_plots(folder / "figures"), folder / "compared.html", folder / "trees.html"):
    print(f"{path.stat().st_size:>8,} bytes  {path.relative_to(folder)}")
print(f"\nall in {folder}")
