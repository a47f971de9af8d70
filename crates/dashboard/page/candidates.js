// Shows candidates: how likely each tool is, and the signals that raised or lowered it.

import { h, withVars } from "./dom.js";
import { isSettled } from "./feedback.js";
import { decimal, signed } from "./format.js";
import { chip, effectChip, shareBar, toolName } from "./ui.js";

const SIGNALS_SHOWN = 8;

/** Lists the candidates. `decision` says what became of the `chosen` one; `action` may add a button to each. */
export function candidateList(candidates, { chosen, decision, action } = {}) {
  const mark = isSettled(decision) ? ["chosen", "accent"] : ["closest"];
  const marked = chosen ?? candidates[0]?.tool;
  return h(
    "ol.candidates",
    { data: { testid: "candidates" } },
    candidates.map((candidate, at) =>
      h(
        "li.candidate",
        { data: { testid: "candidate", tool: candidate.tool } },
        h(
          "div.candidate-head",
          {},
          h(
            "span.candidate-name",
            {},
            toolName(candidate.tool),
            effectChip(candidate.effect),
            candidate.tool === marked ? chip(...mark) : null,
          ),
          shareBar(candidate.probability, { tone: at ? "faint" : null }),
        ),
        candidate.summary ? h("p.candidate-summary.muted", {}, candidate.summary) : null,
        candidate.reasons?.length ? h("p.candidate-reasons", {}, candidate.reasons.join(" · ")) : null,
        candidate.signals?.length || action
          ? h(
              "div.candidate-foot",
              {},
              candidate.signals?.length ? signalDetails(candidate.signals, at === 0) : h("div.no-signals"),
              action?.(candidate) ?? null,
            )
          : null,
      ),
    ),
  );
}

function signalDetails(signals, isOpen) {
  const sorted = signals
    .filter((signal) => signal.added)
    .sort((a, b) => Math.abs(b.added) - Math.abs(a.added));
  const most = Math.max(...sorted.map((signal) => Math.abs(signal.added)), 0.0001);
  const row = (signal) => signalRow(signal, most);
  const rest = sorted.slice(SIGNALS_SHOWN);
  return h(
    "details.signals",
    { open: isOpen, data: { testid: "signals" } },
    h("summary", {}, `Signals (${sorted.length})`),
    h("ul", {}, sorted.slice(0, SIGNALS_SHOWN).map(row)),
    rest.length
      ? h("details", {}, h("summary", {}, `${rest.length} weaker signals`), h("ul", {}, rest.map(row)))
      : null,
  );
}

function signalRow({ name, meaning, value, added }, most) {
  return h(
    "li",
    { title: `${name} = ${decimal(value)}` },
    h("span.signal-name", {}, meaning ?? name),
    withVars(
      h(
        "span.signal-bar",
        { "aria-hidden": "true", data: { sign: added < 0 ? "minus" : "plus" } },
        h("span"),
      ),
      {
        share: `${((Math.abs(added) / most) * 50).toFixed(1)}%`,
      },
    ),
    h("span.number", {}, signed(added)),
  );
}
