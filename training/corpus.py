"""Turns the prepared data into token tensors: several views per tool, several forms per request."""

import gzip
import json
import re
from multiprocessing import Pool
from pathlib import Path

import numpy as np
import torch

import teacher
from text import close_views, first_part, generator, render, vary, views, words
from vocabulary import tokenizer

QUERY_TOKENS, TOOL_TOKENS, TOOL_VIEWS, FORMS = 64, 96, 6, 6
CLOSE_TOKENS, CLOSE_VIEWS, CLOSE_PAIR_TOKENS = 128, 3, 160


def is_written(source):
    """Whether a request was written for this project; the others come with a public set."""
    return source.startswith(("written", "new:"))


def read(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def token_rows(model, texts, width):
    """Texts as rows of token ids, cut and padded with 0."""
    model.enable_truncation(width)
    out = np.zeros((len(texts), width), dtype=np.uint16)
    for at in range(0, len(texts), 20000):
        for i, encoded in enumerate(model.encode_batch(texts[at : at + 20000])):
            out[at + i, : len(encoded.ids)] = encoded.ids
    return out


def tool_texts(job):
    """The views of some tools, and a self-made request with the view that lacks it."""
    tools, seed = job
    rng = generator(seed)
    shown, close, asked, rest = [], [], [], []
    for tool in tools:
        shown.append(views(tool, rng, TOOL_VIEWS))
        close.append(close_views(tool, rng, CLOSE_VIEWS))
        line = first_part(tool["description"], 600)
        end = re.search(r"[.!?。;](\s|$)", line)
        first = line[: end.start()] if end and end.start() > 15 else line
        tail = line[len(first) :].strip(" .!?;")
        kind = rng.random()
        if len(first) < 15:
            asked.append("")
            rest.append("")
        elif kind < 0.6 or len(tail) < 25:
            asked.append(vary(first[:200].lower() if rng.random() < 0.5 else first[:200], rng))
            rest.append(render(tool["server"], tool["name"], tail, tool["parameters"]).strip(" :"))
        elif kind < 0.8:
            asked.append(words(tool["name"]))
            rest.append(render(tool["server"] if rng.random() < 0.5 else "", "", tool["description"], []).strip(" :"))
        else:
            asked.append(vary(first[:200], rng))
            rest.append(tail[:300])
    return shown, close, asked, rest


def request_forms(job):
    """Each request as it is, then varied forms."""
    texts, seed = job
    rng = generator(seed)
    return [[text] + [vary(text, rng) for _ in range(FORMS - 1)] for text in texts]


def pieces(items, count):
    size = max(1, (len(items) + count - 1) // count)
    return [(items[i : i + size], i) for i in range(0, len(items), size)]


def build(folder, cache, workers, closely):
    """Tokenises everything once; later runs read the cache. Texts that are read are longer where that is done closely."""
    cache = Path(cache + ".closely" if closely else cache)
    if cache.exists():
        return torch.load(cache, weights_only=False)
    folder = Path(folder)
    tools, requests = read(folder / "tools.jsonl.gz"), read(folder / "requests.jsonl.gz")
    model = tokenizer([v for v in (folder / "vocab.txt").read_text(encoding="utf-8").split("\n") if v])
    with Pool(workers) as pool:
        shown, close, asked, rest = ([x for part in parts for x in part] for parts in zip(*pool.map(tool_texts, pieces(tools, workers * 2))))
        forms = [f for part in pool.map(request_forms, pieces([r["text"] for r in requests], workers * 2)) for f in part]
    parallel = read(folder / "parallel.jsonl.gz") if (folder / "parallel.jsonl.gz").exists() else []
    english = [row["en"] for row in parallel]
    other = [(i, lang, text) for i, row in enumerate(parallel) for lang, text in row["tr"].items()]
    data = {
        "tools": tools,
        "requests": requests,
        "views": token_rows(model, [v for vs in shown for v in vs], TOOL_TOKENS),
        "self_query": token_rows(model, asked, QUERY_TOKENS),
        "self_tool": token_rows(model, rest, TOOL_TOKENS),
        "forms": token_rows(model, [f for fs in forms for f in fs], QUERY_TOKENS),
        "english": token_rows(model, english, QUERY_TOKENS),
        "other": token_rows(model, [text for _, _, text in other], QUERY_TOKENS),
        "other_of": np.array([i for i, _, _ in other], dtype=np.int64),
        "other_lang": [lang for _, lang, _ in other],
        "catalogs": json.loads((folder / "split.json").read_text())["catalogs"],
    }
    read_texts, width = (close, CLOSE_TOKENS) if closely else (shown, TOOL_TOKENS)
    data["read_views"] = len(read_texts[0])
    data["read"] = token_rows(model, [v for vs in close for v in vs], width) if closely else data["views"]
    if (folder / "teacher.json").exists():
        pieces_of_teacher = teacher.tokenizer(folder)
        data["teacher_asked"] = teacher.begun(token_rows(pieces_of_teacher, [r["text"] for r in requests], QUERY_TOKENS))
        data["teacher_read"] = teacher.begun(token_rows(pieces_of_teacher, [vs[0] for vs in read_texts], width))
    torch.save(data, cache)
    return data
