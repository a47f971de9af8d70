"""Stage three: the encoder learns to read a request and a tool's text together, and keeps the vectors it has.

What vectors find is then read closely: which of the best few is meant? Both use the same weights; a text that is read beside
a request carries the second token type.
"""

import time
from collections import defaultdict

import numpy as np
import torch
import torch.nn.functional as F

import corpus
from bert import Encoder

READ = 8
GROUP = 8
# How many vectors of each kind are watched in a step.
KEPT = {"forms": 768, "views": 640, "other": 384}


class Reading:
    def __init__(self, trainer):
        self.trainer, self.args, self.model = trainer, trainer.args, trainer.model
        self.device, self.tokens = trainer.device, trainer.tokens
        self.kept = Encoder(trainer.model.state(), trainer.model.dtype, 0.0).to(self.device).eval()

    def group(self):
        """Requests, each with its tool first and then tools that are near it: rows of tokens, and what is barred."""
        t, rng, sampler = self.trainer, self.trainer.sampler.rng, self.trainer.sampler
        tools = np.array(sampler.tools_of_step())
        size, start = sampler.request_count[tools], sampler.request_start[tools]
        asked = sampler.request_list[start + rng.integers(2**31, size=len(tools)) % size]
        shown = np.full((len(tools), GROUP), -1, dtype=np.int64)
        shown[:, 0] = tools
        for place in range(1, GROUP):
            # Near ones more often than far ones; siblings of the server that vectors confuse, and chance.
            reach = (4, 8, 24)[place % 3]
            mined = sampler.mined[asked, rng.integers(reach, size=len(tools))]
            sibling = sampler.siblings[tools, rng.integers(sampler.siblings.shape[1], size=len(tools))]
            kind = rng.random(len(tools))
            pick = np.where(kind < 0.6, mined, np.where(kind < 0.93, sibling, rng.permutation(tools)))
            pick = np.where(pick < 0, np.where(mined < 0, sibling, mined), pick)
            shown[:, place] = np.where(pick < 0, rng.permutation(tools), pick)
        form = np.where(rng.random(len(tools)) < 0.5, 0, rng.integers(corpus.FORMS, size=len(tools)))
        view = np.where(rng.random(len(tools))[:, None] < 0.75, 0, rng.integers(corpus.TOOL_VIEWS, size=shown.shape))
        to = lambda x: torch.from_numpy(np.ascontiguousarray(x)).to(self.device)
        asked, shown = to(asked), to(shown)
        own, others = shown[:, :1], shown[:, 1:]
        barred = t.same[own] == t.same[others]
        barred |= torch.isin(t.text_of[asked][:, None] * 2**17 + others, t.positive)
        far = t.server[own] != t.server[others]
        barred |= far & ((t.prior[own] * t.prior[others]).sum(2) > self.args.likeness)
        rows = self.tokens["forms"][asked * corpus.FORMS + to(form)]
        texts = self.tokens["views"][shown * corpus.TOOL_VIEWS + to(view)]
        return rows, texts, F.pad(barred, (1, 0))

    def loss(self):
        rows, texts, barred = self.group()
        count = len(rows)
        scores = self.model.read(rows.repeat_interleave(GROUP, 0), texts.flatten(0, 1)).view(count, GROUP)
        choice = F.cross_entropy(scores.masked_fill(barred, -1e4), torch.zeros(count, dtype=torch.long, device=self.device))
        truth = F.one_hot(torch.zeros(count, dtype=torch.long, device=self.device), GROUP).float()
        each = F.binary_cross_entropy_with_logits(scores, truth, reduction="none")
        return choice + self.args.read_each * each[~barred].mean(), choice.detach()

    def keep(self):
        """How far the vectors of some requests, tools and translations have moved."""
        rows = []
        for name, count in KEPT.items():
            known = self.tokens[name]
            if len(known):
                some = known[torch.randint(len(known), (count,), device=self.device)]
                rows.append(F.pad(some, (0, corpus.TOOL_TOKENS - some.shape[1])))
        rows = torch.cat(rows)
        with torch.no_grad():
            goal = self.kept.encode(rows)
        return (1 - (self.model.encode(rows) * goal).sum(1)).mean()

    def fit(self):
        a, t = self.args, self.trainer
        t.sampler.rng = np.random.default_rng(a.seed + 100)
        torch.manual_seed(a.seed + 100)
        a.items, items = a.read_items, a.items
        a.public, public = a.read_public, a.public
        if t.prior is None:
            t.prior = t.base.encode_all(t.tokens["views"][:: corpus.TOOL_VIEWS])
        t.mine()
        optimiser = t.optimiser(a.read_rate)
        head = [self.model.params[self.model.keys[f"reader.{name}"]] for name in ("weight", "bias")]
        for g in optimiser.param_groups:
            g["params"] = [p for p in g["params"] if not any(p is h for h in head)]
        optimiser.add_param_group({"params": head, "lr": 5e-3, "peak": 5e-3, "weight_decay": 0.0})
        average = {k: v.clone() for k, v in self.model.state().items()}
        self.model.train()
        total, started, at = a.read_steps, time.time(), 0
        while at < total:
            if at == 10:
                timer = time.time()
            if at == 40 and a.read_seconds:
                total = max(60, int(30 / (time.time() - timer) * a.read_seconds))
                t.say(f"{total} steps of reading fit {a.read_seconds} s")
            loss, choice = self.loss()
            moved = self.keep()
            t.step(optimiser, loss + a.read_keep * moved, at, total, max(20, total // 15))
            keep = min(0.995, (at + 1) / (at + 20))
            with torch.no_grad():
                names, state = list(average), self.model.state()
                torch._foreach_lerp_([average[k] for k in names], [state[k] for k in names], 1 - keep)
            if at % max(1, total // 8) == 0 or at == total - 1:
                t.say(f"reading {at}/{total} {time.time() - started:.0f} s: choice {choice.item():.3f} moved {moved.item():.4f}")
            at += 1
        a.items, a.public = items, public
        self.model.put(average)

    @torch.no_grad()
    def scores(self, requests, tools):
        """Reads each request beside each of its tools (a matrix of numbers of tools)."""
        self.model.eval()
        out = []
        for part in torch.arange(len(requests), device=self.device).split(1024):
            rows = self.tokens["forms"][requests[part] * corpus.FORMS].repeat_interleave(tools.shape[1], 0)
            texts = self.tokens["views"][tools[part].flatten() * corpus.TOOL_VIEWS]
            out.append(self.model.read(rows, texts).view(len(part), -1))
        return torch.cat(out)

    @torch.no_grad()
    def measure(self):
        """Top-1 by vectors, by reading the first few, and by both, on held-out servers and public requests set aside."""
        t = self.trainer
        tools = self.model.encode_all(self.tokens["views"][:: corpus.TOOL_VIEWS])
        results = {}
        bench = t.bench
        columns_all = torch.tensor(bench.columns, device=self.device)
        rows_all = torch.tensor(bench.rows, device=self.device)
        hits = defaultdict(list)
        for columns, asked in bench.catalogs:
            columns, asked_n = columns_all[torch.from_numpy(columns).to(self.device)], rows_all[torch.from_numpy(asked).to(self.device)]
            self.rank(asked_n, columns, tools, hits, lambda n: t.data["requests"][n]["style"])
        results["held-out servers"] = self.report(hits)
        by_source = defaultdict(list)
        for n, r in enumerate(t.data["requests"]):
            if r.get("aside") or (t.data["tools"][r["tool"]]["dev"] and t.data["tools"][r["tool"]]["source"] != "mcp"):
                by_source[r["source"]].append(n)
        of_source = defaultdict(list)
        for i, tool in enumerate(t.data["tools"]):
            of_source[tool["source"]].append(i)
        hits = defaultdict(list)
        for source, asked in by_source.items():
            asked = asked[:: max(1, len(asked) // 600)]
            columns = torch.tensor(of_source[source], device=self.device)
            self.rank(torch.tensor(asked, device=self.device), columns, tools, hits, lambda n: t.data["requests"][n]["source"])
        results["public"] = self.report(hits)
        return results

    def rank(self, asked, columns, tools, hits, group):
        t = self.trainer
        queries = self.model.encode_all(self.tokens["forms"][asked * corpus.FORMS])
        near, place = (queries @ tools[columns].T).topk(min(READ, len(columns)))
        shown = columns[place]
        read = self.scores(asked, shown)
        code = t.text_of[asked][:, None] * 2**17 + shown
        right = torch.isin(code, t.positive) | (t.same[t.tool_of[asked]][:, None] == t.same[shown])
        ways = [near, read] + [near / 0.05 + w * read for w in (0.3, 0.6, 1.0)]
        chosen = [right.gather(1, w.argmax(1, keepdim=True))[:, 0].tolist() for w in ways] + [right.any(1).tolist()]
        for n, *values in zip(asked.tolist(), *chosen):
            hits[group(n)].append(values)
            hits["all"].append(values)

    def report(self, hits):
        out = {}
        for name, values in sorted(hits.items()):
            out[name] = np.mean(values, axis=0).round(4).tolist()
            shown = " ".join(f"{v:.3f}" for v in out[name])
            self.trainer.say(f"{name:20s} vectors, reading, both (.3 .6 1), among {READ}: {shown} of {len(values)}")
        return out

