"""make_set.py SERVERS.json FOLDER: lists the tools of the pinned servers and writes a set and a fleet for `toolyard eval`.

SERVERS.json is {"mcpServers": {name: {"command", "args", "env"}}} with the servers of pins.json, installed where you like.
FOLDER becomes the set, which measures the choice of tools: tools.jsonl and queries.jsonl.
FOLDER/fleet becomes the fleet, which measures whole calls: catalog.json, and copies of tasks.jsonl and of values.jsonl
as far as they are there.
Tools that nobody may publish here stay on your machine; requests.jsonl, tasks.jsonl, values.jsonl and metadata/ beside
this file are ours.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).parent


def ask(server, number, method, params):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
    server.stdin.flush()
    for line in server.stdout:
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if message.get("id") == number:
            return message["result"]
    raise SystemExit(f"the server ended before it answered {method}")


def tools(entry):
    command = [entry["command"], *entry.get("args", [])]
    environment = {**os.environ, **entry.get("env", {})}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, env=environment, text=True, **pipes) as server:
        client = {"name": "make_set", "version": "1"}
        ask(server, 1, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        server.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        server.stdin.flush()
        listed, cursor, number = [], None, 2
        while True:
            page = ask(server, number, "tools/list", {"cursor": cursor} if cursor else {})
            listed += page["tools"]
            cursor, number = page.get("nextCursor"), number + 1
            if not cursor:
                server.kill()
                return listed


def write_set(folder, listed):
    with open(folder / "tools.jsonl", "w") as out:
        for name, definitions in listed.items():
            for tool in definitions:
                line = {"id": f"{name}__{tool['name']}", "server": name, "name": tool["name"]}
                line |= {"description": tool.get("description"), "input_schema": tool.get("inputSchema") or {}}
                out.write(json.dumps(line) + "\n")
    with open(folder / "queries.jsonl", "w") as out:
        for line in open(HERE / "requests.jsonl"):
            request = json.loads(line)
            right = [request["expected"], *request.get("accept", [])]
            out.write(json.dumps({"text": request["query"], "groups": [right]}) + "\n")


def write_fleet(folder, listed):
    folder.mkdir(exist_ok=True)
    catalog = [{"server": name, "tools": definitions} for name, definitions in listed.items()]
    (folder / "catalog.json").write_text(json.dumps(catalog, ensure_ascii=False) + "\n", encoding="utf-8")
    for name in ["tasks.jsonl", "values.jsonl"]:
        (folder / name).unlink(missing_ok=True)
        if (HERE / name).is_file():
            shutil.copyfile(HERE / name, folder / name)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    servers, folder = json.load(open(sys.argv[1]))["mcpServers"], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    listed = {name: tools(entry) for name, entry in servers.items()}
    write_set(folder, listed)
    write_fleet(folder / "fleet", listed)


main()
