"""Makes the teacher's weights: all-mpnet-base-v2 under the names and with the padding that `bert.Encoder` knows.

    python3 training/teacher.py DIR_WITH_MPNET .train

Writes teacher.safetensors (int8 rows) and teacher.json (its word pieces).
"""

import argparse
import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer

from bert import DISTANCES, Encoder, load_base, save

# Token 1 is padding there and 0 begins a text, which change places here; places in a text are counted from 2.
PADDING, BEGIN, FIRST_PLACE = 1, 0, 2
# As many as a request and a text can have.
PLACES = 192
EPSILON = 1e-5
NAMES = {
    "attention.attn.q": "attention.self.query", "attention.attn.k": "attention.self.key", "attention.attn.v": "attention.self.value",
    "attention.attn.o": "attention.output.dense", "attention.LayerNorm": "attention.output.LayerNorm",
}


def renamed(weights):
    """The weights under the names of BERT."""
    out = {}
    for key, value in weights.items():
        key = key.removeprefix("mpnet.")
        if key.startswith("encoder.layer.") and "attention." in key:
            for theirs, ours in NAMES.items():
                key = key.replace(theirs + ".", ours + ".")
        if key == DISTANCES or key.startswith(("embeddings.", "encoder.layer.")):
            out[key] = value.float()
    out.pop("embeddings.position_ids", None)
    words = out["embeddings.word_embeddings.weight"]
    words[[PADDING, BEGIN]] = words[[BEGIN, PADDING]].clone()
    out["embeddings.position_embeddings.weight"] = out["embeddings.position_embeddings.weight"][FIRST_PLACE : FIRST_PLACE + PLACES].clone()
    out["embeddings.token_type_embeddings.weight"] = torch.zeros(2, words.shape[1])
    return out


def load(folder, dtype, dropout):
    """The teacher, ready to be trained."""
    return Encoder(load_base(Path(folder) / "teacher.safetensors"), dtype, dropout, EPSILON)


def tokenizer(folder):
    """Its word pieces; padding is left to the caller."""
    model = Tokenizer.from_file(str(Path(folder) / "teacher.json"))
    model.no_padding()
    return model


def begun(rows):
    """Rows of token numbers that are padded with 0, with the number that begins a text in its new place."""
    rows[:, 0] = PADDING
    return rows


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model", type=Path)
    p.add_argument("out", type=Path)
    args = p.parse_args()
    save(renamed(load_file(str(args.model / "model.safetensors"))), args.out / "teacher.safetensors", small=True)
    shutil.copy(args.model / "tokenizer.json", args.out / "teacher.json")


if __name__ == "__main__":
    main()
