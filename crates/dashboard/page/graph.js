// Draws the steps of a plan or a run as a graph: each step behind the ones it needs.

import { h, svg } from "./dom.js";
import { duration, toolParts } from "./format.js";
import { chip, toolName } from "./ui.js";

const NODE = { width: 168, height: 46 };
const GAP = { along: 44, across: 16, below: 26 };
const NARROW = 600;

const STATE_TONES = {
  done: "ok",
  completed: "ok",
  running: "accent",
  waiting: "warn",
  interrupted: "warn",
  failed: "bad",
  unknown: "bad",
  notUndone: "bad",
  undone: "warn",
  cancelled: "idle",
  skipped: "idle",
  notStarted: "idle",
};

export function stateTone(state) {
  return STATE_TONES[state] ?? "plain";
}

/** Writes `notStarted` as `not started`. */
export function stateText(state) {
  return String(state)
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase();
}

/** Returns the drawing, and below it the same steps as a list, which is what a screen reader gets. */
export function stepGraph(steps, options) {
  const frame = h("div.graph-frame", { "aria-hidden": "true" });
  let lastIsDown = null;
  new ResizeObserver(() => {
    const isDown =
      frame.clientWidth < NARROW || layers(steps).length * (NODE.width + GAP.along) > frame.clientWidth;
    if (isDown === lastIsDown) return;
    lastIsDown = isDown;
    frame.replaceChildren(drawing(steps, isDown));
  }).observe(frame);
  return h("div.graph", { data: { testid: options?.testid ?? "graph" } }, frame, stepList(steps));
}

function stepList(steps) {
  return h(
    "ol.step-list",
    {},
    steps.map((step) =>
      h(
        "li",
        { data: { testid: "step", state: step.state } },
        h(
          "div.step-line",
          {},
          h("strong", {}, step.id),
          toolName(step.tool),
          step.state ? chip(stateText(step.state), stateTone(step.state)) : null,
          step.ms ? h("span.muted", {}, duration(step.ms)) : null,
          step.needs?.length ? h("span.muted", {}, `after ${step.needs.join(", ")}`) : null,
        ),
        step.error ? h("p.bad-text", {}, step.error) : null,
      ),
    ),
  );
}

function drawing(steps, isDown) {
  const { levels, chains } = lanes(steps);
  const stride = isDown
    ? { x: NODE.width + GAP.across, y: NODE.height + GAP.below }
    : { x: NODE.width + GAP.along, y: NODE.height + GAP.across };
  const most = Math.max(...levels.map((level) => level.length), 1);
  const [columns, rows] = isDown ? [most, levels.length] : [levels.length, most];
  const size = { width: columns * stride.x, height: rows * stride.y };
  const places = new Map();
  levels.forEach((level, at) => {
    level.forEach((key, order) => {
      const across = (order - (level.length - 1) / 2) * (isDown ? stride.x : stride.y);
      places.set(
        key,
        isDown
          ? { x: size.width / 2 + across, y: (at + 0.5) * stride.y }
          : { x: (at + 0.5) * stride.x, y: size.height / 2 + across },
      );
    });
  });
  const edges = chains.map((chain) =>
    svg("path.edge", {
      d: curve(
        chain.map((key) => places.get(key)),
        isDown,
      ),
    }),
  );
  const nodes = steps.map((step) => node(step, places.get(step.id)));
  return svg(
    "svg",
    { viewBox: `0 0 ${size.width} ${size.height}`, width: size.width, height: size.height },
    edges,
    nodes,
  );
}

/** Draws one curve from centre to centre; the nodes at both ends are painted over it. */
function curve(points, isDown) {
  let path = `M${points[0].x} ${points[0].y}`;
  for (let at = 1; at < points.length; at += 1) {
    const [from, to] = [points[at - 1], points[at]];
    const half = isDown ? (from.y + to.y) / 2 : (from.x + to.x) / 2;
    path += isDown
      ? `C${from.x} ${half} ${to.x} ${half} ${to.x} ${to.y}`
      : `C${half} ${from.y} ${half} ${to.y} ${to.x} ${to.y}`;
  }
  return path;
}

function node(step, centre) {
  const [x, y] = [centre.x - NODE.width / 2, centre.y - NODE.height / 2];
  return svg(
    "g.node",
    { data: { tone: stateTone(step.state) } },
    svg("title", {}, [step.id, step.tool, step.state && stateText(step.state)].filter(Boolean).join(" · ")),
    svg("rect", { x, y, width: NODE.width, height: NODE.height, rx: 8 }),
    svg("circle", { cx: x + 15, cy: y + 17, r: 4 }),
    svg("text.node-name", { x: x + 27, y: y + 21 }, shorten(step.id, 19)),
    svg("text.node-tool", { x: x + 27, y: y + 37 }, shorten(toolParts(step.tool ?? "").tool, 22)),
  );
}

/** Groups steps by the longest chain of needs before them. A circle, which a plan cannot have, ends the chain. */
function layers(steps) {
  const byId = new Map(steps.map((step) => [step.id, step]));
  const known = new Map();
  const level = (id, path) => {
    if (known.has(id)) return known.get(id);
    const needs = (byId.get(id)?.needs ?? []).filter((need) => byId.has(need) && !path.has(need));
    const found = needs.length ? 1 + Math.max(...needs.map((need) => level(need, new Set(path).add(id)))) : 0;
    known.set(id, found);
    return found;
  };
  const levels = [];
  for (const step of steps) (levels[level(step.id, new Set())] ??= []).push(step);
  return levels.filter(Boolean);
}

/**
 * Gives every edge that passes a level a lane of its own there, so that no edge runs behind a node, and orders each
 * level by where its edges come from.
 */
function lanes(steps) {
  const levels = layers(steps).map((level) => level.map((step) => step.id));
  const levelOf = new Map(levels.flatMap((level, at) => level.map((id) => [id, at])));
  const chains = [];
  for (const step of steps) {
    for (const need of step.needs ?? []) {
      const chain = [need];
      for (let at = levelOf.get(need) + 1; at < levelOf.get(step.id); at += 1) {
        const lane = `${need} → ${step.id} @ ${at}`;
        levels[at].push(lane);
        chain.push(lane);
      }
      if (levelOf.has(need)) chains.push([...chain, step.id]);
    }
  }
  const sources = new Map();
  for (const chain of chains) {
    for (let at = 1; at < chain.length; at += 1)
      sources.set(chain[at], [...(sources.get(chain[at]) ?? []), chain[at - 1]]);
  }
  for (let at = 1; at < levels.length; at += 1) {
    const weight = (key) => {
      const from = (sources.get(key) ?? [])
        .map((source) => levels[at - 1].indexOf(source))
        .filter((order) => order >= 0);
      return from.length ? from.reduce((sum, order) => sum + order, 0) / from.length : 0;
    };
    levels[at].sort((one, other) => weight(one) - weight(other));
  }
  return { levels, chains };
}

function shorten(text, most) {
  const letters = [...text];
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : text;
}
