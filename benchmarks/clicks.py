"""Click models and the simulator: speed against peers, and what real clicks say.

    python benchmarks/clicks.py [speed] [simulate] [trec] [real] [slow] [splits] [perplexity]

`speed` fits the same simulated log with PyClick (from RANKLOOP_PYCLICK; it has no release) and with us, in
session-iterations per second. `simulate` draws the same experiment with vectorised numpy and with us.
`trec` needs RANKLOOP_DATA: perplexity on the TREC 2014 sessions, and agreement of clicks with human grades.
`perplexity` fits logs of several sizes with PyClick (from the checkout that RANKLOOP_PYCLICK names) and with
us, and compares held-out pages of simulated Zipf queries, of seeds that nothing was developed on; `real` does
so on the TREC 2014 sessions, and `slow` with DBN and CCM, which take PyClick minutes: theirs are in arrays
(`pyclick_in_arrays.py`), which are first compared with PyClick's own on a small log. `splits` divides the
TREC pages at random, with PyClick's PBM, UBM, DBN and CCM in arrays, and its own other models.
All times are CPU times, so other work on the machine and threads (only we use them) do not change the ratios.
"""

import importlib
import importlib.util
import os
import sys
import time
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import t as student

import rankloop.clicks as clicks
from pyclick_in_arrays import IN_ARRAYS, PEERS, equal_to_pyclick, new_peer, peer_pages, pyclick_in_arrays
from rankloop.clicks import ClickLog
from rankloop.clicks.read_graphcm import read_graphcm_grades
from rankloop.data import RankingDataset
from rankloop.metrics import ndcg
from results import benchmark, record

QUERIES, DOCUMENTS, K, SESSIONS, SEED = 1000, 20, 10, 1_000_000, 0
PEER_SESSIONS, PEER_ITERATIONS = 1000, 2
PRIORS = (1.0, 2.0, 5.0, 10.0, 20.0)
BOOTSTRAPS = 2000
SIZES, TEST_PAGES, REPORTED = (
    (1000, 4000, 12_000),
    5000,
    11,
)  # of `perplexity`; seeds 1 to 4 were developed on
REAL_SIZES = (125, 250, 500, 1000, 2000, 3233)  # pages of TREC 2014, the first of the log; the last is all
SLOW, SLOW_PAGES = ("dbn", "ccm"), 1000  # PyClick's take minutes for more; those in arrays do not
SPLITS, SPLIT_SIZES, SPLIT_TEST, SPLIT_SEED = 48, (125, 250, 500, 1000, 2000), 1000, 900
EQUAL = 40  # pages on which predictions in arrays are compared with PyClick's
SAME = 1e-9  # bits that two equal estimates may differ by


def made_data() -> tuple[RankingDataset, np.ndarray]:
    rng = np.random.default_rng(SEED)
    n = QUERIES * DOCUMENTS
    grades = rng.integers(0, 5, n)
    data = RankingDataset.from_groups(rng.normal(size=(n, 2)), grades, [DOCUMENTS] * QUERIES)
    return data, grades + rng.normal(scale=2, size=n)


def best(work, repeats=3):
    taken = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def speed() -> None:
    data, scores = made_data()
    log = clicks.simulate(
        data, logging_policy=scores, user="dbn", sessions=SESSIONS, k=K, temperature=1.0, seed=SEED
    )
    peers = peer_rates(log)
    print(f"\nEM, session-iterations per second of CPU time; {SESSIONS:,} sessions of {K}")
    print(f"{'model':<10}{'PyClick':>12}{'rankloop':>16}{'ratio':>12}")
    for name in ("pbm", "ubm", "dbn", "ccm", "dcm", "sdbn"):
        model = clicks.model(name)
        log.pairs  # noqa: B018  # the index of the log is built once, for all fits
        few, many = model(iterations=2, tolerance=-1.0), model(iterations=12, tolerance=-1.0)
        few.fit(log)
        rate = SESSIONS * 10 / (best(partial(many.fit, log)) - best(partial(few.fit, log)))
        peer = peers.get(name)
        rates = (
            f"{peer:>12,.0f}{rate:>16,.0f}{rate / peer:>12,.0f}"
            if peer
            else f"{'-':>12}{rate:>16,.0f}{'-':>12}"
        )
        record("speed", model=name, pyclick=peer, rankloop=rate)
        print(f"{name:<10}{rates}")


def peer_rates(log: ClickLog) -> dict[str, float]:
    if importlib.util.find_spec("pyclick") is None:
        print("PyClick is not at hand; set RANKLOOP_PYCLICK to its checkout to measure it in the same run")
        return {}
    from pyclick.click_models.CCM import CCM
    from pyclick.click_models.DBN import DBN
    from pyclick.click_models.Inference import EMInference
    from pyclick.click_models.PBM import PBM
    from pyclick.click_models.UBM import UBM

    sessions = peer_pages(log.select(np.arange(PEER_SESSIONS)))
    rates = {}
    for name, kind in {"pbm": PBM, "ubm": UBM, "dbn": DBN, "ccm": CCM}.items():
        model = kind()
        model._inference = EMInference(PEER_ITERATIONS)
        start = time.process_time()
        model.train(sessions)
        rates[name] = PEER_SESSIONS * PEER_ITERATIONS / (time.process_time() - start)
    return rates


def perplexity() -> None:
    beside_pyclick("perplexity", zipf_logs(), PEERS)


def real() -> None:
    if (parts := trec_parts()) is not None:
        beside_pyclick("real", trec_logs(parts), [name for name in PEERS if name not in SLOW])


def slow() -> None:
    if (parts := trec_parts()) is not None:
        if importlib.util.find_spec("pyclick") is not None:
            equal_to_pyclick(*(parts[number].select(np.arange(EQUAL)) for number in (0, 2)))
        beside_pyclick("slow", trec_logs(parts), SLOW)


def trec_parts() -> list[ClickLog] | None:
    """The pages to learn from, in two parts, and those to test on."""
    root = os.environ.get("RANKLOOP_DATA")
    if not root:
        print("set RANKLOOP_DATA to the folder of real collections for the TREC sessions")
        return None
    folder = Path(root) / "trec_session2014_graphcm"
    return [clicks.read_graphcm(folder / f"{p}_per_query_quid.txt") for p in ("train", "valid", "test")]


def splits() -> None:
    """Models on random divisions of all pages: the mean difference in bits, its interval over divisions."""
    parts = trec_parts()
    if parts is None:
        return
    if importlib.util.find_spec("pyclick") is None:
        print("set RANKLOOP_PYCLICK to a checkout of PyClick for the divisions")
        return
    log = ClickLog.concat(parts)
    equal_to_pyclick(*(parts[number].select(np.arange(EQUAL)) for number in (0, 2)))
    found: dict[tuple[int, str], list[tuple[float, float]]] = {}
    for number in range(SPLITS):
        order = np.random.default_rng([SPLIT_SEED, number]).permutation(log.n_pages)
        test = log.select(order[-SPLIT_TEST:])
        pages = peer_pages(test)
        for size in SPLIT_SIZES:
            train = log.select(order[:size])
            sessions = peer_pages(train)
            for model in PEERS:
                ours = bits_of(clicks.model(model)().fit(train).click_probability(test), test).mean()
                if model in IN_ARRAYS:
                    chances = pyclick_in_arrays(model, train, test)
                else:
                    peer = new_peer(model)
                    peer.train(sessions)
                    chances = np.concatenate([peer.get_full_click_probs(one) for one in pages])
                found.setdefault((size, model), []).append((ours, bits_of(chances, test).mean()))
    print(f"\nTREC 2014, {SPLITS} random splits: the mean difference in bits and its 95 % interval")
    for (size, model), both in found.items():
        ours, other = np.transpose(both)
        gap = ours - other
        error = float(student.ppf(0.975, SPLITS - 1) * gap.std(ddof=1) / np.sqrt(SPLITS))
        mean = float(gap.mean())
        ahead, equal = int((gap < -SAME).sum()), int((np.abs(gap) <= SAME).sum())
        record(
            "splits",
            pages=size,
            model=model,
            rankloop=2 ** ours.mean(),
            pyclick=2 ** other.mean(),
            bits=mean,
            low=mean - error,
            high=mean + error,
            ahead=ahead,
            equal=equal,
            splits=SPLITS,
        )
        between = f"{mean:+.5f} [{mean - error:+.5f}, {mean + error:+.5f}]"
        perplexities = f"{2 ** other.mean():.4f} {2 ** ours.mean():.4f}"
        print(f"{size:>6} {model:<12}{perplexities}   {between}  {ahead} ahead, {equal} equal of {SPLITS}")


def beside_pyclick(
    table: str, logs: Iterator[tuple[str, tuple[ClickLog, ClickLog]]], models: Iterable[str]
) -> None:
    """Held-out perplexity of PyClick's models and of ours, and the interval of the difference over pages."""
    print(
        "\nPerplexity of held-out pages; the difference of bits per impression with its 95 % interval by page"
    )
    print(f"{'log':<26}{'model':<13}{'PyClick':>9}{'rankloop':>10}   {'difference in bits':<30}seconds, both")
    for name, (train, test) in logs:
        sessions = (
            None if importlib.util.find_spec("pyclick") is None else (peer_pages(train), peer_pages(test))
        )
        for model in models:
            if table != "slow" and model in SLOW and train.n_pages > SLOW_PAGES:
                continue
            start = time.process_time()
            ours = clicks.model(model)().fit(train)
            taken = time.process_time() - start
            bits = bits_of(ours.click_probability(test), test)
            row = f"{name:<26}{model:<13}"
            if sessions is None:
                record(table, log=name, model=model, rankloop=2 ** bits.mean(), seconds=taken)
                print(f"{row}{'-':>9}{2 ** bits.mean():>10.4f}   {'-':<30}{taken:.1f}")
                continue
            start = time.process_time()
            if table == "slow":
                chances, longer = pyclick_in_arrays(model, train, test), None
            else:
                peer = new_peer(model)
                peer.train(sessions[0])
                longer = time.process_time() - start
                chances = np.concatenate([peer.get_full_click_probs(one) for one in sessions[1]])
            other = bits_of(chances, test)
            gap = np.bincount(test.row_page, bits - other)
            mean, error = gap.sum() / len(test), 1.96 * gap.std() * np.sqrt(len(gap)) / len(test)
            between = f"{mean:+.5f} [{mean - error:+.5f}, {mean + error:+.5f}]"
            both = "" if longer is None else f"{longer:.1f} {taken:.2f}"
            rest = f"{2 ** other.mean():>9.4f}{2 ** bits.mean():>10.4f}   {between:<30}{both}"
            record(
                table,
                log=name,
                model=model,
                rankloop=2 ** bits.mean(),
                seconds=taken,
                pyclick=2 ** other.mean(),
                pyclick_seconds=longer,
                bits=mean,
                low=mean - error,
                high=mean + error,
            )
            print(row + rest, flush=True)


def bits_of(chance: np.ndarray, log: ClickLog) -> np.ndarray:
    return -np.log2(np.maximum(np.where(log.click == 1, chance, 1 - chance), 1e-12))


def trec_logs(parts: list[ClickLog]) -> Iterator[tuple[str, tuple[ClickLog, ClickLog]]]:
    known = ClickLog.concat(parts[:2])
    for size in REAL_SIZES:
        some = known.select(np.arange(size))
        yield f"TREC, {some.n_pages:,} pages", (some, parts[2])


def zipf_logs() -> Iterator[tuple[str, tuple[ClickLog, ClickLog]]]:
    for size in SIZES:
        for number, user in enumerate(("eye_tracking", "dbn", "trust")):
            log = zipf_log(user, size + TEST_PAGES, REPORTED + number)
            pages = np.arange(log.n_pages)
            yield f"{user}, {size:,} pages", (log.select(pages[:size]), log.select(pages[size:]))


def zipf_log(user: str, pages: int, seed: int) -> ClickLog:
    """Queries by Zipf's law, each of 15 documents with a click rate of its own, ranked well but not fixed."""
    rng = np.random.default_rng(seed)
    utility = rng.normal(size=2000 * 15) + 0.7 * np.repeat(rng.normal(size=2000), 15)
    grades = np.digitize(utility, [0.3, 1.0, 1.7, 2.4])
    data = RankingDataset.from_groups(
        np.zeros((len(utility), 1)), grades, [15] * 2000, query_weight=1 / np.arange(1, 2001)
    )
    scores = utility + 0.8 * rng.normal(size=len(utility))
    return clicks.simulate(
        data, logging_policy=scores, user=clicks.user(user), sessions=pages, temperature=0.3, seed=seed
    )


def simulate() -> None:
    data, scores = made_data()
    print(
        f"\nSimulation, sessions per minute of CPU time, all columns of the log; {SESSIONS:,} sessions of {K}"
    )
    print(f"{'experiment':<30}{'numpy':>14}{'in 32 bits':>14}{'rankloop':>14}{'ratio':>8}{'ratio':>8}")
    cases = {
        "pbm, fixed ranking": ("pbm", None),
        "navigational, fixed ranking": ("navigational", None),
        "pbm, Plackett-Luce": ("pbm", 1.0),
        "navigational, Plackett-Luce": ("navigational", 1.0),
    }
    for name, (user, temperature) in cases.items():
        options = {"logging_policy": scores, "user": user, "k": K, "temperature": temperature}
        ours = partial(clicks.simulate, data, sessions=SESSIONS, seed=SEED, **options)
        plain = partial(numpy_simulate, data, scores, user, temperature, np.float64, np.int64)
        lean = partial(numpy_simulate, data, scores, user, temperature, np.float32, np.int32)
        clicks.simulate(data, sessions=100, **options)
        one, log = plain(), ours()
        assert abs(one - log.click.mean()) < 0.002, "the two simulate different things"
        slow, leaner, fast = best(plain), best(lean), best(ours)
        rates = "".join(f"{SESSIONS * 60 / taken:>14,.0f}" for taken in (slow, leaner, fast))
        per_minute = [SESSIONS * 60 / taken for taken in (fast, slow, leaner)]
        record(
            "simulate",
            pages=name,
            rankloop=per_minute[0],
            numpy=per_minute[1],
            numpy_32_bits=per_minute[2],
            ratio=slow / fast,
            ratio_32_bits=leaner / fast,
        )
        print(f"{name:<30}{rates}{slow / fast:>8.1f}{leaner / fast:>8.1f}")


def numpy_simulate(data, scores, user, temperature, real, whole) -> float:
    """The same experiment, one numpy operation at a time; every query has DOCUMENTS documents."""
    rng = np.random.default_rng(SEED)
    query = rng.integers(0, QUERIES, SESSIONS, dtype=whole)
    table = scores.reshape(QUERIES, DOCUMENTS)
    if temperature is None:
        order = np.argsort(-table, axis=1)[:, :K].astype(whole)[query]
    else:
        noisy = table.astype(real)[query] / real(temperature)
        noisy += rng.gumbel(size=noisy.shape).astype(real)
        top = np.argpartition(-noisy, K, axis=1)[:, :K]
        inner = np.argsort(-np.take_along_axis(noisy, top, axis=1), axis=1)
        order = np.take_along_axis(top, inner, axis=1).astype(whole)
    document = order + (query * DOCUMENTS)[:, None]
    grade = data.y.astype(np.int64)[document]
    model = clicks.user(user)
    click = rng.random(grade.shape, dtype=real) < np.asarray(model.attraction, real)[grade]
    if user == "pbm":
        click &= rng.random(grade.shape, dtype=real) < (1 / np.arange(1, K + 1, dtype=real))
    else:
        stop = np.asarray(model.satisfaction, real)[grade]
        stopped = click & (rng.random(grade.shape, dtype=real) < stop)
        click[:, 1:] &= ~np.logical_or.accumulate(stopped, axis=1)[:, :-1]
    columns = {
        "session": np.arange(SESSIONS),
        "query": query,
        "document": document.reshape(-1),
        "position": np.tile(np.arange(1, K + 1, dtype=whole), SESSIONS),
        "click": click.reshape(-1).astype(np.int8),
        "offsets": np.arange(0, SESSIONS * K + 1, K),
    }
    return float(columns["click"].mean())


def trec() -> None:
    root = os.environ.get("RANKLOOP_DATA")
    if not root:
        print("set RANKLOOP_DATA to the folder of real collections for the TREC sessions")
        return
    folder = Path(root) / "trec_session2014_graphcm"
    train, valid, test = (
        clicks.read_graphcm(folder / f"{p}_per_query_quid.txt") for p in ("train", "valid", "test")
    )
    chosen = {}
    pages = f"{train.n_pages + valid.n_pages:,} pages to learn, {test.n_pages} to test"
    print(f"\nTREC 2014 sessions: {pages}; the prior is chosen on {valid.n_pages} of the pages to learn")
    print(f"{'model':<18}{'prior':>6}{'perplexity':>12}{'given clicks':>14}   at ranks 1, 2, 5, 10")
    rows = []
    for name, kind in sorted(clicks.models().items()):
        if name == "contextualpbm":
            continue
        fits = [(kind(prior=prior).fit(train).perplexity(valid).overall, prior) for prior in PRIORS]
        chosen[name] = min(fits)[1]
        model = kind(prior=chosen[name]).fit(ClickLog.concat([train, valid]))
        found = model.perplexity(test)
        rows.append((found.overall, name, found.per_rank, model.perplexity(test, given_clicks=True).overall))
    for overall, name, per_rank, given in sorted(rows, key=lambda row: row[0]):
        shown = ", ".join(f"{per_rank[rank - 1]:.3f}" for rank in (1, 2, 5, 10))
        record(
            "trec", model=name, prior=chosen[name], perplexity=overall, given_clicks=given, at_rank=per_rank
        )
        print(f"{name:<18}{chosen[name]:>6g}{overall:>12.4f}{given:>14.4f}   {shown}")
    agreement(folder, ClickLog.concat([train, valid, test]), chosen)


def agreement(folder: Path, log: ClickLog, chosen: dict[str, float]) -> None:
    """Do labels from clicks order the graded documents as people do? NDCG@10 by grades, ties as expected."""
    graded, grades = read_graphcm_grades(folder / "human_label_for_GraphCM_per_query_quid.txt")
    pairs = graded.pairs
    grade = np.zeros(len(pairs))
    grade[pairs.code] = np.maximum(grades, 0)
    data = RankingDataset(
        np.zeros((len(pairs), 1)), grade, graded.queries[pairs.query], docid=graded.documents[pairs.document]
    )
    raw = clicks.labels.ctr(log).on(data)
    clicked = np.add.reduceat(raw.y, data.offsets[:-1]) > 0
    row = log.rows(data, missing="mark")
    shown = np.bincount(row[row >= 0], minlength=data.n_documents)
    high = np.bincount(row[row >= 0], 1.0 / log.position[row >= 0], data.n_documents)
    labels = {
        "the engine's own ranking (mean 1/rank)": high / np.maximum(shown, 1),
        "raw CTR": raw.y,
        "smoothed CTR": clicks.labels.smoothed_ctr(log).on(data).y,
        "CTR over expected clicks": clicks.labels.coec(log).on(data).y,
        "number of clicks": raw.y * shown,
    }
    for name in ("pbm", "ubm", "trustpbm", "dcm", "ccm", "sdbn", "dbn"):
        labels[f"{name} relevance"] = clicks.model(name)(prior=chosen[name]).fit(log).relevance(data)
    value = {
        name: ndcg(np.asarray(label, np.float64), data.y, data.offsets, k=10)
        for name, label in labels.items()
    }
    judged = np.isfinite(value["raw CTR"]) & clicked
    rng = np.random.default_rng(SEED)
    draws = rng.integers(0, judged.sum(), (BOOTSTRAPS, int(judged.sum())))
    print(f"\nAgreement with human grades on the {judged.sum()} graded queries that have clicks: NDCG@10")
    print(f"{'label':<42}{'NDCG@10':>9}   difference to raw CTR, 95 % interval over queries")
    base = value["raw CTR"][judged]
    for name, values in sorted(value.items(), key=lambda item: -item[1][judged].mean()):
        difference = values[judged] - base
        low, high = np.percentile(difference[draws].mean(axis=1), [2.5, 97.5])
        value_of = values[judged].mean()
        record("grades", label=name, ndcg=value_of, difference=difference.mean(), low=low, high=high)
        print(f"{name:<42}{values[judged].mean():>9.4f}   {difference.mean():+.4f} [{low:+.4f}, {high:+.4f}]")


def main() -> None:
    if "RANKLOOP_PYCLICK" in os.environ:
        sys.path.insert(0, os.environ["RANKLOOP_PYCLICK"])
    parts = {one.__name__: one for one in (speed, simulate, trec, real, slow, splits, perplexity)}
    for part in sys.argv[1:] or parts:
        parts[part]()


if __name__ == "__main__":
    benchmark(main)
