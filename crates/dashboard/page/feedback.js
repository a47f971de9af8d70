// Marks a route as right or wrong, and shows what was learnt from it, with undo.

import { path, post } from "./api.js";
import { h } from "./dom.js";
import { toolPicker } from "./picker.js";
import { announce, busy, toast, toolName } from "./ui.js";

/** Whether the hub settled on one tool. Else the tool of a route is only the closest one, or the first of a plan. */
export function isSettled(decision) {
  return decision === "act" || decision === "draft";
}

/**
 * Returns buttons that judge the route. Right and wrong are about the tool that was chosen, so they are there only if
 * one was. `onMarked` is called after the hub has taken the judgement.
 */
export function verdictBar({ route, tool, decision, signal, onMarked }) {
  const result = h("div.verdict-result", { role: "status", data: { testid: "verdict-result" } });
  const correction = h("div.correction", { hidden: true });
  const button = (name, label, run) =>
    h(
      "button",
      { type: "button", data: { testid: name }, on: { click: (event) => run(event.currentTarget) } },
      label,
    );

  async function give(source, verdict, meant) {
    const answer = await busy(source, () =>
      post("feedback", { route, verdict, ...(meant ? { meant } : {}) }, signal),
    );
    if (!answer) return;
    correction.hidden = true;
    const said = verdict === "right" ? "Marked as right." : meant ? "Corrected." : "Marked as wrong.";
    result.replaceChildren(h("p", {}, said), answer.lesson ? learntNote(answer.lesson, onMarked) : "");
    announce(said);
    onMarked?.(answer);
  }

  const correct = (source, meant) => (meant === tool ? give(source, "right") : give(source, "wrong", meant));

  const openCorrection = (source) => {
    correction.hidden = false;
    const picker = toolPicker({
      label: "It should have been",
      testid: "meant-picker",
      signal,
      onPick: (id) => correct(source, id),
    });
    correction.replaceChildren(picker.box);
    picker.input.focus();
  };

  return {
    box: h(
      "div.verdict",
      { data: { testid: "verdict" } },
      h(
        "div.button-row",
        {},
        isSettled(decision)
          ? [
              button("mark-right", "This was right", (source) => give(source, "right")),
              button("mark-wrong", "Wrong", (source) => give(source, "wrong")),
            ]
          : null,
        button("mark-meant", "Should have been …", openCorrection),
      ),
      correction,
      result,
    ),
    correct,
  };
}

/** Says what one lesson teaches. */
export function lessonText({ words, right, wrong }) {
  return [
    words ? h("q.words", {}, words) : h("span.muted", {}, "words not kept"),
    right ? [" means ", toolName(right)] : null,
    wrong ? [right ? ", not " : " is not ", toolName(wrong)] : null,
  ];
}

export async function undoLesson(source, id, onDone) {
  const done = await busy(source, async () => {
    await post(path("lessons", id, "undo"));
    return true;
  });
  if (!done) return;
  toast("The lesson is undone.", { label: "Redo", run: () => redoLesson(source, id, onDone) });
  onDone?.();
}

export async function redoLesson(source, id, onDone) {
  const done = await busy(source, async () => {
    await post(path("lessons", id, "redo"));
    return true;
  });
  if (!done) return;
  toast("The lesson counts again.");
  onDone?.();
}

function learntNote(lesson, onChange) {
  const note = h(
    "p.learnt-note",
    { data: { testid: "learnt-note" } },
    "Learnt: ",
    lessonText(lesson),
    " ",
    h(
      "button.small",
      {
        type: "button",
        data: { testid: "undo-lesson" },
        on: {
          click: (event) =>
            undoLesson(event.currentTarget, lesson.id, () => {
              note.remove();
              onChange?.({});
            }),
        },
      },
      "Undo",
    ),
  );
  return note;
}
