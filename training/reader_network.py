"""The argument reader: the router's encoder with heads of its own, and what it is trained to minimise."""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F

from bert import Encoder
from questions import MAX_TOKENS
from reader_data import UNKNOWN

WORDS = "embeddings.word_embeddings.weight"
POSITIONS = "embeddings.position_embeddings.weight"
TYPES = "embeddings.token_type_embeddings.weight"
MARKS = "embeddings.marks"
# The width in which tokens, parameters and options meet; start, end, begin and inside each have their own.
MEETING, ROLES = 128, 4
MASKED = -1e4
START_SEED = 1
FITS_SMOOTHING = 0.03


class Scores(NamedTuple):
    """What is thought of every parameter of a batch, as logits."""

    given: torch.Tensor
    # Start, end, begin and inside, for each parameter and token.
    tokens: torch.Tensor
    options: torch.Tensor
    # Whether the tool can serve the request, one for each row.
    fits: torch.Tensor


def start_weights(header, tensors, positions=None):
    """The weights of the router's encoder as the start of a reader; `positions` are those of a longer model."""
    weights = {k: torch.tensor(v) for k, v in tensors.items() if k.startswith("encoder.") or "LayerNorm" in k}
    generator = torch.Generator().manual_seed(START_SEED)
    words = torch.tensor(tensors[WORDS])
    mask = tensors["vocabulary"].split("\n").index("[MASK]")
    weights[MARKS] = words[mask] + 0.01 * torch.randn(2, header["hidden"], generator=generator)
    weights[TYPES] = torch.stack([torch.tensor(tensors[TYPES][0]), torch.tensor(tensors["reader.segment"])])
    weights[POSITIONS] = longer(torch.tensor(tensors[POSITIONS]), positions)
    weights.update(start_heads(header["hidden"], generator))
    return weights


def longer(own, positions):
    """Adds positions behind those of the encoder: of the model that it came from, or its own later ones again."""
    places = torch.arange(len(own), MAX_TOKENS)
    half = len(own) // 2
    return torch.cat([own, torch.tensor(positions)[places] if positions is not None else own[half + places % half]])


def start_heads(hidden, generator):
    sizes = {
        "given.inner": (hidden, hidden), "given.outer": (3, hidden),
        "token": (ROLES * MEETING, hidden), "parameter": (ROLES * MEETING, hidden), "bias": (ROLES, hidden),
        "option": (MEETING, hidden), "choice": (MEETING, hidden), "option_bias": (1, hidden),
        "fits.inner": (hidden, hidden), "fits.outer": (1, hidden),
    }  # fmt: skip
    heads = {}
    for name, (rows, columns) in sizes.items():
        spread = lambda *shape: (2 * torch.rand(*shape, generator=generator) - 1) / math.sqrt(columns)
        heads[name + ".weight"], heads[name + ".bias"] = spread(rows, columns), spread(rows)
    return heads


class Reader(Encoder):
    """Reads a request beside parameters; the words are looked up but not trained."""

    def __init__(self, weights, words, dropout=0.1):
        self.vocabulary = len(words)
        # The marks lie behind the words and are added by themselves.
        padded = torch.cat([words, torch.zeros(2, words.shape[1])])
        super().__init__({**weights, WORDS: padded}, torch.float32, dropout)
        self.names = list(weights)
        for key, name in self.keys.items():
            self.params[name].requires_grad_(key in weights)

    def trained(self):
        """The parameters that are trained, under their public names."""
        return {key: self.params[self.keys[key]] for key in self.names}

    @torch.no_grad()
    def take(self, weights):
        """Takes over what is trained."""
        for key, value in self.trained().items():
            value.copy_(weights[key])
        self.changed()

    def states(self, batch):
        """The last states of all tokens."""
        ids, present = batch["ids"], batch["present"]
        length = ids.shape[1]
        flag = lambda which: which[:, :, None].to(self.dtype)
        types, marks = self.at(TYPES), self.at(MARKS)
        x = F.embedding(ids, self.params[self.keys[WORDS]]) + self.at(POSITIONS)[:length] + types[0]
        # Looking these up by index would add up their gradients one by one.
        x = x + flag(batch["kinds"]) * (types[1] - types[0])
        x = x + flag(ids == self.vocabulary) * marks[0] + flag(ids == self.vocabulary + 1) * marks[1]
        x = self.drop(self.norm(x, "embeddings.LayerNorm"))
        mask = present[:, None, None, :].expand(-1, 1, length, -1)
        for n in range(self.layers):
            x = self.layer(x, mask, n)
        return x

    def forward(self, batch):
        states = self.states(batch)
        size, most = batch["marks"].shape
        at = lambda places: states.gather(1, places.reshape(size, -1, 1).expand(-1, -1, self.hidden))
        parameters = at(batch["marks"])
        options = at(batch["options"]).view(size, most, -1, self.hidden)
        given = self.linear(F.gelu(self.linear(parameters, "given.inner")), "given.outer")
        tokens = self.linear(states, "token").view(size, -1, ROLES, MEETING)
        wanted = self.linear(parameters, "parameter").view(size, most, ROLES, MEETING)
        found = torch.einsum("blck,bpck->bcpl", tokens, wanted) / math.sqrt(MEETING)
        found = found + self.linear(parameters, "bias").transpose(1, 2)[..., None]
        fit = torch.einsum("bpok,bpk->bpo", self.linear(options, "option"), self.linear(parameters, "choice"))
        fit = fit / math.sqrt(MEETING) + self.linear(options, "option_bias")[..., 0]
        fits = self.linear(F.gelu(self.linear(states[:, 0], "fits.inner")), "fits.outer")[:, 0]
        return Scores(
            given.float(),
            found.float().masked_fill(~batch["asked"][:, None, None, :], MASKED),
            fit.float().masked_fill(~batch["is_option"], MASKED),
            fits.float(),
        )


def loss_of(scores, batch):
    """How wrong the scores are, over all heads."""
    known = (batch["given"] != UNKNOWN).sum().clamp(min=1)
    loss = F.cross_entropy(
        scores.given.flatten(0, 1), batch["given"], ignore_index=UNKNOWN, label_smoothing=0.02, reduction="sum"
    ) / known
    # Which tool of a server is meant is sometimes a matter of taste.
    truth = batch["fits"] * (1 - 2 * FITS_SMOOTHING) + FITS_SMOOTHING
    wrong = binary(scores.fits, truth) * batch["whole"]
    loss = loss + 0.5 * wrong.sum() / batch["whole"].sum().clamp(min=1)
    start, end, begin, inside = (scores.tokens[:, role].flatten(0, 1) for role in range(ROLES))
    options = scores.options.flatten(0, 1)
    if len(batch["span_of"]):
        loss = loss + 0.7 * span_loss(start, end, batch)
    if len(batch["list_of"]):
        rows = batch["list_of"]
        asked = batch["asked"][rows // scores.given.shape[1]]
        wrong = 3 * binary(begin[rows], batch["begins"]) + binary(inside[rows], batch["inside"])
        loss = loss + 0.05 * (wrong * asked).sum() / len(rows)
    if len(batch["choice_of"]):
        loss = loss + 0.7 * F.cross_entropy(options[batch["choice_of"]], batch["choice"])
    if len(batch["several_of"]):
        rows = batch["several_of"]
        is_option = batch["is_option"].flatten(0, 1)[rows]
        loss = loss + 0.3 * (binary(options[rows], batch["chosen"]) * is_option).sum() / len(rows)
    return loss


def binary(scores, truth):
    return F.binary_cross_entropy_with_logits(scores, truth, reduction="none")


def span_loss(start, end, batch):
    """Every place that says the value is right: what counts is the sum of their probabilities."""
    rows, group = batch["span_of"], batch["span_group"]
    pick = lambda scores, places: F.log_softmax(scores[rows], -1).gather(1, places[:, None])[:, 0]
    sure = pick(start, batch["span_first"]) + pick(end, batch["span_last"])
    # Groups are numbered in order, so the last number tells how many there are.
    zeros = torch.zeros(len(rows), device=sure.device)
    peak = zeros.scatter_reduce(0, group, sure.detach(), "amax", include_self=False)
    total = zeros.index_add(0, group, (sure - peak[group]).exp())
    found = total > 0
    return -((peak + total.clamp(min=1e-30).log()) * found).sum() / found.sum()
