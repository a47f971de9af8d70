"""Computes what `toolyard_encoder` approximates when it reads arguments: the exported reader in float32, step by step.

    python3 training/reference_reader.py read ENCODER.tyenc READER.tyenc < QUESTIONS.json > READINGS.json
    python3 training/reference_reader.py tiny FOLDER

QUESTIONS is a list of {"request", "tool", "about", "parameters": [{"name", "description", "kind", "options"}]}. The
second command writes a tiny reader with random weights for the `tiny.tyenc` that lies in the folder (`reference.py
tiny`), and questions with its readings. The tests of `toolyard_encoder` use them.
"""

import json
import sys
from math import erf
from pathlib import Path

import numpy as np

from export import layer_count
from export_reader import TABLES, layer_parts, read_file, reader
from questions import ABOUT, MAX_TOKENS, REQUEST, TOOL, Phrasing, groups
from reference import linear, normalise

ROLES = 4
BEST_ENDS, MAX_SPAN, MAX_SPANS = 14, 150, 10
ITEM_BEGINS, ITEM_GOES_ON = 0.4, 0.5


def gelu(values):
    return (values * 0.5 * (1 + np.vectorize(erf, otypes=[np.float64])(values / np.sqrt(2)))).astype(np.float32)


def log_softmax(scores):
    scores = scores - scores.max(axis=-1, keepdims=True)
    return scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True))


def sigmoid(scores):
    return 1 / (1 + np.exp(-scores))


def last_states(tensors, states, heads, epsilon):
    """Sends embedded tokens through the layers."""
    size = states.shape[1] // heads
    for layer in range(layer_count(tensors)):
        start = f"encoder.layer.{layer}."
        query, key, value = (
            linear(states, tensors, start + "attention.self." + part).reshape(-1, heads, size).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        shares = np.exp(log_softmax(query @ key.transpose(0, 2, 1) / np.sqrt(size)))
        mixed = (shares @ value).transpose(1, 0, 2).reshape(states.shape)
        change = linear(mixed, tensors, start + "attention.output.dense")
        states = normalise(states + change, tensors, start + "attention.output.LayerNorm", epsilon)
        wide = gelu(linear(states, tensors, start + "intermediate.dense"))
        change = linear(wide, tensors, start + "output.dense")
        states = normalise(states + change, tensors, start + "output.LayerNorm", epsilon)
    return states


class Reference:
    """An exported reader beside the encoder whose words it looks up."""

    def __init__(self, encoder_path, reader_path):
        encoder_header, encoder = read_file(encoder_path)
        self.header, self.tensors = read_file(reader_path)
        if self.header["words"] != encoder_header["digest"]:
            raise SystemExit(f"{reader_path} was trained beside another encoder than {encoder_path}")
        self.words = np.concatenate([encoder["embeddings.word_embeddings.weight"], self.tensors["embeddings.marks"]])
        self.phrasing = Phrasing(encoder["vocabulary"].split("\n"))

    def read(self, question):
        """Returns whether the tool fits, as logarithm of the odds, and what is thought of each parameter, in order."""
        phrasing = self.phrasing
        request, ranges = phrasing.words.pieces(question["request"], REQUEST)
        head = phrasing.head(request, phrasing.ids(question["tool"], TOOL), phrasing.ids(question["about"], ABOUT))
        parameters = question["parameters"]
        parts = [phrasing.part(*(it[key] for key in ("name", "description", "kind", "options"))) for it in parameters]
        readings, fits = [], []
        for own in groups(len(head), [len(part.ids) for part in parts]) or [[]]:
            sequence = phrasing.sequence(head, len(request), [parts[at] for at in own])
            states = self.states(sequence)
            inner = gelu(linear(states[0], self.tensors, "fits.inner"))
            fits.append(float(linear(inner, self.tensors, "fits.outer")[0]))
            for at, mark, places in zip(own, sequence.marks, sequence.places):
                reading = self.parameter(states, mark, ranges)
                count = len(parameters[at]["options"])
                reading["options"] = self.options(states, mark, places, parts[at].options, count)
                readings.append(reading)
        return {"fits": sum(fits) / len(fits), "fields": readings}

    def states(self, sequence):
        kinds = [int(at >= sequence.request + 2) for at in range(len(sequence.ids))]
        states = self.words[sequence.ids] + self.tensors["embeddings.position"][: len(sequence.ids)]
        states = states + self.tensors["embeddings.type"][kinds]
        epsilon = self.header["layer_norm_eps"]
        states = normalise(states, self.tensors, "embeddings.LayerNorm", epsilon)
        return last_states(self.tensors, states, self.header["heads"], epsilon)

    def parameter(self, states, mark, ranges):
        """Whether a parameter is given, and where in the request."""
        inner = gelu(linear(states[mark], self.tensors, "given.inner"))
        reading = {"given": log_softmax(linear(inner, self.tensors, "given.outer")).tolist(), "spans": [], "items": []}
        if ranges:
            # The request begins behind [CLS].
            start, end, begin, inside = self.roles(states[1 : len(ranges) + 1], states[mark])
            reading["spans"] = spans(log_softmax(start), log_softmax(end), ranges)
            reading["items"] = items(sigmoid(begin), sigmoid(inside), ranges)
        return reading

    def roles(self, tokens, parameter):
        """How well each token fits as start, end, begin of an item and inside of one."""
        tokens = linear(tokens, self.tensors, "token").reshape(len(tokens), ROLES, -1)
        wanted = linear(parameter, self.tensors, "parameter").reshape(ROLES, -1)
        scores = np.einsum("lck,ck->cl", tokens, wanted) / np.sqrt(wanted.shape[1])
        return scores + linear(parameter, self.tensors, "bias")[:, None]

    def options(self, states, mark, places, kept, count):
        """For each option how likely it is among all, as a logarithm, and by itself; null and 0 where it was cut."""
        out = [[None, 0.0] for _ in range(count)]
        if places:
            tensors = self.tensors
            wanted = linear(states[mark], tensors, "choice")
            scores = linear(states[places], tensors, "option") @ wanted / np.sqrt(len(wanted))
            scores = scores + linear(states[places], tensors, "option_bias")[:, 0]
            for option, among, alone in zip(kept, log_softmax(scores), sigmoid(scores)):
                out[option] = [float(among), float(alone)]
        return out


def spans(start, end, ranges):
    """The likeliest ranges of bytes."""
    firsts, lasts = (np.argsort(-scores, kind="stable")[:BEST_ENDS] for scores in (start, end))
    found = [(start[a] + end[b], a, b) for a in firsts for b in lasts if 0 <= b - a < MAX_SPAN]
    found.sort(key=lambda it: (-it[0], it[1], it[2]))
    return [[ranges[a][0], ranges[b][1], float(sure)] for sure, a, b in found[:MAX_SPANS]]


def items(begin, inside, ranges):
    """The items of a list as ranges of bytes."""
    found, is_open = [], False
    for at, (first, last) in enumerate(ranges):
        if begin[at] > ITEM_BEGINS:
            found.append([first, last, float(begin[at])])
            is_open = True
        elif is_open and inside[at] > ITEM_GOES_ON:
            found[-1][1] = last
        else:
            is_open = False
    return found


def rounded(value):
    """The same with few enough digits for a file that people look at."""
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, list):
        return [rounded(it) for it in value]
    return {key: rounded(it) for key, it in value.items()} if isinstance(value, dict) else value


TINY_SEED = 23
TINY = {"layers": 2, "intermediate": 72}


def parameter(name, description, kind="text", options=()):
    return {"name": name, "description": description, "kind": kind, "options": list(options)}


def question(request, *parameters):
    tool = {"tool": "house lights turn", "about": "Turn lights on and off."}
    return {"request": request, **tool, "parameters": list(parameters)}


ROOM = parameter("room", "Where the lights are", "one of", ["kitchen", "house", "road"])
FILES = parameter("files", "Files to read and write", "list of texts")
TINY_QUESTIONS = [
    question("turn on the kitchen lights", ROOM, parameter("when", "Day, week or month")),
    question("Café naïve 東京 हिन्दी: read_file, write-file; open!", FILES, ROOM),
    question("", FILES, ROOM),
    question("nothing is asked"),
    # More than fit: of the request, of the options, of the parameters.
    question("pay the bill " * 80, parameter("bill", "Which bill " * 30, "text " * 20)),
    question("play music", parameter("song", "", "one of", [f"song {number} of the week" for number in range(40)])),
    question("search my notes", *(parameter(f"note {number}", "Read the note") for number in range(30))),
]  # fmt: skip


def tiny_tensors(hidden):
    random = np.random.default_rng(TINY_SEED)
    normal = lambda *shape, scale: (random.standard_normal(shape) * scale).astype(np.float32)
    sizes = {"given.inner": hidden, "given.outer": 3, "token": 512, "parameter": 512, "bias": ROLES}
    sizes |= {"option": 128, "choice": 128, "option_bias": 1, "fits.inner": hidden, "fits.outer": 1}
    tensors = dict(zip(TABLES, (normal(rows, hidden, scale=0.3) for rows in (MAX_TOKENS, 2, 2))))
    for part in ["embeddings.LayerNorm", *layer_parts(TINY["layers"]), *sizes]:
        if part.endswith("LayerNorm"):
            tensors[part + ".weight"] = 1 + normal(hidden, scale=0.1)
            tensors[part + ".bias"] = normal(hidden, scale=0.1)
            continue
        rows = TINY["intermediate"] if part.endswith("intermediate.dense") else sizes.get(part, hidden)
        columns = TINY["intermediate"] if part.endswith("output.dense") and "attention" not in part else hidden
        # Heads with large weights tell parameters and tokens apart, so that a mistake in them shows.
        tensors[part + ".weight"] = normal(rows, columns, scale=(2.5 if part in sizes else 1.2) / np.sqrt(columns))
        tensors[part + ".bias"] = normal(rows, scale=0.1)
    # Otherwise it would be sure of every option.
    tensors["option_bias.bias"] -= 8
    return tensors


def write_tiny(folder):
    encoder_header, _ = read_file(folder / "tiny.tyenc")
    written, _ = reader(tiny_tensors(encoder_header["hidden"]), encoder_header, "tiny-reader")
    (folder / "reader.tyenc").write_bytes(written)
    reference = Reference(folder / "tiny.tyenc", folder / "reader.tyenc")
    cases = [{"question": it, "reading": rounded(reference.read(it))} for it in TINY_QUESTIONS]
    lines = ",\n".join(json.dumps(case, ensure_ascii=False, separators=(",", ":")) for case in cases)
    (folder / "arguments.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def main():
    if sys.argv[1] == "tiny":
        write_tiny(Path(sys.argv[2]))
        return
    reference = Reference(sys.argv[2], sys.argv[3])
    json.dump([reference.read(it) for it in json.load(sys.stdin)], sys.stdout, ensure_ascii=False)


if __name__ == "__main__":
    main()
