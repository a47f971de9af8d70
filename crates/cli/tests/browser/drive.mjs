// Drives the dashboard of a running hub in Chromium as a person would, and fails where the page does.
//
//     node drive.mjs ADDRESS [FOLDER]
//
// ADDRESS is what `toolyard dashboard --no-open` prints, of a hub without history that has the built-in servers `notes`,
// `desk` and `time` and the workflow `look-around` (see `../protocol/browser.rs`). With FOLDER, many more tasks are routed, and every view is
// photographed at desktop and phone width, light and dark.
//
// It takes playwright-core from `.servers` (or $TOOLYARD_SERVERS) and the browser from $TOOLYARD_CHROMIUM.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { launch } from "./launch.mjs";
import { tasks } from "./tasks.mjs";

const [address, folder] = process.argv.slice(2);

// Nothing takes this long when all is well, also on a slow machine.
const PATIENCE_MS = 30_000;
const SIZES = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };
const VIEWS = [
  "overview",
  "try",
  "routes",
  "learnt",
  "tools",
  "servers",
  "workflows",
  "sessions",
  "settings",
];

// One lesson is enough to change what these words find.
const TASK = "list my thoughts";
const MEANT = "notes__list_notes";

const problems = [];
let doing = "starting the browser";

function check(isTrue, message) {
  if (!isTrue) throw new Error(message);
}

async function step(name, work) {
  doing = name;
  return work();
}

/** Opens a window that reports every error, and shows the dashboard in it. */
async function open(browser, { size = "desktop", colorScheme = "light" } = {}) {
  const context = await browser.newContext({
    viewport: SIZES[size],
    colorScheme,
    locale: "en-GB",
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const note = (text) => problems.push(`while ${doing}, at ${new URL(page.url()).hash}: ${text}`);
  await page.addInitScript(() =>
    addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI, sourceFile, lineNumber }) =>
      console.error(
        `the content security policy forbids ${violatedDirective} ${blockedURI} (${sourceFile}:${lineNumber})`,
      ),
    ),
  );
  page.on("console", (message) => message.type() === "error" && note(`console: ${message.text()}`));
  page.on("pageerror", (error) => note(`error: ${error.stack ?? error}`));
  page.on("dialog", (dialog) => (note(`a dialog of the browser: ${dialog.message()}`), dialog.dismiss()));
  page.on("response", (response) => {
    if (response.status() >= 400) note(`${response.status()} for ${new URL(response.url()).pathname}`);
  });
  // Requests of a view that was left are given up.
  page.on("requestfailed", (request) => {
    const { errorText } = request.failure();
    if (errorText !== "net::ERR_ABORTED") note(`${errorText} for ${new URL(request.url()).pathname}`);
  });
  await page.goto(address);
  await page.getByTestId("view-overview").waitFor();
  await page.locator('.live-state[data-state="open"]').waitFor({ state: "attached" });
  check(!page.url().includes("token"), "the token is still in the address bar");
  return page;
}

async function go(page, view) {
  // On a phone the menu would have to be opened first.
  await page.evaluate((name) => (location.hash = `#/${name}`), view);
  await page.getByTestId(`view-${view}`).waitFor();
}

/** Routes a task in Try it, and returns what the hub decides: the decision and the tool. */
async function route(page, task) {
  await go(page, "try");
  await page.getByTestId("try-task").fill(task);
  return answered(page, () => page.getByTestId("try-submit").click());
}

async function answered(page, act) {
  const [response] = await Promise.all([page.waitForResponse(/\/api\/try$/), act()]);
  const { decision, tool, candidates } = await response.json();
  await page.locator(`[data-testid=try-decision][data-decision=${decision}]`).waitFor();
  // A question settles on no tool, and names the closest first.
  return { decision, tool: tool ?? candidates[0]?.tool };
}

async function showsNothingYet(page) {
  await page.getByTestId("getting-started").waitFor();
  await go(page, "servers");
  for (const name of ["notes", "desk", "time"]) {
    const known = `[data-testid=server][data-name=${name}]:is([data-state=known], [data-state=ready])`;
    await page.locator(known).waitFor();
  }
  await go(page, "routes");
  await page.getByText("Nothing has been routed yet.").waitFor();
  await go(page, "learnt");
  await page.getByText("Nothing has been learnt yet.").waitFor();
}

/** Corrects a route from its trace, and returns what was decided before. */
async function corrects(page) {
  const before = await route(page, TASK);
  check(before.tool !== MEANT, `\`${TASK}\` finds ${MEANT} without a lesson, so there is nothing to correct`);
  await go(page, "routes");
  await page.getByTestId("route-row").filter({ hasText: TASK }).first().click();
  const sheet = page.getByTestId("route-sheet");
  await sheet.getByTestId("trace-words").getByText(TASK).waitFor();
  await sheet.getByTestId("candidate").first().waitFor();
  await sheet.getByTestId("mark-meant").click();
  await sheet.getByTestId("meant-picker").fill(MEANT.replace("__", " ").replaceAll("_", " "));
  await sheet.locator(`[data-testid=picker-option][data-tool=${MEANT}]`).click();
  await sheet.getByTestId("learnt-note").getByText(TASK).waitFor();
  await sheet.getByTestId("trace-lesson").first().waitFor();
  await sheet.getByTestId("trace-feedback").getByText("wrong").waitFor();
  await page.keyboard.press("Escape");
  await sheet.waitFor({ state: "detached" });
  return before;
}

async function decidesOtherwise(page, before) {
  const after = await route(page, TASK);
  check(after.tool === MEANT, `after the lesson \`${TASK}\` should find ${MEANT}, but finds ${after.tool}`);
  const first = page.getByTestId("candidate").first();
  await first.locator(".chip").getByText(/chosen|closest/).waitFor();
  check((await first.getAttribute("data-tool")) === MEANT, `${MEANT} is not the first candidate on the page`);
  check(before.tool !== after.tool, "the lesson changed nothing");
}

async function undoes(page, before) {
  await go(page, "learnt");
  const lesson = page.getByTestId("lesson").filter({ hasText: TASK });
  await lesson.getByText("list_notes").waitFor();
  await lesson.getByTestId("undo").click();
  await page.getByTestId("undone-lesson").filter({ hasText: TASK }).waitFor();
  check((await page.getByTestId("lesson").count()) === 0, "a lesson that was undone still counts");
  const again = await route(page, TASK);
  check(
    again.tool === before.tool && again.decision === before.decision,
    `without the lesson \`${TASK}\` should be ${before.decision} ${before.tool} again, but is ${again.decision} ${again.tool}`,
  );
}

async function runsATool(page) {
  const { tool } = await route(page, "create a note called Groceries with the text milk and eggs");
  check(tool === "notes__create_note", `a note should be created, but ${tool} is chosen`);
  await page.getByTestId("run").click();
  await page.getByTestId("run-outcome").getByText("answered").waitFor();
}

async function restarts(page) {
  await go(page, "servers");
  const server = page.locator("[data-testid=server][data-name=notes]");
  await server.getByTestId("server-restart").click();
  await page.getByTestId("confirm-yes").click();
  await page.getByTestId("toasts").getByText("notes was restarted").waitFor();
  await page.locator("[data-testid=server][data-name=notes][data-state=ready]").waitFor();
  await server.getByText("restarted 1×").waitFor();
  await server.getByTestId("server-log").click();
  await page.getByTestId("log-sheet").getByTestId("log").or(page.getByText("The log is empty.")).waitFor();
  await page.getByTestId("sheet-close").click();
}

async function startsAWorkflow(page) {
  await go(page, "workflows");
  await page.locator("[data-testid=template][data-name=look-around]").getByTestId("template-open").click();
  await page.locator("[data-testid=input][data-name=words]").fill("milk");
  await page.getByTestId("start-submit").click();
  const run = page.locator("[data-testid=run-item][data-state=completed]").filter({ hasText: "look-around" });
  await run.getByText("2 of 2 steps").waitFor();
}

async function findsATool(page) {
  await go(page, "tools");
  const rows = page.getByTestId("tool-row");
  await rows.first().waitFor();
  const all = await rows.count();
  await page.keyboard.press("/");
  await page.keyboard.type("search notes");
  await page.waitForFunction((all) => document.querySelectorAll("[data-testid=tool-row]").length < all, all);
  await page.locator("[data-testid=tool-row][data-tool=notes__search_notes] a.tool-name").first().click();
  const sheet = page.getByTestId("tool-sheet");
  await sheet.getByTestId("tool-arguments").getByText("query").first().waitFor();
  await page.getByTestId("sheet-close").click();
}

async function previewsAThreshold(page) {
  await go(page, "settings");
  await page.getByTestId("threshold-group").first().waitFor();
  await page.getByTestId("threshold").fill("1");
  await page.getByTestId("preview").click();
  await page
    .getByTestId("preview-result")
    .getByText(/of \d+ routes would change/)
    .waitFor();
  await page.getByTestId("preview-change").first().waitFor();
}

async function showsWhatHappened(page) {
  await go(page, "overview");
  await page.getByTestId("tile-requests").waitFor();
  await page.getByTestId("chart-routes").waitFor();
  await page.getByTestId("top-tools").getByText("create_note").waitFor();
  await go(page, "sessions");
  await page.keyboard.press("?");
  await page.getByTestId("help-dialog").waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("g");
  await page.keyboard.press("o");
  await page.getByTestId("view-overview").waitFor();
}

/** Looks at every view, and photographs it if there is a place for that. */
async function looksAround(page, name) {
  for (const view of VIEWS) {
    doing = `looking at ${view}, ${name}`;
    if (view === "try") await route(page, "search my notes for milk");
    else await go(page, view);
    await page.waitForFunction(() => !document.querySelector("[aria-busy=true], .skeleton"));
    const excess = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    check(excess <= 0, `${view} is ${excess} pixels too wide at ${name}`);
    if (folder) await page.screenshot({ path: join(folder, `${view}-${name}.png`) });
  }
}

async function drive(browser) {
  const page = await open(browser);
  await step("looking at an empty hub", () => showsNothingYet(page));
  const before = await step("correcting a route", () => corrects(page));
  await step("trying the corrected task again", () => decidesOtherwise(page, before));
  await step("undoing the lesson", () => undoes(page, before));
  await step("running a tool", () => runsATool(page));
  await step("restarting a server", () => restarts(page));
  await step("starting a workflow", () => startsAWorkflow(page));
  await step("searching a tool", () => findsATool(page));
  await step("previewing a threshold", () => previewsAThreshold(page));
  await step("looking at the overview", () => showsWhatHappened(page));
  if (folder) {
    mkdirSync(folder, { recursive: true });
    for (const task of tasks) await step(`routing \`${task}\``, () => route(page, task));
  }
  await page.context().close();
  for (const size of Object.keys(SIZES)) {
    for (const colorScheme of folder ? ["light", "dark"] : ["light"]) {
      const window = await open(browser, { size, colorScheme });
      await looksAround(window, `${size}-${colorScheme}`);
      await window.context().close();
    }
  }
}

if (!address) {
  console.error("usage: node drive.mjs ADDRESS [FOLDER]");
  process.exit(2);
}
const browser = await launch();
try {
  await drive(browser);
} catch (error) {
  problems.unshift(`while ${doing}: ${error.message}`);
  const pages = browser.contexts().flatMap((context) => context.pages());
  if (folder && pages[0]) await pages[0].screenshot({ path: join(folder, "failed.png") }).catch(() => {});
}
await browser.close();
for (const problem of problems) console.error(problem);
if (problems.length) process.exit(1);
console.log("every view works");
