"""Writes a sentence encoder as the file that `toolyard_encoder` reads.

    python3 training/export.py MODEL.safetensors VOCAB OUT --name NAME

MODEL holds the weights of a BERT under their usual names, in float32, float16, bfloat16 or int8 rows (`train.py --small`);
VOCAB is a vocab.txt or a tokenizer.json. The number of heads comes from the config.json beside MODEL, or from --heads.

The file is little-endian: the magic `TYENC001`, the length of the header in four bytes, the header as JSON, then
the tensors. Offsets count from the first multiple of 64 after the header, and are multiples of 64 themselves.
Kinds of tensors:

    f32        numbers as they are
    text       UTF-8; its shape is its length in bytes
    i8         rows of whole numbers from -127 to 127; `scales` is the offset of one f32 for each row
    i8-panels  the same, in the order in which they are multiplied: 64 rows to a panel, of these four columns at a
               time; missing rows and columns are zero
"""

import argparse
import hashlib
import json
import struct
from pathlib import Path

import numpy as np

MAGIC = b"TYENC001"
ALIGNMENT = 64
PANEL_ROWS = 64
STEP_COLUMNS = 4
# How numbers are kept in safetensors.
KINDS = {"F32": "<f4", "F16": "<f2", "BF16": "<u2", "I8": "i1"}

# A few outliers may be worth cutting, if the rest of the row gains more than they lose.
CUTS = (1.0, 0.97, 0.94, 0.9, 0.85, 0.8)


def read_safetensors(path):
    """Returns the tensors of a file as float32, by name."""
    raw = Path(path).read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    data = raw[8 + length :]
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] not in KINDS:
            continue
        start, end = entry["data_offsets"]
        values = np.frombuffer(data[start:end], KINDS[entry["dtype"]])
        if entry["dtype"] == "BF16":
            values = (values.astype(np.uint32) << 16).view(np.float32)
        tensors[name] = values.astype(np.float32).reshape(entry["shape"])
    for name in [name.removesuffix(".int8") for name in tensors if name.endswith(".int8")]:
        tensors[name] = tensors.pop(name + ".int8") * tensors.pop(name + ".scale")[:, None]
    return without_prefix(tensors)


def without_prefix(tensors):
    """Cuts what some writers put before every name, such as `bert.`."""
    words = "embeddings.word_embeddings.weight"
    prefix = next(name for name in tensors if name.endswith(words))[: -len(words)]
    return {name[len(prefix) :]: values for name, values in tensors.items() if name.startswith(prefix)}


def read_vocabulary(path):
    """Returns the tokens in the order of their ids, and whether letters are lowered and accents cut."""
    text = Path(path).read_text(encoding="utf-8")
    if not text.startswith("{"):
        tokens = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
        return tokens, True, True
    parsed = json.loads(text)
    ids = parsed["model"]["vocab"]
    tokens = [""] * (max(ids.values()) + 1)
    for token, at in ids.items():
        tokens[at] = token
    normalizer = parsed.get("normalizer") or {}
    lowercase = normalizer.get("lowercase", True)
    strip_accents = normalizer.get("strip_accents")
    return tokens, lowercase, lowercase if strip_accents is None else strip_accents


def quantise(rows):
    """Returns each row as whole numbers and the scale that brings it nearest to what it was."""
    peak = np.abs(rows).max(axis=1)
    best = np.zeros(rows.shape, np.int8)
    best_scale = np.zeros(len(rows), np.float32)
    best_cosine = np.full(len(rows), -1.0)
    length = np.maximum(np.linalg.norm(rows, axis=1), 1e-30)
    for cut in CUTS:
        scale = np.maximum(peak * cut / 127, 1e-30).astype(np.float32)
        whole = np.clip(np.rint(rows / scale[:, None]), -127, 127)
        squares = np.maximum((whole * whole).sum(axis=1), 1e-30)
        along = (rows * whole).sum(axis=1)
        cosine = along / np.sqrt(squares) / length
        better = cosine > best_cosine
        best[better] = whole[better].astype(np.int8)
        # The scale with the least error for these whole numbers, not the one they were rounded with.
        best_scale[better] = (along / squares)[better]
        best_cosine = np.maximum(best_cosine, cosine)
    return best, best_scale, best_cosine


def panels(whole):
    """Puts rows into the order in which they are multiplied."""
    rows, columns = whole.shape
    padded = np.zeros((-(-rows // PANEL_ROWS) * PANEL_ROWS, -(-columns // STEP_COLUMNS) * STEP_COLUMNS), np.int8)
    padded[:rows, :columns] = whole
    return padded.reshape(-1, PANEL_ROWS, padded.shape[1] // STEP_COLUMNS, STEP_COLUMNS).transpose(0, 2, 1, 3)


class Sections:
    """The part of the file behind the header."""

    def __init__(self):
        self.data = bytearray()
        self.tensors = []
        self.worst = (2.0, "")

    def put(self, raw):
        self.data.extend(bytes(-len(self.data) % ALIGNMENT))
        offset = len(self.data)
        self.data.extend(raw)
        return offset

    def floats(self, name, values):
        offset = self.put(values.astype("<f4").tobytes())
        self.tensors.append({"name": name, "kind": "f32", "shape": list(values.shape), "offset": offset})

    def whole(self, name, values, kind):
        whole, scale, cosine = quantise(values)
        self.worst = min(self.worst, (float(cosine.mean()), name))
        ordered = panels(whole) if kind == "i8-panels" else whole
        offset = self.put(np.ascontiguousarray(ordered).tobytes())
        scales = self.put(scale.astype("<f4").tobytes())
        shape = list(values.shape)
        self.tensors.append({"name": name, "kind": kind, "shape": shape, "offset": offset, "scales": scales})

    def text(self, name, text):
        raw = text.encode("utf-8")
        self.tensors.append({"name": name, "kind": "text", "shape": [len(raw)], "offset": self.put(raw)})


def layer_count(tensors):
    return 1 + max(int(name.split(".")[2]) for name in tensors if name.startswith("encoder.layer."))


def encoder(tensors, vocabulary, name, heads, epsilon, max_tokens):
    """Returns the file of an encoder, and which tensor lost most by rounding."""
    tokens, lowercase, strip_accents = vocabulary
    sections = Sections()
    words = tensors["embeddings.word_embeddings.weight"]
    if len(tokens) != len(words):
        raise SystemExit(f"the vocabulary has {len(tokens)} tokens, the model {len(words)}")
    positions = tensors["embeddings.position_embeddings.weight"]
    max_tokens = min(max_tokens, len(positions))
    sections.text("vocabulary", "\n".join(tokens))
    sections.whole("embeddings.word_embeddings.weight", words, "i8")
    sections.whole("embeddings.position_embeddings.weight", positions[:max_tokens], "i8")
    sections.floats(
        "embeddings.token_type_embeddings.weight", tensors["embeddings.token_type_embeddings.weight"][:1]
    )
    layers = layer_count(tensors)
    kept = ["embeddings.LayerNorm"]
    for layer in range(layers):
        start = f"encoder.layer.{layer}."
        kept += [start + "attention.self." + part for part in ("query", "key", "value")]
        kept += [start + part for part in ("attention.output.dense", "attention.output.LayerNorm")]
        kept += [start + part for part in ("intermediate.dense", "output.dense", "output.LayerNorm")]
    for part in kept:
        weight = tensors[part + ".weight"]
        if weight.ndim == 2:
            sections.whole(part + ".weight", weight, "i8-panels")
        else:
            sections.floats(part + ".weight", weight)
        sections.floats(part + ".bias", tensors[part + ".bias"])

    if "reader.weight" in tensors and np.abs(tensors["reader.weight"]).max() > 0:
        # What a text that is read beside a request is marked with, and what says how well the two fit.
        sections.floats("reader.segment", tensors["embeddings.token_type_embeddings.weight"][1])
        sections.floats("reader.weight", tensors["reader.weight"][0])
        sections.floats("reader.bias", tensors["reader.bias"])

    header = {
        "name": name,
        "digest": hashlib.sha256(sections.data).hexdigest()[:16],
        "layers": layers,
        "hidden": words.shape[1],
        "heads": heads,
        "intermediate": len(tensors["encoder.layer.0.intermediate.dense.weight"]),
        "vocab": len(tokens),
        "max_tokens": max_tokens,
        "position": max_tokens,
        "layer_norm_eps": epsilon,
        "lowercase": lowercase,
        "strip_accents": strip_accents,
        "tensors": sections.tensors,
    }
    return contained(header, sections), sections.worst


def contained(header, sections):
    """Returns the bytes of a file with this header and these tensors."""
    start = json.dumps(header, separators=(",", ":")).encode("utf-8")
    front = MAGIC + struct.pack("<I", len(start)) + start
    return front + bytes(-len(front) % ALIGNMENT) + bytes(sections.data)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("vocabulary", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--name", required=True)
    parser.add_argument("--heads", type=int)
    parser.add_argument("--max-tokens", type=int, default=128)
    options = parser.parse_args()
    beside = options.model.parent / "config.json"
    config = json.loads(beside.read_text(encoding="utf-8")) if beside.exists() else {}
    heads = options.heads or config.get("num_attention_heads")
    if not heads:
        raise SystemExit("give --heads, or put a config.json beside the model")
    written, (cosine, worst) = encoder(
        read_safetensors(options.model),
        read_vocabulary(options.vocabulary),
        options.name,
        heads,
        config.get("layer_norm_eps", 1e-12),
        options.max_tokens,
    )
    options.out.write_bytes(written)
    print(f"{options.out}: {len(written)} bytes; least cosine of a tensor's rows {cosine:.6f} in {worst}")


if __name__ == "__main__":
    main()
