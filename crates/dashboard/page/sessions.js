// Sessions: who talked to the hub, and what for.

import { get, live } from "./api.js";
import { h } from "./dom.js";
import { ago, count } from "./format.js";
import { emptyPanel, load, pageHead, toolName, total } from "./ui.js";

const SHOWN_TOOLS = 3;

export function show(root, { signal }) {
  const box = h("div.stack", { data: { testid: "sessions" } });
  root.append(pageHead("Sessions", "Conversations of clients with the hub."), box);
  const draw = () => load(box, signal, () => get("sessions", {}, signal), render);
  draw();
  live.addEventListener("resumed", draw, { signal });
}

function render({ sessions }) {
  if (!sessions.length) return emptyPanel("No session yet.", "Connect a client with `toolyard connect`.");
  const columns = [
    ["Client"],
    ["Session"],
    ["Who"],
    ["Started"],
    ["Last request"],
    ["Routes", "n"],
    ["Tools"],
  ];
  return [
    total(sessions.length, "session", "sessions"),
    h(
      "div.table-frame",
      {},
      h(
        "table.table.cards",
        { data: { testid: "sessions-table" } },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            columns.map(([label, kind]) => h("th", { scope: "col", class: kind }, label)),
          ),
        ),
        h("tbody", {}, sessions.map(row)),
      ),
    ),
  ];
}

function row(session) {
  const cell = (label, content, className) => h("td", { class: className, data: { label } }, content);
  const address = session.session ? `#/routes?session=${encodeURIComponent(session.session)}` : "#/routes";
  return h(
    "tr",
    { data: { testid: "session-row", session: session.session } },
    h("th", { scope: "row" }, session.client),
    cell(
      "Session",
      h(
        "a.mono",
        { href: address, data: { row: "" }, title: session.session },
        session.session ?? "without session",
      ),
      "clip",
    ),
    cell("Who", h("span.mono", { title: session.who }, session.who), "clip"),
    cell("Started", ago(session.first)),
    cell("Last request", ago(session.last)),
    cell("Routes", count(session.routes), "n"),
    cell("Tools", toolList(session.tools), "wide"),
  );
}

function toolList(tools) {
  if (!Array.isArray(tools)) return count(tools);
  const shown = tools.slice(0, SHOWN_TOOLS).map((tool) => h("li", {}, toolName(tool)));
  const rest = tools.length - SHOWN_TOOLS;
  return h(
    "ul.tool-list",
    {},
    shown,
    rest > 0 ? h("li.muted", { title: tools.slice(SHOWN_TOOLS).join(", ") }, `+${rest}`) : null,
  );
}
