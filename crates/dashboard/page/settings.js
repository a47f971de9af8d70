// Settings: the thresholds with their meaning, the policy, and what a change would have done to yesterday's routes.

import { get, post } from "./api.js";
import { debounce, freshId, h } from "./dom.js";
import { count, decimal, percent, plural, precise } from "./format.js";
import {
  announce,
  busy,
  card,
  codeText,
  command,
  decisionChip,
  emptyPanel,
  jsonBlock,
  load,
  pageHead,
  toolName,
} from "./ui.js";

export function show(root, { signal }) {
  const box = h("div.stack", { data: { testid: "settings" } });
  root.append(
    pageHead(
      "Settings",
      "How the hub decides. Settings are kept in toolyard.json; here you see what a change would do.",
    ),
    box,
  );
  load(
    box,
    signal,
    () => get("settings", {}, signal),
    (settings) => [
      previewCard(settings.routing.confidenceThreshold, signal),
      h(
        "div.grid.two",
        {},
        settingsCard("Routing", "settings-routing", settings.routing),
        h(
          "div.stack",
          {},
          settingsCard("Policy", "settings-policy", settings.policy),
          settingsCard("Kept in history", "settings-history", settings.history),
        ),
      ),
      thresholdsCard(settings.thresholds),
    ],
  );
}

/** Shows what another confidence threshold would have made of the routes of the last day. */
function previewCard(threshold, signal) {
  const id = freshId("threshold");
  const result = h("div.preview-result", { role: "status", data: { testid: "preview-result" } });
  const current = h("output.number", { for: id }, decimal(threshold));
  const slider = h("input", {
    id,
    type: "range",
    min: "0",
    max: "1",
    step: "0.01",
    data: { testid: "threshold" },
    on: { input: update },
  });
  slider.value = String(threshold);
  const preview = h(
    "button.primary",
    { type: "button", disabled: true, data: { testid: "preview" }, on: { click: run } },
    "Preview on the last day’s routes",
  );
  const reset = h(
    "button.quiet",
    { type: "button", disabled: true, data: { testid: "preview-reset" }, on: { click: restore } },
    "Reset",
  );

  function update() {
    const isChanged = Number(slider.value) !== threshold;
    current.textContent = decimal(Number(slider.value));
    current.classList.toggle("is-changed", isChanged);
    preview.disabled = reset.disabled = !isChanged;
  }

  function restore() {
    slider.value = String(threshold);
    update();
    result.replaceChildren();
  }

  async function run() {
    const wanted = { confidenceThreshold: Number(slider.value) };
    const answer = await busy(preview, () => post("settings/preview", wanted, signal));
    if (!answer) return;
    result.replaceChildren(...previewResult(answer, wanted));
    announce(`${answer.changed.length} of ${answer.total} routes would change`);
  }

  return card(
    "Confidence threshold",
    { testid: "confidence" },
    h(
      "div.threshold.is-single",
      {},
      h(
        "div.threshold-text",
        {},
        h("label", { for: id }, h("code", {}, "routing.confidenceThreshold")),
        h(
          "p.hint",
          {},
          "Below this confidence the hub asks instead of acting. Higher: fewer mistakes, more questions.",
        ),
      ),
      h("div.threshold-control", {}, slider, current),
    ),
    h("div.button-row", {}, preview, reset),
    result,
  );
}

/** Every number that decides, by group. They are fitted together, so they can be read here but not changed. */
function thresholdsCard(thresholds) {
  const list = h("div.threshold-groups", {});
  const search = h("input", {
    type: "search",
    placeholder: "Search thresholds",
    "aria-label": "Search thresholds",
    data: { testid: "thresholds-search", search: "" },
    on: { input: debounce(120, render) },
  });

  function render() {
    const text = search.value.trim().toLowerCase();
    const found = thresholds.filter(({ name, meaning }) => `${name} ${meaning}`.toLowerCase().includes(text));
    const groups = Map.groupBy(found, ({ name }) => name.split(".")[0]);
    const shown = [...groups].map(([group, entries]) =>
      h(
        "details",
        { open: text !== "" || group === "decision", data: { testid: "threshold-group", name: group } },
        h("summary", {}, `${group} (${entries.length})`),
        h("ul.thresholds", {}, entries.map(thresholdItem)),
      ),
    );
    list.replaceChildren(...(shown.length ? shown : [emptyPanel("No threshold fits these words.")]));
  }

  render();
  return card("Thresholds", { testid: "thresholds" }, h("div.filters", { role: "search" }, search), list);
}

function thresholdItem({ name, value, meaning, source }) {
  return h(
    "li.threshold",
    { data: { testid: "threshold-item", name } },
    h(
      "div.threshold-text",
      {},
      h("code", {}, name),
      h("p.hint", {}, codeText(meaning ?? "")),
      source ? h("p.hint.threshold-source", {}, "Source: ", codeText(source)) : null,
    ),
    h("span.number", {}, precise(value)),
  );
}

function previewResult({ total, changed, notLookedAt }, wanted) {
  const share = total ? percent(changed.length / total) : "–";
  const setting = JSON.stringify({ routing: wanted }, null, 1).replace(/\s+/g, " ");
  return [
    h("h3", {}, `${count(changed.length)} of ${plural(total, "route", "routes")} would change (${share})`),
    changed.length
      ? h(
          "ul.changes",
          {},
          changed.map(({ id, words, tool, before, after }) =>
            h(
              "li",
              { data: { testid: "preview-change" } },
              h("a.change-words", { href: `#/routes/${encodeURIComponent(id)}` }, words ?? "words not kept"),
              h(
                "span.change-step",
                {},
                tool ? toolName(tool) : null,
                decisionChip(before),
                h("span.muted", { "aria-label": "becomes" }, "→"),
                decisionChip(after),
              ),
            ),
          ),
        )
      : h("p.muted", {}, "Every route would have been decided in the same way."),
    notLookedAt
      ? h(
          "p.muted",
          {},
          `${plural(notLookedAt, "route was", "routes were")} not looked at: it took too long.`,
        )
      : null,
    h("p.muted", {}, "To keep it, put this into toolyard.json:"),
    command(setting),
  ].filter(Boolean);
}

function settingsCard(title, testid, value) {
  const entries = Object.entries(value ?? {});
  if (!entries.length) return card(title, { testid }, emptyPanel("Everything is at its default."));
  return card(
    title,
    { testid },
    h(
      "dl.settings-list",
      {},
      entries.map(([name, entry]) =>
        h("div", {}, h("dt", {}, h("code", {}, name)), h("dd", {}, settingValue(name, entry))),
      ),
    ),
  );
}

function settingValue(name, entry) {
  if (entry === null || entry === undefined) return h("span.muted", {}, "not set");
  if (Array.isArray(entry) && entry.every((part) => typeof part !== "object")) {
    return entry.length
      ? h(
          "ul.plain",
          {},
          entry.map((part) => h("li", {}, h("code", {}, String(part)))),
        )
      : h("span.muted", {}, "none");
  }
  if (typeof entry === "object" && !Object.keys(entry).length) return h("span.muted", {}, "none");
  if (
    typeof entry === "object" &&
    Object.values(entry).every((part) => part === null || typeof part !== "object")
  ) {
    return h(
      "ul.plain",
      {},
      Object.entries(entry).map(([key, part]) =>
        h("li", {}, h("code", {}, key), " ", settingValue(key, part)),
      ),
    );
  }
  if (typeof entry === "object") return jsonBlock(entry, name);
  return h("code", {}, String(entry));
}
