// A field in which a tool is found by typing, after the combobox pattern of ARIA.

import { get } from "./api.js";
import { debounce, freshId, h } from "./dom.js";
import { effectChip, toolName } from "./ui.js";

const SHOWN = 12;
// The hub finds words in descriptions, too. More are asked for than shown, so that names can come first.
const SOUGHT = 200;

/** Returns the field. `onPick` gets the id of the tool that was chosen. */
export function toolPicker({ label, testid, signal, onPick }) {
  const listId = freshId("tools");
  const inputId = freshId("picker");
  let found = [];
  let active = -1;
  const list = h("ul.picker-list", { id: listId, role: "listbox", "aria-label": "Tools", hidden: true });
  const input = h("input", {
    id: inputId,
    type: "text",
    role: "combobox",
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "Type a name or what it does",
    "aria-expanded": "false",
    "aria-controls": listId,
    "aria-autocomplete": "list",
    data: { testid },
    on: { input: () => (forget(), soon()), keydown: onKey, focus: search },
  });
  const status = h("p.hint", { role: "status" });
  const soon = debounce(150, search);

  /** Unselects while the words change, so that Enter never takes a tool found for older words. */
  function forget() {
    active = -1;
    render();
  }

  async function search() {
    const text = input.value.trim();
    const answer = await get("tools", { text, limit: SOUGHT }, signal).catch((error) => {
      status.textContent = error.message;
      return null;
    });
    if (!answer || input.value.trim() !== text) return;
    found = byName(answer.items, text).slice(0, SHOWN);
    active = found.length ? 0 : -1;
    status.textContent = found.length ? "" : "No tool fits these words.";
    render();
  }

  function render() {
    list.replaceChildren(
      ...found.map((tool, at) =>
        h(
          "li",
          {
            id: `${listId}-${at}`,
            role: "option",
            "aria-selected": String(at === active),
            data: { testid: "picker-option", tool: tool.id },
            on: { mousedown: (event) => event.preventDefault(), click: () => pick(at) },
          },
          h("span.picker-line", {}, toolName(tool.id, { plain: true }), effectChip(tool.effect)),
          h("span.picker-summary.muted", {}, tool.summary ?? ""),
        ),
      ),
    );
    list.hidden = !found.length;
    input.setAttribute("aria-expanded", String(!list.hidden));
    if (active >= 0) {
      input.setAttribute("aria-activedescendant", `${listId}-${active}`);
      list.children[active].scrollIntoView({ block: "nearest" });
    } else input.removeAttribute("aria-activedescendant");
  }

  function onKey(event) {
    const moves = { ArrowDown: active + 1, ArrowUp: active - 1 };
    if (event.key in moves && found.length) {
      event.preventDefault();
      active = (moves[event.key] + found.length) % found.length;
      render();
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (active >= 0) pick(active);
    } else if (event.key === "Escape" && !list.hidden) {
      event.preventDefault();
      event.stopPropagation();
      found = [];
      active = -1;
      render();
    }
  }

  function pick(at) {
    const { id } = found[at];
    input.value = id;
    found = [];
    active = -1;
    render();
    onPick(id);
  }

  return { box: h("div.picker", {}, h("label", { for: inputId }, label), input, list, status), input };
}

/** Puts tools with more of the words in their names first, and leaves the rest in order. */
function byName(tools, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const named = ({ id }) => words.filter((word) => id.toLowerCase().includes(word)).length;
  return tools.toSorted((a, b) => named(b) - named(a));
}
