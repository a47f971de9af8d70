// Overview: how much is routed, how it is decided, how fast and how well, and what needs attention.

import { get, live } from "./api.js";
import { legend, line, stackedColumns } from "./charts.js";
import { h } from "./dom.js";
import { DECISIONS, compact, count, duration, percent, plural, span } from "./format.js";
import { card, command, emptyPanel, load, pageHead, select, shareBar, toolName, endingChip } from "./ui.js";

const WINDOWS = [
  ["1", "Last hour"],
  ["24", "Last 24 hours"],
  ["168", "Last 7 days"],
  ["720", "Last 30 days"],
];
const REFRESH_MS = 5000;

export function show(root, { signal }) {
  let hours = 24;
  const box = h("div.stack", {});
  const fetchAll = () => get("overview", { hours }, signal);
  const draw = () => load(box, signal, fetchAll, render);
  const windows = select(WINDOWS, String(hours), (value) => ((hours = Number(value)), draw()), {
    "aria-label": "Time window",
    data: { testid: "overview-window" },
  });
  root.append(pageHead("Overview", null, windows), box);
  draw();

  let timer = null;
  const refresh = () => {
    timer ??= setTimeout(async () => {
      timer = null;
      const value = await fetchAll().catch(() => null);
      if (value && !signal.aborted) box.replaceChildren(...[render(value)].flat());
    }, REFRESH_MS);
  };
  live.addEventListener("route", refresh, { signal });
  live.addEventListener("server", refresh, { signal });
  live.addEventListener("resumed", draw, { signal });
  live.addEventListener("numbers", (event) => updateRate(box, event.detail), { signal });
  signal.addEventListener("abort", () => clearTimeout(timer));

  function render(overview) {
    const summary = readSummary(overview.summary);
    if (summary.routes === 0 && hours >= 24) return [statusLine(overview), gettingStarted(overview)];
    return [
      statusLine(overview),
      tiles(overview, summary),
      h("div.grid.two.even", {}, routesChart(summary), timeChart(summary)),
      h("div.grid.three", {}, topTools(summary), failures(summary), serversCard(overview)),
    ];
  }
}

function statusLine({ version, uptimeSeconds, tools, servers, meaning, learning }) {
  const parts = [
    `${plural(tools, "tool", "tools")} of ${plural(servers.total, "server", "servers")}`,
    learning?.lessons ? plural(learning.lessons, "lesson learnt", "lessons learnt") : null,
    `up for ${span(uptimeSeconds)}`,
    version ? `version ${version}` : null,
    meaning?.all > meaning?.known
      ? `embedding tools: ${count(meaning.known)} of ${count(meaning.all)}`
      : null,
  ];
  return h("p.status-line.muted", { data: { testid: "status-line" } }, parts.filter(Boolean).join(" · "));
}

function tiles({ numbers }, summary) {
  const shareOf = (...keys) =>
    summary.routes ? keys.reduce((sum, key) => sum + summary.decisions[key], 0) / summary.routes : null;
  const judged = summary.right + summary.wrong;
  return h(
    "div.tiles",
    { data: { testid: "tiles" } },
    tile(
      "requests",
      "Requests per minute",
      count(numbers.requestsLastMinute),
      `${compact(summary.routes)} in this window`,
    ),
    tile("act", "Acted", percent(shareOf("act", "plan")), "ran a tool or a plan"),
    tile("ask", "Asked", percent(shareOf("ask", "draft", "candidates")), "questions and drafts"),
    tile("decline", "Declined", percent(shareOf("decline")), "no tool fits"),
    tile("clarification", "Clarification rate", percent(shareOf("ask")), "a question before anything ran"),
    tile(
      "cache",
      "Cache hits",
      percent(summary.routes ? summary.cached / summary.routes : null),
      "routes answered from the cache",
    ),
    routingTile(numbers.routing, summary),
    tile(
      "accuracy",
      "Accuracy",
      percent(judged ? summary.right / judged : null),
      judged ? `of ${plural(judged, "judged route", "judged routes")}` : "mark routes to measure it",
    ),
  );
}

/** Percentiles are known only for what this process routed; of other processes' routes, history has the mean. */
function routingTile(routing, summary) {
  return typeof routing?.p50Ms === "number"
    ? tile("routing", "Routing time, p50", duration(routing.p50Ms), `p95 ${duration(routing.p95Ms)}`)
    : tile("routing", "Routing time, mean", duration(summary.routingMs), "from request to decision");
}

function tile(name, label, value, note) {
  return h(
    "div.tile",
    { data: { testid: `tile-${name}` } },
    h("p.tile-label", {}, label),
    h("p.tile-value", {}, value),
    h("p.tile-note", {}, note),
  );
}

function updateRate(box, numbers) {
  const value = box.querySelector("[data-testid=tile-requests] .tile-value");
  if (value && numbers?.requestsLastMinute !== undefined)
    value.textContent = count(numbers.requestsLastMinute);
}

function routesChart({ points, step, decisions, routes }) {
  const keys = DECISIONS.filter((key) => decisions[key] > 0);
  const label = `Routes over time: ${keys.map((key) => `${key} ${decisions[key]}`).join(", ")}`;
  return card(
    "Routes by decision",
    {},
    stackedColumns({ points, keys, stepMs: step, label, testid: "chart-routes" }),
    legend(keys.map((key) => ({ key, text: percent(routes ? decisions[key] / routes : 0) }))),
  );
}

function timeChart({ points, step }) {
  const values = points.map(({ at, meanMs }) => ({ at, value: meanMs }));
  return card(
    "Mean routing time",
    {},
    line({
      points: values,
      stepMs: step,
      label: "Mean routing time",
      format: duration,
      testid: "chart-time",
    }),
  );
}

function topTools({ tools: found }) {
  const most = Math.max(...found.map((entry) => entry.routes), 1);
  const rows = found
    .slice(0, 8)
    .map(({ tool, routes: uses }) =>
      h("li", {}, toolName(tool), shareBar(uses / most, { label: compact(uses) })),
    );
  return card(
    "Top tools",
    { testid: "top-tools" },
    rows.length ? h("ul.bars", {}, rows) : emptyPanel("No tool has run yet."),
  );
}

function failures({ failures: found }) {
  const rows = found
    .slice(0, 8)
    .map(({ tool, ran, routes: times }) =>
      h(
        "li",
        {},
        toolName(tool),
        h("span.row-end", {}, endingChip(ran), h("span.number", {}, `${compact(times)}×`)),
      ),
    );
  return card(
    "Failures",
    {
      testid: "failures",
      aside: rows.length ? h("a", { href: "#/routes?decision=failed" }, "Routes") : null,
    },
    rows.length ? h("ul.bars", {}, rows) : emptyPanel("Nothing failed in this window."),
  );
}

function serversCard({ servers }) {
  const row = (label, value, tone) =>
    h(
      "li.server-count",
      {},
      h("span.dot", { data: { tone } }),
      h("span", {}, label),
      h("span.number", {}, count(value)),
    );
  return card(
    "Servers",
    { testid: "servers-summary", aside: h("a", { href: "#/servers" }, "All servers") },
    h(
      "ul.bars",
      {},
      row("ready", servers.up, "ok"),
      row("idle, started on first use", servers.idle, "idle"),
      row("failed", servers.failed, servers.failed ? "bad" : "idle"),
    ),
  );
}

function gettingStarted({ servers, tools }) {
  const step = (title, text, ...rest) => h("li", {}, h("h3", {}, title), h("p.muted", {}, text), rest);
  return card(
    "Nothing has been routed yet",
    { testid: "getting-started" },
    h(
      "ol.steps",
      {},
      servers.total
        ? step(
            "Servers are connected",
            `${plural(servers.total, "server has", "servers have")} ${plural(tools, "tool", "tools")}.`,
          )
        : step(
            "Add your servers",
            "Copy them from the clients you already use, or add one by hand.",
            command("toolyard import"),
          ),
      step(
        "Connect a client",
        "Claude Desktop, Cursor, VS Code and others connect with one command.",
        command("toolyard connect claude-desktop"),
      ),
      step(
        "Or try a task here",
        "See which tool it finds and why. Nothing runs until you say so.",
        h("a.button.primary", { href: "#/try" }, "Try a task"),
      ),
    ),
  );
}

/** Fills the intervals in which nothing was routed, so that the time axis is even. */
function readSummary(summary) {
  const byOrder = new Map(
    summary.intervals.map((interval) => [Math.round((interval.at - summary.since) / summary.step), interval]),
  );
  const last = Math.max(0, Math.ceil((Date.now() - summary.since) / summary.step) - 1);
  const points = Array.from({ length: last + 1 }, (_, order) => {
    const interval = byOrder.get(order);
    return {
      at: summary.since + order * summary.step,
      values: interval?.decisions ?? {},
      meanMs: interval?.routingMs ?? null,
    };
  });
  const spoken = (verdict) =>
    summary.feedback
      .filter((entry) => entry.verdict === verdict)
      .reduce((sum, entry) => sum + entry.count, 0);
  return {
    ...summary,
    points,
    decisions: Object.fromEntries(DECISIONS.map((key) => [key, summary.decisions[key] ?? 0])),
    right: spoken("right"),
    wrong: spoken("wrong"),
  };
}
