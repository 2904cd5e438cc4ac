"""The columns of the measured tables, and the rows of the page of figures."""

from dataclasses import dataclass, field

__all__ = ["FIGURES", "LAYOUTS", "Layout"]


@dataclass(frozen=True)
class Layout:
    """Headings with formats of cells, words for some cells, and the cell that spreads rows over columns."""

    columns: dict[str, str]
    words: dict[str, str] = field(default_factory=dict)
    across: str = ""
    table: str = ""  # another name than that after the slash


ESTIMATORS = {
    "randomized": "`randomized`",
    "swap, pivot": "`swap_intervention`, swaps with rank 1",
    "swap, adjacent chain": "`swap_intervention`, chain of adjacent swaps",
    "harvest of adjacent swaps": "`harvest` of the same swaps",
    "fair_pairs": "`fair_pairs`",
    "harvest, allpairs": "`harvest` of a stochastic ranker, all pairs",
    "harvest, allpairs, equal": "all pairs, equal weights",
    "harvest, pivot": "the same, pivot",
    "harvest, chain": "the same, chain",
}
STAGES = {
    "60 features": "60 features, candidates seen for the first time",
    "all 96 features": "all 96 features, seen before",
}
SERVED = {"request": 1, "retrieve": 2, "features": 1, "rank": 1, "show": 1, "record": 2}  # digits of each
LEARNERS = {"pdgd": "PDGD", "dbgd": "DBGD", "mgd": "MGD"}
QUALITY = {"": "{who}", "NDCG@10 (95 % interval)": "{ndcg:.3f} ({low:.3f} to {high:.3f})", "p": "{p:p}"}
AGAINST_LIGHTGBM = {
    "LightGBM": "{lightgbm:.4f}",
    "rankloop": "{rankloop:.4f}",
    "difference": "{difference:+.4f} [{low:+.4f}, {high:+.4f}]",
}
CONVERGENCE = {
    "sessions": "{sessions:,}",
    "naive": "{naive:.4f}",
    "`ips`, true curve": "{oracle IPS:.4f}",
    "`doubly_robust`, true curve": "{oracle DR:.4f}",
}
MEAN = "{ndcg:.3f} [{low:.3f}, {high:.3f}]"

ALL_WORLDS = Layout(
    {
        "worlds": "{worlds}",
        "full information clearly above naive trees": "{clear}",
        "share of that way (95 % interval)": "{share[0]:.0%} ({share[1]:.0%} to {share[2]:.0%})",
        "the same, 100 % at most": "{most[0]:.0%} ({most[1]:.0%} to {most[2]:.0%})",
        "`learn` clearly above the best peer": "{clearly above the best peer}",
        "above": "{above the best peer}",
        "below": "{below the best peer}",
        "clearly below": "{clearly below the best peer}",
        "below naive trees where labels are clearly above": (
            "{below naive trees where labels are clearly above}"
        ),
    }
)
WORLDS = Layout(
    {
        "world": "{world}",
        "naive trees": "{naive trees:.4f}",
        "LightGBM `position`": "{LightGBM position:.4f}",
        "XGBoost unbiased": "{XGBoost unbiased:.4f}",
        "oracle IPS": "{oracle IPS:.4f}",
        "`learn`": "{learn:.4f}",
        "full information": "{full information:.4f}",
        "`learn` - best peer": "{gap[0]:+.4f} ({gap[1]:+.4f} to {gap[2]:+.4f})",
        "share": "{share:.0%}",
        "CPU s: naive, `learn`": "{cpu}",
    }
)

_LIBRARIES = {
    "set": "{set}",
    "queries": "{queries}",
    "LightGBM": "{lightgbm:.4f}",
    "XGBoost": "{xgboost:.4f}",
    "CatBoost": "{catboost:.4f}",
}
_AUTO = {"`AutoRanker`": "{auto:.4f}", "its gain": "{auto_gain:+.4f} [{auto_low:+.4f}, {auto_high:+.4f}]"}
_OURS = {
    "`LambdaMART`": "{ours:.4f}",
    "gain of `LambdaMART`": "{ours_gain:+.4f} [{ours_low:+.4f}, {ours_high:+.4f}]",
}
_NAMED = {"synthetic": "`rl.synthetic`"}
AUTO = Layout(_LIBRARIES | _AUTO, _NAMED)

TUNE = Layout(
    {
        "set": "{set}",
        "random search, n trials": "{random_n:.4f}",
        "random search, 2 n trials": "{random_2n:.4f}",
        "`tune`, n trials": "{tune_n:.4f}",
        "settings begun": "{begun:.1f}",
        "`tune` less random search with 2 n": "{difference:+.4f} ± {error:.4f}",
    }
)

LAYOUTS = {
    "auto/sets": Layout(_LIBRARIES | _OURS | _AUTO, _NAMED),
    "auto/webis": AUTO,
    "auto/wild": AUTO,
    "first_minutes/minutes": Layout(
        {
            "user": "{user}",
            "install": "{install}",
            "pip, s": "{pip:.1f}",
            "its CPU, s": "{pip_cpu:.1f}",
            "commands, s": "{commands:.1f}",
            "their CPU, s": "{commands_cpu:.1f}",
            "minutes (bar 5)": "{minutes:.2f}",
        }
    ),
    "tune/sets": TUNE,
    "clicks/simulate": Layout(
        {
            "pages": "{pages}",
            "rankloop": "{rankloop:M}",
            "numpy, vectorised": "{numpy:M}",
            "ratio (bar 4)": "{ratio:.1f}",
            "numpy in 32 bits": "{numpy_32_bits:M}",
            "ratio": "{ratio_32_bits:.1f}",
        }
    ),
    "clicks/real": Layout(
        {
            "log": "{log}",
            "model": "{model}",
            "PyClick": "{pyclick:.4f}",
            "rankloop": "{rankloop:.4f}",
            "difference, bits": "{bits:+.4f} ({low:+.4f} to {high:+.4f})",
            "CPU s: PyClick, rankloop": "{pyclick_seconds:.1f}, {seconds:.2f}",
        }
    ),
    "clicks/slow": Layout(
        {
            "log": "{log}",
            "model": "{model}",
            "PyClick": "{pyclick:.4f}",
            "rankloop": "{rankloop:.4f}",
            "difference, bits": "{bits:+.4f} ({low:+.4f} to {high:+.4f})",
        }
    ),
    "clicks/splits": Layout(
        {
            "pages": "{pages:,}",
            "model": "{model}",
            "PyClick": "{pyclick:.4f}",
            "rankloop": "{rankloop:.4f}",
            "mean difference, bits": "{bits:+.4f} ({low:+.4f} to {high:+.4f})",
            "splits ahead": "{ahead} of {splits}",
            "equal": "{equal}",
        }
    ),
    "clicks/trec": Layout(
        {
            "model": "{model}",
            "prior": "{prior:g}",
            "perplexity": "{perplexity:.4f}",
            "given the clicks above": "{given_clicks:.4f}",
        }
    ),
    "exportable/worlds": Layout(
        {
            "world": "{world}",
            "naive trees": "{naive:.4f}",
            "`learn`": "{learn:.4f}",
            "`learn`, exportable": "{exportable:.4f}",
            "quick, constant leaves": "{quick:.4f}",
            "exportable - `learn`": "{gap[0]:+.4f} ({gap[1]:+.4f} to {gap[2]:+.4f})",
            "CPU s: `learn`, the forest": "{cpu}",
        }
    ),
    "exportable/mean": Layout(
        {
            "worlds": "{worlds}",
            "exportable - `learn`": "{below[0]:+.4f} ({below[1]:+.4f} to {below[2]:+.4f})",
            "quick, constant leaves - `learn`": "{quick[0]:+.4f} ({quick[1]:+.4f} to {quick[2]:+.4f})",
            "`learn` - naive trees": "{above_naive[0]:+.4f} ({above_naive[1]:+.4f} to {above_naive[2]:+.4f})",
        }
    ),
    "engines/engines": Layout(
        {
            "engine and row": "{who}",
            "p50, ms": "{p50:.1f}",
            "p95, ms": "{p95:.1f}",
            "NDCG@10": "{ndcg:.4f}",
            "CPU of our process, ms": "{cpu:.2f}",
        }
    ),
    "engines/indexed": Layout(
        {
            "documents indexed a second: embedded": "{embedded:,.0f}",
            "Solr": "{solr:,.0f}",
            "OpenSearch": "{opensearch:,.0f}",
        }
    ),
    "engines/aims": Layout({"aim": "{what}", "measured": "{value:.2f}", "goal": "{aim:g}", "": "{result}"}),
    "cold_start/start": Layout(
        {"": "{what}", "wall, s": "{wall:.2f}", "CPU, s": "{cpu:.2f}", "bar, s": "{bar:g}"}
    ),
    "attack/attack": Layout(
        {
            "attack, while 8 clients search": "{attack}",
            "answers a second to the clients": "{rate:.1f}",
            "p50, ms": "{p50:.1f}",
            "p99, ms": "{p99:.1f}",
            "times p99 alone (goal: below 2)": "{ratio:.2f}",
            "clients refused": "{refused}",
        },
        words={"alone": "nothing"},
    ),
    "hardening/damage": Layout(
        {
            "changed file": "{file}",
            "noticed": "{noticed:,}",
            "read, with the same answer": "{same:,}",
            "read, with another answer (goal: 0)": "{another:,}",
        }
    ),
    "hardening/worst queries": Layout({"query of 500 bytes": "{query}", "ms": "{ms:.1f}"}),
    "hardening/ordinary searches": Layout(
        {"ordinary searches": "{when}", "p50, ms": "{p50:.1f}", "p99, ms": "{p99:.1f}"}
    ),
    "tried/tried": Layout({"tried": "{what}", "times": "{count:,}"}),
    "kills/kills": Layout({"killed with -9": "{killed}", "times": "{times}", "what was left": "{left}"}),
    "instant/keys": Layout(
        {
            "ranker": "{ranker}",
            "keys": "{keys}",
            "p50, ms": "{p50:.1f}",
            "p95, ms (goal: below 100)": "{p95:.1f}",
            "p99, ms": "{p99:.1f}",
        }
    ),
    "worlds/fresh": WORLDS,
    **{f"worlds/{part}, all": ALL_WORLDS for part in ("fresh", "opened", "earlier")},
    "worlds/fresh, unfinished": Layout(
        {"world": "{world}", "contender": "{method}", "NDCG@10": "{ndcg:.4f}", "CPU s": "{cpu:.0f}"}
    ),
    "worlds/reporting": WORLDS,
    "worlds/lost": WORLDS,
    "worlds/before": WORLDS,
    "worlds/opened": WORLDS,
    "worlds/opened, again": WORLDS,
    "worlds/earlier": WORLDS,
    "judging/judgments": Layout(
        {
            "worlds": "{worlds}",
            "random order": "{random:.0f}",
            "chosen": "{chosen:.0f}",
            "ratio": "{ratio:.2f}",
            "covered, random": "{covered_random:.0%}",
            "covered, chosen": "{covered_chosen:.0%}",
        },
        {"new one is better": "the new one is better"},
    ),
    "lines/lines": Layout(
        {
            "job": "{job}",
            "tool": "{tool}",
            "lines": "{lines}",
            "files": "{files}",
            "times ours": "{times:.1f}",
            "run here": "{ran}",
        }
    ),
    "loading/read": Layout(
        {
            "reader": "{reader}",
            "CPU, s": "{cpu:.3f}",
            "wall, s": "{wall:.2f}",
            "MB a CPU second": "{mb_a_second:.0f}",
            "times ours": "{times:.1f}",
            "peak memory, times the array": "{memory:.2f}",
        }
    ),
    "losses/lambdaloss": Layout(
        {
            "who": "{who}",
            "documents per list": "{length:,}",
            "ms": "{ms:,.1f}",
            "memory, MB": "{mb:,.0f}",
            "times ours": "{times:.0f}",
        },
        {"allrank": "as in allRank", "rax": "Rax"},
    ),
    "losses/lambdarank": Layout(
        {
            "gradient and curvature": "{who}",
            "LightGBM, ms": "{lightgbm:.1f}",
            "rankloop, ms": "{rankloop:.1f}",
            "times ours": "{times:.1f}",
        },
        {"rankloop": "`derivatives`: checked, prepared, double", "prepared": "prepared once, as in boosting"},
    ),
    "metrics/lists": Layout(
        {"": "{what}", "ms": "{ms:,.1f}", "times ours": "{times:.1f}", "bar": "{wanted:g}"}
    ),
    "online_alarm/alarm": Layout(
        {
            "clicks of the learner, times those of the floor": "{times:g}",
            "worlds": "{worlds}",
            "rolled back": "{rolled_back:.1%}",
            "after pages (median)": "{pages:,.0f}",
        }
    ),
    "propensity/recovery": Layout(
        {
            "estimator": "{estimator}",
            "eta .5: worst, rank 10 (s.e.)": "{worst_05:.1%}, {rank_10_05:+.1%} ({error_05:.1%})",
            "eta 1": "{worst_10:.1%}, {rank_10_10:+.1%} ({error_10:.1%})",
            "eta 2": "{worst_20:.1%}, {rank_10_20:+.1%} ({error_20:.1%})",
        },
        ESTIMATORS,
        across="eta",
    ),
    "reading_logs/memory": Layout(
        {
            "file": "{format}",
            "rows": "{rows:,}",
            "peak, bytes a row": "{peak:.0f}",
            "kept, bytes a row": "{kept:.0f}",
            "process, GB": "{process:.2f}",
            "seconds": "{seconds:.0f}",
        }
    ),
    "clicks/speed": Layout({"model": "{model}", "session-iterations a second": "{rankloop:.1M}"}),
    "online/learners": Layout(
        {
            "set": "{set}",
            "users": "{users}",
            "learner": "{learner}",
            "after 1,000 pages": "{after_1000}",
            "after 10,000 pages": "{after_10000}",
            "seen by users": "{online}",
        },
        LEARNERS,
    ),
    "online/offline": Layout(
        {
            "set": "{set}",
            "PDGD, perfect users, 100,000 pages": "{pdgd}",
            "linear ranker trained on the labels": "{offline}",
        }
    ),
    "online/speed": Layout(
        {"learner": "{learner}", "pages per CPU second": "{pages_a_second:,.0f}"}, LEARNERS
    ),
    "search_quality/movies, judged": Layout(QUALITY),
    "search_quality/movies, full": Layout(QUALITY),
    "search_quality/cranfield": Layout(QUALITY),
    "unbiased/convergence, eta 1": Layout(CONVERGENCE),
    "unbiased/convergence, eta 2": Layout(CONVERGENCE),
    "cluster/rows": Layout(
        {
            "impressions": "{rows:,}",
            "shards": "{shards}",
            "write": "{write:.2f}",
            "count": "{count:.2f}",
            "curve": "{curve:.2f}",
            "bytes per impression": "{bytes:.2f}",
            "cells": "{cells:,.0f}",
        }
    ),
    "cluster/documents": Layout(
        {
            "documents": "{documents:,}",
            "write": "{write:.1f}",
            "evaluate": "{evaluate:.1f}",
            "score": "{score:.1f}",
            "one tree of 31 leaves": "{tree:.2f}",
            "bytes per document": "{bytes:.0f}",
            "training worker, MB": "{worker_mb:.0f}",
        }
    ),
    "cluster/memory": Layout(
        {
            "data": "{data}",
            "rows": "{rows:,}",
            "process that writes, MB": "{writer}",
            "worker, MB": "{worker}",
        }
    ),
    "cluster/overhead": Layout(
        {
            "job": "{job}",
            "local, first": "{local}",
            "local, again": "{local_again}",
            "Ray, first": "{ray}",
            "Ray, again": "{ray_again}",
        }
    ),
    "scoring/scoring": Layout(
        {
            "trees": "{trees:,}",
            "leaves": "{leaves}",
            "rows in a call": "{rows:,}",
            "rankloop, µs a document": "{rankloop:.1f}",
            "LightGBM": "{lightgbm:.1f}",
            "onnxruntime": "{onnxruntime:.1f}",
        }
    ),
    "search/speed": Layout(
        {
            "": "{who}",
            "build, CPU s": "{build:.1f}",
            "p50, ms": "{p50:.2f}",
            "p99, ms": "{p99:.2f}",
            "same 1,000": "{same:.3f}",
        }
    ),
    **{
        f"search_latency/{documents} documents": Layout(
            {"": "{stage}", "p50, ms": "{p50:.2f}", "p99, ms": "{p99:.2f}"}, STAGES
        )
        for documents in (100_000, 1_000_000)
    },
    **{
        f"scarce_labels/{name}": Layout(
            {
                f"{title}": "{who}",
                "NDCG@10": "{ndcg:.3f}",
                "less the better trees with these labels": "{against}",
                "CPU, s": "{seconds:.1f}",
            }
        )
        for name, title in {"synthetic": "synthetic lists", "movies": "MSRD movies"}.items()
    },
    **{
        f"text/{name}": Layout(
            {
                "": "{who}",
                "NDCG@10": MEAN,
                "less BM25": "{against}",
                "judged@10": "{judged:.3f}",
                "condensed lists": "{condensed:.3f}",
            },
            {"hybrid, learned, words' candidates": "a weight for each field, words' candidates"},
        )
        for name in ("retrieval", "hybrids")
    },
    **{
        f"text_reranking/{name}": Layout({"": "{who}", "NDCG@10": MEAN, f"less {first}": "{against}"})
        for name, first in {
            "trees": "the trees",
            "encoders": "MiniLM, title",
            "cross-encoders": "the trees",
        }.items()
    },
    "cross_encoders/throughput": Layout(
        {
            "pairs a batch": "{pairs:,}",
            "": "{who}",
            "pairs a second": "{pairs_a_second:,.0f}",
            "peak memory, GB": "{gigabytes:.1f}",
        }
    ),
    "gpu/lambdarank": Layout(
        {
            "lists × documents": "{lists:,} × {documents:,}",
            "": "{who}",
            "as called, ms": "{ms:.2f}",
            "in a graph, ms": "{graph:.3f}",
            "GiB": "{gib:.2f}",
        },
        {
            "us, gradient and Hessian": "ours: gradient and Hessian",
            "us, value too": "ours: value too",
            "eager n × n": "padded n × n, eager",
            "compiled n × n": "padded n × n, compiled",
        },
    ),
    "gpu/losses": Layout(
        {"loss": "{loss}", "as called, ms": "{ms:.2f}", "in a graph, ms": "{graph:.3f}"},
        {"RankNet, explicit pairs": "RankNet, 245,760 explicit pairs"},
    ),
    "gpu/cores": Layout(
        {
            "loss": "{loss}",
            "fastest core, ms": "{fastest:.2f}",
            "median, ms": "{median:.2f}",
            "slowest, ms": "{slowest:.2f}",
            "cores above 0.15 ms": "{over} of {cores}",
        }
    ),
    "gpu/epochs": Layout(
        {"": "{what}", "s": "{seconds:.3f}"},
        {
            "bf16": "an epoch, bf16 (goal 0.06 s)",
            "bf16, streamed": "an epoch, bf16, all 2 GB of rows streamed from the host (16 cores)",
            "20 epochs, validated": "20 epochs with NDCG@10 on 747,000 more documents after each",
            "padded to 240, eager, float32": "padded lists cut to 240, eager n × n, float32, an epoch",
        },
    ),
    "gpu_trees/speed": Layout(
        {
            "3.77 million documents × 136 features": "{who}",
            "trees": "{trees}",
            "s, with loading": "{seconds:.1f}",
            "NDCG@10, validation": "{ndcg:.4f}",
        },
        {
            "XGBoost, rank:ndcg": "XGBoost, `rank:ndcg` on the GPU, 64 leaves",
            "leaf by leaf, 255 leaves": "XGBoost's trees under our LambdaGap, leaf by leaf, 255 leaves",
            "level by level, 128 leaves": "XGBoost's trees under our LambdaRank"
            " (`truncation=100, norm_gap=True`), level by level, 128 leaves",
        },
    ),
    "gpu_trees/lightgbm": Layout(
        {"": "{who}", "trees": "{trees}", "CPU, s": "{cpu:.0f}", "NDCG@10, validation": "{ndcg:.4f}"},
        {"LightGBM, lambdarank, 255 leaves": "LightGBM's own `lambdarank`, leaf by leaf, 255 leaves"},
    ),
    "gpu_trees/quality": Layout(
        {
            "": "{who}",
            "seed 0": "{ndcg_0:.4f}",
            "seed 1": "{ndcg_1:.4f}",
            "seed 2": "{ndcg_2:.4f}",
            "seconds, seed 2": "{seconds_2:.1f}",
        },
        {
            "network, GPU": "network 1024-512-256, LambdaRank, bf16, GPU",
            "trees (lightgbm, CPU, our loss)": "LightGBM's trees under our LambdaGap, 16 cores",
            "network + trees (lightgbm, CPU)": "network + LightGBM's trees (`Ensemble`)",
            "trees (xgboost, GPU, our loss)": "XGBoost's trees under our LambdaGap, GPU",
            "network + trees (xgboost, GPU)": "network + XGBoost's trees (`Ensemble`)",
            "trees (XGBoost, GPU, rank:ndcg)": "XGBoost, `rank:ndcg`, GPU",
        },
        across="seed",
    ),
    "text_reranking/latency": Layout({"for 100 candidates": "{who}", "CPU, ms": "{ms:,.1f}"}),
    "serving/search": Layout(
        {
            "workers": "{workers}",
            "clients": "{clients}",
            "requests a second": "{per_second:.0f}",
            **{
                stage: f"{{p50_p99_ms[{stage}][0]:.{digits}f}} / {{p50_p99_ms[{stage}][1]:.{digits}f}}"
                for stage, digits in SERVED.items()
            },
            "CPU a request": "{cpu_ms:.1f}",
            "of the client": "{client_cpu_ms:.2f}",
        }
    ),
    "serving/events": Layout(
        {
            "events, 8 clients": "{what}",
            "a second": "{per_second:,.0f}",
            "p50, ms": "{p50_ms:.1f}",
            "p99, ms": "{p99_ms:.1f}",
        },
        {
            "sqlite, 1 in a request": "SQLite, one in a request",
            "sqlite, 100 in a request": "SQLite, a hundred in a request",
            "postgresql, 1 in a request": "PostgreSQL, one in a request",
            "postgresql, 100 in a request": "PostgreSQL, a hundred in a request",
            "into sqlite, in batches": "from the spool into SQLite",
            "into postgresql, in batches": "from the spool into PostgreSQL",
        },
    ),
    "serving/memory": Layout(
        {
            "requests": "{requests:,}",
            "its own": "{own:.1f}",
            "files that it maps": "{files:.1f}",
            "its store on disk": "{store:.0f}",
        }
    ),
    "metrics/against lightgbm": Layout(
        {
            "LightGBM's time for NDCG@10, times ours, in turns": "{alone:.1f}",
            "among the other libraries": "{among:.1f}",
            "bar": "{wanted:g}",
        }
    ),
    "training/quality": Layout(
        {"data": "{set}", "queries": "{queries}", "divisions": "{divisions}", **AGAINST_LIGHTGBM},
        {"webis_clueweb09_letor": "`webis-clueweb09`", "lightgbm_lambdarank": "`lightgbm-example`"},
    ),
    "training/quality, drawn": Layout({"data": "{set}", "draws": "{draws}", **AGAINST_LIGHTGBM}),
    "training/coarse": Layout(
        {
            "queries of 120 documents": "{queries:,}",
            "trees": "{trees}",
            "draws": "{draws}",
            "NDCG@10, exact": "{exact:.4f}",
            "coarse": "{coarse:.4f}",
            "difference": "{difference:+.4f} [{low:+.4f}, {high:+.4f}]",
            "a round, times as fast": "{times:.2f}",
        }
    ),
    "training/speed": Layout(
        {
            "": "{what}",
            "LightGBM's `lambdarank`": "{lightgbm:.2f} s",
            "`LambdaMART()`": "{rankloop:.2f} s",
            "ratio (goals: 1.5 a round, 1.3 whole)": "{times:.2f}",
        },
        {"whole, CPU": "the whole training of 15 trees, bins and compilation included, CPU"},
    ),
}

# what, rankloop, others, script of `benchmarks/` with its options;
# {FILE/TABLE/ROW/COLUMN|format} is a cell of a file of results.
FIGURES = [
    (
        "NDCG@10, MAP, MRR and ERR of 10,000 lists of about 120 documents, ties exact (CPU, one thread)",
        "{metrics/lists/rankloop, all four/ms|.1f} ms",
        "LightGBM {metrics/lists/lightgbm, ndcg@10/ms|.1f} ms (NDCG@10 alone), pytrec_eval"
        " {metrics/lists/pytrec_eval, three/ms|.0f} ms and ranx {metrics/lists/ranx, three/ms|.0f} ms (three"
        " of them), scikit-learn {metrics/lists/scikit-learn, ndcg@10/ms|,.0f} ms (NDCG@10)",
        "`metrics.py`",
    ),
    (
        "the same of 1,000 lists, from TREC files (CPU)",
        "{metrics/lists/rankloop, from files/ms|.1f} ms",
        "pytrec_eval {metrics/lists/pytrec_eval, from files/ms|.0f} ms",
        "`metrics.py`",
    ),
    (
        "reading an SVMLight file of 40,000 × 136 (CPU)",
        "{loading/read/rankloop/cpu|.2f} s, {loading/read/rankloop/memory|.2f} × the array in memory",
        "XGBoost {loading/read/xgboost/cpu|.2f} s, polars {loading/read/polars/cpu|.2f} s,"
        " LightGBM {loading/read/lightgbm/cpu|.2f} s, scikit-learn {loading/read/scikit-learn/cpu|.1f} s",
        "`loading.py --rows 40000`",
    ),
    (
        "`rankloop evaluate` of a TREC run, the first one on a new machine and the next (CPU)",
        "{cold_start/start/rankloop evaluate, TREC run, first/cpu|.1f} s,"
        " {cold_start/start/rankloop evaluate, TREC run, next/cpu|.1f} s",
        "ranx {cold_start/start/ranx, TREC run, first/cpu|.1f} s,"
        " {cold_start/start/ranx, TREC run, next/cpu|.1f} s",
        "`cold_start.py`",
    ),
    (
        "scoring 1,000 documents with 500 trees of 255 leaves, one thread (CPU)",
        "{scoring/scoring/trees=500&leaves=255&rows=1000/rankloop|.1f} µs a document, LightGBM's bits",
        "LightGBM {scoring/scoring/trees=500&leaves=255&rows=1000/lightgbm|.1f} µs,"
        " onnxruntime {scoring/scoring/trees=500&leaves=255&rows=1000/onnxruntime|.1f} µs",
        "`scoring.py`",
    ),
    (
        "retrieve 1,000 of 100,000 documents, 60 features, 500 trees (CPU, p50 and p99)",
        "{search_latency/100000 documents/whole pipeline, 60 features/p50|.1f} and"
        " {search_latency/100000 documents/whole pipeline, 60 features/p99|.1f} ms",
        "",
        "`search_latency.py`",
    ),
    (
        "the same of 1,000,000 documents",
        "{search_latency/1000000 documents/whole pipeline, 60 features/p50|.1f} and"
        " {search_latency/1000000 documents/whole pipeline, 60 features/p99|.1f} ms",
        "",
        "`search_latency.py --documents 1000000`",
    ),
    (
        "a page of 100,000 documents over HTTP, logged, one client and one worker (wall)",
        "{serving/search/workers=1&clients=1/per_second|.0f} a second",
        "",
        "`serving.py`",
    ),
    (
        "movies, NDCG@10 on held-out queries, re-ranking judged lists (95 % interval)",
        "{search_quality/movies, judged/who=trees, learned on judged lists/ndcg|.3f}"
        " ({search_quality/movies, judged/who=trees, learned on judged lists/low|.3f} to"
        " {search_quality/movies, judged/who=trees, learned on judged lists/high|.3f})",
        "BM25 {search_quality/movies, judged/who=BM25, one merged field/ndcg|.3f}"
        " ({search_quality/movies, judged/who=BM25, one merged field/low|.3f} to"
        " {search_quality/movies, judged/who=BM25, one merged field/high|.3f})",
        "`search_quality.py --part test --peers`",
    ),
    (
        "LambdaLoss, value and gradient of 64 lists of 240 (CPU)",
        "{losses/lambdaloss/who=rankloop&length=240/ms|.1f} ms",
        "as in allRank {losses/lambdaloss/who=allrank&length=240/ms|.0f} ms,"
        " Rax {losses/lambdaloss/who=rax&length=240/ms|.0f} ms",
        "`losses.py`",
    ),
    (
        "a round of LambdaMART, 1.2 million × 136, 255 leaves, one thread (CPU)",
        "{training/speed/a round, CPU/rankloop|.2f} s",
        "LightGBM's `lambdarank` {training/speed/a round, CPU/lightgbm|.2f} s",
        "`training.py --only speed`",
    ),
    (
        "LambdaRank's gradient, 30,000 lists of 120 (H200)",
        "{gpu/lambdarank/lists=30000&who=us, gradient and Hessian/ms|.2f} ms",
        "eager PyTorch {gpu/lambdarank/lists=30000&who=eager n × n/ms|.1f} ms, compiled"
        " {gpu/lambdarank/lists=30000&who=compiled n × n/ms|.1f} ms",
        "`gpu.py`",
    ),
    (
        "LambdaMART on the GPU, 3.77 million × 136, data moved there included (H200)",
        "{gpu_trees/speed/level by level, 128 leaves/seconds|.1f} s",
        "XGBoost's own {gpu_trees/speed/XGBoost, rank:ndcg/seconds|.1f} s",
        "`gpu_trees.py`",
    ),
    (
        "one epoch over 3.77 million × 136, MLP 1024-512-256, LambdaRank, bf16 (H200)",
        "{gpu/epochs/what=bf16/seconds|.3f} s",
        "eager PyTorch, padded {gpu/epochs/what=padded to 240, eager, float32/seconds|.2f} s",
        "`gpu.py`",
    ),
    (
        "learning online, 10,000 pages, informational users, NDCG@10 (synthetic, 5 runs)",
        "PDGD {online/learners/set=synthetic&users=informational&learner=pdgd/after_10000}",
        "DBGD {online/learners/set=synthetic&users=informational&learner=dbgd/after_10000},"
        " MGD {online/learners/set=synthetic&users=informational&learner=mgd/after_10000}",
        "`online.py`",
    ),
]
