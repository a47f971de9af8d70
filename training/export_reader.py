"""Writes the argument reader as the file that `toolyard_encoder` reads beside the encoder's.

    python3 training/export_reader.py OUT/reader.safetensors models/encoder.tyenc models/reader.tyenc

The container is that of `export.py`. The reader looks words up in the encoder's table, so its file names the encoder
that it was trained with (`words`) and holds neither words nor a vocabulary.
"""

import argparse
import hashlib
import json
import struct
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from export import ALIGNMENT, MAGIC, PANEL_ROWS, STEP_COLUMNS, Sections, contained, layer_count
from questions import MAX_TOKENS

TABLES = {
    "embeddings.position_embeddings.weight": "embeddings.position",
    "embeddings.token_type_embeddings.weight": "embeddings.type",
    "embeddings.marks": "embeddings.marks",
}
# Parts of the heads that are multiplied in whole numbers, and small ones that stay as they are.
WHOLE_HEADS = ("given.inner", "token", "parameter", "option", "choice", "fits.inner")
FLOAT_HEADS = ("given.outer", "bias", "option_bias", "fits.outer")


def read_file(path):
    """Returns the header of an exported file and its tensors as float32; texts stay texts."""
    raw = Path(path).read_bytes()
    if not raw.startswith(MAGIC):
        raise SystemExit(f"{path} is no encoder file")
    (length,) = struct.unpack("<I", raw[8:12])
    header = json.loads(raw[12 : 12 + length])
    data = raw[-(-(12 + length) // ALIGNMENT) * ALIGNMENT :]
    return header, {entry["name"]: read_tensor(data, entry) for entry in header["tensors"]}


def read_tensor(data, entry):
    kind, shape, offset = entry["kind"], entry["shape"], entry["offset"]
    if kind == "text":
        return data[offset : offset + shape[0]].decode("utf-8")
    if kind == "f32":
        return np.frombuffer(data, "<f4", int(np.prod(shape)), offset).reshape(shape)
    rows, columns = shape
    if kind == "i8-panels":
        # Missing rows and columns were filled up.
        steps, high = -(-columns // STEP_COLUMNS), -(-rows // PANEL_ROWS) * PANEL_ROWS
        panels = np.frombuffer(data, "i1", high * steps * STEP_COLUMNS, offset)
        panels = panels.reshape(-1, steps, PANEL_ROWS, STEP_COLUMNS).transpose(0, 2, 1, 3)
        whole = panels.reshape(high, -1)[:rows, :columns]
    else:
        whole = np.frombuffer(data, "i1", rows * columns, offset).reshape(rows, columns)
    scales = np.frombuffer(data, "<f4", rows, entry["scales"])
    return whole.astype(np.float32) * scales[:, None]


def read_weights(path):
    """Returns the weights that `reader.py` wrote as float32, by name."""
    tensors = load_file(str(path))
    for name in [name.removesuffix(".int8") for name in tensors if name.endswith(".int8")]:
        tensors[name] = tensors.pop(name + ".int8").astype(np.float32) * tensors.pop(name + ".scale")[:, None]
    return {name: values.astype(np.float32) for name, values in tensors.items()}


def layer_parts(layers):
    """The names of what a layer consists of, in the order of the encoder's file."""
    for layer in range(layers):
        start = f"encoder.layer.{layer}."
        yield from (start + "attention.self." + part for part in ("query", "key", "value"))
        yield from (start + part for part in ("attention.output.dense", "attention.output.LayerNorm"))
        yield from (start + part for part in ("intermediate.dense", "output.dense", "output.LayerNorm"))


def reader(tensors, encoder_header, name):
    """Returns the file of a reader, and which tensor lost most by rounding."""
    sections = Sections()
    layers = layer_count(tensors)
    for source, written in TABLES.items():
        sections.floats(written, tensors[source][:MAX_TOKENS])
    for part in ["embeddings.LayerNorm", *layer_parts(layers), *WHOLE_HEADS, *FLOAT_HEADS]:
        weight = tensors[part + ".weight"]
        if weight.ndim == 2 and part not in FLOAT_HEADS:
            sections.whole(part + ".weight", weight, "i8-panels")
        else:
            sections.floats(part + ".weight", weight)
        sections.floats(part + ".bias", tensors[part + ".bias"])
    header = {
        "name": name,
        "digest": hashlib.sha256(sections.data).hexdigest()[:16],
        "reads": "arguments",
        "words": encoder_header["digest"],
        "layers": layers,
        **{key: encoder_header[key] for key in ("hidden", "heads")},
        "intermediate": len(tensors["encoder.layer.0.intermediate.dense.weight"]),
        "vocab": encoder_header["vocab"],
        "max_tokens": MAX_TOKENS,
        "position": MAX_TOKENS,
        **{key: encoder_header[key] for key in ("layer_norm_eps", "lowercase", "strip_accents")},
        "tensors": sections.tensors,
    }
    return contained(header, sections), sections.worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("encoder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--name", default="toolyard-reader")
    options = parser.parse_args()
    encoder_header, _ = read_file(options.encoder)
    written, (cosine, worst) = reader(read_weights(options.model), encoder_header, options.name)
    options.out.write_bytes(written)
    print(f"{options.out}: {len(written)} bytes; least cosine of a tensor's rows {cosine:.6f} in {worst}")


if __name__ == "__main__":
    main()
