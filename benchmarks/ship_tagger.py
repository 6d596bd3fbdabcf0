"""Train the tagger that ships with the package and write it, once for Python and once for the page.

    python benchmarks/ship_tagger.py --data FOLDER

Weights are rounded to their stored precision already in training (the gradient passes the rounding as if it
were not there), so nothing is lost at the end. The dev set chooses the epoch; the test set is read once.
"""

from __future__ import annotations

import argparse
import base64
import copy
import json
import os
import random
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save
from torch import Tensor
from torch.func import functional_call

from attnbook.tagging import shipped, words
from attnbook.tagging.treebank import CHECKSUMS, COMMIT, TAGS, load_treebank
from attnlab.masks import padding

PAGE_FILE = Path(shipped.__file__).parents[1] / "static" / "tagger-model.js"
FORM = {"n_buckets": 2970, "d_model": 48, "n_heads": 4, "n_layers": 2, "d_ff": 48, "seeds": [0, 0x9E3779B9]}
NO_TAG = -100


def main() -> None:
    """Read the command line, train, round, measure, write."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data", help="folder of the treebank; else ATTNLAB_DATA, the cache, the network")
    arguments.add_argument("--epochs", type=int, default=40)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--out", type=Path, default=shipped.FILE)
    arguments.add_argument("--page", type=Path, default=PAGE_FILE)
    arguments.add_argument("--form", type=json.loads, default={}, help="changes to FORM, as JSON")
    arguments.add_argument("--lr", type=float, default=4e-3)
    chosen = arguments.parse_args()
    torch.set_num_threads(1)
    form = FORM | chosen.form
    treebank = load_treebank(chosen.data)
    start = time.process_time()
    model, dev = train(form, encode(treebank.train, form), encode(treebank.dev, form), chosen)
    state = shipped.dequantize(shipped.quantize(model.state_dict()))
    model.load_state_dict(state)
    test = accuracy(model, encode(treebank.test, form))
    card = {
        "form": form,
        "tags": TAGS,
        "data": "UD English-EWT 2.16, train split",
        "commit": COMMIT,
        "sha256": CHECKSUMS["en_ewt-ud-train.conllu"],
        "licence": "CC BY-SA 4.0",
        "cite": "Silveira et al. 2014",
        "accuracy": {"dev": round(dev, 2), "test": round(test, 2), "tokens": "gold"},
        "training": {"seed": chosen.seed, "epochs": chosen.epochs, "torch": torch.__version__},
    }
    content = save(shipped.quantize(model.state_dict()), {"card": json.dumps(card)})
    write(chosen.out, content)
    script = f'(globalThis.attnlabModels ??= {{}}).tagger = "{base64.b64encode(content).decode()}";\n'
    write(chosen.page, script.encode())
    print(f"dev {dev:.2f}  test {test:.2f}  {len(content)} bytes  {time.process_time() - start:.0f} s")
    for sentence in ("I saw a saw", "What do you do?", "There were many hotels there.", "I saw her duck"):
        tagged = shipped.ShippedTagger(chosen.out).tag(sentence)
        print(" ".join(f"{w}/{t}" for w, t in zip(tagged.tokens, tagged.tags, strict=True)))


def write(path: Path, content: bytes) -> None:
    """Replace a file in one step: an interruption leaves the old one whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(path.suffix + ".part")
    temporary.write_bytes(content)
    os.replace(temporary, path)


def encode(sentences, form) -> list[tuple[Tensor, Tensor]]:
    """Hash every word once; words repeat, so this takes a moment and not minutes."""
    known: dict[str, list[int]] = {}

    def rows(word: str) -> list[int]:
        if word not in known:
            known[word] = [
                words.bucket(f, seed, form["n_buckets"])
                for f in words.features(word)
                for seed in form["seeds"]
            ]
        return known[word]

    number = {tag: at for at, tag in enumerate(TAGS)}
    return [
        (torch.tensor([rows(w) for w in ws]), torch.tensor([number[t] for t in ts])) for ws, ts in sentences
    ]


def batches(data, tokens: int, shuffle: random.Random | None = None):
    """Yield ids, tags and padding mask of sentences of about the same length."""
    jitter = [shuffle.random() if shuffle else 0 for _ in data]
    order = sorted(range(len(data)), key=lambda at: (len(data[at][0]) // 2, jitter[at]))
    groups, group = [], []
    for at in order:
        if group and (len(group) + 1) * (len(data[at][0]) + 1) > tokens:
            groups.append(group)
            group = []
        group.append(at)
    groups.append(group)
    if shuffle:
        shuffle.shuffle(groups)
    pad = torch.nn.utils.rnn.pad_sequence
    for group in groups:
        ids = pad([data[at][0] for at in group], batch_first=True)
        tags = pad([data[at][1] for at in group], batch_first=True, padding_value=NO_TAG)
        yield ids, tags, padding([len(data[at][0]) for at in group])


def rounded(model: shipped.HashedTagger) -> dict[str, Tensor]:
    """Return the weights as they will be stored; their gradients skip the rounding."""
    out = {}
    for name, weight in model.named_parameters():
        if weight.dim() > 1:
            step, most = shipped.scale_of(name, weight.detach()), shipped.limit(name)
            stored = (weight.detach() / step).round().clamp(-most, most) * step
            weight = weight + (stored - weight.detach())
        out[name] = weight
    return out


def train(form, data, dev, chosen) -> tuple[shipped.HashedTagger, float]:
    """Train, and return the model of the best epoch with its dev accuracy in per cent."""
    torch.manual_seed(chosen.seed)
    shuffle = random.Random(chosen.seed)
    sizes = {key: form[key] for key in ("n_buckets", "d_model", "n_heads", "n_layers", "d_ff")}
    model = shipped.HashedTagger(**sizes, n_tags=len(TAGS))
    torch.nn.init.normal_(model.table.weight, std=0.15)
    n_seeds = len(form["seeds"])
    steps = chosen.epochs * sum(1 for _ in batches(data, 1024, random.Random(0)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=chosen.lr, weight_decay=0.01, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, chosen.lr, total_steps=steps, pct_start=0.1)
    average = copy.deepcopy(model)
    best, kept, at = 0.0, None, 0
    for epoch in range(chosen.epochs):
        for ids, tags, mask in batches(data, 1024, shuffle):
            batch, n, k = ids.shape
            # One feature in ten is dropped (both its rows), and one word in twenty loses all of them: its tag
            # must then come from its neighbours. That is how the second "saw" learns to listen to its "a".
            keep = (torch.rand(batch, n, k // n_seeds) > 0.1) & (torch.rand(batch, n, 1) > 0.05)
            # The word itself goes in one case of five more: rare words are known by their endings alone.
            keep[..., 0] &= torch.rand(batch, n) > 0.2
            keep = keep.float().repeat_interleave(n_seeds, -1)
            scores = functional_call(model, rounded(model), (ids,), {"keep": keep, "key_mask": mask})
            loss = F.cross_entropy(
                scores.flatten(0, 1), tags.flatten(), ignore_index=NO_TAG, label_smoothing=0.03
            )
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            at += 1
            # The mean over the last few hundred steps lies deeper in the valley than any single one.
            decay = min(0.998, at / (at + 10))
            with torch.no_grad():
                for mean, now in zip(average.parameters(), model.parameters(), strict=True):
                    mean.lerp_(now, 1 - decay)
        stored = copy.deepcopy(average)
        stored.load_state_dict(shipped.dequantize(shipped.quantize(average.state_dict())))
        score = accuracy(stored, dev)
        if score > best:
            best, kept = score, copy.deepcopy(average)
        print(f"epoch {epoch + 1}: dev {score:.2f}", flush=True)
    return kept, best


@torch.no_grad()
def accuracy(model: shipped.HashedTagger, data) -> float:
    """Count right tags, in per cent."""
    right = total = 0
    for ids, tags, mask in batches(data, 8192):
        right += (model(ids, key_mask=mask).argmax(-1) == tags).sum().item()
        total += (tags != NO_TAG).sum().item()
    return 100 * right / total


if __name__ == "__main__":
    main()
