"""The kernels of a BERT in half precision: on CUDA where there is some, else by Triton's interpreter.

TRITON_INTERPRET=1 pytest tests/rankers/test_text_cuda.py
"""

import json

import numpy as np
import pytest

import tiny_bert
from rankloop.rankers import TextRanker

torch = pytest.importorskip("torch")
pytest.importorskip("tokenizers", reason="the extra text is not installed")

from rankloop.rankers.text.bert import Bert, BertShape  # noqa: E402 - needs torch
from rankloop.rankers.text.cuda.norms import Drop, normed, normed_back  # noqa: E402
from rankloop.rankers.text.packed import Packed  # noqa: E402
from triton_device import DEVICE, HALF, needs_cuda, needs_kernels  # noqa: E402

CLOSE = 0.06 if HALF is torch.bfloat16 else 0.01


def gap(ours, theirs):
    return float((ours.float() - theirs.float()).norm() / theirs.float().norm())


@needs_kernels
@pytest.mark.parametrize(
    ("width", "heads", "lengths", "activation"),
    [(64, 4, [3, 70, 1, 33], "gelu"), (48, 3, [5, 9], "gelu_new"), (32, 1, [64, 65, 129], "gelu")],
)
def test_vectors_and_gradients_are_those_of_single_precision(width, heads, lengths, activation):
    torch.manual_seed(0)
    bert = Bert(BertShape(50, width, 2, heads, 2 * width, 256, hidden_act=activation), 0.0).to(DEVICE)
    for parameter in bert.parameters():
        torch.nn.init.normal_(parameter, 0.1, 0.1)
    lengths = np.sort(lengths)
    packed, rows = Packed(lengths, DEVICE), int(lengths.sum())
    tokens, types = (torch.randint(most, (rows,), device=DEVICE) for most in (50, 2))
    places = torch.cat([torch.arange(int(length)) for length in lengths]).to(DEVICE)
    upstream = torch.randn(rows, width, device=DEVICE)
    made = []
    for half in (False, True):
        bert.zero_grad()
        with torch.autocast(DEVICE.type, HALF, enabled=half):
            out = bert(tokens, types, places, packed)
        assert (out.dtype == HALF) == half
        (out.float() * upstream).sum().backward()
        made.append({"out": out.detach()} | {n: p.grad.clone() for n, p in bert.named_parameters()})
    for name, wanted in made[0].items():
        if not name.endswith("qkv.bias"):  # a part of it, that of the keys, is zero but for rounding
            assert gap(made[1][name], wanted) < CLOSE, name


@needs_kernels
def test_dropout_keeps_its_share_and_is_the_same_backwards():
    torch.manual_seed(0)
    norm, rows, width = torch.nn.LayerNorm(48).to(DEVICE), 400, 48
    zeros = torch.zeros(rows, width, dtype=HALF, device=DEVICE)
    ones, bias = torch.ones_like(zeros), torch.zeros(width, device=DEVICE)
    keys = torch.tensor([[5, 0, 0, 0], [6, 0, 0, 0]], dtype=torch.int32, device=DEVICE)
    kept = []
    for key in keys.unbind():
        drop = Drop(0.25, key)
        made = normed(ones, bias, zeros, norm, drop)
        kept.append(made.unit > 0)
        residual, branch, _ = normed_back(torch.randn_like(zeros), made, norm.weight, drop)
        assert torch.equal(branch != 0, kept[-1] & (residual != 0))
        torch.testing.assert_close(branch, torch.where(kept[-1], residual / 0.75, 0.0), rtol=0.02, atol=1e-3)
    assert abs(float(kept[0].float().mean()) - 0.75) < 0.015
    assert abs(float((kept[0] == kept[1]).float().mean()) - 0.625) < 0.02  # another key draws anew


@needs_cuda
@pytest.mark.parametrize("batch", [16, 5_000])
def test_steps_as_graphs_learn_as_steps_one_by_one(tmp_path, monkeypatch, batch):
    """Small batches, filled up to few sizes, and large ones, against the loop that waits for every step."""
    data, documents = tiny_bert.judged()
    folder = tiny_bert.checkpoint(tmp_path)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"num_attention_heads": 2}))  # of a width of 16
    given = {"documents": documents, "epochs": 4, "batch_documents": batch, "dropout": 0.0, "device": "cuda"}
    if batch > 1_000:
        monkeypatch.setattr("rankloop.rankers.text.captured._MOST", 0)
    losses = []
    for _ in range(2):
        ranker = TextRanker(str(folder), learning_rate=1e-3, precision="bf16", **given).fit(data)
        losses.append(ranker.history_["loss"])
        monkeypatch.setattr(
            "rankloop.rankers.text.lists.TextLists.captured_by", lambda self, scorer, precision: None
        )
    np.testing.assert_allclose(losses[0], losses[1], rtol=0.02)
    assert losses[0][-1] < losses[0][0]
