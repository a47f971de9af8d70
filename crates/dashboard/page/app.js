// Starts the page: routing by the address, navigation, keys, theme, the token and the state of the live connection.

import { adoptToken, connect, live, reconnect, setToken } from "./api.js";
import { freshId, h } from "./dom.js";
import { refreshTimes } from "./format.js";
import { icon } from "./icons.js";
import { announce, card, field, pageHead } from "./ui.js";
import * as lessons from "./lessons.js";
import * as overview from "./overview.js";
import * as routes from "./routes.js";
import * as servers from "./servers.js";
import * as sessions from "./sessions.js";
import * as settings from "./settings.js";
import * as tools from "./tools.js";
import * as tryIt from "./try.js";
import * as workflows from "./workflows.js";

const VIEWS = [
  { name: "overview", title: "Overview", key: "o", module: overview },
  { name: "try", title: "Try it", key: "t", module: tryIt },
  { name: "routes", title: "Routes", key: "r", module: routes },
  { name: "learnt", title: "Learnt", key: "l", module: lessons },
  { name: "tools", title: "Tools", key: "c", module: tools },
  { name: "servers", title: "Servers", key: "s", module: servers },
  { name: "workflows", title: "Workflows", key: "w", module: workflows },
  { name: "sessions", title: "Sessions", key: "e", module: sessions },
  { name: "settings", title: "Settings", key: "p", module: settings },
];

const STATE_TEXT = { connecting: "Connecting", open: "Live", lost: "Not connected", locked: "Token needed" };
const PREFIX_MS = 1500;

const main = document.getElementById("main");
const nav = document.getElementById("nav");
const menuButton = document.querySelector(".menu-button");
let current = null;
let prefix = 0;

adoptToken();
buildNav();
setUpTheme();
addEventListener("hashchange", (event) => show({ from: new URL(event.oldURL).hash }));
document.addEventListener("keydown", onKey);
live.addEventListener("state", (event) => showState(event.detail));
live.addEventListener("unauthorized", showLogin);
setInterval(() => refreshTimes(document), 20_000);
document.getElementById("help-button").addEventListener("click", showHelp);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
show();
connect();

function place(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/").map(decode);
  const view = VIEWS.find((entry) => entry.name === name) ?? VIEWS[0];
  return { view, id: rest.join("/") || null, query: new URLSearchParams(query), search: query };
}

/** Shows what the address names. Where only the opened item differs, the view stays as it is. */
function show({ from = null } = {}) {
  const { view, id, query, search } = place(location.hash);
  const isSame = from !== null && current?.view === view && place(from).search === search;
  if (isSame && current.open) {
    current.open(id);
    return;
  }
  current?.leave.abort();
  const leave = new AbortController();
  const root = h("div.view", { data: { testid: `view-${view.name}` } });
  main.replaceChildren(root);
  current = { view, leave, open: null };
  const shown = view.module.show(root, { query, signal: leave.signal });
  current.open = shown?.open ?? null;
  if (id) current.open?.(id);
  document.title = `${view.title} · Toolyard`;
  for (const link of nav.querySelectorAll("a")) {
    if (link.dataset.view === view.name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  closeMenu();
  if (from === null) return;
  scrollTo(0, 0);
  if (!id)
    (root.querySelector("[data-autofocus]") ?? root.querySelector("h1"))?.focus({ preventScroll: true });
  announce(view.title);
}

function buildNav() {
  nav.append(
    h(
      "ul",
      {},
      VIEWS.map(({ name, title, key }) =>
        h(
          "li",
          {},
          h(
            "a",
            { href: `#/${name}`, data: { view: name, testid: `nav-${name}` }, title: `${title} (g ${key})` },
            icon(name),
            h("span", {}, title),
          ),
        ),
      ),
    ),
  );
  menuButton.addEventListener("click", () => {
    const isOpen = menuButton.getAttribute("aria-expanded") === "true";
    menuButton.setAttribute("aria-expanded", String(!isOpen));
    document.body.classList.toggle("menu-open", !isOpen);
  });
}

function closeMenu() {
  menuButton.setAttribute("aria-expanded", "false");
  document.body.classList.remove("menu-open");
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.key === "Escape") closeMenu();
  if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
  if (Date.now() - prefix < PREFIX_MS) {
    prefix = 0;
    const view = VIEWS.find((entry) => entry.key === event.key);
    if (view) {
      event.preventDefault();
      location.hash = `#/${view.name}`;
      return;
    }
  }
  const actions = {
    g: () => (prefix = Date.now()),
    "/": focusSearch,
    "?": showHelp,
    j: () => moveRow(1),
    k: () => moveRow(-1),
  };
  if (!(event.key in actions)) return;
  event.preventDefault();
  actions[event.key]();
}

function isTyping(target) {
  return (
    target instanceof HTMLInputElement ||
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement
  );
}

function focusSearch() {
  const search = main.querySelector("[data-search]");
  if (search) search.focus();
  else location.hash = "#/tools";
}

function moveRow(step) {
  const rows = [...main.querySelectorAll("[data-row]")];
  const at = rows.indexOf(document.activeElement);
  rows[Math.max(0, Math.min(rows.length - 1, at + step))]?.focus();
}

function showHelp() {
  if (document.querySelector("dialog[open]")) return;
  const titleId = freshId("help");
  const keys = [
    ...VIEWS.map(({ key, title }) => [["g", key], title]),
    [["/"], "Search"],
    [["j"], "Next row"],
    [["k"], "Previous row"],
    [["Esc"], "Close what is open"],
    [["?"], "These keys"],
  ];
  const dialog = h(
    "dialog.dialog",
    { "aria-labelledby": titleId, data: { testid: "help-dialog" }, on: { close: () => dialog.remove() } },
    h("h2", { id: titleId }, "Keys"),
    h(
      "dl.keys",
      {},
      keys.map(([parts, meaning]) =>
        h(
          "div",
          {},
          h(
            "dt",
            {},
            parts.map((part) => h("kbd", {}, part)),
          ),
          h("dd", {}, meaning),
        ),
      ),
    ),
    h(
      "div.dialog-actions",
      {},
      h("button.primary", { type: "button", on: { click: () => dialog.close() } }, "Close"),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
}

function setUpTheme() {
  const button = document.getElementById("theme-button");
  const root = document.documentElement;
  const order = ["auto", "light", "dark"];
  const label = () => (button.textContent = `Theme: ${root.dataset.theme ?? "auto"}`);
  label();
  button.addEventListener("click", () => {
    const next = order[(order.indexOf(root.dataset.theme ?? "auto") + 1) % order.length];
    if (next === "auto") delete root.dataset.theme;
    else root.dataset.theme = next;
    try {
      localStorage.setItem("toolyard-theme", next);
    } catch {
      // Without storage the choice lasts until the page is closed.
    }
    label();
    announce(`Theme ${next}`);
  });
}

function showState({ state, retryAt }) {
  const badge = document.querySelector(".live-state");
  badge.dataset.state = state;
  badge.querySelector(".live-text").textContent = STATE_TEXT[state];
  const banner = document.getElementById("lost");
  if (state !== "lost") {
    banner.hidden = true;
    return;
  }
  if (!retryAt) return;
  banner.hidden = false;
  banner.replaceChildren(
    h("span", {}, "The connection to the hub is lost. What you see may be out of date."),
    h(
      "button.small",
      { type: "button", data: { testid: "reconnect" }, on: { click: reconnect } },
      "Reconnect",
    ),
  );
}

function showLogin() {
  if (main.querySelector("[data-testid=login]")) return;
  current?.leave.abort();
  current = null;
  document.querySelectorAll("dialog[open]").forEach((dialog) => dialog.close());
  const input = h("input", {
    type: "password",
    autocomplete: "off",
    required: true,
    data: { testid: "login-token" },
  });
  const form = h(
    "form",
    {
      data: { testid: "login" },
      on: {
        submit: (event) => {
          event.preventDefault();
          setToken(input.value.trim());
          show();
        },
      },
    },
    field("Token", input, "It is `serve.token` of your settings."),
    h("button.primary", { type: "submit", data: { testid: "login-submit" } }, "Open the dashboard"),
  );
  main.replaceChildren(h("div.view.login", {}, pageHead("This hub asks for a token"), card(null, {}, form)));
  document.title = "Token · Toolyard";
  input.focus();
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
