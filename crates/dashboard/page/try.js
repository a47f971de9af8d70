// Try it: routes a task without running it, shows why, runs it on request, and takes corrections.

import { get, post } from "./api.js";
import { candidateList } from "./candidates.js";
import { h } from "./dom.js";
import { duration, inline, percent } from "./format.js";
import { isSettled, verdictBar } from "./feedback.js";
import { stepGraph } from "./graph.js";
import { icon } from "./icons.js";
import {
  announce,
  argumentValue,
  busy,
  card,
  chip,
  codeText,
  confirmation,
  decisionChip,
  emptyPanel,
  endingChip,
  facts,
  jsonBlock,
  load,
  pageHead,
  shareBar,
  toolName,
} from "./ui.js";

const SOURCES = {
  given: "given by the caller",
  named: "from the values you gave",
  text: "stands in the task",
  implied: "implied by the words",
  earlier: "from an earlier result",
  default: "default of the schema",
  model: "found by the language model",
};

const EXAMPLES = [
  "search my notes for AI",
  "what time is it in Tokyo",
  "create a note called Groceries with milk and eggs",
];

export function show(root, { query, signal }) {
  const input = h("textarea", {
    rows: "2",
    placeholder: "What do you want to do?",
    "aria-label": "Task",
    spellcheck: "true",
    data: { testid: "try-task", search: "", autofocus: "" },
    on: {
      keydown: (event) => {
        if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
        event.preventDefault();
        form.requestSubmit();
      },
    },
  });
  const server = h(
    "select",
    { "aria-label": "Server", data: { testid: "try-server" } },
    h("option", { value: "" }, "All servers"),
  );
  const submit = h(
    "button.primary",
    { type: "submit", data: { testid: "try-submit" } },
    icon("try"),
    "Route",
  );
  const form = h(
    "form.try-form",
    { on: { submit: (event) => (event.preventDefault(), route()) } },
    input,
    h("div.try-controls", {}, server, h("span.hint", {}, "Nothing runs until you say so."), submit),
  );
  const result = h("div.stack", { data: { testid: "try-result" }, "aria-live": "polite" });
  root.append(pageHead("Try it", "Type a task as you would say it to an assistant."), form, result);
  result.append(examples((text) => ((input.value = text), route())));

  get("servers", {}, signal)
    .then(({ servers }) => server.append(...servers.map(({ name }) => h("option", { value: name }, name))))
    .catch(() => {});
  if (query.get("task")) {
    input.value = query.get("task");
    route();
  }

  async function route() {
    const task = input.value.trim();
    if (submit.disabled) return;
    if (!task) {
      input.focus();
      return;
    }
    submit.disabled = true;
    const body = { task, ...(server.value ? { server: server.value } : {}) };
    const answer = await load(
      result,
      signal,
      () => post("try", body, signal),
      (found) => renderRouting(task, found),
    );
    submit.disabled = false;
    if (answer)
      announce(
        `${answer.decision}${answer.tool ? `, ${answer.tool}` : ""}, confidence ${percent(answer.confidence)}`,
      );
  }

  function renderRouting(task, found) {
    const verdict = verdictBar({
      route: found.routeId,
      tool: found.tool,
      decision: found.decision,
      signal,
      onMarked: () => (again.hidden = false),
    });
    const again = h(
      "button.small",
      { type: "button", hidden: true, data: { testid: "try-again" }, on: { click: route } },
      icon("refresh"),
      "Route again",
    );
    const correctTo = (candidate) =>
      candidate.tool === found.tool && isSettled(found.decision)
        ? null
        : h(
            "button.small.quiet",
            {
              type: "button",
              data: { testid: "candidate-meant" },
              on: { click: (event) => verdict.correct(event.currentTarget, candidate.tool) },
            },
            "Should have been this",
          );
    const plan = found.steps?.length ? card("Plan", { testid: "try-plan" }, stepGraph(found.steps)) : null;
    // A question comes before its arguments are known, so there is no call to show.
    const call = found.tool && !plan && found.decision !== "ask" ? callCard(task, found, signal) : null;
    const side = plan || call ? h("div.stack.try-side", {}, plan, call) : null;
    const candidates = found.candidates?.length
      ? candidateList(found.candidates, {
          chosen: found.tool,
          decision: found.decision,
          action: correctTo,
        })
      : emptyPanel("No tool is close.", "Check that the server is listed under Servers.");
    const considered = plan && !found.candidates?.length ? null : card("Candidates", {}, candidates);
    return [
      decisionCard(found, verdict, again),
      h(side && considered ? "div.grid.two.uneven" : "div.grid", {}, side, considered),
    ];
  }
}

function examples(use) {
  return h(
    "div.examples",
    {},
    h("p.muted", {}, "For example:"),
    EXAMPLES.map((text) =>
      h("button.quiet.example", { type: "button", on: { click: () => use(text) } }, text),
    ),
  );
}

const HEADLINES = {
  act: "Would run",
  draft: "Would return a draft of",
  ask: "Would ask",
  plan: "Would make a plan",
  candidates: "Would list candidates",
  decline: "Would decline: no tool fits",
  failed: "Could not route",
};

function decisionCard(found, verdict, again) {
  return h(
    "section.card.decision-card",
    { data: { testid: "try-decision", decision: found.decision }, "aria-label": "Decision" },
    h(
      "div.decision-line",
      {},
      decisionChip(found.decision),
      h(
        "p.decision-head",
        {},
        HEADLINES[found.decision] ?? found.decision,
        " ",
        found.tool && !["ask", "plan"].includes(found.decision) ? toolName(found.tool) : null,
      ),
      h(
        "span.decision-side",
        {},
        h("span.muted", {}, "confidence"),
        shareBar(found.confidence),
        h("span.muted", {}, duration(found.ms)),
      ),
    ),
    found.question
      ? h("blockquote.question", { data: { testid: "try-question" } }, codeText(found.question))
      : null,
    note("Said, but not part of the call:", found.unused),
    note("Not done by this call:", found.notDone),
    found.needsConfirmation
      ? h("p.muted", { data: { testid: "try-consent" } }, "Asks first: ", codeText(found.needsConfirmation))
      : null,
    found.provisional
      ? h("p.hint", {}, "Some tools are not embedded yet; in a moment the answer may be better.")
      : null,
    found.routeId ? h("div.decision-foot", {}, verdict.box, again) : null,
  );
}

function note(label, texts) {
  return texts?.length
    ? h(
        "p.muted",
        {},
        label,
        " ",
        texts.map((text) => [h("q.words", {}, text), " "]),
      )
    : null;
}

/** The call as it would be made. Its values can be changed before it runs. */
function callCard(task, found, signal) {
  const known = found.arguments ?? [];
  const rows = [
    ...known.map((argument) => ({ ...argument, isUnsure: found.unsure?.includes(argument.name) })),
    ...(found.missingFields ?? [])
      .filter(({ name }) => !known.some((argument) => argument.name === name))
      .map((field) => ({ ...field, isMissing: true })),
  ];
  const inputs = new Map();
  const outcome = h("div.run-outcome", { role: "status", data: { testid: "run-outcome" } });
  const runButton = h(
    "button.primary",
    { type: "button", data: { testid: "run" }, on: { click: () => run() } },
    icon("play"),
    "Run it",
  );

  async function run(confirm) {
    const body = {
      task,
      tool: found.tool,
      arguments: readValues(rows, inputs),
      ...(confirm ? { confirm: true } : {}),
    };
    const answer = await busy(runButton, () => post("run", body, signal));
    if (!answer) return;
    if (answer.needsConfirmation && !confirm) {
      const isAgreed = await confirmation({
        title: "Run this?",
        text: answer.needsConfirmation,
        detail: facts([
          ["Tool", toolName(found.tool, { plain: true })],
          ...Object.entries(body.arguments).map(([name, value]) => [name, argumentValue(value)]),
        ]),
        action: "Run it",
        isDangerous: true,
      });
      if (isAgreed) await run(true);
      else outcome.replaceChildren(h("p.muted", {}, "Not run."));
      return;
    }
    outcome.replaceChildren(
      h("p.outcome-line", {}, endingChip(answer.outcome), h("span.muted", {}, duration(answer.ms))),
      answer.result === undefined || answer.result === null
        ? ""
        : jsonBlock(readable(answer.result), "Result"),
      answer.message ? h("p.bad-text", {}, codeText(answer.message)) : "",
    );
  }

  return card(
    "Call",
    { testid: "try-call" },
    rows.length
      ? h(
          "ul.arguments",
          {},
          rows.map((row) => argumentRow(row, inputs)),
        )
      : h("p.muted", {}, "It runs without arguments."),
    h("div.button-row", {}, runButton),
    outcome,
  );
}

function argumentRow(row, inputs) {
  const { name, source, confidence, description, isMissing, isUnsure } = row;
  const input = argumentInput(row);
  inputs.set(name, input);
  return h(
    "li",
    { data: { testid: "argument", name } },
    h(
      "div.argument-head",
      {},
      h("code.argument-name", {}, name),
      isMissing
        ? chip("missing", "bad")
        : h("span.argument-source", { data: { testid: "argument-source" } }, SOURCES[source] ?? source ?? ""),
      isUnsure ? chip("unsure", "warn") : null,
      typeof confidence === "number" && !isMissing ? h("span.number.muted", {}, percent(confidence)) : null,
    ),
    input,
    description ? h("p.hint", {}, description) : null,
  );
}

function argumentInput({ name, value, choices, isMissing }) {
  const attributes = {
    "aria-label": `Value of ${name}`,
    spellcheck: "false",
    data: { testid: "argument-value", name },
  };
  if (choices?.length) {
    return h(
      "select",
      attributes,
      h("option", { value: "" }, ""),
      choices.map((choice) => h("option", { value: inline(choice) }, inline(choice))),
    );
  }
  const text = isMissing ? "" : inline(value);
  return h(text.length > 60 ? "textarea" : "input", { ...attributes, value: text });
}

/** Values that nobody touched stay as they are; others take the type of the old value, or of the missing field. */
function readValues(rows, inputs) {
  const values = Object.create(null);
  for (const { name, value, kind, isMissing } of rows) {
    const text = inputs.get(name).value;
    if (isMissing && text === "") continue;
    const isText = isMissing ? kind === "string" : typeof value === "string";
    const isUntouched = !isMissing && text === inline(value);
    place(values, isMissing ? name.split(".") : [name], isUntouched ? value : isText ? text : parsed(text));
  }
  return values;
}

/** Sets a value at a path such as `filter.city`. Without prototypes, `__proto__` is a name like any other. */
function place(values, [first, ...rest], value) {
  if (!rest.length) {
    values[first] = value;
    return;
  }
  values[first] = Object.assign(
    Object.create(null),
    typeof values[first] === "object" ? values[first] : null,
  );
  place(values[first], rest, value);
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The text of a tool's answer where it is nothing but text, else all of it. */
function readable(result) {
  if (typeof result?.text === "string" && Object.keys(result).length === 1) return result.text;
  const blocks = result?.content;
  if (Array.isArray(blocks) && blocks.length && blocks.every((block) => block.type === "text")) {
    return blocks.map((block) => block.text).join("\n");
  }
  return result;
}
