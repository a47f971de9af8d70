// Servers: the state of each, why it failed, its log, restart and login.

import { get, live, path, post } from "./api.js";
import { externalLink, h } from "./dom.js";
import { count, plural, span } from "./format.js";
import { icon } from "./icons.js";
import {
  announce,
  busy,
  chip,
  codeText,
  command,
  confirmation,
  emptyPanel,
  load,
  openSheet,
  pageHead,
  toast,
} from "./ui.js";

const TONES = {
  ready: "ok",
  starting: "accent",
  failed: "bad",
  known: "idle",
  configured: "idle",
  stopped: "idle",
};
const MEANINGS = {
  ready: "answers",
  starting: "is being started",
  failed: "did not start, or stopped answering",
  known: "not running; its tools are known, the next call starts it",
  configured: "never started",
  off: "lacks an environment variable",
  stopped: "stopped on purpose; the next call starts it",
};
const LOG_LINES = 200;

export function show(root, { signal }) {
  const box = h("div", { data: { testid: "servers" } });
  root.append(
    pageHead("Servers", "The servers behind the hub. They start on first use and stop when idle."),
    box,
  );
  const fetchAll = () => get("servers", {}, signal);
  const draw = () => load(box, signal, fetchAll, render);
  const refresh = async () => {
    const value = await fetchAll().catch(() => null);
    if (value && !signal.aborted) box.replaceChildren(render(value));
  };
  draw();
  live.addEventListener("server", refresh, { signal });
  live.addEventListener("resumed", draw, { signal });

  function render({ servers }) {
    if (!servers.length) {
      return emptyPanel(
        "No server is configured.",
        "Copy the servers of your clients, or add one by hand.",
        command("toolyard import"),
        command("toolyard add files -- npx -y @modelcontextprotocol/server-filesystem ~/Documents"),
      );
    }
    const rank = ({ state }) => ["failed", "off", "starting", "ready"].indexOf(state) + 1 || 9;
    const sorted = [...servers].sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name));
    return h(
      "ul.server-list",
      {},
      sorted.map((server) => item(server)),
    );
  }

  function item(server) {
    const button = (testid, label, run) =>
      h(
        "button.small",
        {
          type: "button",
          data: { testid },
          "aria-label": `${label}: ${server.name}`,
          on: { click: (event) => run(event.currentTarget) },
        },
        label,
      );
    return h(
      "li.card.server",
      { data: { testid: "server", name: server.name, state: server.state } },
      h(
        "div.server-head",
        {},
        h("span.dot", { data: { tone: TONES[server.state] ?? "idle" }, "aria-hidden": "true" }),
        h("h2", {}, server.name),
        h(
          "span",
          { data: { testid: "server-state" } },
          chip(server.state, TONES[server.state], MEANINGS[server.state]),
        ),
      ),
      server.why || server.lastError
        ? h(
            ["failed", "off"].includes(server.state) ? "p.server-why.bad-text" : "p.server-why.muted",
            { data: { testid: "server-why" } },
            codeText(server.why ?? server.lastError),
          )
        : null,
      server.problems?.length
        ? h(
            "details",
            {},
            h("summary", {}, plural(server.problems.length, "problem", "problems")),
            h(
              "ul.plain.hint",
              {},
              server.problems.map((text) => h("li", {}, codeText(text))),
            ),
          )
        : null,
      h(
        "p.server-meta.muted",
        {},
        [
          server.transport,
          typeof server.tools === "number" ? plural(server.tools, "tool", "tools") : null,
          server.uptimeSeconds ? `up for ${span(server.uptimeSeconds)}` : null,
          server.restarts ? `restarted ${count(server.restarts)}×` : null,
        ]
          .filter(Boolean)
          .join(" · "),
      ),
      h(
        "div.button-row",
        {},
        h(
          "a.button.small",
          {
            href: `#/servers/${encodeURIComponent(server.name)}`,
            data: { testid: "server-log" },
            "aria-label": `Log: ${server.name}`,
          },
          "Log",
        ),
        button("server-restart", "Restart", (source) => restart(source, server)),
        server.canLogin ? button("server-login", "Log in", (source) => login(source, server)) : null,
        h("a.button.small.quiet", { href: `#/tools?server=${encodeURIComponent(server.name)}` }, "Tools"),
      ),
      h("div.login-box", { hidden: true, data: { testid: "login-box" } }),
    );
  }

  async function restart(source, server) {
    if (server.state === "ready") {
      const isAgreed = await confirmation({
        title: `Restart ${server.name}?`,
        text: "Calls that are under way will fail.",
        action: "Restart",
      });
      if (!isAgreed) return;
    }
    const done = await busy(source, async () => (await post(path("servers", server.name, "restart")), true));
    refresh();
    if (!done) return;
    toast(`${server.name} was restarted.`);
  }

  async function login(source, server) {
    const answer = await busy(source, () => post(path("servers", server.name, "login")));
    if (!answer) return;
    const target = source.closest("li").querySelector(".login-box");
    target.hidden = false;
    target.replaceChildren(
      ...[
        answer.url
          ? [
              h("p", {}, externalLink(answer.url, `Log in to ${server.name}`), " opens in a new tab."),
              answer.command
                ? [
                    h("p.hint", {}, "If this browser is not on the machine of the hub, type this there:"),
                    command(answer.command),
                  ]
                : null,
            ]
          : h(
              "div",
              {},
              h("p.muted", {}, "Type this in a shell on the machine of the hub:"),
              command(answer.command ?? `toolyard login ${server.name}`),
            ),
      ]
        .flat(Infinity)
        .filter(Boolean),
    );
    announce("Login is ready.");
  }

  let sheet = null;
  let leaveLog = null;
  function open(name) {
    leaveLog?.abort();
    sheet?.close();
    sheet = null;
    if (!name) return;
    leaveLog = new AbortController();
    const inner = leaveLog.signal;
    sheet = openSheet({
      title: `Log of ${name}`,
      testid: "log-sheet",
      onClose: () => ((sheet = null), (location.hash = "#/servers")),
    });
    const frame = h("div", {});
    const read = () =>
      load(frame, inner, () => get(path("servers", name, "log"), { lines: LOG_LINES }, inner), renderLog);
    sheet.body.append(
      h(
        "div.button-row",
        {},
        h(
          "button.small",
          { type: "button", data: { testid: "log-refresh" }, on: { click: read } },
          icon("refresh"),
          "Refresh",
        ),
      ),
      frame,
    );
    read();
  }
  signal.addEventListener("abort", () => {
    leaveLog?.abort();
    sheet?.close();
  });
  return { open };
}

function renderLog({ lines, note }) {
  if (!lines.length) return emptyPanel("The log is empty.", note ?? "");
  const log = h(
    "pre.code.log",
    { tabindex: "0", role: "region", "aria-label": "Log", data: { testid: "log" } },
    lines.join("\n"),
  );
  requestAnimationFrame(() => (log.scrollTop = log.scrollHeight));
  return log;
}
