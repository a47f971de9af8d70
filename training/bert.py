"""A small BERT encoder in plain PyTorch: float32 parameters, arithmetic in the type asked for.

Parameter names are those of the Hugging Face model, so that what `save` writes loads anywhere.
"""

import math

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file

HEADS = 12
PAIR_TOKENS = 128
DISTANCES = "encoder.relative_attention_bias.weight"
# From here on distances between places are no longer told apart.
FARTHEST = 128


def side_by_side(requests, texts, most):
    """Rows of `[CLS] request [SEP] text [SEP]`, cut after `most` tokens, and which of the two each token belongs to."""
    place = torch.arange(most, device=requests.device)[None]
    first, second = ((rows != 0).sum(1, keepdim=True) for rows in (requests, texts))
    is_text = (place >= first) & (place < first + second - 1)
    request = requests.gather(1, place.clamp(max=requests.shape[1] - 1).expand(len(requests), -1))
    text = texts.gather(1, (place - first + 1).clamp(0, texts.shape[1] - 1))
    return torch.where(place < first, request, torch.where(is_text, text, 0)), is_text.long()


def load_base(path):
    """Reads weights, plain or with int8 rows, into a dictionary of float32 tensors."""
    weights = load_file(str(path))
    if "words.int8" in weights:
        weights["embeddings.word_embeddings.weight.int8"] = weights.pop("words.int8")
        weights["embeddings.word_embeddings.weight.scale"] = weights.pop("words.scale")
    for key in [k.removesuffix(".int8") for k in weights if k.endswith(".int8")]:
        weights[key] = weights.pop(key + ".int8").float() * weights.pop(key + ".scale").float()[:, None]
    return {k: v.float() for k, v in weights.items() if not k.startswith("pooler") and "position_ids" not in k}


class Encoder(torch.nn.Module):
    """Token ids in, unit vectors out (mean over tokens); or a request and a tool's text in, how well they fit out."""

    def __init__(self, weights, dtype=torch.bfloat16, dropout=0.1, epsilon=1e-12):
        super().__init__()
        self.hidden = weights["embeddings.word_embeddings.weight"].shape[1]
        self.layers = sum(k.endswith(".intermediate.dense.bias") for k in weights)
        self.epsilon, self.pair_tokens = epsilon, PAIR_TOKENS
        weights = {"reader.weight": torch.zeros(1, self.hidden), "reader.bias": torch.zeros(1), **weights}
        self.keys = {k: k.replace(".", "__") for k in weights}
        self.params = torch.nn.ParameterDict({self.keys[k]: torch.nn.Parameter(v.clone()) for k, v in weights.items()})
        self.dtype, self.dropout = dtype, dropout
        self.ready = {}

    def at(self, *keys):
        """Parameters in the type of the arithmetic, put together; made once a step, as small operations add up."""
        name = (keys, torch.is_grad_enabled())
        if name not in self.ready:
            self.ready[name] = torch.cat([self.params[self.keys[key]].to(self.dtype) for key in keys])
        return self.ready[name]

    def head(self):
        """The parameters that say how well what was read fits."""
        return [self.params[self.keys[f"reader.{name}"]] for name in ("weight", "bias")]

    def changed(self):
        """Tells the encoder that its parameters have changed."""
        self.ready = {}

    def linear(self, x, *keys):
        return F.linear(x, self.at(*(k + ".weight" for k in keys)), self.at(*(k + ".bias" for k in keys)))

    def norm(self, x, key):
        return F.layer_norm(x, (self.hidden,), self.at(key + ".weight"), self.at(key + ".bias"), self.epsilon)

    def drop(self, x):
        return F.dropout(x, self.dropout, self.training)

    def layer(self, x, mask, n):
        key = f"encoder.layer.{n}."
        size, length, _ = x.shape
        parts = self.linear(x, *(key + "attention.self." + part for part in ("query", "key", "value")))
        q, k, v = parts.view(size, length, 3, HEADS, self.hidden // HEADS).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        mixed = mixed.transpose(1, 2).reshape(size, length, self.hidden)
        x = self.norm(x + self.drop(self.linear(mixed, key + "attention.output.dense")), key + "attention.output.LayerNorm")
        inner = F.gelu(self.linear(x, key + "intermediate.dense"))
        return self.norm(x + self.drop(self.linear(inner, key + "output.dense")), key + "output.LayerNorm")

    @torch.no_grad()
    def distances(self, length):
        """What attention adds for the distance between two places, per head: exact when near, in ever wider steps when far."""
        table = self.at(DISTANCES)
        side = len(table) // 2
        exact = side // 2
        place = torch.arange(length, device=table.device)
        apart = place[:, None] - place[None]
        far = exact + (torch.log(apart.abs().clamp(min=1) / exact) / math.log(FARTHEST / exact) * (side - exact)).long()
        bucket = torch.where(apart.abs() < exact, apart.abs(), far.clamp(max=side - 1)) + (apart < 0) * side
        return table[bucket].permute(2, 0, 1)[None]

    def pooled(self, ids, kinds=None):
        """The mean of the last states of one padded block (0 is padding); kinds tells two texts in one row apart."""
        present = ids != 0
        words = F.embedding(ids, self.params[self.keys["embeddings.word_embeddings.weight"]]).to(self.dtype)
        places = self.at("embeddings.position_embeddings.weight")[: ids.shape[1]]
        types = self.at("embeddings.token_type_embeddings.weight")
        x = words + places + types[0]
        if kinds is not None:
            # Looking the types up by index would add up their gradients one by one.
            x = x + kinds[:, :, None].to(self.dtype) * (types[1] - types[0])
        x = self.drop(self.norm(x, "embeddings.LayerNorm"))
        mask = torch.zeros_like(present, dtype=self.dtype).masked_fill(~present, -1e4)
        mask = mask[:, None, None, :].expand(-1, 1, ids.shape[1], -1)
        if DISTANCES in self.keys:
            mask = (mask + self.distances(ids.shape[1])).contiguous()
        for n in range(self.layers):
            x = self.layer(x, mask, n)
        weight = present.to(x.dtype)[:, :, None]
        return (x * weight).sum(1).float() / present.sum(1, keepdim=True).clamp(min=1)

    def forward(self, ids):
        return F.normalize(self.pooled(ids), dim=1)

    def read(self, requests, texts, blocks=3):
        """How well each request and the tool's text beside it fit, as a logarithm of odds."""
        ids, kinds = side_by_side(requests.long(), texts.long(), self.pair_tokens)
        lengths = (ids != 0).sum(1)
        order = lengths.argsort()
        out = []
        for part in order.chunk(blocks):
            longest = min(self.pair_tokens, (int(lengths[part[-1]]) + 7) // 8 * 8)
            out.append(self.pooled(ids[part, :longest], kinds[part, :longest]))
        pooled = torch.cat(out)[order.argsort()]
        weight, bias = self.head()
        return (pooled @ weight.T + bias)[:, 0]

    def encode(self, ids, blocks=3):
        """Encodes rows of unequal length: sorted by length, in blocks cut to their longest row."""
        lengths = (ids != 0).sum(1)
        order = lengths.argsort()
        out = []
        for part in order.chunk(blocks):
            longest = int(lengths[part[-1]].clamp(min=2))
            longest = min(ids.shape[1], (longest + 7) // 8 * 8)
            out.append(self(ids[part, :longest].long()))
        return torch.cat(out)[order.argsort()]

    @torch.no_grad()
    def encode_all(self, ids, size=8192):
        """Encodes many rows without gradients."""
        was = self.training
        self.eval()
        out = torch.cat([self.encode(part) for part in ids.split(size)])
        self.train(was)
        return out

    @torch.no_grad()
    def put(self, weights):
        """Takes over weights given under their public names."""
        for key, name in self.keys.items():
            self.params[name].copy_(weights[key])
        self.changed()

    def state(self):
        """The parameters under their public names."""
        return {k: self.params[name].detach() for k, name in self.keys.items()}


def save(weights, path, small=False):
    """Writes safetensors: float16, or matrices as int8 with one scale per row where small is asked for."""
    out = {}
    for key, value in weights.items():
        value = value.float().cpu()
        if small and value.ndim == 2 and "position" not in key and "token_type" not in key:
            scale = value.abs().amax(1).clamp(min=1e-8) / 127
            out[key + ".int8"] = (value / scale[:, None]).round().to(torch.int8)
            out[key + ".scale"] = scale
        else:
            out[key] = value.to(torch.float16).contiguous()
    save_file(out, str(path))
