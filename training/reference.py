"""Computes what `toolyard_encoder` approximates: the same encoder in float32, step by step.

    python3 training/reference.py vectors MODEL.safetensors VOCAB < TEXTS.json > VECTORS.json
    python3 training/reference.py tiny FOLDER

The second writes a tiny encoder with random weights, as the parts of a folder and as an exported file, with texts,
their tokens and their vectors, and pairs of texts with how well they fit. The tests of `toolyard_encoder` use it.
"""

import json
import struct
import sys
import unicodedata
from math import erf
from pathlib import Path

import numpy as np

from export import encoder, read_safetensors, read_vocabulary

MAX_TOKENS = 128
# The tokens of a request that is read beside a text, and of the text.
READ_REQUEST, READ_TEXT = 64, 96
IDEOGRAPHS = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip


def stands_alone(char):
    if char.isascii():
        return char.isprintable() and not char.isalnum() and char != " "
    in_block = any(first <= ord(char) <= last for first, last in IDEOGRAPHS)
    return in_block or unicodedata.category(char).startswith("P")


def words(text):
    """Splits a text as BERT does, without case and accents."""
    kept = []
    for char in text:
        if char in "\t\n\r" or unicodedata.category(char) == "Zs" or char in "\u2028\u2029":
            kept.append(" ")
        elif char not in "\0\ufffd" and unicodedata.category(char) not in ("Cc", "Cf", "Co"):
            kept.append(f" {char} " if stands_alone(char) else char)
    plain = unicodedata.normalize("NFD", "".join(kept))
    plain = "".join(char for char in plain if unicodedata.category(char) != "Mn").lower()
    for word in plain.split():
        start = 0
        for at, char in enumerate(word):
            if stands_alone(char):
                yield from (part for part in (word[start:at], char) if part)
                start = at + 1
        if word[start:]:
            yield word[start:]


def tokenize(text, tokens, limit=MAX_TOKENS):
    """Returns the numbers of a text's pieces."""
    ids = {token: at for at, token in reversed(list(enumerate(tokens)))}
    found = [ids["[CLS]"]]
    for word in words(text):
        pieces, at = [], 0
        while at < len(word) and len(word) <= 100:
            mark = "##" if at else ""
            end = next((end for end in range(len(word), at, -1) if mark + word[at:end] in ids), None)
            if end is None:
                break
            pieces.append(ids[mark + word[at:end]])
            at = end
        found += pieces if at == len(word) else [ids["[UNK]"]]
    return found[: limit - 1] + [ids["[SEP]"]]


def normalise(states, tensors, name, epsilon):
    mean = states.mean(axis=1, keepdims=True)
    variance = ((states - mean) ** 2).mean(axis=1, keepdims=True)
    return (states - mean) / np.sqrt(variance + epsilon) * tensors[name + ".weight"] + tensors[name + ".bias"]


def linear(states, tensors, name):
    return states @ tensors[name + ".weight"].T + tensors[name + ".bias"]


def mean_state(tensors, ids, kinds, heads, epsilon):
    """Returns the mean of the tokens' last states; kinds tells two texts apart."""
    states = (
        tensors["embeddings.word_embeddings.weight"][ids]
        + tensors["embeddings.position_embeddings.weight"][: len(ids)]
        + tensors["embeddings.token_type_embeddings.weight"][kinds]
    )
    states = normalise(states, tensors, "embeddings.LayerNorm", epsilon)
    size = states.shape[1] // heads
    layers = 1 + max(int(name.split(".")[2]) for name in tensors if name.startswith("encoder.layer."))
    for layer in range(layers):
        start = f"encoder.layer.{layer}."
        query, key, value = (
            linear(states, tensors, start + "attention.self." + part).reshape(-1, heads, size).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / np.sqrt(size)
        shares = np.exp(scores - scores.max(axis=2, keepdims=True))
        shares /= shares.sum(axis=2, keepdims=True)
        mixed = (shares @ value).transpose(1, 0, 2).reshape(states.shape)
        change = linear(mixed, tensors, start + "attention.output.dense")
        states = normalise(states + change, tensors, start + "attention.output.LayerNorm", epsilon)
        wide = linear(states, tensors, start + "intermediate.dense")
        wide = wide * 0.5 * (1 + np.vectorize(erf)(wide / np.sqrt(2)))
        change = linear(wide.astype(np.float32), tensors, start + "output.dense")
        states = normalise(states + change, tensors, start + "output.LayerNorm", epsilon)
    return states.mean(axis=0)


def forward(tensors, ids, heads, epsilon):
    """Returns the vector of a text: the mean of its tokens' last states, of unit length."""
    mean = mean_state(tensors, ids, [0] * len(ids), heads, epsilon)
    return mean / np.linalg.norm(mean)


def read(tensors, request, text, heads, epsilon):
    """Returns how well two texts fit, given as tokens, when they are read together."""
    ids = (request + text[1:])[:MAX_TOKENS]
    kinds = ([0] * len(request) + [1] * len(text))[: len(ids)]
    mean = mean_state(tensors, ids, kinds, heads, epsilon)
    return float(mean @ tensors["reader.weight"][0] + tensors["reader.bias"][0])


TINY = {"layers": 2, "hidden": 32, "heads": 4, "intermediate": 72, "positions": 130}
TINY_WORDS = """
a the to of and in my for file files read write send mail message list search create delete remind me call tomorrow
morning calendar event weather light lights kitchen turn on off play song music photo note notes pay money bill road
house open issue repo branch merge commit table query row chart sun rain run walk dog cat tea coffee day week month
cafe naive uber strasse 東 京 天 気 日 本 привет мир
""".split()
TINY_PIECES = "##ing ##ed ##er ##ly ##able ##ation ##et ##本 ##ми".split()
TINY_TEXTS = [
    "turn on the kitchen lights",
    "remind me to call tomorrow morning",
    "Café naïve ÜBER Straße",
    "read_file, write-file; (open)! $5 + 3",
    "東京の天気 日本",
    "привет, мир! Ещё",
    "",
    "\t \n \u0000 \ufffd \u200b",
    "zero\u0000width\u200bjoin\u00adhyphen",
    "[CLS] [SEP] [UNK] ##ing",
    "x" * 100 + " " + "x" * 101,
    "play music 🎵 now",
    "e\u0301 \u0915\u093e\u0941 ﬁle Ⅻ",
    "pay the bill " * 60,
    "running walked reader",
]


TINY_PAIRS = [
    ("turn on the kitchen lights", "house lights turn: Turn lights on and off. | room, light"),
    ("turn on the kitchen lights", "mail send: Send a message. | to, text"),
    ("pay the bill " * 60, "bill pay: Pay a bill."),
    ("", ""),
    ("weather 東京", "weather read: " + "the weather of a day and a week " * 20),
]


def tiny_tensors(tokens):
    random = np.random.default_rng(20)
    hidden, wide = TINY["hidden"], TINY["intermediate"]

    def normal(*shape, scale):
        return (random.standard_normal(shape) * scale).astype(np.float16).astype(np.float32)

    tensors = {
        "embeddings.word_embeddings.weight": normal(tokens, hidden, scale=1.0),
        "embeddings.position_embeddings.weight": normal(TINY["positions"], hidden, scale=0.3),
        "embeddings.token_type_embeddings.weight": normal(2, hidden, scale=0.3),
    }

    def norm(name):
        tensors[name + ".weight"] = 1 + normal(hidden, scale=0.1)
        tensors[name + ".bias"] = normal(hidden, scale=0.1)

    def linear(name, rows, columns):
        tensors[name + ".weight"] = normal(rows, columns, scale=1.2 / np.sqrt(columns))
        tensors[name + ".bias"] = normal(rows, scale=0.1)

    norm("embeddings.LayerNorm")
    for layer in range(TINY["layers"]):
        start = f"encoder.layer.{layer}."
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            linear(start + "attention." + part, hidden, hidden)
        norm(start + "attention.output.LayerNorm")
        linear(start + "intermediate.dense", wide, hidden)
        linear(start + "output.dense", hidden, wide)
        norm(start + "output.LayerNorm")
    tensors["reader.weight"] = normal(1, hidden, scale=0.5)
    tensors["reader.bias"] = normal(1, scale=0.5)
    return {name: values.astype(np.float16).astype(np.float32) for name, values in tensors.items()}


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, values in tensors.items():
        raw = values.astype("<f2").tobytes()
        offsets = [len(data), len(data) + len(raw)]
        header["bert." + name] = {"dtype": "F16", "shape": list(values.shape), "data_offsets": offsets}
        data += raw
    start = json.dumps(header, separators=(",", ":")).encode("utf-8")
    path.write_bytes(struct.pack("<Q", len(start)) + start + data)


def write_tiny(folder):
    letters = [chr(code) for code in range(ord("!"), ord("~") + 1) if not chr(code).isupper()]
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters]
    tokens += ["##" + char for char in letters if char.isalnum()] + TINY_PIECES
    tokens += [word for word in TINY_WORDS if word not in tokens]
    tensors = tiny_tensors(len(tokens))
    folder.mkdir(parents=True, exist_ok=True)
    parts = {name: values for name, values in tensors.items() if not name.startswith("reader.")}
    write_safetensors(folder / "model.safetensors", parts)
    config = {
        "_name_or_path": "toolyard/tiny", "model_type": "bert", "hidden_act": "gelu", "hidden_size": TINY["hidden"],
        "num_hidden_layers": TINY["layers"], "num_attention_heads": TINY["heads"],
        "intermediate_size": TINY["intermediate"], "layer_norm_eps": 1e-12,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    tokenizer = {
        "normalizer": {"type": "BertNormalizer", "lowercase": True, "strip_accents": None},
        "model": {"type": "WordPiece", "vocab": {token: at for at, token in enumerate(tokens)}},
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False, indent=0) + "\n")
    file, _ = encoder(tensors, (tokens, True, True), "tiny", TINY["heads"], 1e-12, MAX_TOKENS)
    (folder / "tiny.tyenc").write_bytes(file)
    cases = []
    for text in TINY_TEXTS:
        ids = tokenize(text, tokens)
        vector = forward(tensors, ids, TINY["heads"], 1e-12)
        cases.append({"text": text, "ids": ids, "vector": [round(float(number), 5) for number in vector]})
    lines = ",\n".join(json.dumps(case, ensure_ascii=False, separators=(",", ":")) for case in cases)
    (folder / "expected.json").write_text(f"[\n{lines}\n]\n")
    pairs = []
    for request, text in TINY_PAIRS:
        fit = read(tensors, tokenize(request, tokens, READ_REQUEST), tokenize(text, tokens, READ_TEXT), TINY["heads"], 1e-12)
        pairs.append({"request": request, "text": text, "fit": round(fit, 4)})
    (folder / "readings.json").write_text(json.dumps(pairs, ensure_ascii=False, indent=1) + "\n")


def main():
    if sys.argv[1] == "tiny":
        write_tiny(Path(sys.argv[2]))
        return
    model, vocabulary = Path(sys.argv[2]), sys.argv[3]
    config = json.loads((model.parent / "config.json").read_text())
    tensors, (tokens, _, _) = read_safetensors(model), read_vocabulary(vocabulary)
    heads, epsilon = config["num_attention_heads"], config.get("layer_norm_eps", 1e-12)
    vectors = [forward(tensors, tokenize(text, tokens), heads, epsilon).tolist() for text in json.load(sys.stdin)]
    json.dump(vectors, sys.stdout)


if __name__ == "__main__":
    main()
