"""Store what the transformers library computes with the two real models, for our modules to be compared with.

It needs an environment of its own, with torch, transformers, gguf and accelerate beside this package:
    python benchmarks/pretrained_reference.py
writes results/real-model-reference.safetensors (numbers) with the texts and versions in its header.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import torch
import transformers
from safetensors import safe_open
from safetensors.torch import save_file

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

from attnlab.pretrained.files import fetch  # noqa: E402

BERT = {
    "vocab_size": 30522,
    "hidden_size": 384,
    "num_hidden_layers": 6,
    "num_attention_heads": 12,
    "intermediate_size": 1536,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
    "attn_implementation": "eager",
}
SENTENCES = ["I like sushi because it makes me happy.", "I saw a saw."]
TOKENIZED = [
    *SENTENCES,
    "Don't panic: naïve cafés cost €12.50!",
    "  two  spaces\n\tand 2026 numbers",
    "日本語 and emoji 🙂",
    "antidisestablishmentarianism",
]
PROMPT = "The capital of France is"
QUESTION = "Why is the sky blue? Answer in one sentence."


def minilm() -> tuple[dict[str, torch.Tensor], dict]:
    """Return hidden states, weights and token ids of all-MiniLM-L6-v2."""
    weights, tokens = fetch("minilm")
    model = transformers.BertModel(transformers.BertConfig(**BERT), add_pooling_layer=False).eval()
    with safe_open(weights, "pt") as file:
        state = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    state = {name: value for name, value in state.items() if not name.startswith("pooler")}
    state.pop("embeddings.position_ids", None)
    model.load_state_dict(state)
    read = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(tokens), pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]", unk_token="[UNK]"
    )
    read.backend_tokenizer.no_truncation()
    read.backend_tokenizer.no_padding()
    batch = read(SENTENCES, padding=True, return_tensors="pt")
    batch = {"input_ids": batch["input_ids"], "attention_mask": batch["attention_mask"]}
    with torch.no_grad():
        out = model(**batch, output_hidden_states=True, output_attentions=True)
    numbers = {
        "minilm.ids": batch["input_ids"],
        "minilm.mask": batch["attention_mask"].bool(),
        "minilm.hidden": torch.stack(out.hidden_states),
        "minilm.weights": torch.stack([layer[0] for layer in out.attentions]),  # of the first sentence
    }
    return numbers, {"minilm": [read(text)["input_ids"] for text in TOKENIZED]}


def smollm2() -> tuple[dict[str, torch.Tensor], dict]:
    """Return logits, a greedy continuation and token ids of SmolLM2-135M-Instruct, on dequantised weights."""
    (path,) = fetch("smollm2")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / path.name).symlink_to(path)
        given = {"gguf_file": path.name}
        read = transformers.AutoTokenizer.from_pretrained(folder, **given)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            folder, **given, dtype=torch.float32, attn_implementation="eager"
        ).eval()
    ids = read(PROMPT, return_tensors="pt")["input_ids"]
    chat = f"<|im_start|>user\n{QUESTION}<|im_end|>\n<|im_start|>assistant\n"
    asked = read(chat, return_tensors="pt")["input_ids"]
    how = {"do_sample": False, "max_new_tokens": 40, "pad_token_id": 2}
    with torch.no_grad():
        logits = model(ids).logits[0]
        greedy = model.generate(ids, **how)[0]
        answer = model.generate(asked, **how)[0]
    numbers = {
        "smollm2.ids": ids,
        "smollm2.logits": logits[:, ::64].contiguous(),  # every 64th of 49,152
        "smollm2.logsumexp": logits.logsumexp(-1),
        "smollm2.greedy": greedy,
        "smollm2.asked": asked,
        "smollm2.answer": answer,
    }
    return numbers, {"smollm2": [read(text)["input_ids"] for text in TOKENIZED]}


def main() -> None:
    """Compute and store."""
    torch.set_num_threads(1)
    numbers, ids = {}, {}
    for model in (minilm, smollm2):
        more, tokens = model()
        numbers |= more
        ids |= tokens
    said = {
        "made by": "python benchmarks/pretrained_reference.py",
        "transformers": transformers.__version__,
        "torch": torch.__version__,
        "sentences": SENTENCES,
        "tokenized": TOKENIZED,
        "prompt": PROMPT,
        "question": QUESTION,
        "ids": ids,
    }
    place = ROOT / "benchmarks/results/real-model-reference.safetensors"
    save_file(
        {name: value.contiguous() for name, value in numbers.items()}, place, {"card": json.dumps(said)}
    )
    print(place.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
