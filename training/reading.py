"""Stage three: the encoder learns to read a request and a tool's text together, and keeps the vectors it has.

What vectors find is then read: which of the best few is meant? Both use the same weights; a text that is read beside
a request carries the second token type. A larger model may learn the same first (`Teacher`): what it thinks of each request
and the tools near it is what the encoder learns from, beside the right answer.
"""

import copy
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

import corpus
import teacher
from bert import PAIR_TOKENS, Encoder

READ = 8
GROUP = 8
# How many vectors of each kind are watched in a step.
KEPT = {"forms": 768, "views": 640, "other": 384}
# Of a request the teacher judges the tools that vectors find nearest, and siblings of the right one.
JUDGED_NEAR, JUDGED_SIBLINGS = 11, 4
# Requests of each public source that it judges at most.
JUDGED_PUBLIC = 6000


class Reader:
    """A model that reads, and the tokens by which it knows requests and texts: so many forms and views of each."""

    def __init__(self, model, asked, forms, texts, views):
        self.model, self.asked, self.forms, self.texts, self.views = model, asked, forms, texts, views

    def read(self, asked, shown, rng=None):
        """How well requests and the tools of each (a matrix) fit; in varied forms where there is a generator."""
        form, view = torch.zeros_like(asked), torch.zeros_like(shown)
        if rng is not None and self.forms > 1:
            form = varied(rng, asked, self.forms, 0.5)
            view = varied(rng, shown, self.views, 0.75)
        rows = self.asked[asked * self.forms + form].repeat_interleave(shown.shape[1], 0)
        texts = self.texts[(shown * self.views + view).flatten()]
        return self.model.read(rows, texts).view(shown.shape)

    @torch.no_grad()
    def read_all(self, asked, shown, size=1024):
        was = self.model.training
        self.model.eval()
        out = torch.cat([self.read(a, s) for a, s in zip(asked.split(size), shown.split(size))])
        self.model.train(was)
        return out


def varied(rng, like, count, plain):
    """For each number a form: the first one with a chance of `plain`, or any."""
    shape = tuple(like.shape)
    form = np.where(rng.random(shape) < plain, 0, rng.integers(count, size=shape))
    return torch.from_numpy(form).to(like.device)


class Judged:
    """What the teacher thinks: of some requests, the right tool and others near it, each with how well it fits."""

    def __init__(self, path, requests, device):
        data = np.load(path)
        self.shown = torch.from_numpy(data["shown"].astype(np.int64)).to(device)
        self.fit = torch.from_numpy(data["fit"].astype(np.float32)).to(device)
        self.row = torch.full((requests,), -1, dtype=torch.long, device=device)
        self.row[torch.from_numpy(data["asked"].astype(np.int64)).to(device)] = torch.arange(len(self.shown), device=device)

    def draw(self, asked):
        """The right tool and some of the others for each request, what the teacher thinks of them, and whether it knows."""
        row = self.row[asked]
        known = row >= 0
        # Nearer ones come first in the table and are drawn more often.
        chance = torch.rand(len(row), self.shown.shape[1] - 1, device=row.device)
        chance = chance * torch.linspace(1.0, 1.6, chance.shape[1], device=row.device)
        order = F.pad(chance.argsort(1)[:, : GROUP - 1] + 1, (1, 0))
        row = row.clamp(min=0)[:, None]
        return self.shown[row, order], self.fit[row, order], known


class Reading:
    """Groups of a request, its tool and others, and how well a model chooses among them."""

    def __init__(self, trainer):
        self.trainer, self.args = trainer, trainer.args
        self.device, self.tokens = trainer.device, trainer.tokens
        if trainer.prior is None:
            trainer.prior = trainer.base.encode_all(trainer.tokens["views"][:: corpus.TOOL_VIEWS])

    def sampled(self, sampler):
        """Requests, each with its tool first and then tools that are near it."""
        rng = sampler.rng
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
        return torch.from_numpy(asked).to(self.device), torch.from_numpy(shown).to(self.device)

    def barred(self, asked, shown):
        """Which of the others may be right as well."""
        t = self.trainer
        own, others = shown[:, :1], shown[:, 1:]
        barred = t.same[own] == t.same[others]
        barred |= torch.isin(t.text_of[asked][:, None] * 2**17 + others, t.positive)
        far = t.server[own] != t.server[others]
        barred |= far & ((t.prior[own] * t.prior[others]).sum(2) > self.args.likeness)
        return F.pad(barred, (1, 0))

    def settings(self, items):
        """The arguments with which stage three draws."""
        args = copy.copy(self.args)
        args.items, args.public = items, self.args.read_public
        return args

    @torch.no_grad()
    def measure(self, reader):
        """Top-1 by vectors, by reading the first few, and by both, on held-out servers and public requests set aside."""
        t = self.trainer
        tools = t.model.encode_all(self.tokens["views"][:: corpus.TOOL_VIEWS])
        results = {}
        bench = t.bench
        columns_all = torch.tensor(bench.columns, device=self.device)
        rows_all = torch.tensor(bench.rows, device=self.device)
        hits = defaultdict(list)
        for columns, asked in bench.catalogs:
            columns, asked_n = columns_all[torch.from_numpy(columns).to(self.device)], rows_all[torch.from_numpy(asked).to(self.device)]
            self.rank(reader, asked_n, columns, tools, hits, lambda n: t.data["requests"][n]["style"])
        results["held-out servers"] = self.report(hits)
        by_source = defaultdict(list)
        for n, r in enumerate(t.data["requests"]):
            tool = t.data["tools"][r["tool"]]
            if r.get("aside") or (tool["dev"] and tool["source"] != "mcp"):
                by_source[tool["source"]].append(n)
        of_source = defaultdict(list)
        for i, tool in enumerate(t.data["tools"]):
            of_source[tool["source"]].append(i)
        hits = defaultdict(list)
        for source, asked in by_source.items():
            asked = asked[:: max(1, len(asked) // 600)]
            columns = torch.tensor(of_source[source], device=self.device)
            self.rank(reader, torch.tensor(asked, device=self.device), columns, tools, hits, lambda n: t.data["requests"][n]["source"])
        results["public"] = self.report(hits)
        return results

    def rank(self, reader, asked, columns, tools, hits, group):
        t = self.trainer
        queries = t.model.encode_all(self.tokens["forms"][asked * corpus.FORMS])
        near, place = (queries @ tools[columns].T).topk(min(READ, len(columns)))
        shown = columns[place]
        read = reader.read_all(asked, shown)
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


def right_answer(shown):
    """One-hot rows: the first of each group is right."""
    first = torch.zeros(len(shown), dtype=torch.long, device=shown.device)
    return F.one_hot(first, shown.shape[1]).float()


class Teacher(Reading):
    """A larger model that learns to read, on English requests alone, and judges for the encoder."""

    def __init__(self, trainer):
        super().__init__(trainer)
        if "teacher_asked" not in trainer.data:
            raise SystemExit(f"there is no teacher: run teacher.py for {self.args.data}, and remove {self.args.cache}* if that was filled before")
        model = teacher.load(self.args.data, trainer.model.dtype, self.args.dropout).to(self.device)
        model.pair_tokens = pair_tokens(self.args)
        rows = [torch.from_numpy(trainer.data[k].astype(np.int32)).to(self.device) for k in ("teacher_asked", "teacher_read")]
        self.reader = Reader(model, rows[0], 1, rows[1], 1)

    def fit(self, sampler_of):
        a, t, model = self.args, self.trainer, self.reader.model
        args = self.settings(a.teach_items)
        args.without = [*a.without, "foreign"]
        ours, t.sampler = t.sampler, sampler_of(args)
        t.mine()
        head = model.head()
        rest = [p for p in model.parameters() if not any(p is h for h in head)]
        groups = [{"params": rest, "lr": a.teach_rate, "peak": a.teach_rate}, {"params": head, "lr": 2e-3, "peak": 2e-3}]
        optimiser = torch.optim.AdamW(groups, betas=(0.9, 0.98), weight_decay=0.01, fused=self.device.type == "cuda")
        model.train()
        started = time.time()
        for at in range(a.teach_steps):
            asked, shown = self.sampled(t.sampler)
            barred = self.barred(asked, shown)
            fit = self.reader.read(asked, shown)
            choice = F.cross_entropy(fit.masked_fill(barred, -1e4), torch.zeros_like(asked))
            each = F.binary_cross_entropy_with_logits(fit, right_answer(shown), reduction="none")
            t.step(optimiser, choice + a.read_each * each[~barred].mean(), at, a.teach_steps, max(10, a.teach_steps // 12), model)
            if at % max(1, a.teach_steps // 8) == 0 or at == a.teach_steps - 1:
                t.say(f"teacher {at}/{a.teach_steps} {time.time() - started:.0f} s: choice {choice.item():.3f}")
        t.sampler = ours

    @torch.no_grad()
    def judge(self, path, sampler_of):
        """Writes what it thinks of the English requests and the tools near each, also those that are held out."""
        t = self.trainer
        args = self.settings(self.args.read_items)
        args.all, args.without = True, ["foreign"]
        ours, t.sampler = t.sampler, sampler_of(args)
        t.mine()
        sampler, requests = t.sampler, t.data["requests"]
        by_source = defaultdict(list)
        for n in sorted(n for own in sampler.of_tool.values() for n in own):
            by_source[requests[n]["source"]].append(n)
        asked = []
        for source, own in by_source.items():
            limit = len(own) if corpus.is_written(source) else JUDGED_PUBLIC
            asked += [own[i] for i in sampler.rng.permutation(len(own))[:limit]]
        asked = np.array(sorted(asked))
        own = np.array([requests[n]["tool"] for n in asked])
        shown = np.concatenate([own[:, None], sampler.mined[asked][:, :JUDGED_NEAR], sampler.siblings[own][:, :JUDGED_SIBLINGS]], 1)
        chance = own[sampler.rng.integers(len(own), size=shown.shape)]
        shown = np.where(shown < 0, chance, shown)
        started = time.time()
        to = lambda x: torch.from_numpy(x).to(self.device)
        fit = self.reader.read_all(to(asked), to(shown), 512)
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, asked=asked.astype(np.int32), shown=shown.astype(np.uint16), fit=fit.cpu().numpy().astype(np.float16))
        t.say(f"{len(asked)} requests judged in {time.time() - started:.0f} s, right first {(fit.argmax(1) == 0).float().mean().item():.3f}")
        t.sampler = ours


class Student(Reading):
    """The encoder itself learns to read."""

    def __init__(self, trainer, judged):
        super().__init__(trainer)
        self.model = trainer.model
        self.model.pair_tokens = pair_tokens(self.args)
        self.reader = Reader(self.model, self.tokens["forms"], corpus.FORMS, self.tokens["read"], trainer.data["read_views"])
        self.judged = Judged(judged, len(trainer.data["requests"]), self.device) if judged else None
        self.kept = Encoder(self.model.state(), self.model.dtype, 0.0).to(self.device).eval()
        self.usable = trainer.sampler.usable.to(self.device)

    def loss(self):
        """Choosing, judging each alone, and choosing by vectors; and the first of them to be shown."""
        a, sampler = self.args, self.trainer.sampler
        asked, shown = self.sampled(sampler)
        barred = self.barred(asked, shown)
        truth = right_answer(shown)
        each_truth = truth
        if self.judged:
            their_shown, fit, known = self.judged.draw(asked)
            shown = torch.where(known[:, None], their_shown, shown)
            barred = torch.where(known[:, None], ~self.usable[their_shown], barred)
            barred[:, 0] = False
            share = a.judged_share * known[:, None].float()
            truth = torch.lerp(truth, fit.masked_fill(barred, -1e4).softmax(1), share)
            each_truth = torch.lerp(each_truth, fit.sigmoid(), share)
        scores = self.reader.read(asked, shown, sampler.rng)
        choice = F.cross_entropy(scores.masked_fill(barred, -1e4), truth)
        each = F.binary_cross_entropy_with_logits(scores, each_truth, reduction="none")
        loss = choice + a.read_each * each[~barred].mean()
        if a.read_vectors and self.judged:
            some = torch.randperm(len(asked), device=self.device)[: a.read_vector_items]
            loss = loss + a.read_vectors * self.by_vectors(asked[some], shown[some], barred[some], truth[some])
        return loss, choice.detach()

    def by_vectors(self, asked, shown, barred, truth):
        """The same choice by vectors."""
        texts = self.model.encode(self.tokens["views"][shown.flatten() * corpus.TOOL_VIEWS]).view(*shown.shape, -1)
        form = varied(self.trainer.sampler.rng, asked, corpus.FORMS, 0.5)
        requests = self.model.encode(self.tokens["forms"][asked * corpus.FORMS + form])
        near = (requests[:, None] * texts).sum(2) / self.args.tau
        return F.cross_entropy(near.masked_fill(barred, -1e4), truth)

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

    def fit(self, sampler_of, total, seed):
        a, t = self.args, self.trainer
        torch.manual_seed(seed)
        ours, t.sampler = t.sampler, sampler_of(self.settings(a.read_items))
        t.sampler.rng = np.random.default_rng(seed)
        t.mine()
        optimiser = t.optimiser(a.read_rate)
        head = self.model.head()
        for g in optimiser.param_groups:
            g["params"] = [p for p in g["params"] if not any(p is h for h in head)]
        optimiser.add_param_group({"params": head, "lr": 5e-3, "peak": 5e-3, "weight_decay": 0.0})
        average = {k: v.clone() for k, v in self.model.state().items()}
        self.model.train()
        started = time.time()
        for at in range(total):
            loss, choice = self.loss()
            moved = self.keep()
            t.step(optimiser, loss + a.read_keep * moved, at, total, max(20, total // 15))
            keep = min(0.995, (at + 1) / (at + 20))
            with torch.no_grad():
                names, state = list(average), self.model.state()
                torch._foreach_lerp_([average[k] for k in names], [state[k] for k in names], 1 - keep)
            if at % max(1, total // 8) == 0 or at == total - 1:
                t.say(f"reading {at}/{total} {time.time() - started:.0f} s: choice {choice.item():.3f} moved {moved.item():.4f}")
        t.sampler = ours
        self.model.put(average)


def pair_tokens(args):
    """The tokens of a request and a text that are read together."""
    return corpus.CLOSE_PAIR_TOKENS if args.closely else PAIR_TOKENS


def judged_path(out, name):
    """Where a training leaves what its teacher thinks."""
    return Path(out) / f"{name}.judged.npz"
