"""A BERT small enough for tests: random weights, a vocabulary of a few words, the files of a checkpoint."""

import json
import struct

import numpy as np

WORDS = [
    *("awful", "bad", "blue", "fine", "good", "great", "green", "hat", "red", "shoe", "sock", "the", "a"),
    *("##s", "##ing", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
]
GRADES = ["awful", "bad", "good", "great"]  # the word that tells the label of a document
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
    "hidden_act": "gelu",
}


def tokenizer(words=WORDS):
    """The text of a tokenizer.json: WordPiece over these words, as BERT's."""
    vocabulary = {word: at for at, word in enumerate([*SPECIAL, *words])}
    piece = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    piece += [{"SpecialToken": {"id": "[SEP]", "type_id": 0}}]
    second = [{"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {"id": "[SEP]", "type_id": 1}}]
    special = {one: {"id": one, "ids": [vocabulary[one]], "tokens": [one]} for one in ("[CLS]", "[SEP]")}
    added = [
        {"id": at, "content": one, "single_word": False, "lstrip": False, "rstrip": False}
        | {"normalized": False, "special": True}
        for at, one in enumerate(SPECIAL)
    ]
    return json.dumps(
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": added,
            "normalizer": {
                "type": "BertNormalizer",
                "clean_text": True,
                "handle_chinese_chars": True,
                "strip_accents": None,
                "lowercase": True,
            },
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": {
                "type": "TemplateProcessing",
                "single": piece,
                "pair": piece + second,
                "special_tokens": special,
            },
            "decoder": None,
            "model": {
                "type": "WordPiece",
                "unk_token": "[UNK]",
                "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100,
                "vocab": vocabulary,
            },
        }
    )


def weights(words=WORDS, classes=0, seed=0, **sizes):
    """Random weights by the names that checkpoints use; with classes those of a classifier of pairs."""
    import torch

    shape = SIZES | sizes
    rng = np.random.default_rng(seed)
    width, inner, prefix = shape["hidden_size"], shape["intermediate_size"], "bert." if classes else ""
    sizes_of = {
        "embeddings.word_embeddings.weight": (len(SPECIAL) + len(words), width),
        "embeddings.position_embeddings.weight": (shape["max_position_embeddings"], width),
        "embeddings.token_type_embeddings.weight": (shape["type_vocab_size"], width),
        "embeddings.LayerNorm": width,
        "pooler.dense": (width, width),
    }
    for at in range(shape["num_hidden_layers"]):
        layer = f"encoder.layer.{at}"
        sizes_of |= {f"{layer}.attention.self.{one}": (width, width) for one in ("query", "key", "value")}
        sizes_of |= {
            f"{layer}.attention.output.dense": (width, width),
            f"{layer}.attention.output.LayerNorm": width,
            f"{layer}.intermediate.dense": (inner, width),
            f"{layer}.output.dense": (width, inner),
            f"{layer}.output.LayerNorm": width,
        }
    made = {}
    for name, size in sizes_of.items():
        if name.endswith(".weight"):
            made[prefix + name] = rng.normal(0, 0.1, size)
        elif name.endswith("LayerNorm"):
            made[f"{prefix}{name}.weight"] = rng.normal(1, 0.05, size)
            made[f"{prefix}{name}.bias"] = rng.normal(0, 0.05, size)
        else:
            made[f"{prefix}{name}.weight"] = rng.normal(0, 0.1, size)
            made[f"{prefix}{name}.bias"] = rng.normal(0, 0.05, size[0])
    if classes:
        made["classifier.weight"] = rng.normal(0, 0.5, (classes, width))
        made["classifier.bias"] = rng.normal(0, 0.5, classes)
    return {name: torch.tensor(value, dtype=torch.float32) for name, value in made.items()}


def write_safetensors(path, tensors):
    """A file of tensors of single or half precision."""
    import torch

    kinds = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16"}
    header, parts, end = {}, [], 0
    for name, value in tensors.items():
        raw = value.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
        offsets = [end, end + len(raw)]
        header[name] = {"dtype": kinds[value.dtype], "shape": list(value.shape), "data_offsets": offsets}
        parts.append(raw)
        end += len(raw)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))


def checkpoint(folder, words=WORDS, classes=0, seed=0, **sizes):
    """A folder as `TextRanker` and transformers read it."""
    folder.mkdir(parents=True, exist_ok=True)
    kind = "BertForSequenceClassification" if classes else "BertModel"
    config = (
        SIZES | sizes | {"model_type": "bert", "vocab_size": len(SPECIAL) + len(words), "pad_token_id": 0}
    )
    config |= {"architectures": [kind], "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    if classes:
        config["id2label"] = {str(at): f"LABEL_{at}" for at in range(classes)}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_text(tokenizer(words))
    write_safetensors(folder / "model.safetensors", weights(words, classes, seed, **sizes))
    return folder


def judged(queries=12, documents=8, seed=0):
    """Lists whose documents say their label in a word: a data set, and the documents by id."""
    from rankloop.data import RankingDataset

    rng = np.random.default_rng(seed)
    rows, things = queries * documents, ["hat", "shoe", "sock"]
    labels = rng.integers(0, 4, rows)
    labels[::documents], labels[1::documents] = 0, 3  # every list has an order
    texts = {
        f"d{seed}-{at}": {
            "title": f"the {rng.choice(things)}",
            "about": f"{GRADES[label]} {rng.choice(things)}s",
        }
        for at, label in enumerate(labels)
    }
    data = RankingDataset.from_groups(
        np.zeros((rows, 0), np.float32),
        labels,
        [documents] * queries,
        docid=list(texts),
        query_text=[f"red {rng.choice(things)}" for _ in range(queries)],
    )
    return data, texts
