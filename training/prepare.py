"""Gathers the training data, leaves out every request of the evaluation sets, splits by server.

    python3 training/prepare.py --train ../shared/train --catalogs ../shared/catalogs \
        --eval ../shared/eval --tasks ../shared/fleet/tasks.jsonl --base DIR --out .train

Writes tools.jsonl.gz, requests.jsonl.gz, split.json, vocab.txt and base.safetensors. The evaluation files
are read for one purpose: a training request that occurs there (normalised) is dropped. Nothing of them is
printed or written.
"""

import argparse
import gzip
import json
from collections import Counter, defaultdict
from pathlib import Path

from text import PARAMETERS, digest, is_set_aside, normalised, remark, words

HERE = Path(__file__).resolve().parent
# What the confidence of routing is fitted on, which an encoder must not know.
NOT_TRAINED_ON = {"fresh"}
MANY_TOOLS = {"seal_tools", "api_bank_train", "apibench", "hammerbench", "bfcl", "toolbench_g1_10k"}


def lines(path):
    """Yields the records of a JSON-lines file, compressed or not."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)


def strings(node):
    """Yields every string inside a JSON value."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict):
        for value in node.values():
            yield from strings(value)
    elif isinstance(node, list):
        for value in node:
            yield from strings(value)


def forbidden_keys(evaluation, tasks):
    """Normalised texts of all evaluation requests."""
    keys = set()
    paths = [p for p in evaluation.rglob("*") if p.is_file() and not p.name.startswith("tools.")] + [tasks]
    for path in paths:
        try:
            if ".jsonl" in path.name:
                records = list(lines(path))
            elif path.name.endswith((".json", ".json.gz")):
                opener = gzip.open if path.suffix == ".gz" else open
                with opener(path, "rt", encoding="utf-8") as file:
                    records = json.load(file)
            else:
                continue
        except ValueError:
            continue
        keys.update(k for k in (normalised(s) for s in strings(records)) if len(k) >= 6)
    return keys


def parameters(tool):
    """Names of the top-level parameters, required ones first, and what is said of each."""
    schema = tool.get("input_schema") or {}
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return [], []
    required = schema.get("required")
    required = required if isinstance(required, list) else []
    names = sorted(properties, key=lambda name: name not in required)
    return names, [remark(properties[name]) for name in names]


def read_tools(args):
    """All tools: those of the registries (source mcp) and those of the public data sets."""
    tools = {}
    for tool in lines(args.catalogs / "mcp_registries.jsonl.gz"):
        tools.setdefault(("mcp", tool["id"]), tool)
    for tool in lines(args.train / "tools.jsonl.gz"):
        tools.setdefault((tool["dataset"], tool["id"]), tool)
    index, out = {}, []
    for (source, identifier), tool in tools.items():
        description = tool.get("description") or ""
        name = tool["name"] or ""
        names, remarks = parameters(tool)
        same = normalised(name) + "|" + normalised(description)[:80]
        if source != "mcp":
            # Servers copy one another's tools and change a parameter; in a public set two tools are two.
            same += "|" + ",".join(names) + "|" + "|".join(remarks)
        index[(source, identifier)] = len(out)
        out.append({
            "id": identifier, "source": source, "server": tool.get("server") or "", "name": name,
            "description": description[:1200], "parameters": names, "remarks": remarks[:PARAMETERS], "same": digest(same) % 2**40,
        })
    return index, out


def fork_groups(tools):
    """Maps each registry server to a group: servers that share many tool names are forks of one another."""
    names, texts = defaultdict(set), defaultdict(set)
    for tool in tools:
        if tool["source"] == "mcp":
            names[tool["server"]].add(words(tool["name"]))
            texts[tool["server"]].add(tool["same"])
    by_name = defaultdict(set)
    for server, own in names.items():
        for name in own:
            by_name[name].add(server)
    parent = {server: server for server in names}

    def root(server):
        while parent[server] != server:
            parent[server] = parent[parent[server]]
            server = parent[server]
        return server

    for server, own in names.items():
        shared = Counter(other for name in own if len(by_name[name]) < 200 for other in by_name[name] if other > server)
        for other, count in shared.items():
            overlap = count / min(len(own), len(names[other]))
            same = len(texts[server] & texts[other])
            if (overlap >= 0.6 and count >= 3) or same >= 3 or (overlap >= 0.5 and same >= 1):
                parent[root(other)] = root(server)
    members = defaultdict(list)
    for server in names:
        members[root(server)].append(server)
    return {server: min(group) for group in members.values() for server in group}


def known_servers(tools, library):
    """The registry servers that a file of the metadata library is about, by the rule of `core::metadata`.

    They are held out, so that the weight of the library's phrasings can be fitted on requests that the model
    has not seen.
    """
    files = [set(json.loads(path.read_text(encoding="utf-8"))["tools"]) for path in sorted(library.glob("*.json"))]
    own = defaultdict(set)
    for tool in tools:
        if tool["source"] == "mcp":
            own[tool["server"]].add(tool["name"])
    few = 3

    def is_known(names):
        for file in files:
            shared = len(names & file)
            if len(names) < few:
                if shared == len(names) and len(file) <= few:
                    return True
            elif shared >= few and 2 * shared >= len(names):
                return True
        return False

    return {server for server, names in own.items() if is_known(names)}


def read_requests(args, index, forbidden):
    """All requests as records {tool, style, lang, text, source}; counts what was dropped."""
    out, dropped, unknown = [], Counter(), Counter()
    seen = set()

    def add(source, key, text, style, lang, negatives=(), aside=False):
        text = " ".join(text.split())
        folded = normalised(text)
        if folded in forbidden:
            dropped[source] += 1
        elif key not in index or not folded:
            unknown[source] += 1
        elif (index[key], folded) not in seen:
            seen.add((index[key], folded))
            record = {"tool": index[key], "style": style, "lang": lang, "text": text[:400], "source": source}
            if aside:
                record["aside"] = 1
            against = [index[("mcp", n)] for n in negatives if ("mcp", n) in index]
            out.append({**record, "not": against} if against else record)

    for name in ("written", "written_calls"):
        for row in lines(args.train / f"{name}.jsonl.gz"):
            style = row.get("style") or ("foreign" if row.get("lang", "en") != "en" else "plain")
            add(name, ("mcp", row["tool"]), row["text"], style, row.get("lang", "en"))
    for row in lines(args.train / "pairs.jsonl.gz"):
        text = row["query"]
        if row["dataset"] == "sgd":
            text = " ".join(text.split("\n")[-3:])
        if row["dataset"] != "toolbench_sambanova" or "[button]" not in text:
            add(row["dataset"], (row["dataset"], row["tool"]), text, "public", "en", aside=is_set_aside(row["query"]))
    for path in sorted(args.data.glob("*.jsonl")):
        if path.stem in NOT_TRAINED_ON:
            continue
        for row in lines(path):
            if "tool" not in row:
                continue
            style = row.get("style") or ("foreign" if row.get("lang", "en") != "en" else "plain")
            negatives = row.get("not") or []
            negatives = [negatives] if isinstance(negatives, str) else negatives
            for tool in [row["tool"], *row.get("also", [])]:
                key = (row.get("source", "mcp"), tool)
                add("new:" + path.stem, key, row["text"], style, row.get("lang", "en"), negatives)
    print("dropped because they occur in an evaluation set:", dict(dropped))
    print("without a tool of that id:", dict(unknown))
    return out


def dev_catalogs(tools, requests, groups, held):
    """Catalogs of about 600 tools made of whole held-out servers; each group of forks once per catalog."""
    by_server = defaultdict(list)
    for i, tool in enumerate(tools):
        if tool["source"] == "mcp" and tool["server"] in held:
            by_server[tool["server"]].append(i)
    asked = Counter(tools[r["tool"]]["server"] for r in requests if r["source"].startswith("written"))
    ordered = sorted(by_server)
    catalogs = []
    for number in range(16):
        order = sorted(ordered, key=lambda s: digest(f"{number}/{s}") / (1 + (asked[s] > 0) * 2 + min(len(by_server[s]), 40) / 10))
        used, chosen, size = set(), [], 0
        for server in order:
            if groups[server] in used or len(by_server[server]) > 150 or size + len(by_server[server]) > 640:
                continue
            used.add(groups[server])
            chosen.append(server)
            size += len(by_server[server])
            if size >= 600:
                break
        catalogs.append([i for s in chosen for i in by_server[s]])
    return catalogs


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--train", type=Path, required=True)
    parser.add_argument("--catalogs", type=Path, required=True)
    parser.add_argument("--eval", type=Path, required=True)
    parser.add_argument("--tasks", type=Path, required=True)
    parser.add_argument("--base", type=Path, required=True, help="folder with all-MiniLM-L6-v2")
    parser.add_argument("--data", type=Path, default=HERE / "data")
    parser.add_argument("--library", type=Path, default=HERE.parent / "library")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pieces", type=int, default=5300, help="word pieces added for other languages, where pieces.txt is missing")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)

    index, tools = read_tools(args)
    requests = read_requests(args, index, forbidden_keys(args.eval, args.tasks))
    groups = fork_groups(tools)
    familiar = {groups[s] for s in known_servers(tools, args.library)}
    held = {s for s, g in groups.items() if digest("held out: " + g) % 100 < 8 or g in familiar}
    (HERE / "held_out.txt").write_text("".join(f"{server}\n" for server in sorted(held)), encoding="utf-8")
    for tool in tools:
        # Of the public sets, tools are held out by their ids; of those with few tools, requests alone are.
        aside = tool["source"] in MANY_TOOLS and is_set_aside(tool["id"])
        tool["dev"] = int(aside or (tool["source"] == "mcp" and tool["server"] in held))
        tool["group"] = groups.get(tool["server"], "") if tool["source"] == "mcp" else tool["source"]
    catalogs = dev_catalogs(tools, requests, groups, held)

    for name, rows in (("tools", tools), ("requests", requests)):
        with gzip.open(args.out / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")
    (args.out / "split.json").write_text(json.dumps({"catalogs": catalogs}))

    dev = [r for r in requests if tools[r["tool"]]["dev"]]
    print(len(tools), "tools;", len(set(groups.values())), "groups of", len(groups), "servers;", len(held), "servers held out")
    print("requests:", dict(Counter(r["source"] for r in requests)))
    print("held-out requests:", len(dev), dict(Counter(r["style"] for r in dev)), dict(Counter(r["lang"] for r in dev)))
    covered = {r["tool"] for r in dev if r["source"].startswith("written")}
    print("catalog sizes:", [len(c) for c in catalogs], "requests:", [sum(t in set(c) for t in covered) for c in catalogs])

    from vocabulary import extend

    extend(args.base, args.out, requests, tools, args.pieces)


if __name__ == "__main__":
    main()
