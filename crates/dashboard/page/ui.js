// The parts that several views share: loading and error states, dialogs, sheets, notices, small displays.

import { freshId, h, withVars } from "./dom.js";
import { DECISIONS, count, decisionMeaning, inline, percent, toolParts } from "./format.js";
import { icon } from "./icons.js";

const SKELETON_DELAY_MS = 150;

/** The latest load of each box. An older one that is slower must not win. */
const latest = new WeakMap();

/**
 * Fills `box` with what `render` makes of what `fetch` returns. A slow answer shows a skeleton, a failed one the
 * message, the hint and a way to try again. Resolves to the value, or to null after a failure or if the box is loaded
 * anew meanwhile.
 */
export async function load(box, signal, fetch, render) {
  const turn = {};
  latest.set(box, turn);
  const isStale = () => signal.aborted || latest.get(box) !== turn;
  const slow = setTimeout(() => isStale() || box.replaceChildren(skeleton()), SKELETON_DELAY_MS);
  box.setAttribute("aria-busy", "true");
  try {
    const value = await fetch();
    if (isStale()) return null;
    clearTimeout(slow);
    box.replaceChildren(...[render(value)].flat(Infinity).filter(Boolean));
    return value;
  } catch (error) {
    clearTimeout(slow);
    if (isStale() || error.name === "AbortError") return null;
    box.replaceChildren(errorPanel(error, () => load(box, signal, fetch, render)));
    return null;
  } finally {
    clearTimeout(slow);
    if (latest.get(box) === turn) box.removeAttribute("aria-busy");
  }
}

function skeleton(rows = 5) {
  return h(
    "div.skeleton",
    { role: "status", data: { testid: "loading" } },
    h("span.visually-hidden", {}, "Loading…"),
    Array.from({ length: rows }, () => h("div.skeleton-row", { "aria-hidden": "true" })),
  );
}

function errorPanel(error, retry) {
  return h(
    "div.panel-state.is-error",
    { role: "alert", data: { testid: "error" } },
    icon("alert"),
    h(
      "div",
      {},
      h("p.state-title", {}, error.message),
      error.hint ? h("p.muted", {}, codeText(error.hint)) : null,
      retry
        ? h("button", { type: "button", data: { testid: "retry" }, on: { click: retry } }, "Try again")
        : null,
    ),
  );
}

export function emptyPanel(title, ...rest) {
  return h(
    "div.panel-state",
    { data: { testid: "empty" } },
    h(
      "div",
      {},
      h("p.state-title", {}, title),
      rest.map((part) => (typeof part === "string" ? h("p.muted", {}, codeText(part)) : part)),
    ),
  );
}

/** Sets the parts of a text that stand in backticks as code. */
export function codeText(text) {
  return String(text)
    .split("`")
    .map((part, at) => (at % 2 ? h("code", {}, part) : part));
}

export function pageHead(title, lead, ...actions) {
  return h(
    "div.page-head",
    {},
    h(
      "div",
      {},
      h("h1", { tabindex: "-1", data: { testid: "page-title" } }, title),
      lead ? h("p.lead", {}, lead) : null,
    ),
    actions.length ? h("div.page-actions", {}, actions) : null,
  );
}

export function card(title, options, ...children) {
  const id = freshId("card");
  return h(
    "section.card",
    { "aria-labelledby": title ? id : null, data: { testid: options?.testid } },
    title ? h("div.card-head", {}, h("h2", { id }, title), options?.aside ?? null) : null,
    children,
  );
}

export function chip(text, tone, title) {
  return h("span.chip", { data: { tone: tone ?? "plain" }, title }, text);
}

/** Names who asked. People are told apart by a digest, of which the beginning is enough to read. */
export function person(who) {
  return h("span", { title: who }, who.length > 12 ? `${who.slice(0, 8)}…` : who);
}

export function decisionChip(decision) {
  const isKnown = DECISIONS.includes(decision);
  return h(
    "span.chip.decision",
    { data: { decision: isKnown ? decision : "other" }, title: decisionMeaning(decision) },
    decision,
  );
}

const EFFECT_TONES = { read: "plain", write: "warn", destroy: "bad" };

export function effectChip(effect) {
  return effect ? chip(effect, EFFECT_TONES[effect]) : null;
}

const ENDING_TONES = { answered: "ok", failed: "bad", unreachable: "bad", refused: "warn", denied: "warn" };

export function endingChip(ending) {
  return ending ? chip(ending, ENDING_TONES[ending]) : null;
}

/** Shows a tool's id with its server set back, as a link to the tool unless `plain`. */
export function toolName(id, options) {
  if (!id) return h("span.muted", {}, "no tool");
  const { server, tool } = toolParts(id);
  const parts = [server ? h("span.tool-server", {}, `${server}__`) : null, h("span.tool-own", {}, tool)];
  if (options?.plain) return h("span.tool-name", { title: id }, parts);
  return h("a.tool-name", { href: `#/tools/${encodeURIComponent(id)}`, title: id }, parts);
}

/** A horizontal bar with its share in words. */
export function shareBar(value, options) {
  const bounded = Math.max(0, Math.min(1, value || 0));
  return h(
    "span.share",
    {},
    withVars(
      h("span.share-track", { "aria-hidden": "true", data: { tone: options?.tone } }, h("span.share-fill")),
      {
        share: `${(bounded * 100).toFixed(1)}%`,
      },
    ),
    h("span.share-text", {}, options?.label ?? percent(value)),
  );
}

export function field(label, control, hint) {
  const id = control.id || freshId("field");
  control.id = id;
  const hintId = hint ? freshId("hint") : null;
  if (hintId) control.setAttribute("aria-describedby", hintId);
  return h(
    "div.field",
    {},
    h("label", { for: id }, label),
    control,
    hint ? h("p.hint", { id: hintId }, codeText(hint)) : null,
  );
}

export function select(options, value, onChange, attributes) {
  const control = h(
    "select",
    { ...attributes, on: { change: () => onChange(control.value) } },
    options.map(([key, label]) => h("option", { value: key }, label)),
  );
  control.value = value ?? "";
  return control;
}

/** Pairs of a term and its value. Pairs without a value are left out. */
export function facts(pairs) {
  return h(
    "dl.facts",
    {},
    pairs
      .filter(([, value]) => value !== null && value !== undefined && value !== "")
      .map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value))),
  );
}

/** A JSON value as a block that can be selected and scrolled. */
export function jsonBlock(value, label) {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return h("pre.code", { tabindex: "0", role: "region", "aria-label": label ?? "JSON" }, text ?? "null");
}

/** The value of one argument, shortened, with all of it as its title. */
export function argumentValue(value) {
  const text = inline(value);
  return h("code.value", { title: text }, text.length > 160 ? `${text.slice(0, 159)}…` : text);
}

function copyButton(text, label = "Copy") {
  return h(
    "button.small",
    {
      type: "button",
      on: {
        click: async () => {
          try {
            await navigator.clipboard.writeText(text);
            toast("Copied.");
          } catch {
            toast("The browser did not allow copying. Select the text instead.");
          }
        },
      },
    },
    label,
  );
}

/** A command to type, with a button that copies it. */
export function command(text) {
  return h("div.command", {}, h("code", {}, text), copyButton(text));
}

export function announce(text) {
  const box = document.getElementById("announcer");
  box.textContent = "";
  requestAnimationFrame(() => (box.textContent = text));
}

/** Shows a short notice, with an action where there is one. */
export function toast(text, action) {
  const notice = h(
    "div.toast",
    {},
    h("span", {}, text),
    action
      ? h(
          "button.small",
          {
            type: "button",
            data: { testid: "toast-action" },
            on: { click: () => (notice.remove(), action.run()) },
          },
          action.label,
        )
      : null,
  );
  toastPlace().replaceChildren(notice);
  setTimeout(() => notice.remove(), action ? 10_000 : 5000);
}

/** Below an open dialog the page is inert, so the notice goes into the dialog. */
function toastPlace() {
  const dialog = [...document.querySelectorAll("dialog[open]")].at(-1);
  if (!dialog) return document.getElementById("toasts");
  const place = dialog.querySelector(".toasts") ?? h("div.toasts", { role: "status", "aria-live": "polite" });
  dialog.append(place);
  return place;
}

/** Runs `work` with the button disabled, and shows a failure as a notice. Resolves to null after a failure. */
export async function busy(button, work) {
  button.disabled = true;
  button.setAttribute("aria-busy", "true");
  try {
    return await work();
  } catch (error) {
    if (error.name !== "AbortError") toast(error.hint ? `${error.message} ${error.hint}` : error.message);
    return null;
  } finally {
    button.disabled = false;
    button.removeAttribute("aria-busy");
  }
}

/** Asks before something happens. Resolves to whether the person agreed. */
export function confirmation({ title, text, detail, action, isDangerous }) {
  const titleId = freshId("dialog");
  return new Promise((resolve) => {
    const dialog = h(
      "dialog.dialog",
      { "aria-labelledby": titleId, data: { testid: "confirm-dialog" }, on: { close: finish } },
      h("h2", { id: titleId }, title),
      h("p", {}, codeText(text)),
      detail ?? null,
      h(
        "div.dialog-actions",
        {},
        h(
          "button",
          {
            type: "button",
            autofocus: true,
            data: { testid: "confirm-no" },
            on: { click: () => dialog.close("no") },
          },
          "Cancel",
        ),
        h(
          `button.${isDangerous ? "danger" : "primary"}`,
          { type: "button", data: { testid: "confirm-yes" }, on: { click: () => dialog.close("yes") } },
          action,
        ),
      ),
    );
    function finish() {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    }
    document.body.append(dialog);
    dialog.showModal();
  });
}

/**
 * Opens a sheet beside the list that it belongs to. `onClose` is called when the person closes it, not when the
 * returned `close` does.
 */
export function openSheet({ title, testid, onClose }) {
  const titleId = freshId("sheet");
  const body = h("div.sheet-body", {});
  let isOurs = false;
  const opened = location.hash;
  const dialog = h(
    "dialog.sheet",
    { "aria-labelledby": titleId, data: { testid } },
    h(
      "div.sheet-head",
      {},
      h("h2", { id: titleId, tabindex: "-1", autofocus: true }, title),
      h(
        "button.quiet.icon-button",
        {
          type: "button",
          "aria-label": "Close",
          data: { testid: "sheet-close" },
          on: { click: () => dialog.close() },
        },
        icon("close"),
      ),
    ),
    body,
  );
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener("close", () => {
    dialog.remove();
    // The browser tells of it later; whoever went elsewhere meanwhile stays there.
    if (!isOurs && location.hash === opened) onClose?.();
  });
  document.body.append(dialog);
  dialog.showModal();
  return {
    body,
    close() {
      isOurs = true;
      dialog.close();
    },
  };
}

/** Loads the next page when the end of the list comes into view; the button is there for keyboards. */
export function pager(signal, next) {
  const button = h(
    "button",
    { type: "button", data: { testid: "load-more" }, on: { click: () => turn() } },
    "Load more",
  );
  const box = h("div.pager", { hidden: true }, button);
  let isTurning = false;
  async function turn() {
    if (isTurning || box.hidden) return;
    isTurning = true;
    await busy(button, next);
    isTurning = false;
  }
  const observer = new IntersectionObserver(
    (entries) => entries.some((entry) => entry.isIntersecting) && turn(),
    { rootMargin: "300px" },
  );
  observer.observe(box);
  signal.addEventListener("abort", () => observer.disconnect());
  return { box, setMore: (hasMore) => (box.hidden = !hasMore) };
}

export function total(amount, one, many) {
  return h(
    "p.total",
    { role: "status", data: { testid: "total" } },
    `${count(amount)} ${amount === 1 ? one : many}`,
  );
}
