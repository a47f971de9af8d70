// Tools: every tool of every server, and one of them in detail.

import { get, path } from "./api.js";
import { debounce, h } from "./dom.js";
import { compact, count, duration, percent } from "./format.js";
import {
  chip,
  codeText,
  effectChip,
  emptyPanel,
  facts,
  jsonBlock,
  load,
  openSheet,
  pageHead,
  pager,
  select,
  shareBar,
  toolName,
  total,
} from "./ui.js";

const PAGE = 100;

export function show(root, { query, signal }) {
  const search = { text: query.get("text") ?? "", server: query.get("server") ?? "" };
  let shown = 0;
  let body = null;
  const box = h("div.stack", { data: { testid: "tools" } });
  const more = pager(signal, async () => {
    const page = await get("tools", { ...search, offset: shown, limit: PAGE }, signal);
    body?.append(...page.items.map((tool) => row(tool, address(tool.id))));
    turn(page);
  });
  const text = h("input", {
    type: "search",
    placeholder: "Search tools",
    "aria-label": "Search tools",
    value: search.text,
    data: { testid: "tools-search", search: "" },
    on: { input: debounce(200, () => filter("text", text.value.trim())) },
  });
  const servers = select([["", "All servers"]], "", (value) => filter("server", value), {
    "aria-label": "Server",
    data: { testid: "tools-server" },
  });
  root.append(
    pageHead("Tools", "Everything the hub can call."),
    h("div.filters", { role: "search" }, text, servers),
    box,
    more.box,
  );
  get("servers", {}, signal)
    .then((answer) => {
      servers.append(...answer.servers.map(({ name }) => h("option", { value: name }, name)));
      servers.value = search.server;
    })
    .catch(() => {});
  draw();

  function filter(name, value) {
    search[name] = value;
    history.replaceState(null, "", address());
    draw();
  }

  function address(id) {
    const used = new URLSearchParams(Object.entries(search).filter(([, value]) => value));
    return `#/tools${id ? `/${encodeURIComponent(id)}` : ""}${used.size ? `?${used}` : ""}`;
  }

  function draw() {
    shown = 0;
    more.setMore(false);
    return load(
      box,
      signal,
      () => get("tools", { ...search, offset: 0, limit: PAGE }, signal),
      (page) => {
        if (!page.items.length) {
          return search.text || search.server
            ? emptyPanel("No tool fits.", "Use other words, or choose another server.")
            : emptyPanel(
                "There are no tools yet.",
                "Add a server with `toolyard add`, or copy yours with `toolyard import`.",
              );
        }
        body = h(
          "tbody",
          {},
          page.items.map((tool) => row(tool, address(tool.id))),
        );
        turn(page);
        return [
          total(page.total, "tool", "tools"),
          h(
            "div.table-frame",
            {},
            h("table.table.cards.tool-table", { data: { testid: "tools-table" } }, head(), body),
          ),
        ];
      },
    );
  }

  function turn(page) {
    shown += page.items.length;
    more.setMore(page.items.length > 0 && shown < page.total);
  }

  let sheet = null;
  let leaveDetail = null;
  function open(id) {
    leaveDetail?.abort();
    sheet?.close();
    sheet = null;
    if (!id) return;
    leaveDetail = new AbortController();
    sheet = openSheet({
      title: id,
      testid: "tool-sheet",
      onClose: () => ((sheet = null), (location.hash = address())),
    });
    load(sheet.body, leaveDetail.signal, () => get(path("tools", id), {}, leaveDetail.signal), detail);
  }
  signal.addEventListener("abort", () => {
    leaveDetail?.abort();
    sheet?.close();
  });
  return { open };
}

function head() {
  const columns = [
    ["Tool", "tool-cell"],
    ["Domain", "domain"],
    ["Effect", "effect"],
    ["Lint", "n"],
    ["Calls", "n"],
    ["Latency", "n"],
    ["Success", "n"],
    ["Confusable with"],
  ];
  return h(
    "thead",
    {},
    h(
      "tr",
      {},
      columns.map(([label, kind]) => h("th", { scope: "col", class: kind }, label)),
    ),
  );
}

function row(tool, address) {
  const [nearest, ...others] = tool.confusableWith ?? [];
  const cell = (label, content, className) => h("td", { class: className, data: { label } }, content);
  return h(
    "tr",
    { data: { testid: "tool-row", tool: tool.id } },
    h(
      "th.tool-cell",
      { scope: "row" },
      h(
        "a.tool-name",
        { href: address, data: { row: "" }, title: tool.id },
        toolName(tool.id, { plain: true }),
      ),
      h("span.tool-summary.muted", {}, tool.summary ?? tool.title ?? ""),
    ),
    cell(
      "Domain",
      [tool.domain ?? "–", hasTier(tool) ? h("span.tier.muted", {}, tierText(tool.tier)) : null],
      "domain",
    ),
    cell("Effect", effectChip(tool.effect), "effect"),
    cell("Lint", count(tool.lint), "n"),
    cell("Calls", compact(tool.calls), "n"),
    cell("Latency", duration(tool.latencyMs), "n"),
    cell("Success", tool.calls ? percent(tool.success) : "–", "n"),
    cell(
      "Confusable with",
      nearest
        ? [toolName(nearest.tool), others.length ? h("span.muted", {}, ` +${others.length}`) : null]
        : "–",
      "confusable",
    ),
  );
}

function hasTier({ tier }) {
  return tier !== null && tier !== undefined;
}

function tierText(tier) {
  return typeof tier === "number" ? `tier ${tier}` : tier;
}

function detail(tool) {
  const section = (title, content) =>
    content ? h("section.trace-section", {}, h("h3", {}, title), content) : null;
  return [
    tool.title ? h("p.trace-words", {}, tool.title) : null,
    h(
      "div.trace-line",
      {},
      effectChip(tool.effect),
      tool.domain ? chip(tool.domain) : null,
      hasTier(tool) ? chip(tierText(tool.tier)) : null,
    ),
    h("p.description", { data: { testid: "tool-description" } }, tool.description ?? tool.summary ?? ""),
    facts([
      ["Server", h("a", { href: `#/servers/${encodeURIComponent(tool.server)}` }, tool.server)],
      ["Calls", count(tool.calls)],
      ["Latency", duration(tool.latencyMs)],
      ["Success", tool.calls ? percent(tool.success) : "–"],
      ["Lint score", count(tool.lint)],
      ["Lessons", count(tool.lessons)],
    ]),
    h(
      "p.button-row",
      {},
      h("a.button", { href: `#/routes?tool=${encodeURIComponent(tool.id)}` }, "Its routes"),
    ),
    section(
      "Examples",
      tool.examples?.length
        ? h(
            "ul.plain",
            {},
            tool.examples.map((text) =>
              h("li", {}, h("q", {}, typeof text === "string" ? text : JSON.stringify(text))),
            ),
          )
        : null,
    ),
    section(
      "Confusable with",
      tool.confusableWith?.length
        ? h(
            "ul.bars",
            {},
            tool.confusableWith.map(({ tool: id, similarity }) =>
              h("li", {}, toolName(id), shareBar(similarity, { tone: "faint" })),
            ),
          )
        : null,
    ),
    section("Lint", diagnostics(tool.diagnostics ?? [])),
    section("Arguments", tool.schema ? parameters(tool.schema) : null),
    section("Schema", tool.schema ? jsonBlock(tool.schema, "Schema") : null),
  ];
}

const LEVEL_TONES = { error: "bad", warning: "warn" };

function diagnostics(list) {
  if (!list.length) return null;
  return h(
    "ul.shape",
    { data: { testid: "tool-diagnostics" } },
    list.map(({ rule, level, place, message }) =>
      h(
        "li",
        {},
        chip(String(level), LEVEL_TONES[level]),
        " ",
        h("code", {}, String(rule)),
        place ? h("span.muted", {}, ` ${place}`) : null,
        h("p.hint", {}, codeText(message)),
      ),
    ),
  );
}

function parameters(schema) {
  const entries = Object.entries(schema.properties ?? {});
  if (!entries.length) return null;
  const required = Array.isArray(schema.required) ? schema.required : [];
  return h(
    "ul.shape",
    { data: { testid: "tool-arguments" } },
    entries.map(([name, entry]) => {
      const { type, description } = entry ?? {};
      return h(
        "li",
        {},
        h("code", {}, name),
        " ",
        h("span.muted", {}, [type].flat().filter(Boolean).join(" or ")),
        required.includes(name) ? [" ", chip("required")] : null,
        description ? h("p.hint", {}, String(description)) : null,
      );
    }),
  );
}
