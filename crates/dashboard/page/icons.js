// The icons, as strokes on a grid of 24 by 24.

import { svg } from "./dom.js";

const PATHS = {
  overview: "M4 13h6V4H4zM14 20h6v-9h-6zM4 20h6v-3H4zM14 7h6V4h-6z",
  try: "M5 12h13M13 6l6 6-6 6M5 5v14",
  routes: "M6 4v9a4 4 0 0 0 4 4h8M14 13l4 4-4 4M6 4 3 7M6 4l3 3",
  learnt: "M4 6l8-3 8 3-8 3zM7 8v6c0 2 10 2 10 0V8M20 6v6",
  tools: "M14 7a4 4 0 0 1 5-4l-2 3 1 2 3-1a4 4 0 0 1-5 5L8 20a2 2 0 0 1-4-4l8-8",
  servers: "M4 4h16v6H4zM4 14h16v6H4zM8 7h.01M8 17h.01",
  workflows: "M4 4h5v5H4zM15 4h5v5h-5zM15 15h5v5h-5zM9 6.5h6M6.5 9v5a3.5 3.5 0 0 0 3.5 3.5h5",
  sessions: "M4 5h16v11H10l-4 4v-4H4z",
  settings: "M4 7h9M17 7h3M4 17h3M11 17h9M13 7a2 2 0 1 0 4 0 2 2 0 1 0-4 0M7 17a2 2 0 1 0 4 0 2 2 0 1 0-4 0",
  alert: "M12 4 2.5 20h19zM12 10v4M12 17h.01",
  close: "M6 6l12 12M18 6 6 18",
  check: "M5 13l4 4L19 7",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14M16 16l5 5",
  undo: "M9 7 4 12l5 5M4 12h10a6 6 0 0 1 6 6",
  refresh: "M20 11a8 8 0 0 0-14-4L4 9M4 4v5h5M4 13a8 8 0 0 0 14 4l2-2M20 20v-5h-5",
  play: "M7 4l12 8-12 8z",
};

export function icon(name) {
  return svg(
    "svg.icon",
    { viewBox: "0 0 24 24", "aria-hidden": "true", focusable: "false" },
    svg("path", { d: PATHS[name] ?? "" }),
  );
}
