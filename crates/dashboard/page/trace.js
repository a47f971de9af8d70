// The whole trace of one route: what was asked, what was considered, what ran, and what was learnt from it.

import { get, path } from "./api.js";
import { candidateList } from "./candidates.js";
import { h } from "./dom.js";
import { ago, duration } from "./format.js";
import { lessonText, redoLesson, undoLesson, verdictBar } from "./feedback.js";
import {
  chip,
  codeText,
  decisionChip,
  emptyPanel,
  endingChip,
  facts,
  jsonBlock,
  load,
  person,
  shareBar,
  toolName,
} from "./ui.js";

/** Fills `box` with the trace of the route. */
export function showTrace(box, id, signal) {
  const draw = () =>
    load(
      box,
      signal,
      () => get(path("routes", id), {}, signal),
      (found) => trace(found, signal, refreshLessons),
    );
  async function refreshLessons() {
    const found = await get(path("routes", id), {}, signal).catch(() => null);
    if (found && !signal.aborted)
      box.querySelector("[data-testid=trace-learning]")?.replaceWith(learning(found, refreshLessons));
  }
  return draw();
}

function trace(found, signal, refreshLessons) {
  const { route } = found;
  const verdict = verdictBar({
    route: route.id,
    tool: route.tool,
    decision: route.decision,
    signal,
    onMarked: refreshLessons,
  });
  return [
    route.words
      ? h("p.trace-words", { data: { testid: "trace-words" } }, route.words)
      : h("p.muted", {}, "The words of this request are not kept."),
    h(
      "div.trace-line",
      {},
      decisionChip(route.decision),
      route.tool ? toolName(route.tool) : null,
      endingChip(route.ran),
      route.cached ? chip("cached") : null,
    ),
    route.question ? h("blockquote.question", {}, codeText(route.question)) : null,
    h("div.trace-verdict", {}, verdict.box),
    facts([
      ["When", ago(route.at)],
      ["Confidence", shareBar(route.confidence)],
      ["Routing", duration(route.routingMs)],
      ["In all", duration(route.totalMs)],
      ["Client", route.client],
      [
        "Session",
        route.session
          ? h("a", { href: `#/routes?session=${encodeURIComponent(route.session)}` }, route.session)
          : null,
      ],
      ["Who", route.who ? person(route.who) : null],
      ["Id", h("code", {}, route.id)],
    ]),
    section(
      "Why",
      route.reasons?.length
        ? h(
            "ul.plain",
            {},
            route.reasons.map((reason) => h("li", {}, reason)),
          )
        : null,
    ),
    section(
      "Candidates",
      route.candidates?.length
        ? candidateList(route.candidates, { chosen: route.tool, decision: route.decision })
        : null,
    ),
    section("Arguments", route.arguments ? jsonBlock(route.arguments, "Arguments") : shapeList(route.shape)),
    learning(found, refreshLessons),
    route.words
      ? h(
          "p",
          {},
          h("a.button", { href: `#/try?task=${encodeURIComponent(route.words)}` }, "Try this task again"),
        )
      : null,
  ];
}

function learning({ feedback, lessons, undone, similar }, refresh) {
  const isEmpty = !feedback?.length && !lessons?.length && !undone?.length && !similar?.length;
  return h(
    "div.stack.tight",
    { data: { testid: "trace-learning" } },
    isEmpty
      ? section(
          "Learnt",
          emptyPanel("Nothing was learnt from this route.", "Mark it as right or wrong to teach the hub."),
        )
      : null,
    section(
      "Learnt from this route",
      lessonItems(lessons, "Undo", (source, id) => undoLesson(source, id, refresh)),
    ),
    section(
      "Undone",
      lessonItems(undone, "Redo", (source, id) => redoLesson(source, id, refresh)),
    ),
    section(
      "Judgements",
      feedback?.length
        ? h(
            "ul.plain",
            { data: { testid: "trace-feedback" } },
            feedback.map(({ verdict, meant, source, who, at }) =>
              h(
                "li",
                {},
                chip(verdict, verdict === "right" ? "ok" : "bad"),
                " ",
                meant ? ["meant ", toolName(meant), " "] : null,
                h("span.muted", {}, `${source} · `, person(who), " · "),
                ago(at),
              ),
            ),
          )
        : null,
    ),
    section(
      "Lessons from similar tasks",
      similar?.length
        ? h(
            "ul.lesson-list",
            {},
            similar.map((lesson) => h("li", {}, h("span", {}, lessonText(lesson)))),
          )
        : null,
    ),
  );
}

function lessonItems(lessons, label, act) {
  if (!lessons?.length) return null;
  return h(
    "ul.lesson-list",
    {},
    lessons.map((lesson) =>
      h(
        "li",
        { data: { testid: label === "Undo" ? "trace-lesson" : "trace-undone" } },
        h("span", {}, lessonText(lesson)),
        h(
          "button.small",
          {
            type: "button",
            data: { testid: `${label.toLowerCase()}-lesson` },
            on: { click: (event) => act(event.currentTarget, lesson.id) },
          },
          label,
        ),
      ),
    ),
  );
}

function shapeList(shape) {
  const entries = Object.entries(shape ?? {});
  if (!entries.length) return null;
  return [
    h("p.hint", {}, "Values are not kept; these are the names and types."),
    h(
      "ul.shape",
      {},
      entries.map(([name, type]) =>
        h(
          "li",
          {},
          h("code", {}, name),
          " ",
          h("span.muted", {}, typeof type === "string" ? type : JSON.stringify(type)),
        ),
      ),
    ),
  ];
}

function section(title, content) {
  return content ? h("section.trace-section", {}, h("h3", {}, title), content) : null;
}
