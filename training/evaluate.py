"""Measures on held-out servers: catalogs of about 600 tools, top-1 and recall@5 by style and language."""

import math
import re
from collections import Counter, defaultdict

import numpy as np

from text import render


def terms(text):
    return re.findall(r"[^\W_]+", text.lower())


class Bm25:
    """Plain BM25 over the rendered tool texts."""

    def __init__(self, texts, k1=1.2, b=0.75):
        docs = [Counter(terms(t)) for t in texts]
        self.size = len(docs)
        mean = sum(sum(d.values()) for d in docs) / max(1, self.size)
        found = Counter(t for d in docs for t in d)
        self.postings = defaultdict(list)
        for i, doc in enumerate(docs):
            length = sum(doc.values())
            for term, count in doc.items():
                idf = math.log(1 + (self.size - found[term] + 0.5) / (found[term] + 0.5))
                self.postings[term].append((i, idf * count * (k1 + 1) / (count + k1 * (1 - b + b * length / mean))))

    def scores(self, query):
        out = np.zeros(self.size, dtype=np.float32)
        for term in terms(query):
            for i, value in self.postings.get(term, ()):
                out[i] += value
        return out


class Bench:
    """The held-out catalogs with their requests."""

    def __init__(self, tools, requests, catalogs):
        self.tools, self.requests = tools, requests
        wanted = {i for c in catalogs for i in c}
        # Only the first written requests: the figures stay comparable when data is added.
        self.rows = [n for n, r in enumerate(requests) if r["tool"] in wanted and r["source"].startswith("written")]
        self.columns = sorted(wanted)
        place = {t: i for i, t in enumerate(self.columns)}
        by_tool = defaultdict(list)
        for i, n in enumerate(self.rows):
            by_tool[requests[n]["tool"]].append(i)
        self.catalogs = []
        for catalog in catalogs:
            asked = [i for t in catalog for i in by_tool[t]]
            self.catalogs.append((np.array([place[t] for t in catalog]), np.array(asked)))
        self.place, self.same = place, np.array([tools[t]["same"] for t in self.columns])

    def texts(self):
        return [render(t["server"], t["name"], t["description"], t["parameters"]) for t in (self.tools[i] for i in self.columns)]

    def bm25(self):
        """BM25 scores of every request against every tool, word statistics per catalog; one matrix per catalog."""
        texts = self.texts()
        out = []
        for columns, asked in self.catalogs:
            index = Bm25([texts[c] for c in columns])
            out.append(np.stack([index.scores(self.requests[self.rows[i]]["text"]) for i in asked]))
        return out

    def measure(self, per_catalog):
        """per_catalog(n, columns, asked) gives a score matrix; returns {slice: (top-1, recall@5, count)}."""
        hits = defaultdict(list)
        for n, (columns, asked) in enumerate(self.catalogs):
            scores = per_catalog(n, columns, asked)
            for row, i in zip(scores, asked):
                request = self.requests[self.rows[i]]
                right = self.same[columns] == self.same[self.place[request["tool"]]]
                order = np.argsort(-row, kind="stable")[:5]
                value = (float(right[order[0]]), float(right[order].any()))
                for key in ("all", request["style"], "lang:" + request["lang"], "english" if request["lang"] == "en" else "other languages"):
                    hits[key].append(value)
        return {k: (*np.mean(v, axis=0).round(4).tolist(), len(v)) for k, v in sorted(hits.items())}

    def dense(self, tool_vectors, request_vectors):
        """Measures cosine ranking; vectors are in the order of columns and rows."""
        scores = request_vectors @ tool_vectors.T
        return self.measure(lambda n, columns, asked: scores[asked][:, columns])


def fused(bench, scores, words, weight):
    """Cosine plus weight times BM25 scaled to its best hit, per request."""
    def one(n, columns, asked):
        lexical = words[n] / np.maximum(words[n].max(1, keepdims=True), 1e-6)
        return scores[asked][:, columns] + weight * lexical
    return bench.measure(one)


def line(name, result):
    """One row of a table."""
    keys = ["all", "plain", "gap", "terse", "foreign", "english", "other languages"]
    return f"{name:28s} " + "  ".join(f"{k} {result[k][0]:.3f}/{result[k][1]:.3f}" for k in keys if k in result)
