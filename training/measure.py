"""Measures weights, or the average of several, on the held-out servers (CPU is enough).

    python3 training/measure.py --data .train a.safetensors [b.safetensors ...]
"""

import argparse
import json
from pathlib import Path

import numpy as np
import torch

import corpus
from bert import Encoder, load_base, save
from evaluate import Bench, fused, line
from vocabulary import tokenizer


def load(folder):
    """The held-out bench and a tokenizer."""
    folder = Path(folder)
    tools, requests = corpus.read(folder / "tools.jsonl.gz"), corpus.read(folder / "requests.jsonl.gz")
    bench = Bench(tools, requests, json.loads((folder / "split.json").read_text())["catalogs"])
    return bench, tokenizer([v for v in (folder / "vocab.txt").read_text(encoding="utf-8").split("\n") if v])


def average(files, shares=None):
    """The weighted mean of several weight files."""
    shares = shares or [1 / len(files)] * len(files)
    total = None
    for file, share in zip(files, shares):
        weights = load_base(file)
        total = {k: v * share + (total[k] if total else 0) for k, v in weights.items()}
    return total


def encode(model, words, texts, width):
    rows = torch.from_numpy(corpus.token_rows(words, texts, width).astype(np.int64))
    return model.encode_all(rows, 512).numpy()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("files", nargs="+")
    p.add_argument("--data", default=".train")
    p.add_argument("--shares", help="comma-separated weights of the files")
    p.add_argument("--vectors", help="write the vectors to this .npz")
    p.add_argument("--save", help="write the averaged weights as float16 to this file")
    args = p.parse_args()
    bench, words = load(args.data)
    shares = [float(x) for x in args.shares.split(",")] if args.shares else None
    weights = average(args.files, shares)
    model = Encoder(weights, torch.float32)
    tools = encode(model, words, bench.texts(), corpus.TOOL_TOKENS)
    requests = encode(model, words, [bench.requests[n]["text"] for n in bench.rows], corpus.QUERY_TOKENS)
    lexical = bench.bm25()
    print(line("model", bench.dense(tools, requests)))
    for weight in (0.05, 0.1):
        print(line(f"model + {weight} bm25", fused(bench, requests @ tools.T, lexical, weight)))
    if args.vectors:
        np.savez(args.vectors, tools=tools, requests=requests)
    if args.save:
        save(weights, args.save)


if __name__ == "__main__":
    main()
