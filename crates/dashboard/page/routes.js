// Routes: the history of what was asked, newest first, with live additions; one of them opens as a trace.

import { get, live } from "./api.js";
import { debounce, h } from "./dom.js";
import { DECISIONS, ago, duration, percent, plural, toolParts } from "./format.js";
import { showTrace } from "./trace.js";
import {
  chip,
  decisionChip,
  emptyPanel,
  endingChip,
  load,
  openSheet,
  pageHead,
  pager,
  select,
  toolName,
} from "./ui.js";

const PAGE = 50;
const FILTERS = ["text", "tool", "server", "decision", "session", "marked"];

export function show(root, { query, signal }) {
  const search = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? ""]));
  let next = null;
  let list = null;
  // Routes that came while the list was fetched, which may be too new to be in it.
  let arrived = [];
  let sheet = null;
  let leaveTrace = null;
  const box = h("div", { data: { testid: "routes" } });
  const totals = h("p.total", { role: "status", data: { testid: "routes-total" } });
  const more = pager(signal, async () => {
    const page = await get("routes", { ...search, before: next, limit: PAGE }, signal);
    list?.append(...page.items.map(row));
    turn(page);
  });
  root.append(
    pageHead("Routes", "Every request with its decision, and why."),
    filters(),
    totals,
    box,
    more.box,
  );
  draw();
  live.addEventListener("route", (event) => add(event.detail), { signal });
  live.addEventListener("resumed", draw, { signal });

  async function draw() {
    more.setMore(false);
    list = null;
    arrived = [];
    await load(
      box,
      signal,
      () => get("routes", { ...search, limit: PAGE }, signal),
      (page) => {
        turn(page);
        totals.textContent = typeof page.total === "number" ? plural(page.total, "route", "routes") : "";
        list = h("ol.route-list", { data: { testid: "route-list" } }, page.items.map(row));
        if (page.items.length) return list;
        const isFiltered = FILTERS.some((name) => search[name]);
        return [
          list,
          isFiltered
            ? emptyPanel(
                "No route fits these filters.",
                h("a.button", { href: "#/routes", data: { testid: "clear-filters" } }, "Clear the filters"),
              )
            : emptyPanel(
                "Nothing has been routed yet.",
                "Connect a client with `toolyard connect`, or use Try it.",
              ),
        ];
      },
    );
    if (list) arrived.splice(0).forEach(add);
  }

  function turn(page) {
    next = page.next ?? null;
    more.setMore(next !== null);
  }

  function add(route) {
    if (!list) arrived.push(route);
    if (!list || !fits(route, search) || list.querySelector(`[data-id="${CSS.escape(route.id)}"]`)) return;
    box.querySelector("[data-testid=empty]")?.remove();
    const item = row(route);
    item.classList.add("is-new");
    list.prepend(item);
  }

  function filter(name, value) {
    search[name] = value;
    history.replaceState(null, "", address());
    draw();
  }

  function filters() {
    const change = (name) => (value) => filter(name, value);
    const text = h("input", {
      type: "search",
      placeholder: "Search words and tools",
      "aria-label": "Search words and tools",
      value: search.text,
      data: { testid: "routes-search", search: "" },
      on: { input: debounce(200, () => change("text")(text.value.trim())) },
    });
    const decisions = [["", "Every decision"], ...DECISIONS.map((key) => [key, key])];
    const marks = [
      ["", "Marked or not"],
      ["right", "Marked right"],
      ["wrong", "Marked wrong"],
    ];
    return h(
      "div.filters",
      { role: "search" },
      text,
      select(decisions, search.decision, change("decision"), {
        "aria-label": "Decision",
        data: { testid: "routes-decision" },
      }),
      select(marks, search.marked, change("marked"), {
        "aria-label": "Marks",
        data: { testid: "routes-marked" },
      }),
      ["tool", "server", "session"].filter((name) => search[name]).map((name) => filterChip(name)),
    );
  }

  function filterChip(name) {
    const button = h(
      "button.small",
      {
        type: "button",
        "aria-label": `Remove the filter ${name}`,
        on: { click: () => (button.remove(), filter(name, "")) },
      },
      `${name}: ${search[name]} ×`,
    );
    return button;
  }

  function address(id) {
    const used = new URLSearchParams(
      FILTERS.filter((name) => search[name]).map((name) => [name, search[name]]),
    );
    return `#/routes${id ? `/${encodeURIComponent(id)}` : ""}${used.size ? `?${used}` : ""}`;
  }

  function row(route) {
    return h(
      "li",
      {},
      h(
        "a.route-row",
        { href: address(route.id), data: { row: "", testid: "route-row", id: route.id } },
        decisionChip(route.decision),
        h(
          "span.route-main",
          {},
          h("span.route-words", {}, route.words ?? h("span.muted", {}, "words not kept")),
          h(
            "span.route-sub",
            {},
            toolName(route.tool, { plain: true }),
            route.ran && route.ran !== "answered" ? endingChip(route.ran) : null,
            route.cached ? chip("cached") : null,
            route.client ? h("span.muted.route-client", {}, route.client) : null,
          ),
        ),
        h(
          "span.route-side",
          {},
          h("span.number", { title: "confidence" }, percent(route.confidence)),
          h("span.number.muted", { title: "routing time" }, duration(route.routingMs)),
        ),
        h("span.route-when.muted", {}, ago(route.at)),
      ),
    );
  }

  function open(id) {
    leaveTrace?.abort();
    sheet?.close();
    sheet = null;
    if (!id) return;
    leaveTrace = new AbortController();
    sheet = openSheet({
      title: "Route",
      testid: "route-sheet",
      onClose: () => {
        sheet = null;
        location.hash = address();
      },
    });
    showTrace(sheet.body, id, leaveTrace.signal);
  }
  signal.addEventListener("abort", () => {
    leaveTrace?.abort();
    sheet?.close();
  });
  return { open };
}

/** Whether a new route belongs into the list. Nobody can have marked it yet. */
function fits(route, search) {
  const text = search.text.toLowerCase();
  return (
    !search.marked &&
    (!text || `${route.words ?? ""} ${route.tool ?? ""}`.toLowerCase().includes(text)) &&
    (!search.tool || route.tool === search.tool) &&
    (!search.server || toolParts(route.tool ?? "").server === search.server) &&
    (!search.decision || route.decision === search.decision) &&
    (!search.session || route.session === search.session)
  );
}
