"""Cross-encoders fine-tuned on lists of texts, their scores, and training throughput beside a peer.

python benchmarks/cross_encoders.py LISTS --checkpoint FOLDER --out SCORES [--throughput] [--epochs n]

LISTS is written by `text_reranking.py LISTS --write`, which also reads SCORES, so that the training may run
on another machine, with a GPU. The scores of training queries come from networks that were trained on the
other half of them: a tree that learns from them sees scores as good as those it will be served. The
throughput is that of training steps in bf16 on the same pairs: rankloop packs the pairs of a batch;
sentence-transformers (`CrossEncoder` with its trainer) groups pairs of similar length and pads each batch.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from rankloop.data import RankingDataset
from rankloop.metrics import metric
from rankloop.rankers import TextRanker
from results import benchmark, record

NDCG = "ndcg(gain=linear)@10"
SETTINGS = {
    "loss": "lambdarank",
    "tokens": 160,
    "batch_documents": 512,
    "learning_rate": 1e-4,
    "metric": NDCG,
}
SEED = 0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("lists", type=Path)
    parser.add_argument("--checkpoint", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--among", choices=("judged", "retrieved"), default="judged")
    parser.add_argument("--throughput", action="store_true")
    options = parser.parse_args()
    if options.throughput:
        throughput(options.lists, options.checkpoint)
    else:
        np.savez_compressed(
            options.out, **scores(options.lists, options.checkpoint, options.epochs, options.among)
        )


def write_lists(path: Path, queries: dict, documents: dict, lists: dict[str, dict]) -> None:
    """Texts, and lists by name: query -> document -> grade."""
    arrays: dict[str, Any] = {"texts": json.dumps({"queries": queries, "documents": documents})}
    for name, of in lists.items():
        arrays[f"{name}/sizes"] = np.array([len(one) for one in of.values()])
        arrays[f"{name}/qid"] = np.array(list(of))
        arrays[f"{name}/docid"] = np.array([id for one in of.values() for id in one])
        arrays[f"{name}/label"] = np.array([grade for one in of.values() for grade in one.values()], np.int8)
    np.savez_compressed(path, **arrays)


def read_lists(path: Path) -> tuple[dict[str, RankingDataset], dict[str, str]]:
    """The lists as data sets, and the texts of the documents."""
    with np.load(path) as read:
        texts = json.loads(str(read["texts"]))
        names = dict.fromkeys(key.split("/")[0] for key in read.files if "/" in key)
        return {name: _dataset(read, name, texts["queries"]) for name in names}, texts["documents"]


def _dataset(read: Any, name: str, queries: dict[str, str]) -> RankingDataset:
    sizes, qid = read[f"{name}/sizes"], read[f"{name}/qid"]
    nothing = np.zeros((int(sizes.sum()), 0), np.float32)
    return RankingDataset.from_groups(
        nothing,
        read[f"{name}/label"],
        sizes,
        qid=qid,
        docid=read[f"{name}/docid"],
        query_text=[queries[one] for one in qid],
    )


def scores(path: Path, checkpoint: str, epochs: int, among: str) -> dict[str, np.ndarray]:
    """The scores of all lists before and after the training on judged or on retrieved lists."""
    lists, documents = read_lists(path)
    ranker = TextRanker(checkpoint, documents=documents, epochs=epochs, seed=SEED, **SETTINGS)
    started = time.perf_counter()
    made = {f"{name}/before": ranker.open().predict(lists[name]) for name in ("test", "judged_test")}
    prefix = "judged_" if among == "judged" else ""
    train, valid = lists[f"{prefix}train"], lists[f"{prefix}valid"]
    half = np.random.default_rng(SEED).permutation(train.n_queries) % 2
    for part, queries in {"after": None, "half0": half == 0, "half1": half == 1}.items():
        ranker.fit(train if queries is None else train.select(np.flatnonzero(queries)), valid)
        print(f"{part}: {time.perf_counter() - started:.0f} s; valid {ranker.history_[NDCG]}", flush=True)
        for name, data in lists.items():
            made[f"{name}/{part}"] = ranker.predict(data).astype(np.float32)
            values = metric(NDCG)(made[f"{name}/{part}"], data.y, data.offsets)
            record("quality", part=part, lists=name, ndcg=np.nanmean(values))
            print(f"  {name}: {np.nanmean(values):.4f}", flush=True)
    for name, data in lists.items():
        both = np.stack([made.pop(f"{name}/half{one}") for one in (0, 1)])
        if name.endswith("train"):
            known = dict(zip(train.qid.tolist(), half.tolist(), strict=True))
            other = np.repeat([1 - known.get(one, 0) for one in data.qid.tolist()], data.lengths)
            made[f"{name}/crossed"] = both[other, np.arange(data.n_documents)]
        else:
            made[f"{name}/crossed"] = both.mean(0)
    return made


def throughput(path: Path, checkpoint: str) -> None:
    """Pairs a second in training steps, and the peak memory, ours and the peer's."""
    import torch

    lists, documents = read_lists(path)
    train = lists["judged_train"]
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}", flush=True)
    print(f"{'pairs a batch':>14}{'':>34}{'pairs a second':>16}{'peak memory, GB':>17}")
    for batch in (64, 512, 2048):
        some = train.select(np.arange(min(train.n_queries, 5 * batch)))
        for name, measure in {
            "rankloop, packed": ours,
            "sentence-transformers, sorted, padded": peers,
        }.items():
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            rate = measure(some, documents, checkpoint, batch)
            memory = torch.cuda.max_memory_allocated() / 1e9
            record("throughput", pairs=batch, who=name, pairs_a_second=rate, gigabytes=memory)
            print(f"{batch:>14}{name:>38}{rate:>12,.0f}{memory:>17.2f}", flush=True)


def ours(data: RankingDataset, documents: dict, checkpoint: str, batch: int) -> float:
    """The second epoch; texts are tokenized before."""
    import torch

    from rankloop.rankers.neural.processes import Processes
    from rankloop.rankers.neural.training import train
    from rankloop.rankers.text.fit import pairs_of, recipe_of, tokens_at_once
    from rankloop.rankers.text.lists import TextLists
    from rankloop.rankers.text.model import open_model

    settings = SETTINGS | {"batch_documents": batch}
    ranker = TextRanker(checkpoint, documents=documents, epochs=2, device="cuda", **settings)
    device, model = torch.device("cuda", 0), open_model(checkpoint, dropout=0.1, seed=SEED)
    pairs = pairs_of(ranker, data, model.tokenizer)
    ends = []

    def keep(state: Any) -> None:
        torch.cuda.synchronize()
        ends.append(time.perf_counter())

    lists = TextLists(data, pairs, device, tokens_at_once(ranker, device))
    recipe = recipe_of(ranker, data, device)
    train(model.scorer.to(device), lists, None, recipe, Processes(), resumed=None, keep=keep)
    return data.n_documents / (ends[1] - ends[0])


def peers(data: RankingDataset, documents: dict, checkpoint: str, batch: int) -> float:
    """Its network and loss in the loop of its trainer; pairs are tokenized before, and sorted by length."""
    import torch
    from sentence_transformers import CrossEncoder

    network = CrossEncoder(checkpoint, num_labels=1, max_length=SETTINGS["tokens"], device="cuda")
    model, tokenizer = network.model.train(), network.tokenizer
    queries = np.repeat(data.query_text, data.lengths).tolist()
    texts = [documents[id] for id in data.docid.tolist()]
    limit = SETTINGS["tokens"]
    read = tokenizer(
        queries, texts, truncation=True, max_length=limit, padding="max_length", return_tensors="pt"
    )
    lengths = read["attention_mask"].sum(1)
    order = torch.argsort(lengths, stable=True)
    starts = np.random.default_rng(SEED).permutation(range(0, len(order), batch))
    optimizer = torch.optim.AdamW(model.parameters(), lr=SETTINGS["learning_rate"], fused=True)
    loss = torch.nn.BCEWithLogitsLoss()
    there = {key: value.to("cuda") for key, value in read.items()}  # no transfer is left in the loop
    labels = torch.tensor(data.y > 0, dtype=torch.float32, device="cuda")
    longest = [int(lengths[order[start : start + batch]].max()) for start in starts]
    order = order.to("cuda")
    for _ in range(2):  # the second one counts
        torch.cuda.synchronize()
        started = time.perf_counter()
        for start, width in zip(starts.tolist(), longest, strict=True):
            rows = order[start : start + batch]
            given = {key: value[rows, :width] for key, value in there.items()}
            with torch.autocast("cuda", torch.bfloat16):
                logits = model(**given).logits.squeeze(-1)
            optimizer.zero_grad(set_to_none=True)
            loss(logits.float(), labels[rows]).backward()
            optimizer.step()
        torch.cuda.synchronize()
        seconds = time.perf_counter() - started
    return data.n_documents / seconds


if __name__ == "__main__":
    benchmark(main)
