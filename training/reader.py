"""Trains the argument reader: which parameters of a tool does a request give, and where?

    python3 training/reader.py --data .train --encoder models/encoder.tyenc --out OUT --name a --seconds 360 --seed 1
    python3 training/reader.py --data .train --encoder models/encoder.tyenc --out OUT --name mean \\
        --mean OUT/a.safetensors OUT/b.safetensors

It starts from the router's encoder, whose word embeddings stay as they are. The folder `--data` holds
`reader.jsonl.gz`. Its split `dev` is measured at the end; it is trained on as well unless `--without-dev` is given. The
start does not depend on the seed, so that runs can be averaged; `--start` begins from weights of an earlier run.
"""

import argparse
import json
import time
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

from bert import load_base
from export_reader import FLOAT_HEADS, TABLES, read_file
from reader_data import GIVEN, Planner, collate, load
from reader_network import WORDS, Reader, loss_of, start_weights

BODY_RATE, HEAD_RATE, DECAY = 1.6e-4, 6e-4, 0.01
WARM_STEPS = 200
KEEP = 0.9985
# How places are chosen, as in the product.
BEST_ENDS, MAX_SPAN = 14, 150
ITEM_BEGINS, ITEM_GOES_ON, OPTION_CHOSEN = 0.4, 0.5, 0.5
MEASURED_TOKENS = 40_000
# Each tensor that waits holds an open file.
PREFETCHED = 3


class Batches(torch.utils.data.Dataset):
    """Makes tensors of planned batches, in processes of their own."""

    def __init__(self, examples):
        self.examples = examples

    def __getitem__(self, planned):
        epoch, batch = planned
        return epoch, collate(self.examples, batch)


class Epochs:
    """The batches of one epoch after another, each with its epoch; a process of its own plans the next one."""

    def __init__(self, planner):
        self.examples = planner.examples
        self.ahead = ProcessPoolExecutor(1, get_context("fork"), hold, (planner,))
        self.following = self.ahead.submit(plan, 1)

    def __iter__(self):
        for epoch in count(1):
            batches = self.following.result()
            self.following = self.ahead.submit(plan, epoch + 1)
            yield from ((epoch, batch) for batch in batches)


held = None


def hold(planner):
    global held
    held = planner


def plan(epoch):
    return held.epoch(epoch)


class Trainer:
    def __init__(self, args, model, device):
        self.args, self.model, self.device = args, model, device
        self.log = []
        self.judged = []

    def say(self, text):
        self.log.append(text)
        print(f"[{self.args.name}] {text}", flush=True)

    def on_device(self, batch):
        return {name: values.to(self.device, non_blocking=True) for name, values in batch.items()}

    def scores(self, batch):
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            return self.model(batch)

    def optimiser(self):
        body, marks, heads = [], [], []
        for name, p in self.model.trained().items():
            own = marks if name == "embeddings.marks" else body if name.startswith(("embeddings", "encoder")) else heads
            own.append(p)
        groups = [
            {"params": body, "peak": BODY_RATE},
            {"params": marks, "peak": BODY_RATE, "weight_decay": 0.0},
            {"params": heads, "peak": HEAD_RATE},
        ]
        return torch.optim.AdamW(groups, BODY_RATE, weight_decay=DECAY, fused=self.device.type == "cuda")

    def step(self, optimiser, loss, at, spent):
        for group in optimiser.param_groups:
            group["lr"] = group["peak"] * min(1, (at + 1) / WARM_STEPS) * max(0.01, 1 - spent)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.trained().values(), 1.0)
        optimiser.step()
        self.model.changed()

    def fit(self, epochs):
        """Trains for the time given; returns the averaged weights."""
        args, model = self.args, self.model
        loader = torch.utils.data.DataLoader(
            Batches(epochs.examples), sampler=epochs, batch_size=None, num_workers=args.workers,
            prefetch_factor=PREFETCHED, pin_memory=self.device.type == "cuda", multiprocessing_context="fork",
        )  # fmt: skip
        optimiser = self.optimiser()
        trained = list(model.trained().values())
        average = [p.detach().clone() for p in trained]
        model.train()
        started, now, at, recent = None, 1, 0, []
        for epoch, batch in loader:
            # The first batch waits for the first plan.
            started = started or time.time()
            seconds = time.time() - started
            if epoch > now:
                self.say(f"epoch {now}: {at} steps, {seconds:.0f} s, loss {np.mean(recent[-40:]):.3f}")
                now = epoch
            if seconds >= args.seconds:
                break
            batch = self.on_device(batch)
            loss = loss_of(self.scores(batch), batch)
            self.step(optimiser, loss, at, seconds / args.seconds)
            at += 1
            with torch.no_grad():
                torch._foreach_lerp_(average, trained, max(1 - KEEP, 1 / (at + 1)))
            if at % 20 == 1:
                recent.append(loss.item())
        self.say(f"trained {at} steps in {seconds:.0f} s, loss {np.mean(recent[-40:]):.3f}")
        return dict(zip(model.trained(), average))

    @torch.no_grad()
    def measure(self, examples, packed):
        """How often given, span, items and option are right, by source: counts of right ones and of all."""
        self.model.eval()
        counts = defaultdict(Counter)
        for batch in Planner(examples, {}, MEASURED_TOKENS, 0).whole(packed):
            tensors = self.on_device(collate(examples, batch))
            thought = Thoughts(self.scores(tensors))
            for row, planned in enumerate(batch):
                example = examples[planned.example]
                if packed:
                    counts[example.source]["fits"] += (thought.fits[row] > 0) == example.fits
                    counts[example.source]["fits", "of"] += 1
                    self.judged.append((float(thought.fits[row]), example.fits, example.source))
                for place, parameter in enumerate(planned.parameters):
                    for what, right in thought.judge(example, parameter, row, place):
                        counts[example.source][what] += right
                        counts[example.source][what, "of"] += 1
        return counts


class Thoughts:
    """What the reader thinks of the parameters of one batch."""

    def __init__(self, scores):
        host = lambda values: values.cpu().numpy()
        self.given = host(scores.given.argmax(-1))
        start, end, begin, inside = scores.tokens.unbind(1)
        self.first, self.last = (host(values) for values in best_spans(start.log_softmax(-1), end.log_softmax(-1)))
        self.begin, self.inside = host(begin.sigmoid() > ITEM_BEGINS), host(inside.sigmoid() > ITEM_GOES_ON)
        self.option = host(scores.options.argmax(-1))
        self.fits = host(scores.fits)
        self.chosen = host(scores.options.sigmoid() > OPTION_CHOSEN)

    def judge(self, example, parameter, row, place):
        """Yields what can be judged of a parameter, and whether it is right."""
        label, options = example.labels[parameter], example.parts[parameter].options
        if label is None:
            return
        yield "given", (self.given[row, place] == GIVEN) == (label.given == GIVEN)
        if label.spans:
            yield "span", (self.first[row, place] - 1, self.last[row, place] - 1) in label.spans
        if label.items:
            yield "items", self.items(row, place, len(example.request)) == label.items
        if label.options and example.is_list[parameter]:
            chosen = [options[at] for at in np.flatnonzero(self.chosen[row, place])]
            yield "options", sorted(chosen) == sorted(label.options)
        elif label.options:
            yield "option", bool(options) and options[self.option[row, place]] in label.options

    def items(self, row, place, tokens):
        """The items of a list as first and last tokens of the request."""
        found, is_open = [], False
        for at in range(tokens):
            if self.begin[row, place, at + 1]:
                found.append((at, at))
                is_open = True
            elif is_open and self.inside[row, place, at + 1]:
                found[-1] = (found[-1][0], at)
            else:
                is_open = False
        return found


def best_spans(start, end):
    """The likeliest first and last place of each parameter, among the likeliest of each."""
    ends = min(BEST_ENDS, start.shape[-1])
    (start, first), (end, last) = start.topk(ends), end.topk(ends)
    apart = last[..., None, :] - first[..., :, None]
    together = (start[..., :, None] + end[..., None, :]).masked_fill((apart < 0) | (apart >= MAX_SPAN), -1e9)
    best = together.flatten(-2).argmax(-1, keepdim=True)
    return first.gather(-1, best // ends)[..., 0], last.gather(-1, best % ends)[..., 0]


def line(counts):
    """Measured counts as one line."""
    kinds = [what for what in ("given", "span", "items", "option", "options", "fits") if counts[what, "of"]]
    return ", ".join(f"{what} {counts[what] / counts[what, 'of']:.4f} of {counts[what, 'of']}" for what in kinds)


def area(judged):
    """How often a tool that fits has a higher score than one that does not."""
    scores, fits = np.array([it[0] for it in judged]), np.array([it[1] for it in judged], bool)
    ranks = np.argsort(np.argsort(scores)) + 1
    right, wrong = fits.sum(), (~fits).sum()
    return (ranks[fits].sum() - right * (right + 1) / 2) / max(1, right * wrong)


def save(weights, path):
    """Writes large matrices as int8 with one scale per row, the rest as float32."""
    out = {}
    kept = {*TABLES, *(head + ".weight" for head in FLOAT_HEADS)}
    for name, value in weights.items():
        value = value.detach().float().cpu().contiguous()
        if value.ndim == 2 and name not in kept:
            scale = value.abs().amax(1).clamp(min=1e-8) / 127
            out[name + ".int8"], out[name + ".scale"] = (value / scale[:, None]).round().to(torch.int8), scale
        else:
            out[name] = value
    save_file(out, str(path))


def mean(paths):
    """The mean of several sets of weights."""
    runs = [load_base(path) for path in paths]
    return {name: sum(run[name] for run in runs) / len(runs) for name in runs[0]}


def is_used(example, args):
    """Whether an example is trained on."""
    if example.source in args.without or (example.split == "dev" and args.without_dev):
        return False
    return not example.source.startswith("written") or example.number % 1000 < args.share * 1000


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", type=Path, default=".train")
    p.add_argument("--encoder", type=Path, default="models/encoder.tyenc")
    p.add_argument("--out", type=Path, required=True)
    p.add_argument("--name", default="reader")
    p.add_argument("--seconds", type=float, default=360)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--positions", type=Path, help="position embeddings of the base model, as .npy")
    p.add_argument("--start", type=Path, help="weights to start from")
    p.add_argument("--mean", type=Path, nargs="+", help="average these weights instead of training")
    p.add_argument("--without-dev", action="store_true", help="do not train on the split dev")
    p.add_argument("--without", action="append", default=[], help="leave out a source")
    p.add_argument("--share", type=float, default=1.0, help="share of the tools with written requests to use")
    p.add_argument("--part", action="append", default=[], help="SOURCE=SHARE: how much of a source an epoch draws")
    p.add_argument("--tokens", type=int, default=12_000, help="tokens in a batch")
    p.add_argument("--workers", type=int, default=6)
    return p.parse_args()


def start_of(args, header, tensors):
    if args.mean or args.start:
        return mean(args.mean or [args.start])
    return start_weights(header, tensors, np.load(args.positions) if args.positions else None)


def measure(trainer, held_out):
    """Measures parameters read together, as the product does, and alone; returns a line for each source."""
    seen = "not trained on" if trainer.args.without_dev else "trained on"
    results = {}
    for way, packed in (("together", True), ("alone", False)):
        counts = trainer.measure(held_out, packed)
        counts["all"] = sum(counts.values(), Counter())
        results[way] = {source: line(own) for source, own in sorted(counts.items())}
        for source, text in results[way].items():
            trainer.say(f"dev ({seen}), parameters {way}, {source}: {text}")
    return results


def main():
    args = arguments()
    began = time.time()
    header, tensors = read_file(args.encoder)
    examples = load(args.data / "reader.jsonl.gz", tensors["vocabulary"].split("\n"), args.workers)
    used = [example for example in examples if is_used(example, args)]
    shares = {source: float(share) for source, share in (part.split("=") for part in args.part)}
    # The process that plans is started before anything touches the device.
    epochs = None if args.mean else Epochs(Planner(used, shares, args.tokens, args.seed))
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.set_float32_matmul_precision("high")
    # It would make a plan for every new shape, and nearly every batch has one.
    torch.backends.cuda.enable_cudnn_sdp(False)
    torch.manual_seed(args.seed)
    model = Reader(start_of(args, header, tensors), torch.tensor(tensors[WORDS])).to(device)
    trainer = Trainer(args, model, device)
    trainer.say(f"{len(used)} of {len(examples)} examples, ready after {time.time() - began:.0f} s")
    weights = trainer.fit(epochs) if epochs else model.trained()
    args.out.mkdir(parents=True, exist_ok=True)
    written = args.out / f"{args.name}.safetensors"
    save(weights, written)
    # What was written is measured, rounding included.
    model.take(load_base(written))
    results = measure(trainer, [example for example in examples if example.split == "dev"])
    trainer.say(f"told apart {area([it[:2] for it in trainer.judged]):.4f}; " + ", ".join(
        f"{source} {area([it[:2] for it in trainer.judged if it[2] in (source, 'asked', 'written')]):.4f}"
        for source in ("other", "unserved")))
    trainer.say(f"done after {time.time() - began:.0f} s")
    report = {"settings": vars(args), "results": results, "log": trainer.log}
    (args.out / f"{args.name}.json").write_text(json.dumps(report, indent=1, default=str))


if __name__ == "__main__":
    main()
