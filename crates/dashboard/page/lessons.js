// Learnt: every lesson that counts, and those that were undone.

import { get, live } from "./api.js";
import { debounce, h } from "./dom.js";
import { ago, decimal, plural } from "./format.js";
import { lessonText, redoLesson, undoLesson } from "./feedback.js";
import { icon } from "./icons.js";
import { card, chip, emptyPanel, load, pageHead, person } from "./ui.js";

const SOURCES = {
  dashboard: "marked in the dashboard",
  cli: "marked in the shell",
  client: "told by a client",
  picked: "an alternative was picked",
  followed: "another tool was called right after",
  repeated: "the task was repeated",
  confirmed: "a call was confirmed",
  refused: "a confirmation was refused",
};

export function show(root, { signal }) {
  let all = { lessons: [], undone: [] };
  let text = "";
  const box = h("div.stack", { data: { testid: "lessons" } });
  const search = h("input", {
    type: "search",
    placeholder: "Search words and tools",
    "aria-label": "Search lessons",
    data: { testid: "lessons-search", search: "" },
    on: {
      input: debounce(120, () => {
        text = search.value.trim().toLowerCase();
        box.replaceChildren(...render(all));
      }),
    },
  });
  const exportButton = h(
    "button",
    { type: "button", data: { testid: "lessons-export" }, on: { click: () => save(all) } },
    "Export JSON",
  );
  root.append(
    pageHead(
      "Learnt",
      "What corrections taught the hub. Undoing a lesson restores the behaviour from before it.",
      exportButton,
    ),
    h("div.filters", { role: "search" }, search),
    box,
  );
  const draw = () =>
    load(
      box,
      signal,
      () => get("lessons", {}, signal),
      (found) => {
        all = { lessons: [...found.lessons].reverse(), undone: [...found.undone].reverse() };
        return render(all);
      },
    );
  draw();
  live.addEventListener("resumed", draw, { signal });

  function render({ lessons, undone }) {
    const fits = ({ words, right, wrong }) =>
      `${words} ${right ?? ""} ${wrong ?? ""}`.toLowerCase().includes(text);
    const counted = lessons.filter(fits);
    const dropped = undone.filter(fits);
    if (!lessons.length && !undone.length) {
      return [
        emptyPanel(
          "Nothing has been learnt yet.",
          "Open a route and mark it as right or wrong, or correct it with “Should have been …”.",
        ),
      ];
    }
    return [
      h(
        "p.total",
        { role: "status", data: { testid: "lessons-total" } },
        plural(counted.length, "lesson counts", "lessons count"),
      ),
      counted.length
        ? h(
            "ul.lessons",
            {},
            counted.map((lesson) => item(lesson, false)),
          )
        : emptyPanel(text ? "No lesson fits these words." : "No lesson counts; all were undone."),
      dropped.length
        ? card(
            "Undone",
            { testid: "lessons-undone" },
            h(
              "ul.lessons",
              {},
              dropped.map((lesson) => item(lesson, true)),
            ),
          )
        : null,
    ].filter(Boolean);
  }

  function item(lesson, isUndone) {
    const act = isUndone ? redoLesson : undoLesson;
    return h(
      "li.lesson",
      { data: { testid: isUndone ? "undone-lesson" : "lesson", id: lesson.id } },
      h(
        "div.lesson-main",
        {},
        h("p.lesson-text", {}, lessonText(lesson)),
        h(
          "p.lesson-meta.muted",
          {},
          chip(`weight ${decimal(lesson.weight)}`),
          h("span", {}, SOURCES[lesson.source] ?? lesson.source),
          person(lesson.who),
          ago(lesson.at),
          lesson.route ? h("a", { href: `#/routes/${encodeURIComponent(lesson.route)}` }, "route") : null,
        ),
      ),
      h(
        "button.small",
        {
          type: "button",
          data: { testid: isUndone ? "redo" : "undo" },
          on: { click: (event) => act(event.currentTarget, lesson.id, draw) },
        },
        icon(isUndone ? "refresh" : "undo"),
        isUndone ? "Redo" : "Undo",
      ),
    );
  }
}

function save(all) {
  const file = new Blob([JSON.stringify(all, null, 2)], { type: "application/json" });
  const url = URL.createObjectURL(file);
  h("a", { href: url, download: "toolyard-lessons.json" }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
