// Writes numbers, times and decisions for people, in the language of the browser.

import { h } from "./dom.js";

const whole = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 });
const exactForm = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 6 });
const oneDigit = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });
const compactForm = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });
const share = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 0 });
const shareFine = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });

const MISSING = "–";

/** The decisions in the order in which charts stack them. */
export const DECISIONS = ["act", "draft", "plan", "ask", "candidates", "decline", "failed"];

const MEANINGS = {
  act: "ran the tool",
  draft: "returned a call to be finished",
  plan: "made a plan of several steps",
  ask: "asked a question",
  candidates: "listed candidates",
  decline: "found no tool that fits",
  failed: "could not route",
};

export function decisionMeaning(decision) {
  return MEANINGS[decision] ?? "";
}

export function count(value) {
  return isNumber(value) ? whole.format(value) : MISSING;
}

export function compact(value) {
  return isNumber(value) ? compactForm.format(value) : MISSING;
}

export function decimal(value) {
  return isNumber(value) ? fine.format(value) : MISSING;
}

/** Writes a number with all the digits that decide. */
export function precise(value) {
  return isNumber(value) ? exactForm.format(value) : MISSING;
}

export function percent(value) {
  if (!isNumber(value)) return MISSING;
  const isNearEdge = value > 0 && value < 1 && (value < 0.01 || value > 0.99);
  return (isNearEdge ? shareFine : share).format(value);
}

export function signed(value) {
  if (!isNumber(value)) return MISSING;
  return `${value < 0 ? "−" : "+"}${fine.format(Math.abs(value))}`;
}

/** Writes a duration given in milliseconds. */
export function duration(ms) {
  if (!isNumber(ms)) return MISSING;
  if (ms < 10) return `${oneDigit.format(ms)} ms`;
  if (ms < 1000) return `${whole.format(ms)} ms`;
  if (ms < 60_000) return `${oneDigit.format(ms / 1000)} s`;
  return span(ms / 1000);
}

/** Writes a long duration given in seconds, in its two largest units. */
export function span(seconds) {
  if (!isNumber(seconds)) return MISSING;
  const parts = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "min"],
    [Math.floor(seconds) % 60, "s"],
  ];
  const first = parts.findIndex(([value]) => value > 0);
  if (first < 0) return "0 s";
  return parts
    .slice(first, first + 2)
    .filter(([value]) => value > 0)
    .map(([value, unit]) => `${value} ${unit}`)
    .join(" ");
}

/** Returns a `<time>` that says how long ago it was, with the exact time as its title. */
export function ago(at) {
  if (!isNumber(at)) return h("span", {}, MISSING);
  const moment = new Date(at);
  return h(
    "time",
    { datetime: moment.toISOString(), title: exact.format(moment), data: { relative: String(at) } },
    agoText(at),
  );
}

/** Rewrites every relative time below `root`. */
export function refreshTimes(root) {
  for (const element of root.querySelectorAll("time[data-relative]")) {
    const text = agoText(Number(element.dataset.relative));
    if (element.textContent !== text) element.textContent = text;
  }
}

/** Writes a moment on the axis of a chart that spans `rangeMs`. */
export function tick(at, rangeMs) {
  const moment = new Date(at);
  return rangeMs > 2 * 86_400_000 ? day.format(moment) : clock.format(moment);
}

export function moment(at) {
  return exact.format(new Date(at));
}

/** Writes a JSON value in one line. */
export function inline(value) {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** Splits `server__tool` into its halves. */
export function toolParts(id) {
  const at = id.indexOf("__");
  return at < 0 ? { server: "", tool: id } : { server: id.slice(0, at), tool: id.slice(at + 2) };
}

export function plural(amount, one, many) {
  return `${count(amount)} ${amount === 1 ? one : many}`;
}

function agoText(at) {
  const seconds = (at - Date.now()) / 1000;
  const size = Math.abs(seconds);
  if (size < 5) return "just now";
  if (size < 60) return relative.format(Math.round(seconds), "second");
  if (size < 3600) return relative.format(Math.round(seconds / 60), "minute");
  if (size < 86_400) return relative.format(Math.round(seconds / 3600), "hour");
  if (size < 30 * 86_400) return relative.format(Math.round(seconds / 86_400), "day");
  return day.format(new Date(at));
}

function isNumber(value) {
  return typeof value === "number" && Number.isFinite(value);
}
