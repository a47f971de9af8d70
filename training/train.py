"""Trains the sentence encoder: what a person types, and which tool is meant.

    python3 training/train.py --data .train --out OUT --all

Stage one aligns the new word pieces and other languages with the English base model on parallel texts.
Stage two is contrastive: requests against tools, with siblings of the same server and mined tools as hard
negatives, requests for one tool against each other, and tool texts against their own parts. Stage three (`reading.py`) teaches
the same weights to read a request and a tool's text together, from a larger model as well where one is asked for.
"""

import argparse
import json
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

import corpus
from bert import Encoder, load_base, save
from corpus import is_written
from evaluate import Bench, fused, line
from reading import Student, Teacher, judged_path

PUBLIC_SHARES = {
    "metatool": 0.30, "intents_clinc150": 0.12, "sgd": 0.10, "seal_tools": 0.12, "toolbench_g1_10k": 0.35,
    "hammerbench": 0.10, "bfcl": 0.24, "api_bank_train": 0.05, "apibench": 0.04, "toolbench_sambanova": 0.01,
}
MINED, SIBLINGS = 24, 8


class Sampler:
    """Draws batches of (tool, two requests, hard negatives) as index tensors."""

    def __init__(self, data, args, device):
        self.data, self.args, self.device = data, args, device
        tools, requests = data["tools"], data["requests"]
        without = set(args.without)
        open_side = [not t["dev"] or args.all for t in tools]
        self.usable = torch.tensor([
            o and not ("catalog" in without and t["source"] == "mcp") and t["source"] not in without
            for o, t in zip(open_side, tools)
        ])
        self.of_tool = defaultdict(list)
        for n, r in enumerate(requests):
            family = "new" if r["source"].startswith("new:") else r["source"]
            dropped = {r["source"], family, r["style"], "lang:" + r["lang"]} & without
            if "public" in without and not is_written(r["source"]):
                dropped = True
            if "foreign" in without and r["lang"] != "en":
                dropped = True
            if open_side[r["tool"]] and not dropped and (args.all or not r.get("aside")):
                self.of_tool[r["tool"]].append(n)
        rng = np.random.default_rng(args.seed)
        if args.share < 1:
            for t in list(self.of_tool):
                if is_written(requests[self.of_tool[t][0]]["source"]) and rng.random() > args.share:
                    del self.of_tool[t]
        self.rng = rng
        self.by_server, self.by_source = defaultdict(list), defaultdict(list)
        for t in self.of_tool:
            if tools[t]["source"] == "mcp":
                self.by_server[tools[t]["server"]].append(t)
            else:
                self.by_source[tools[t]["source"]].append(t)
        self.servers = sorted(self.by_server)
        self.written = np.array(sorted(t for ts in self.by_server.values() for t in ts))
        self.self_tools = np.array([
            i for i, u in enumerate(self.usable.tolist()) if u and data["self_query"][i].any() and data["self_tool"][i].any()
        ])
        self.sources = [s for s in PUBLIC_SHARES if self.by_source[s]]
        self.source_shares = np.array([PUBLIC_SHARES[s] for s in self.sources])
        self.request_count = np.zeros(len(tools), dtype=np.int64)
        self.request_start = np.zeros(len(tools), dtype=np.int64)
        ordered = []
        for t, own in self.of_tool.items():
            self.request_start[t], self.request_count[t] = len(ordered), len(own)
            ordered += own
        self.request_list = np.array(ordered)
        self.has_not = {n: r["not"] for n, r in enumerate(requests) if r.get("not")}
        self.mined = self.siblings = None

    def tools_of_step(self):
        """Tool of every item: single written tools, runs of one server, public sets."""
        a, rng = self.args, self.rng
        public = int(a.items * a.public) if self.sources else 0
        block = int((a.items - public) * a.blocks)
        chosen = []
        while len(chosen) < block:
            own = self.by_server[self.servers[rng.integers(len(self.servers))]]
            take = min(len(own), 10)
            chosen += [own[i] for i in rng.choice(len(own), take, replace=False)]
        chosen = chosen[:block]
        chosen += rng.choice(self.written, a.items - public - block).tolist()
        if public:
            shares = self.source_shares / self.source_shares.sum()
            for n, source in zip(rng.multinomial(public, shares), self.sources):
                own = self.by_source[source]
                chosen += [own[i] for i in rng.integers(len(own), size=n)]
        return chosen

    def draw(self):
        """One batch: tools, first requests, second requests, form and view numbers, negatives."""
        rng, forms = self.rng, corpus.FORMS
        chosen = self.tools_of_step()
        chosen = np.array(chosen)
        size, start = self.request_count[chosen], self.request_start[chosen]
        one = rng.integers(2**31, size=len(chosen)) % size
        two = (one + 1 + rng.integers(2**31, size=len(chosen)) % np.maximum(size - 1, 1)) % size
        first, second = self.request_list[start + one], self.request_list[start + two]
        count = len(chosen)
        asked = np.concatenate([first, second])
        form = np.where(rng.random(2 * count) < self.args.plain_forms, 0, rng.integers(forms, size=2 * count))
        tools = chosen
        negatives = []
        if self.siblings is not None:
            pick = self.siblings[tools, rng.integers(SIBLINGS, size=count)]
            negatives.append(pick[pick >= 0])
            pick = self.mined[asked, rng.integers(MINED, size=2 * count)][rng.permutation(2 * count)[: int(count * self.args.mined)]]
            negatives.append(pick[pick >= 0])
            against = [self.has_not[n] for n in first if n in self.has_not] if self.has_not else []
            negatives.append(np.array([x[rng.integers(len(x))] for x in against if self.usable[x].all()], dtype=np.int64))
        documents = np.concatenate([tools] + negatives)
        view = np.where(rng.random(len(documents)) < self.args.plain_views, 0, rng.integers(corpus.TOOL_VIEWS, size=len(documents)))
        own = rng.choice(self.self_tools, int(self.args.items * self.args.self_share)) if self.args.self_share else np.array([], dtype=np.int64)
        to = lambda x: torch.from_numpy(np.ascontiguousarray(x)).to(self.device)
        return to(tools), to(asked * forms + form), to(asked), to(documents), to(documents * corpus.TOOL_VIEWS + view), to(own)


class Trainer:
    def __init__(self, args, data):
        self.args, self.data = args, data
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        dtype = torch.bfloat16 if self.device.type == "cuda" else torch.float32
        torch.manual_seed(args.seed)
        weights = load_base(Path(args.data) / "base.safetensors")
        self.model = Encoder(load_base(args.start) if args.start else weights, dtype, args.dropout).to(self.device)
        self.base = Encoder(weights, dtype).to(self.device).eval()
        self.tokens = {
            k: torch.from_numpy(data[k].astype(np.int32)).to(self.device)
            for k in ("views", "read", "self_query", "self_tool", "forms", "english", "other")
        }
        tools = data["tools"]
        self.same = torch.tensor([t["same"] for t in tools], device=self.device)
        codes = {}
        self.server = torch.tensor([codes.setdefault(t["source"] + "/" + t["server"], len(codes)) for t in tools], device=self.device)
        texts = {}
        self.text_of = torch.tensor([texts.setdefault(r["text"].lower(), len(texts)) for r in data["requests"]], device=self.device)
        self.tool_of = torch.tensor([r["tool"] for r in data["requests"]], device=self.device)
        self.positive = (self.text_of * 2**17 + self.tool_of).unique()
        self.sampler = Sampler(data, args, self.device)
        self.bench = Bench(tools, data["requests"], data["catalogs"])
        self.prior = None
        self.log = []

    def say(self, text):
        self.log.append(text)
        print(f"[{self.args.name}] {text}", flush=True)

    def vectors(self, model):
        """Held-out tools and requests as vectors."""
        columns = torch.tensor(self.bench.columns, device=self.device) * corpus.TOOL_VIEWS
        rows = torch.tensor(self.bench.rows, device=self.device) * corpus.FORMS
        return (model.encode_all(self.tokens["views"][columns]).cpu().numpy(), model.encode_all(self.tokens["forms"][rows]).cpu().numpy())

    def evaluate(self, model, name):
        result = self.bench.dense(*self.vectors(model))
        self.say(line(name, result))
        return result

    def optimiser(self, rate):
        rows, decay, plain = [], [], []
        for name, p in self.model.params.items():
            (rows if "word_embeddings" in name else decay if p.ndim > 1 else plain).append(p)
        groups = [
            {"params": rows, "lr": rate * self.args.row_rate, "weight_decay": 0.0},
            {"params": decay, "lr": rate, "weight_decay": self.args.decay},
            {"params": plain, "lr": rate, "weight_decay": 0.0},
        ]
        for g in groups:
            g["peak"] = g["lr"]
        return torch.optim.AdamW(groups, betas=(0.9, 0.98), fused=self.device.type == "cuda")

    def step(self, optimiser, loss, at, total, warm, model=None):
        model = model or self.model
        factor = min(1.0, (at + 1) / warm) * max(0.02, 1 - at / total)
        for g in optimiser.param_groups:
            g["lr"] = g["peak"] * factor
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        model.changed()

    def anchors(self):
        """English requests and tool texts with the vectors they have: English must not move in stage one."""
        usable = self.sampler.usable
        asked = [n for n, r in enumerate(self.data["requests"]) if r["lang"] == "en" and usable[r["tool"]]]
        texts = torch.nonzero(usable).flatten() * corpus.TOOL_VIEWS
        rows = torch.cat([
            self.tokens["forms"][torch.tensor(asked, device=self.device) * corpus.FORMS],
            self.tokens["views"][texts.to(self.device), : corpus.QUERY_TOKENS],
        ])
        return rows, self.base.encode_all(rows)

    def align(self):
        """Stage one: a text in another language gets the vector the base model gives its English form."""
        a = self.args
        if not a.align_steps or not len(self.data["other_of"]) or "parallel" in a.without:
            return
        of = torch.from_numpy(self.data["other_of"]).to(self.device)
        langs = np.array(self.data["other_lang"])
        counts = {c: int((langs == c).sum()) for c in set(langs)}
        weight = torch.tensor([counts[c] ** -0.5 for c in langs], device=self.device)
        target = self.base.encode_all(self.tokens["english"])
        anchors, anchor_target = self.anchors()
        optimiser = self.optimiser(a.align_rate)
        generator = torch.Generator(self.device).manual_seed(a.seed)
        started = time.time()
        for at in range(a.align_steps):
            pick = torch.multinomial(weight, a.align_size, True, generator=generator)
            own = torch.randint(len(anchors), (a.align_size // 3,), device=self.device, generator=generator)
            rows = torch.cat([self.tokens["other"][pick], anchors[own]])
            goal = torch.cat([target[of[pick]], anchor_target[own]])
            number = torch.cat([of[pick], len(target) + own])
            found = self.model.encode(rows)
            logits = found @ goal.T / 0.05
            diagonal = torch.eye(len(number), dtype=torch.bool, device=self.device)
            logits = logits.masked_fill((number[:, None] == number[None]) & ~diagonal, -1e4)
            loss = F.cross_entropy(logits, torch.arange(len(number), device=self.device)) + 4 * (1 - (found * goal).sum(1)).mean()
            self.step(optimiser, loss, at, a.align_steps, 50)
        self.say(f"aligned in {time.time() - started:.0f} s, last loss {loss.item():.3f}")

    @torch.no_grad()
    def mine(self):
        """Refreshes the hard negatives with the model as it is now."""
        started = time.time()
        tools = self.model.encode_all(self.tokens["views"][:: corpus.TOOL_VIEWS])
        usable = self.sampler.usable.to(self.device)
        siblings = torch.full((len(tools), SIBLINGS), -1, dtype=torch.int64)
        for at in range(0, len(tools), 4096):
            part = slice(at, min(at + 4096, len(tools)))
            score = tools[part] @ tools.T
            allowed = (self.server[part, None] == self.server[None]) & (self.same[part, None] != self.same[None]) & usable[None]
            value, index = score.masked_fill(~allowed, -9).topk(SIBLINGS)
            siblings[part] = torch.where(value > -2, index, -1).cpu()
        asked = torch.tensor(sorted(n for own in self.sampler.of_tool.values() for n in own), device=self.device)
        mined = torch.full((len(self.data["requests"]), MINED), -1, dtype=torch.int64)
        for part in asked.split(8192):
            queries = self.model.encode_all(self.tokens["forms"][part * corpus.FORMS])
            own = self.tool_of[part]
            score = queries @ tools.T
            right = score.gather(1, own[:, None])
            likeness = self.prior[own] @ self.prior.T
            other_server = self.server[own][:, None] != self.server[None]
            barred = ~usable[None] | (self.same[own][:, None] == self.same[None])
            barred |= other_server & ((score > self.args.ceiling * right) | (likeness > self.args.likeness))
            score = score.masked_fill(barred, -9)
            value, index = score.topk(MINED)
            code = self.text_of[part][:, None] * 2**17 + index
            good = (value > -2) & ~torch.isin(code, self.positive)
            mined[part.cpu()] = torch.where(good, index, -1).cpu()
        self.sampler.siblings, self.sampler.mined = siblings.numpy(), mined.numpy()
        self.say(f"mined in {time.time() - started:.0f} s")

    def batch_loss(self):
        a, t = self.args, self.tokens
        tools, form_rows, asked, documents, view_rows, own = self.sampler.draw()
        count = len(tools)
        queries = self.model.encode(torch.cat([t["forms"][form_rows], t["self_query"][own]]))
        texts = self.model.encode(torch.cat([t["views"][view_rows], t["self_tool"][own]]))
        wanted = torch.cat([tools, tools, own])
        shown = torch.cat([documents, own])
        target = torch.cat([torch.arange(count), torch.arange(count), len(documents) + torch.arange(len(own))]).to(self.device)
        logits = queries @ texts.T / a.tau
        barred = self.same[wanted][:, None] == self.same[shown][None]
        other_server = self.server[wanted][:, None] != self.server[shown][None]
        barred |= other_server & (self.prior[wanted] @ self.prior[shown].T > a.likeness)
        code = self.text_of[asked][:, None] * 2**17 + shown[None]
        barred[: 2 * count] |= torch.isin(code, self.positive)
        barred[torch.arange(len(target), device=self.device), target] = False
        logits = logits.masked_fill(barred, -1e4)
        loss = F.cross_entropy(logits, target, label_smoothing=a.smoothing)
        parts = {"tool": loss.detach()}
        if a.reverse:
            back = F.cross_entropy(logits[:count, :count].T, target[:count])
            parts["reverse"] = back.detach()
            loss = loss + a.reverse * back
        if a.phrase:
            between = queries[:count] @ queries[count : 2 * count].T / a.tau
            between = between.masked_fill(barred[:count, :count], -1e4)
            pair = asked[:count] != asked[count:]
            phrase = F.cross_entropy(between, target[:count], reduction="none")
            phrase = (phrase * pair).sum() / pair.sum().clamp(min=1)
            parts["phrase"] = phrase.detach()
            loss = loss + a.phrase * phrase
        return loss, parts

    def fit(self):
        """Stage two; returns the averaged weights."""
        a = self.args
        optimiser = self.optimiser(a.rate)
        average = {k: v.clone() for k, v in self.model.state().items()}
        # How alike two tools were to the base model: twins on other servers are no negatives.
        if self.prior is None:
            self.prior = self.base.encode_all(self.tokens["views"][:: corpus.TOOL_VIEWS])
        total, started = a.steps, time.time()
        self.model.train()
        self.mine()
        mining = time.time() - started
        at = 0
        while at < total:
            if at == 10:
                timer = time.time()
            if at == 40 and a.seconds:
                total = max(60, int(30 / (time.time() - timer) * (a.seconds - 4 * mining)))
                self.say(f"{total} steps fit {a.seconds} s")
            if at and total >= 150 and at % max(1, total // 3) == 0 and at < total - 10:
                self.mine()
            loss, parts = self.batch_loss()
            if a.parallel_share and len(self.data["other_of"]) and "parallel" not in a.without:
                loss = loss + a.parallel_weight * self.parallel_loss(int(a.items * a.parallel_share))
            self.step(optimiser, loss, at, total, max(10, total // 20))
            # The average forgets faster at first, so that it does not hold on to the start.
            keep = min(a.keep, (at + 1) / (at + 20))
            with torch.no_grad():
                names = list(average)
                state = self.model.state()
                torch._foreach_lerp_([average[k] for k in names], [state[k] for k in names], 1 - keep)
            if at % max(1, total // 4) == 0 or at == total - 1:
                shown = " ".join(f"{k} {v.item():.3f}" for k, v in parts.items())
                self.say(f"step {at}/{total} {time.time() - started:.0f} s: {shown}")
            if at and at % max(1, total // 2) == 0 and at < total - 1 and not a.all:
                self.evaluate(self.model, f"step {at}")
            at += 1
        return average

    def parallel_loss(self, size):
        """Keeps the languages together: translations meet among other translations."""
        pick = torch.randint(len(self.data["other_of"]), (size,), device=self.device)
        if not hasattr(self, "english_of"):
            self.english_of = torch.from_numpy(self.data["other_of"]).to(self.device)
        english = self.english_of[pick]
        found = self.model.encode(torch.cat([self.tokens["other"][pick], self.tokens["english"][english]]), 2)
        logits = found[:size] @ found[size:].T / 0.05
        same = (english[:, None] == english[None]) & ~torch.eye(size, dtype=torch.bool, device=self.device)
        logits = logits.masked_fill(same, -1e4)
        target = torch.arange(size, device=self.device)
        return (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target)) / 2


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", default=".train")
    p.add_argument("--out", type=Path)
    p.add_argument("--cache", default="/tmp/toolyard-tokens.pt")
    p.add_argument("--workers", type=int, default=12)
    p.add_argument("--tokenise", action="store_true", help="only fill the cache")
    p.add_argument("--baselines", action="store_true", help="only measure BM25 and the base model")
    p.add_argument("--name", default="run")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--members", type=int, default=3, help="models to train and average")
    p.add_argument("--base-share", type=float, default=0.1, help="share of the base model in the mean, with --all")
    p.add_argument("--steps", type=int, default=400, help="steps of stage two, per member")
    p.add_argument("--seconds", type=int, default=0, help="choose the number of steps to fit this time")
    p.add_argument("--limit", type=int, default=0, help="begin no further member after so many seconds")
    p.add_argument("--items", type=int, default=768)
    p.add_argument("--rate", type=float, default=4e-4)
    p.add_argument("--row-rate", type=float, default=1.0)
    p.add_argument("--decay", type=float, default=0.01)
    p.add_argument("--dropout", type=float, default=0.1)
    p.add_argument("--tau", type=float, default=0.04)
    p.add_argument("--smoothing", type=float, default=0.0)
    p.add_argument("--reverse", type=float, default=0.3)
    p.add_argument("--phrase", type=float, default=0.3)
    p.add_argument("--public", type=float, default=0.33)
    p.add_argument("--blocks", type=float, default=0.5)
    p.add_argument("--mined", type=float, default=1.0)
    p.add_argument("--ceiling", type=float, default=0.95)
    p.add_argument("--likeness", type=float, default=0.85)
    p.add_argument("--plain-forms", type=float, default=0.4)
    p.add_argument("--plain-views", type=float, default=0.5)
    p.add_argument("--self-share", type=float, default=0.25)
    p.add_argument("--parallel-share", type=float, default=0.4)
    p.add_argument("--parallel-weight", type=float, default=0.3)
    p.add_argument("--align-steps", type=int, default=450)
    p.add_argument("--align-size", type=int, default=3072)
    p.add_argument("--align-rate", type=float, default=5e-4)
    p.add_argument("--keep", type=float, default=0.99)
    p.add_argument("--read-steps", type=int, default=1000, help="steps of stage three; 0 leaves it out")
    p.add_argument("--closely", action="store_true", help="read texts that say what parameters are for")
    p.add_argument("--read-items", type=int, default=384)
    p.add_argument("--read-rate", type=float, default=2.5e-4)
    p.add_argument("--read-public", type=float, default=0.35)
    p.add_argument("--read-each", type=float, default=0.3, help="weight of judging each pair alone, beside choosing among several")
    p.add_argument("--read-keep", type=float, default=45.0, help="weight of keeping the vectors of stage two")
    p.add_argument("--read-vectors", type=float, default=0.5, help="weight of choosing by vectors as well, where a teacher is learnt from")
    p.add_argument("--read-vector-items", type=int, default=96)
    p.add_argument("--teach-steps", type=int, default=560, help="steps of a larger model that learns to read first; 0 leaves it out")
    p.add_argument("--teach-items", type=int, default=256)
    p.add_argument("--teach-rate", type=float, default=5e-5)
    p.add_argument("--judged", help="what a teacher thinks, as an earlier training wrote it; without it a teacher is trained where it has steps")
    p.add_argument("--taught-steps", type=int, default=960, help="steps that learn from a teacher, after those of stage three")
    p.add_argument("--students", type=int, default=2, help="how often to learn from the teacher, each from the same start, to average")
    p.add_argument("--judged-share", type=float, default=0.7, help="share of the teacher in what is learnt, beside the right answer")
    p.add_argument("--share", type=float, default=1.0, help="share of the tools with written requests to use")
    p.add_argument("--without", action="append", default=[], help="leave out a source, style, lang:xx, public, foreign, new, parallel")
    p.add_argument("--align-only", help="stop after stage one and write the weights to this file")
    p.add_argument("--start", help="weights to start stage two from")
    p.add_argument("--small", action="store_true", help="write matrices as int8 with one scale per row")
    p.add_argument("--no-weights", action="store_true", help="write results only")
    p.add_argument("--all", action="store_true", help="train on the held-out servers as well")
    return p.parse_args()


def baselines(trainer):
    bench = trainer.bench
    words = bench.bm25()
    results = {"bm25": bench.measure(lambda n, columns, asked: words[n])}
    tools, requests = trainer.vectors(trainer.base)
    results["base"] = bench.dense(tools, requests)
    results["base + bm25"] = fused(bench, requests @ tools.T, words, 0.3)
    for name, result in results.items():
        trainer.say(line(name, result))
    return results


def blend(parts, shares):
    """The weighted mean of several sets of weights."""
    return {k: sum(p[k] * share for p, share in zip(parts, shares)) for k in parts[0]}


def train_members(trainer):
    """Trains several models from the same start, averages them with a little of the base, keeps the best mean."""
    args, model = trainer.args, trainer.model
    start = {k: v.clone() for k, v in model.state().items()}
    results, members = {}, []
    rate, tau, seed = args.rate, args.tau, args.seed
    began = time.time()
    for number in range(args.members):
        if members and args.limit and time.time() - began > args.limit:
            trainer.say(f"{number} members in the time given")
            break
        # Members that differ a little more than by seed average better.
        args.rate, args.tau = rate * (1.0, 1.3)[number % 2], tau * (1.0, 1.25)[number // 2 % 2]
        torch.manual_seed(seed + number)
        trainer.sampler.rng = np.random.default_rng(seed + number)
        model.put(start)
        model.put(trainer.fit())
        members.append({k: v.clone() for k, v in model.state().items()})
        results[f"member {number}"] = trainer.evaluate(model, f"member {number}, rate {args.rate:.1e}, tau {args.tau:.3f}")
    args.rate, args.tau = rate, tau
    mean = blend(members, [1 / len(members)] * len(members))
    base = trainer.base.state()
    best, chosen = -1.0, None
    for share in (args.base_share,) if args.all else (0.0, 0.1, 0.2):
        weights = blend([mean, base], [1 - share, share])
        model.put(weights)
        result = results[f"mean, base share {share}"] = trainer.evaluate(model, f"mean, base share {share}")
        if sum(result["all"][:2]) > best:
            best, chosen = sum(result["all"][:2]), weights
    model.put(chosen)
    return results


def teach(trainer, sampler_of):
    """Lets the encoder learn from the teacher several times, each from the same start, and averages."""
    args, model = trainer.args, trainer.model
    start = {k: v.clone() for k, v in model.state().items()}
    students = []
    for number in range(args.students):
        model.put(start)
        reading = Student(trainer, args.judged)
        reading.fit(sampler_of, args.taught_steps, args.seed + 200 + number)
        students.append({k: v.clone() for k, v in model.state().items()})
    model.put(blend(students, [1 / len(students)] * len(students)))
    return reading


def main():
    args = arguments()
    started = time.time()
    data = corpus.build(args.data, args.cache, args.workers, args.closely)
    print(f"data ready after {time.time() - started:.0f} s", flush=True)
    if args.tokenise:
        return
    trainer = Trainer(args, data)
    if args.baselines:
        results = baselines(trainer)
    else:
        if not args.start:
            trainer.align()
            trainer.evaluate(trainer.model, "after alignment")
        if args.align_only:
            save(trainer.model.state(), args.align_only)
            return
        results = train_members(trainer) if args.members else {}
        sampler_of = lambda settings: Sampler(data, settings, trainer.device)
        if args.teach_steps and not args.judged:
            reading = Teacher(trainer)
            reading.fit(sampler_of)
            results["teacher"] = reading.measure(reading.reader)
            args.judged = judged_path(args.out, args.name)
            reading.judge(args.judged, sampler_of)
            del reading
        if args.read_steps:
            reading = Student(trainer, None)
            reading.fit(sampler_of, args.read_steps, args.seed + 100)
        if args.judged:
            reading = teach(trainer, sampler_of)
        if args.read_steps or args.judged:
            results["after reading"] = trainer.evaluate(trainer.model, "after reading")
            results["reading"] = reading.measure(reading.reader)
        tools, requests = trainer.vectors(trainer.model)
        words = trainer.bench.bm25()
        for weight in (0.05, 0.1, 0.2):
            name = f"chosen + {weight} bm25"
            results[name] = fused(trainer.bench, requests @ tools.T, words, weight)
            trainer.say(line(name, results[name]))
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        settings = {k: str(v) if isinstance(v, Path) else v for k, v in vars(args).items()}
        (args.out / f"{args.name}.json").write_text(json.dumps({"settings": settings, "results": results, "log": trainer.log}, indent=1))
        if not (args.baselines or args.no_weights):
            save(trainer.model.state(), args.out / f"{args.name}.safetensors", args.small)
    trainer.say(f"done after {time.time() - started:.0f} s")


if __name__ == "__main__":
    main()
