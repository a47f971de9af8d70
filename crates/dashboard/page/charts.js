// Charts as SVG, drawn by hand: columns by decision and a line over time. Arrow keys walk through the points.

import { h, svg, withVars } from "./dom.js";
import { compact, moment, tick } from "./format.js";

const HEIGHT = 180;
const LEFT = 54;
const RIGHT = 8;
const TOP = 8;
const BOTTOM = 24;

/**
 * Draws stacked columns. `points` are `{ at, values: { key: number } }` in order, `stepMs` apart; `keys` are stacked
 * from the bottom.
 */
export function stackedColumns({ points, keys, stepMs, label, testid }) {
  const totals = points.map((point) => keys.reduce((sum, key) => sum + (point.values[key] ?? 0), 0));
  return responsive(label, testid, points, stepMs, {
    top: Math.max(...totals, 1),
    isWhole: true,
    axis: compact,
    draw(plot, { x, y, slot }) {
      const column = Math.max(1, Math.min(28, slot - Math.max(1, slot * 0.22)));
      points.forEach((point, at) => {
        let base = 0;
        for (const key of keys) {
          const value = point.values[key] ?? 0;
          if (!value) continue;
          const height = Math.max(0.5, y(base) - y(base + value));
          plot.append(
            svg("rect.mark", {
              x: x(at) - column / 2,
              y: y(base + value),
              width: column,
              height,
              data: { decision: key },
            }),
          );
          base += value;
        }
      });
    },
    describe: (at) => [
      `${totals[at]} in total`,
      ...keys.filter((key) => points[at].values[key]).map((key) => `${key} ${points[at].values[key]}`),
    ],
  });
}

/** Draws a line with the area below it. Points whose `value` is null interrupt it. */
export function line({ points, stepMs, label, format, testid }) {
  const values = points.map((point) => point.value);
  return responsive(label, testid, points, stepMs, {
    top: Math.max(...values.filter((value) => value !== null), 1),
    axis: format,
    draw(plot, { x, y }) {
      for (const run of runs(values)) {
        const path = run
          .map((at, order) => `${order ? "L" : "M"}${x(at).toFixed(1)} ${y(values[at]).toFixed(1)}`)
          .join("");
        const [first, last] = [run[0], run.at(-1)];
        plot.append(
          svg("path.area", { d: `${path}L${x(last).toFixed(1)} ${y(0)}L${x(first).toFixed(1)} ${y(0)}Z` }),
        );
        plot.append(svg("path.stroke", { d: path }));
        if (run.length === 1)
          plot.append(svg("circle.point", { cx: x(first), cy: y(values[first]), r: 2.5 }));
      }
    },
    describe: (at) => [values[at] === null ? "no requests" : format(values[at])],
  });
}

/** Names what the colours stand for, with the share of each. */
export function legend(entries) {
  return h(
    "ul.legend",
    {},
    entries.map(({ key, text }) =>
      h(
        "li",
        {},
        h("span.swatch", { data: { decision: key }, "aria-hidden": "true" }),
        `${key} `,
        h("span.muted", {}, text),
      ),
    ),
  );
}

function responsive(label, testid, points, stepMs, chart) {
  const tip = h("div.chart-tip", { hidden: true });
  const spoken = h("p.visually-hidden", { "aria-live": "polite" });
  const frame = h("div.chart-frame", {
    tabindex: points.length ? "0" : null,
    role: "group",
    "aria-roledescription": "chart",
    "aria-label": `${label}. Use the arrow keys to read the values.`,
  });
  const box = h("figure.chart", { data: { testid } }, frame, tip, spoken);
  let current = -1;
  let geometry = null;

  function render() {
    const width = Math.max(240, frame.clientWidth || 560);
    geometry = layout(points.length, width, niceTop(chart.top, chart.isWhole));
    const plot = svg("g", {});
    chart.draw(plot, geometry);
    const cursor = svg("line.cursor", { y1: TOP, y2: HEIGHT - BOTTOM });
    cursor.setAttribute("visibility", "hidden");
    frame.replaceChildren(
      svg(
        "svg",
        { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, "aria-hidden": "true" },
        axes(points, stepMs, geometry, chart),
        plot,
        cursor,
      ),
    );
    geometry.cursor = cursor;
  }

  function show(at) {
    current = at;
    if (at < 0 || !points[at]) {
      tip.hidden = true;
      geometry?.cursor.setAttribute("visibility", "hidden");
      return;
    }
    const x = geometry.x(at);
    geometry.cursor.setAttribute("x1", x);
    geometry.cursor.setAttribute("x2", x);
    geometry.cursor.setAttribute("visibility", "visible");
    const lines = chart.describe(at);
    tip.replaceChildren(
      h("strong", {}, moment(points[at].at)),
      lines.map((text) => h("span", {}, text)),
    );
    tip.hidden = false;
    withVars(tip, { x: `${Math.max(70, Math.min(geometry.width - 70, x))}px` });
  }

  frame.addEventListener("pointermove", (event) => {
    const bounds = frame.getBoundingClientRect();
    show(geometry.nearest(((event.clientX - bounds.left) / bounds.width) * geometry.width));
  });
  frame.addEventListener("pointerleave", () => show(-1));
  frame.addEventListener("blur", () => show(-1));
  frame.addEventListener("keydown", (event) => {
    const moves = {
      ArrowRight: current + 1,
      ArrowLeft: current < 0 ? points.length - 1 : current - 1,
      Home: 0,
      End: points.length - 1,
    };
    if (!(event.key in moves)) return;
    event.preventDefault();
    show(Math.max(0, Math.min(points.length - 1, moves[event.key])));
    spoken.textContent = `${moment(points[current].at)}: ${chart.describe(current).join(", ")}`;
  });
  let lastWidth = 0;
  new ResizeObserver(() => {
    if (frame.clientWidth === lastWidth) return;
    lastWidth = frame.clientWidth;
    render();
  }).observe(frame);
  return box;
}

function layout(amount, width, top) {
  const inner = width - LEFT - RIGHT;
  const slot = inner / Math.max(1, amount);
  return {
    slot,
    width,
    top,
    x: (at) => LEFT + slot * (at + 0.5),
    y: (value) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - TOP - BOTTOM),
    nearest: (x) => Math.max(0, Math.min(amount - 1, Math.floor((x - LEFT) / slot))),
  };
}

function axes(points, stepMs, geometry, chart) {
  const group = svg("g.axes", {});
  for (const value of [0, geometry.top / 2, geometry.top]) {
    const y = geometry.y(value);
    group.append(svg("line.grid", { x1: LEFT, x2: geometry.width - RIGHT, y1: y, y2: y }));
    group.append(svg("text.tick", { x: LEFT - 6, y: y + 4, "text-anchor": "end" }, chart.axis(value)));
  }
  const wanted = Math.max(2, Math.floor(geometry.width / 110));
  const every = Math.max(1, Math.ceil(points.length / wanted));
  const range = points.length * stepMs;
  for (let at = Math.floor(every / 2); at < points.length; at += every) {
    group.append(
      svg(
        "text.tick",
        { x: geometry.x(at), y: HEIGHT - 6, "text-anchor": "middle" },
        tick(points[at].at, range),
      ),
    );
  }
  return group;
}

function niceTop(value, isWhole) {
  const power = 10 ** Math.floor(Math.log10(value));
  const found = [1, 2, 3, 4, 6, 8, 10].find((step) => step * power >= value) * power;
  // The middle of the axis has a label too, and half a request makes no sense.
  return isWhole && found % 2 ? found + 1 : found;
}

function runs(values) {
  const all = [];
  let open = [];
  values.forEach((value, at) => {
    if (value !== null) open.push(at);
    else if (open.length) {
      all.push(open);
      open = [];
    }
  });
  if (open.length) all.push(open);
  return all;
}
