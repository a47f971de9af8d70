"""What the argument reader learns from: `reader.jsonl.gz` as tokens, and batches of it."""

import gzip
import json
import random
import zlib
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np
import torch

from questions import ABOUT, REQUEST, TOOL, Phrasing, groups

ABSENT, GIVEN, MEANT = 0, 1, 2
UNKNOWN = -100
# Shares of a source that an epoch draws; other sources are drawn whole.
SHARES = {"sgd": 0.5, "silver": 0.5, "asked": 0.3, "other": 0.4}
PACKED = 0.5
# A parameter that is read alone is given, or one of so many that are not.
ALONE_ABSENT = 3
NO_DESCRIPTION, NO_ABOUT = 0.15, 0.3
PAD_TO = 16

phrasing = None


class Label(NamedTuple):
    """What is right for a parameter; spans and items are first and last tokens of the request."""

    given: int
    spans: list = []
    items: list = []
    options: list = []


class Example(NamedTuple):
    split: str
    source: str
    # A tool is drawn or left out with all of its requests.
    number: int
    request: list
    tool: list
    about: list
    # Each parameter with its description and without.
    parts: list
    short_parts: list
    is_list: list
    # None where it is not known what is right.
    labels: list
    # Whether the tool can serve the request.
    fits: bool


class Planned(NamedTuple):
    """Some parameters of an example to read together."""

    example: int
    parameters: list
    described: bool
    about: bool
    length: int
    # Whether all parameters are there, so that it can be judged whether the tool fits.
    whole: bool


def start_phrasing(tokens):
    global phrasing
    phrasing = Phrasing(tokens)


def token_span(ranges, end, span):
    """The first and last token of a range of bytes; none where the request was cut before its end."""
    first = next((at for at, (_, last) in enumerate(ranges) if last > span[0]), None)
    last = next((at for at in range(len(ranges) - 1, -1, -1) if ranges[at][0] < span[1]), None)
    return None if first is None or last is None or last < first or end < span[1] else (first, last)


def token_label(label, ranges, end):
    """A label in tokens instead of bytes."""
    if label is None or label == 0:
        return None if label is None else Label(ABSENT)
    if label == "meant":
        return Label(MEANT)
    place = lambda spans: [found for span in spans if (found := token_span(ranges, end, span))]
    if "spans" in label:
        spans = place(label["spans"])
        return Label(GIVEN, spans=spans) if spans else None
    if "items" in label:
        items = [place(spans) for spans in label["items"]]
        return Label(GIVEN, items=sorted(found[0] for found in items)) if items and all(items) else None
    return Label(GIVEN, options=label["options"]) if label["options"] else None


def tokenise_request(entry):
    request, labels = entry
    ids, ranges = phrasing.words.pieces(request, REQUEST + 1)
    # What lies behind the last token, such as a space, is not cut.
    end = len(request.encode()) if len(ids) <= REQUEST else ranges[REQUEST - 1][1]
    ranges = ranges[:REQUEST]
    return ids[:REQUEST], [token_label(label, ranges, end) for label in labels]


def tokenise_part(entry):
    return phrasing.part(*entry)


def part_key(parameter, described):
    description = parameter["description"] if described else ""
    return parameter["name"], description, parameter["kind"], tuple(parameter["options"])


def load(path, tokens, workers):
    """Reads the examples of a file, in its order."""
    start_phrasing(tokens)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    parameters = [parameter for row in rows for parameter in row["parameters"]]
    keys = list(dict.fromkeys(part_key(p, described) for p in parameters for described in (True, False)))
    asked = [(row["request"], [p["label"] for p in row["parameters"]]) for row in rows]
    with get_context("fork").Pool(workers) as pool:
        parts = dict(zip(keys, pool.map(tokenise_part, keys, 256)))
        requests = pool.map(tokenise_request, asked, 256)
    texts = {}
    return [example(row, found, parts, texts) for row, found in zip(rows, requests)]


def example(row, found, parts, texts):
    request, labels = found
    for text, limit in ((row["tool"], TOOL), (row["about"], ABOUT)):
        if (text, limit) not in texts:
            texts[text, limit] = phrasing.ids(text, limit)
    parameters = row["parameters"]
    return Example(
        row["split"],
        row["source"],
        zlib.crc32(row["tool"].encode()),
        request,
        texts[row["tool"], TOOL],
        texts[row["about"], ABOUT],
        [parts[part_key(p, True)] for p in parameters],
        [parts[part_key(p, False)] for p in parameters],
        [p["list"] for p in parameters],
        labels,
        row["fits"],
    )


class Planner:
    """Chooses what to read together in an epoch, in batches of about as many tokens."""

    def __init__(self, examples, shares, tokens, seed):
        self.examples, self.shares, self.tokens, self.seed = examples, {**SHARES, **shares}, tokens, seed

    def epoch(self, number):
        """The batches of an epoch in random order."""
        rng = random.Random(f"{self.seed} {number}")
        planned = []
        for at, example in enumerate(self.examples):
            if rng.random() < self.shares.get(example.source, 1):
                planned += self.varied(at, rng)
        planned.sort(key=lambda it: it.length + rng.random() * 40)
        batches = self.batches(planned)
        rng.shuffle(batches)
        return batches

    def varied(self, at, rng):
        """Reads the parameters of an example together or, as often, some of them alone; what is told of them varies."""
        labels = self.examples[at].labels
        known = [k for k, label in enumerate(labels) if label is not None]
        packed = not known or rng.random() < PACKED
        if packed:
            known = list(range(len(labels)))
        rng.shuffle(known)
        if not packed:
            absent = [k for k in known if labels[k].given == ABSENT]
            known = [k for k in known if labels[k].given != ABSENT] + absent[:ALONE_ABSENT]
        return self.planned(at, known, packed, rng.random() >= NO_DESCRIPTION, rng.random() >= NO_ABOUT)

    def whole(self, packed):
        """Every parameter of every example as the product reads it, or each alone."""
        planned = []
        for at, example in enumerate(self.examples):
            planned += self.planned(at, list(range(len(example.labels))), packed, True, True)
        return self.batches(sorted(planned, key=lambda it: it.length))

    def planned(self, at, parameters, packed, described, about):
        example = self.examples[at]
        parts = example.parts if described else example.short_parts
        head = 3 + len(example.request) + len(example.tool) + about * len(example.about)
        lengths = [len(parts[k].ids) for k in parameters]
        together = (groups(head, lengths) or [[]]) if packed else [[k] for k in range(len(parameters))]
        return [
            Planned(at, [parameters[k] for k in own], described, about, head + 1 + sum(lengths[k] for k in own), packed)
            for own in together
        ]

    def batches(self, planned):
        out, most = [[]], 0
        for it in planned:
            most = max(most, it.length)
            if out[-1] and (len(out[-1]) + 1) * most > self.tokens:
                out.append([])
                most = it.length
            out[-1].append(it)
        return out if planned else []


def sequence_of(examples, planned):
    example = examples[planned.example]
    parts = example.parts if planned.described else example.short_parts
    head = phrasing.head(example.request, example.tool, example.about if planned.about else [])
    return phrasing.sequence(head, len(example.request), [parts[k] for k in planned.parameters])


def collate(examples, batch):
    """One batch as tensors: what is read, and what is right."""
    sequences = [sequence_of(examples, planned) for planned in batch]
    size, width = len(batch), max(len(s.ids) for s in sequences)
    width = -(-width // PAD_TO) * PAD_TO
    most = max(1, max(len(s.marks) for s in sequences))
    options = max(1, max((len(places) for s in sequences for places in s.places), default=1))
    read = {
        "ids": np.zeros((size, width), np.int64),
        "present": np.zeros((size, width), bool),
        "kinds": np.zeros((size, width), np.int64),
        "asked": np.zeros((size, width), bool),
        "marks": np.zeros((size, most), np.int64),
        "options": np.zeros((size, most, options), np.int64),
        "is_option": np.zeros((size, most, options), bool),
    }
    for at, s in enumerate(sequences):
        read["ids"][at, : len(s.ids)] = s.ids
        read["present"][at, : len(s.ids)] = True
        read["kinds"][at, s.request + 2 : len(s.ids)] = 1
        read["asked"][at, 1 : s.request + 1] = True
        read["marks"][at, : len(s.marks)] = s.marks
        for parameter, places in enumerate(s.places):
            read["options"][at, parameter, : len(places)] = places
            read["is_option"][at, parameter, : len(places)] = True
    read.update(targets(examples, batch, read))
    return {name: torch.from_numpy(values) for name, values in read.items()}


def targets(examples, batch, read):
    """What is right for the parameters of a batch; `…_of` are numbers of parameters, counted over the whole batch."""
    (size, most), width, options = read["marks"].shape, read["ids"].shape[1], read["options"].shape[2]
    given = np.full(size * most, UNKNOWN, np.int64)
    fits = np.array([float(examples[planned.example].fits) for planned in batch], np.float32)
    whole = np.array([planned.whole for planned in batch], np.float32)
    spans, lists, choices, several = [], [], [], []
    spoken = 0
    for row, planned in enumerate(batch):
        example = examples[planned.example]
        parts = example.parts if planned.described else example.short_parts
        for place, k in enumerate(planned.parameters):
            label, at = example.labels[k], row * most + place
            if label is None:
                continue
            given[at] = label.given
            # The request begins behind [CLS].
            spans += [(at, spoken, first + 1, last + 1) for first, last in label.spans]
            spoken += bool(label.spans)
            if label.items:
                lists.append((at, label.items))
            right = [parts[k].options.index(option) for option in label.options if option in parts[k].options]
            if right and len(right) == len(label.options):
                (several if example.is_list[k] else choices).append((at, right))
    begins, inside = np.zeros((2, len(lists), width), np.float32)
    for number, (_, items) in enumerate(lists):
        for first, last in items:
            begins[number, first + 1] = 1
            inside[number, first + 1 : last + 2] = 1
    chosen = np.zeros((len(several), options), np.float32)
    for number, (_, right) in enumerate(several):
        chosen[number, right] = 1
    span_of, span_group, span_first, span_last = np.array(spans, np.int64).reshape(-1, 4).T.copy()
    numbers = lambda values: np.array(values, np.int64)
    return {
        "given": given, "fits": fits, "whole": whole,
        "span_of": span_of, "span_group": span_group, "span_first": span_first, "span_last": span_last,
        "list_of": numbers([at for at, _ in lists]), "begins": begins, "inside": inside,
        "choice_of": numbers([at for at, _ in choices]), "choice": numbers([right[0] for _, right in choices]),
        "several_of": numbers([at for at, _ in several]), "chosen": chosen,
    }  # fmt: skip
