// Workflows: the ones that can be started, and every run with its progress.

import { get, live, path, post } from "./api.js";
import { h, withVars } from "./dom.js";
import { ago, plural } from "./format.js";
import { stateText, stateTone, stepGraph } from "./graph.js";
import { icon } from "./icons.js";
import {
  busy,
  card,
  chip,
  codeText,
  confirmation,
  emptyPanel,
  field,
  load,
  openSheet,
  pageHead,
  toast,
} from "./ui.js";

const POLL_MS = 2000;
const OPEN = ["running", "waiting", "interrupted"];
const FINISHED_STEPS = ["done", "skipped", "undone"];

export function show(root, { signal }) {
  const templates = h("div", { data: { testid: "templates" } });
  const runs = h("div", { data: { testid: "runs" } });
  let timer = null;
  let drawn = "";
  root.append(
    pageHead("Workflows", "Tasks of several steps. A run survives a crash and can be resumed."),
    card("Runs", {}, runs),
    card("Start a workflow", {}, templates),
  );
  const fetchAll = () => get("workflows", {}, signal);

  async function draw() {
    await load(runs, signal, fetchAll, (all) => {
      templates.replaceChildren(
        ...[mistakes(all.mistakes ?? []), renderTemplates(all.templates)].filter(Boolean),
      );
      return renderRuns(all.runs);
    });
  }

  /** Asks again while a run is under way. The list is drawn anew only if something changed, so that focus stays. */
  async function poll() {
    const all = await fetchAll().catch(() => null);
    if (!all || signal.aborted) return;
    if (JSON.stringify(all.runs) === drawn) schedule(all.runs);
    else runs.replaceChildren(renderRuns(all.runs));
  }

  function schedule(list) {
    clearTimeout(timer);
    if (list.some((run) => run.state === "running")) timer = setTimeout(poll, POLL_MS);
  }

  function renderRuns(list) {
    drawn = JSON.stringify(list);
    schedule(list);
    if (!list.length) return emptyPanel("No run yet.", "Start one below, or with `toolyard run`.");
    return h(
      "ul.runs",
      {},
      list.map((run, at) => runItem(run, at === 0, poll)),
    );
  }

  function renderTemplates(list) {
    if (!list.length)
      return emptyPanel(
        "No workflow fits your servers.",
        "Put a file into the folder `workflows` beside your `toolyard.json`.",
      );
    return h(
      "ul.templates",
      {},
      list.map((template) =>
        h(
          "li.template",
          { data: { testid: "template", name: template.name } },
          h(
            "div",
            {},
            h("h3", {}, template.title ?? template.name),
            h("p.muted", {}, template.description ?? ""),
            h("p.hint", {}, plural(template.steps.length, "step", "steps")),
          ),
          h(
            "button",
            {
              type: "button",
              data: { testid: "template-open" },
              on: { click: () => startSheet(template, poll) },
            },
            icon("play"),
            "Start …",
          ),
        ),
      ),
    );
  }

  draw();
  live.addEventListener("resumed", draw, { signal });
  signal.addEventListener("abort", () => clearTimeout(timer));
}

const openRuns = new Set();

function runItem(run, isFirst, refresh) {
  const done = run.steps.filter((step) => FINISHED_STEPS.includes(step.state)).length;
  const act = async (source, verb, body, said) => {
    const answer = await busy(source, async () => (await post(path("runs", run.id, verb), body), true));
    if (!answer) return;
    toast(said);
    refresh();
  };
  const answer = (source, confirm) =>
    act(
      source,
      "resume",
      { confirm, digest: run.digest },
      confirm ? "The run continues." : "The call is not made.",
    );
  const cancel = async (source) => {
    const undo = h("input", { type: "checkbox", data: { testid: "cancel-undo" } });
    const isAgreed = await confirmation({
      title: "Cancel this run?",
      text: "Steps that are done stay done.",
      detail: h("label.check", {}, undo, "Undo them where that is possible"),
      action: "Cancel the run",
      isDangerous: true,
    });
    if (isAgreed) act(source, "cancel", { undo: undo.checked }, "The run is cancelled.");
  };
  const button = (testid, label, run) =>
    h(
      "button.small",
      { type: "button", data: { testid }, on: { click: (event) => run(event.currentTarget) } },
      label,
    );
  const details = h(
    "details",
    {
      open: openRuns.has(run.id) || (isFirst && OPEN.includes(run.state)),
      on: { toggle: () => (details.open ? openRuns.add(run.id) : openRuns.delete(run.id)) },
    },
    h("summary", {}, "Steps"),
    stepGraph(run.steps, { testid: "run-graph" }),
  );
  return h(
    "li.run",
    { data: { testid: "run-item", id: run.id, state: run.state } },
    h(
      "div.run-head",
      {},
      h("div", {}, h("h3", {}, run.name), h("p.hint", {}, ago(run.started), " · ", h("code", {}, run.id))),
      h("span", { data: { testid: "run-state" } }, chip(stateText(run.state), stateTone(run.state))),
    ),
    withVars(
      h(
        "div.progress",
        {
          role: "progressbar",
          "aria-label": "Progress",
          "aria-valuemin": "0",
          "aria-valuemax": String(run.steps.length),
          "aria-valuenow": String(done),
          data: { tone: stateTone(run.state) },
        },
        h("span"),
      ),
      { share: `${run.steps.length ? (100 * done) / run.steps.length : 0}%` },
    ),
    h(
      "div.run-foot",
      {},
      h("span.muted", {}, `${done} of ${plural(run.steps.length, "step", "steps")}`),
      h(
        "div.button-row",
        {},
        run.state === "interrupted"
          ? button("run-resume", "Resume", (source) => act(source, "resume", {}, "The run continues."))
          : null,
        OPEN.includes(run.state) ? button("run-cancel", "Cancel", cancel) : null,
      ),
    ),
    run.needsConfirmation
      ? h(
          "div.run-question",
          { data: { testid: "run-question" } },
          h("p", {}, codeText(run.needsConfirmation)),
          h(
            "div.button-row",
            {},
            button("run-confirm", "Yes, go on", (source) => answer(source, true)),
            button("run-refuse", "No", (source) => answer(source, false)),
          ),
        )
      : null,
    run.why ? h("p.run-note.bad-text", { data: { testid: "run-why" } }, codeText(run.why)) : null,
    run.advice?.length
      ? h(
          "ul.plain.hint",
          {},
          run.advice.map((text) => h("li", {}, codeText(text))),
        )
      : null,
    details,
  );
}

/** Files of workflows that cannot be read, with what is wrong in them. */
function mistakes(list) {
  if (!list.length) return null;
  return h(
    "div.panel-state.is-error",
    { data: { testid: "workflow-mistakes" } },
    icon("alert"),
    h(
      "div",
      {},
      h("p.state-title", {}, "Some workflows cannot be read."),
      list.map((text) => h("p", {}, text)),
    ),
  );
}

function startSheet(template, refresh) {
  const sheet = openSheet({ title: template.name, testid: "start-sheet" });
  const properties = Object.entries(template.inputs?.properties ?? {});
  const required = template.inputs?.required ?? [];
  const controls = new Map();
  const submit = h(
    "button.primary",
    { type: "submit", data: { testid: "start-submit" } },
    icon("play"),
    "Start",
  );
  const form = h(
    "form.stack",
    {
      on: {
        submit: async (event) => {
          event.preventDefault();
          const inputs = readInputs(properties, controls);
          const answer = await busy(
            submit,
            async () => (await post(path("workflows", template.name, "start"), { inputs }), true),
          );
          if (!answer) return;
          sheet.close();
          toast(`${template.name} has started.`);
          refresh();
        },
      },
    },
    properties.map(([name, schema]) => {
      const control = inputFor(name, schema, required.includes(name));
      controls.set(name, control);
      return field(required.includes(name) ? name : `${name} (optional)`, control, schema.description);
    }),
    h("div.button-row", {}, submit),
  );
  sheet.body.append(
    h("p.muted", {}, template.description ?? ""),
    form,
    h(
      "section.trace-section",
      {},
      h("h3", {}, "Steps"),
      stepGraph(template.steps, { testid: "template-graph" }),
    ),
  );
}

function inputFor(name, schema, isRequired) {
  const data = { testid: "input", name };
  if (Array.isArray(schema.enum)) {
    return h(
      "select",
      { required: isRequired, data },
      isRequired ? null : h("option", { value: "" }, ""),
      schema.enum.map((value) =>
        h("option", { value: String(value), selected: value === schema.default }, String(value)),
      ),
    );
  }
  if (schema.type === "boolean")
    return h("input", { type: "checkbox", checked: schema.default === true, data });
  const type = schema.type === "integer" || schema.type === "number" ? "number" : "text";
  const step = schema.type === "number" ? "any" : null;
  return h("input", {
    type,
    step,
    required: isRequired,
    value: schema.default === undefined ? "" : textOf(schema.default),
    autocomplete: "off",
    data,
  });
}

function readInputs(properties, controls) {
  const inputs = {};
  for (const [name, schema] of properties) {
    const control = controls.get(name);
    if (schema.type === "boolean") inputs[name] = control.checked;
    else if (control.value !== "") inputs[name] = typed(control.value, schema);
  }
  return inputs;
}

function typed(text, schema) {
  if (Array.isArray(schema.enum)) return schema.enum.find((value) => String(value) === text);
  if (schema.type === "integer" || schema.type === "number") return Number(text);
  if (schema.type === "array" || schema.type === "object") {
    try {
      return JSON.parse(text);
    } catch {
      return schema.type === "array" ? text.split(",").map((part) => part.trim()) : text;
    }
  }
  return text;
}

function textOf(value) {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
