// Shows the hub's own app in Chromium, in a host with the official bridge, and acts as a person would.
//
//     node app.mjs ADDRESS [FOLDER]
//
// ADDRESS is the MCP endpoint of a running hub with the built-in servers `notes` and `desk`, and with three packages of
// @modelcontextprotocol: `memory` (server-memory), `sys` (server-system-monitor) and `clock` (server-basic-vanillajs).
// With `-` there is no hub: only answers that are written down are shown (see `app/canned.mjs`). With FOLDER, every kind
// of answer is photographed at desktop and phone width, light and dark.
//
// It takes playwright-core, the bridge and the client from `.servers` (or $TOOLYARD_SERVERS) and the browser from
// $TOOLYARD_CHROMIUM.

import { mkdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import * as canned from "./app/canned.mjs";
import { launch, SERVERS } from "./launch.mjs";
import { connect, serve } from "./app/serve.mjs";

const [address, folder] = process.argv.slice(2);
const APP = resolve(import.meta.dirname, "../../../hub/src/serve/app.html");

const PATIENCE_MS = 30_000;
const SIZES = { desktop: { width: 760, height: 700 }, phone: { width: 390, height: 844 } };
/** The schema of whatever a server answers. */
const ANYTHING = { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }) } };
const TASK = { task: "do it", values: { when: "tomorrow" } };

const problems = [];
let doing = "starting the browser";

function check(isTrue, message) {
  if (!isTrue) throw new Error(message);
}

function same(found, expected, what) {
  const [one, other] = [JSON.stringify(found), JSON.stringify(expected)];
  check(one === other, `${what}: expected ${other}, but found ${one}`);
}

async function step(name, work) {
  doing = name;
  return work();
}

/** Opens the page of a host that reports every error. `server` answers what the app asks of its server. */
async function open(browser, host, { size = "desktop", theme = "light" } = {}) {
  const context = await browser.newContext({
    viewport: SIZES[size],
    colorScheme: theme,
    locale: "en-GB",
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const note = (text) => problems.push(`while ${doing}: ${text}`);
  page.on("console", (message) => {
    // The specification wants the outer frame to be like this, on an origin of its own.
    const isExpected = message.text().startsWith("An iframe which has both allow-scripts and allow-same-origin");
    const isBad = ["error", "warning"].includes(message.type());
    if (isBad && !isExpected) note(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => note(`error: ${error.stack ?? error}`));
  page.on("dialog", (dialog) => (note(`a dialog of the browser: ${dialog.message()}`), dialog.dismiss()));
  page.on("request", (request) => {
    const { protocol, origin } = new URL(request.url());
    const isOwn = ["data:", "about:"].includes(protocol) || [host.page, host.sandbox].includes(`${origin}/`);
    if (!isOwn) note(`a request to ${request.url().slice(0, 200)}`);
  });
  const asked = [];
  const window = { page, asked, server: () => ({}), theme };
  await page.exposeFunction("toServer", async (method, params) => {
    asked.push({ method, params });
    try {
      return { result: await window.server(method, params) };
    } catch ({ message, code }) {
      return { error: { message, code } };
    }
  });
  await page.goto(host.page);
  await page.waitForFunction(() => window.host);
  return window;
}

/** Shows the app with an answer; returns what of the app is to be seen. */
async function show(window, host, { html, input = TASK, result, context = {}, capabilities }) {
  window.asked.length = 0;
  const given = { html, input, result, sandbox: host.sandbox, context: { theme: window.theme, ...context } };
  if (capabilities) given.capabilities = capabilities;
  await window.page.evaluate((given) => window.host.show(given), given);
  return window.page.frameLocator("iframe").frameLocator("iframe").locator("main");
}

const seen = (window) => window.page.evaluate(() => window.host.seen);
const calls = ({ asked }) => asked.map(({ params }) => params);

/** Waits until the app told the model what a person did, and returns the text. */
async function told(window) {
  await window.page.waitForFunction(() => window.host.seen.contexts.length > 0);
  const { contexts } = await seen(window);
  const [{ text }] = contexts.at(-1).content;
  check(text.length <= 4_000, `the model is told ${text.length} characters`);
  return text;
}

async function completesADraft(window, host, html) {
  window.server = () => canned.result;
  const app = await show(window, host, { html, result: canned.draft });
  await app.getByText("Not used: when = tomorrow").waitFor();
  const run = app.getByRole("button", { name: "Run" });
  await run.click();
  await app.getByText("This is needed.").waitFor();
  same(calls(window), [], "a draft without what is missing");
  await app.getByLabel("content").fill("milk, eggs");
  await app.getByLabel("priority").fill("1e400");
  await run.click();
  await app.getByText("This has to be a number.").waitFor();
  await app.getByLabel("priority").fill("5");
  await app.getByLabel("pinned").selectOption("no");
  await app.getByLabel("tags").fill("home\nshop");
  await app.getByLabel("links").fill('[{"url": "b.example"}]');
  await app.getByText("What else it takes").click();
  await app.getByLabel("color").fill("3");
  await run.click();
  await app.getByText("create_note").first().waitFor();
  await app.getByText("97% sure").waitFor();
  const values = {
    content: "milk, eggs",
    priority: 5,
    tags: ["home", "shop"],
    pinned: false,
    links: [{ url: "b.example" }],
    color: 3,
  };
  const [{ name, arguments: given }] = calls(window);
  same(name, "smart_route", "the tool of a draft");
  same([given.task, given.context], ["run it", { session: "YlGtH0L66KN4" }], "the call of a draft");
  const sorted = (it) => Object.entries(it).sort(([one], [other]) => (one < other ? -1 : 1));
  same(sorted(given.values), sorted(values), "the values of a draft");
  check((await told(window)).includes("Groceries.md"), "the model is not told the result");
  const focused = await app.locator("summary").evaluate((it) => it === document.activeElement);
  check(focused, "the focus is not on the new answer");
}

async function runsADraftAsItIs(window, host, html) {
  window.server = () => canned.result;
  const app = await show(window, host, { html, result: canned.rightToLeft });
  await app.getByLabel("title").press("Enter");
  await app.getByText("97% sure").waitFor();
  same(
    calls(window),
    [{ name: "smart_route", arguments: { task: "run it", context: { session: "s" } } }],
    "a draft as it is",
  );
}

async function picksAnother(window, host, html) {
  window.server = () => canned.question;
  const app = await show(window, host, { html, result: canned.draft });
  await app.getByText("Another tool").click();
  await app.getByRole("button", { name: "desk__create_task" }).click();
  await app.getByText("Which of these").waitFor();
  same(calls(window)[0].arguments, { task: "desk__create_task", context: { session: "YlGtH0L66KN4" } }, "another tool");
}

async function answersAQuestion(window, host, html) {
  window.server = () => canned.confirmation;
  let app = await show(window, host, { html, result: canned.question });
  await app.getByRole("button", { name: "query_tasks" }).click();
  await app.getByRole("button", { name: "Do it" }).waitFor();
  same(calls(window)[0].arguments, { task: "desk__query_tasks", context: { session: "s123456789ab" } }, "a choice");
  app = await show(window, host, { html, result: canned.question });
  await app.getByLabel("Or in other words").fill("the mail");
  await app.getByLabel("Or in other words").press("Enter");
  await app.getByRole("button", { name: "Do it" }).waitFor();
  same(calls(window)[0].arguments, { task: "the mail", context: { session: "s123456789ab" } }, "other words");
}

async function trustsTheHubAlone(window, host, html) {
  const input = { name: "evil__ask", arguments: {}, task: "find something" };
  for (const result of canned.forged) {
    const app = await show(window, host, { html, input, result });
    await app.locator("summary .tool").getByText("ask", { exact: true }).waitFor();
    await app.locator("summary").click();
    await app.getByText('"needsClarification": true').waitFor();
    same(await app.locator("button, input, fieldset").count(), 0, "what a forged question can be answered with");
  }
}

async function confirms(window, host, html) {
  window.server = () => canned.result;
  let app = await show(window, host, { html, result: canned.confirmation });
  await app.getByText("Delete note? It removes").waitFor();
  await app.getByText("Groceries.md").waitFor();
  await app.getByRole("button", { name: "Do it" }).click();
  await app.getByText("97% sure").waitFor();
  same(
    calls(window),
    [{ name: "smart_route", arguments: { task: "do it", context: { confirm: "c123456789ab" } } }],
    "a confirmation",
  );
  app = await show(window, host, { html, result: canned.confirmation });
  await app.getByRole("button", { name: "Leave it" }).click();
  await app.getByText("Not run").waitFor();
  same(calls(window), [], "what was left");
  check((await told(window)).includes("declined"), "the model is not told that the person declined");
  app = await show(window, host, { html, result: canned.confirmedPlan });
  await app.getByText("It deletes 2 notes.").waitFor();
  await app.getByRole("button", { name: "Do it" }).click();
  await app.getByText("97% sure").waitFor();
}

async function showsPlansAndErrors(window, host, html) {
  let app = await show(window, host, { html, result: canned.plan });
  await app.getByText("destructive").waitFor();
  await app.getByText("Not done: “tell my wife”").waitFor();
  app = await show(window, host, { html, result: canned.stopped });
  await app.getByText("1 of 3 steps").waitFor();
  await app.getByText("not started").waitFor();
  app = await show(window, host, { html, result: canned.failed });
  await app.getByText("cannot be reached").waitFor();
  app = await show(window, host, { html, result: canned.result });
  await app.locator("summary").click();
  await app.getByText('"created": true').waitFor();
  await app.getByRole("definition").getByText("Groceries").waitFor();
  app = await show(window, host, { html, result: canned.picture });
  await app.locator("summary").click();
  await app.getByRole("img").waitFor();
  app = await show(window, host, { html });
  await app.getByText("Working: do it").waitFor();
  await window.page.evaluate(() => window.host.cancel("the user left"));
  await app.getByText("Cancelled. the user left").waitFor();
  await window.page.evaluate(() => window.host.ping());
}

async function completesAStep(window, host, html) {
  window.server = () => canned.result;
  const input = { task: "mail it", context: '{"arguments": {"cc": "a@b"}}', options: { maxResults: 2 } };
  const app = await show(window, host, { html, input, result: canned.lack });
  await app.getByLabel("to").fill("ana@example.com\nbob@example.com");
  await app.getByRole("button", { name: "Go on" }).click();
  await app.getByText("97% sure").waitFor();
  const context = { arguments: { cc: "a@b", to: ["ana@example.com", "bob@example.com"] } };
  same(calls(window)[0].arguments, { ...input, context }, "a step that lacks values");
}

async function takesTheLookOfTheHost(window, host, html) {
  const context = {
    theme: "dark",
    styles: {
      variables: { "--color-background-primary": "light-dark(#fff, rgb(10, 20, 30))", "--font-sans": "serif" },
    },
    containerDimensions: { maxWidth: 500, maxHeight: 300 },
    safeAreaInsets: { top: 7, right: 0, bottom: 0, left: 0 },
  };
  const app = await show(window, host, { html, result: canned.draft, context });
  const looks = () =>
    app.evaluate(() => {
      const { backgroundColor, fontFamily, paddingTop } = getComputedStyle(document.body);
      return [backgroundColor, fontFamily, paddingTop, document.documentElement.clientWidth, document.body.clientWidth];
    });
  const [color, font, top, , width] = await looks();
  same([color, font, top, width], ["rgb(10, 20, 30)", "serif", "7px", 500], "the look of the host");
  await window.page.evaluate(() => window.host.change({ theme: "light" }));
  await app.getByLabel("content").fill("what is written stays");
  same((await looks())[0], "rgb(255, 255, 255)", "the other theme of the host");
  same(await app.getByLabel("content").inputValue(), "what is written stays", "a draft while the host changes");
  const unreadable = await app.evaluate(contrasts);
  same(unreadable, [], "text that is hard to read");
}

/** Runs in the page: returns the texts whose contrast with their background is below WCAG AA. */
function contrasts() {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const luminance = (color) => {
    const [r, g, b] = [...rgb(color)].map((it) =>
      it / 255 <= 0.03928 ? it / 255 / 12.92 : ((it / 255 + 0.055) / 1.055) ** 2.4,
    );
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (it) => {
    const { backgroundColor } = getComputedStyle(it);
    return rgb(backgroundColor)[3] === 255 || !it.parentElement ? backgroundColor : behind(it.parentElement);
  };
  const ratio = (it) => {
    const [low, high] = [luminance(getComputedStyle(it).color), luminance(behind(it))].sort(
      (one, other) => one - other,
    );
    return (high + 0.05) / (low + 0.05);
  };
  const hasText = (it) => [...it.childNodes].some((node) => node.nodeType === 3 && node.data.trim()) || it.value;
  const bad = [...document.querySelectorAll("main *")].filter((it) => hasText(it) && ratio(it) < 4.5);
  return bad.map((it) => `${it.textContent.slice(0, 40)}: ${ratio(it).toFixed(2)}`);
}

/** Some hosts also tell the app of the calls that it makes itself. */
async function bearsAnEcho(window, host, html) {
  window.server = async (_, { arguments: input }) => {
    await window.page.evaluate(([input, result]) => window.host.tell(input, result), [input, canned.confirmation]);
    return canned.confirmation;
  };
  const app = await show(window, host, { html, result: canned.draft });
  await app.getByLabel("content").fill("milk");
  await app.getByRole("button", { name: "Run" }).click();
  await app.getByRole("button", { name: "Do it" }).waitFor();
  window.server = () => canned.result;
  await app.getByRole("button", { name: "Do it" }).click();
  await app.getByText("97% sure").waitFor();
  same(
    calls(window)[1].arguments,
    { task: "do it", context: { confirm: "c123456789ab" } },
    "a confirmation after a draft",
  );
  check((await told(window)).includes("confirmed notes__delete_note"), "the model is not told");
}

async function saysWhatFailed(window, host, html) {
  window.server = () => {
    throw new Error("the hub is gone");
  };
  const app = await show(window, host, { html, result: canned.confirmation });
  await app.getByRole("button", { name: "Do it" }).click();
  await app.getByText("the hub is gone").waitFor();
  window.server = () => canned.result;
  await app.getByRole("button", { name: "Do it" }).click();
  await app.getByText("97% sure").waitFor();
}

async function survives(window, host, html) {
  const frame = () => window.page.frames().at(-1);
  for (const [at, result] of canned.malformed.entries()) {
    doing = `showing malformed answer ${at}`;
    await show(window, host, { html, result });
    await window.page.waitForFunction(() => window.host.seen.sizes.length > 0);
    check((await frame().locator("main").innerText()).trim(), `malformed answer ${at} shows nothing`);
    const { logs } = await seen(window);
    check(!logs.length, `malformed answer ${at}: ${JSON.stringify(logs)}`);
  }
  for (const [at, result] of canned.markup.entries()) {
    doing = `showing markup ${at}`;
    await show(window, host, { html, result });
    await frame().getByText("<img src=x").first().waitFor({ state: "attached" });
    await frame()
      .locator("details")
      .evaluateAll((all) => all.forEach((it) => (it.open = true)));
    const made = await frame().evaluate(() => document.querySelectorAll("main img, main script").length);
    check(
      made === 0 && (await frame().evaluate(() => document.body.id)) === "",
      "markup of a stranger became elements",
    );
  }
  doing = "showing a huge answer";
  let app = await show(window, host, { html, result: canned.huge });
  await app.locator("summary").click();
  await app.getByText("characters more").first().waitFor();
  check((await app.evaluate((it) => it.textContent.length)) < 60_000, "a huge answer is not cut");
  doing = "showing 200 fields";
  window.server = () => canned.result;
  app = await show(window, host, { html, result: canned.many });
  check((await app.locator("textarea, input").count()) === 200, "not every field is there");
  check((await app.locator("textarea:visible, input:visible").count()) === 12, "too many fields are open");
  for (const at of [0, 1, 2]) await app.getByLabel(`field_${at} missing`).fill("7");
  await app.getByText("188 more values").click();
  await app.locator("input").last().fill("8");
  await app.getByRole("button", { name: "Run" }).click();
  await app.getByText("97% sure").waitFor();
  same(
    calls(window)[0].arguments.values,
    { field_0: 7, field_1: 7, field_2: 7, field_199: 8 },
    "what was changed of 200 values",
  );
}

async function embeds(window, host, html) {
  window.server = (method, params) => {
    if (method === "resources/read") {
      const isApp = params.uri === canned.ADDRESS;
      return canned.page(params.uri, isApp ? { connectDomains: ["https://api.example"] } : undefined);
    }
    return { content: [{ type: "text", text: `called ${params.name}` }] };
  };
  const context = { theme: "dark", toolInfo: { tool: { name: "smart_route", inputSchema: { type: "object" } } } };
  let app = await show(window, host, { html, result: canned.withApp, context });
  const log = app.frameLocator("iframe").locator("#log");
  await answersAnApp(window, app);
  await log.getByText("ready null").waitFor();
  const lines = (await log.innerText()).split("\n");
  const line = (name) => lines.find((it) => it.startsWith(`${name} `))?.slice(name.length + 1);
  same(line("context"), '{"theme":"dark","tool":"show","mode":"inline"}', "the context of an app");
  same(
    line("capabilities"),
    '["logging","message","openLinks","serverResources","serverTools","updateModelContext"]',
    "the capabilities of an app",
  );
  same(line("tool-input"), '{"arguments":{"a":1}}', "the input of an app");
  same(
    line("tool-result"),
    '{"content":[{"type":"text","text":"{\\"n\\":5}"}],"structuredContent":{"n":5}}',
    "the result of an app",
  );
  const all = (name) => lines.filter((it) => it.startsWith(`${name} `)).map((it) => JSON.parse(it.slice(name.length)));
  const refused = (name, count, error, code = -32602) => same(all(name), Array(count).fill({ code, error }), name);
  check(line("call").includes("called own__poll_2"), `a call of an app is ${line("call")}`);
  refused("foreign-call", 6, "this server has no tool of that name for its page");
  same(all("read")[0].contents[0].uri, "ui://view/other?a=1", "the address of what an app reads");
  refused("foreign-read", 5, "a page inside Toolyard reads pages of its own server alone");
  refused("bad-link", 4, "a page inside Toolyard opens addresses of http and https alone");
  refused("picture", 1, "a page inside Toolyard sends texts alone");
  refused("second", 1, "declined: the person is being asked already", -32000);
  const declined = { code: -32000, error: "declined" };
  same(all("link"), [declined, {}], "the links of an app");
  same(all("message"), [declined, {}], "the messages of an app");
  const asked = window.asked.map(({ method, params }) => [method, params.name ?? params.uri]);
  const expected = [
    ["resources/read", canned.ADDRESS],
    ["tools/call", "own__poll_2"],
    ["resources/read", `${canned.BASE}view/other?a=1`],
    ["resources/read", `${canned.BASE}server.toolyard/other/app`],
  ];
  same(asked, expected, "what an app reaches");
  same(line("mode"), '{"mode":"inline"}', "the mode of an app");
  check(line("other").includes("unknown method"), "an app may ask for anything");
  const { links, messages, contexts, logs } = await seen(window);
  same([links.length, messages.length, contexts.length, logs.length], [1, 1, 1, 1], "what was passed on");
  same(links[0].url, "https://example.com/a?b=1", "the link of an app");
  const long = `[page of my own] ${"long ".repeat(2_000)}`.slice(0, 4_000);
  same(messages[0], { role: "user", content: [{ type: "text", text: long }] }, "the message of an app");
  const marked = (text) => ({ type: "text", text: `[page of my own] ${text}` });
  same(contexts[0], { content: [marked("from inside"), marked("more")] }, "what an app tells the model");
  await window.page.waitForFunction(() => window.host.seen.sizes.at(-1) > 333);
  await app.getByText("This app asks for https://api.example").waitFor();
  await window.page.evaluate(() => window.host.change({ theme: "light" }));
  await log.getByText('host-context-changed {"theme":"light"}').waitFor();
  app = await show(window, host, {
    html,
    result: canned.calledWithApp,
    input: { name: "own__show", arguments: { a: 1 } },
  });
  await app
    .frameLocator("iframe")
    .locator("#log")
    .getByText('tool-result {"content":[{"type":"text","text":"own text"}]')
    .waitFor();
  await app.getByRole("button", { name: "Do it" }).waitFor();
  for (const result of canned.withoutApp) {
    app = await show(window, host, { html, result });
    await app.locator("summary").click();
    await app.getByText('"n": 5').waitFor();
    same([calls(window), await app.locator("iframe").count()], [[], 0], "an app without an address of its server");
  }
  app = await show(window, host, { html, result: canned.withCutApp });
  await app.getByText("too long for the app").waitFor();
  await app.getByText('"n": 5').waitFor();
  window.server = () => {
    throw new Error("no such resource");
  };
  app = await show(window, host, { html, result: canned.withApp });
  await app.getByText("could not be read: no such resource").waitFor();
}

/** Agrees to some of what the app of a server wants, as a person would. */
async function answersAnApp(window, app) {
  const passed = async () => {
    const { links, messages } = await seen(window);
    return [links.length, messages.length];
  };
  const leave = app.getByRole("button", { name: "Leave it" });
  const link = "The page of my own wants to open an address at example.com";
  const message = "The page of my own wants to send a message";
  await app.getByRole("group", { name: "wants to run own__poll_2" }).getByText('"confirm": true').waitFor();
  await leave.click();
  await app.getByRole("group", { name: link }).getByText("https://example.com/", { exact: true }).waitFor();
  const asked = Date.now();
  await leave.click();
  await app.getByRole("group", { name: link }).getByText("https://example.com/a?b=1").waitFor();
  same(await passed(), [0, 0], "what was passed on before anyone agreed");
  await app.getByRole("button", { name: "Open" }).click();
  check(Date.now() - asked >= 500, "a new button can be pressed by accident");
  await app.getByRole("group", { name: message }).getByText("[page of my own] hello", { exact: true }).waitFor();
  if (folder) await window.page.locator("body").screenshot({ path: join(folder, "app-asks.png") });
  same(await app.evaluate(contrasts), [], "text of what an app wants that is hard to read");
  await leave.click();
  const text = await app.getByRole("group", { name: message }).locator("pre").filter({ hasText: "long" }).innerText();
  same([text.length, await passed()], [4_000, [1, 0]], "what is shown of a long message, and what was passed on");
  await app.getByRole("button", { name: "Send" }).click();
}

/** Calls a tool of a hub as a model would, and shows the app with the answer. */
async function call(window, host, hub, input, name = "smart_route") {
  const result = await hub.client.callTool({ name, arguments: input });
  const isOwn = name === "smart_route" || undefined;
  same(result._meta?.["toolyard/answer"], isOwn, `whether an answer of ${name} is the hub's own`);
  window.server = (method, params) => hub.client.request({ method, params }, ANYTHING);
  return { result, app: await show(window, host, { html: hub.html, input, result }) };
}

async function readsTheApp(hub) {
  const { tools } = await hub.client.listTools();
  const uri = tools.find((tool) => tool.name === "smart_route")?._meta?.ui?.resourceUri;
  same(uri, "ui://toolyard/app.html", "the app of smart_route");
  const { contents } = await hub.client.readResource({ uri });
  same(contents[0].mimeType, "text/html;profile=mcp-app", "the type of the app");
  hub.html = contents[0].text;
}

async function completesADraftAtTheHub(window, host, hub) {
  const title = `Buy milk ${Date.now()}`;
  const { result, app } = await call(window, host, hub, { task: "create a task", values: { when: "2027-01-02" } });
  check(result.structuredContent.draft, `this should be a draft: ${JSON.stringify(result)}`);
  await app.getByLabel("title").fill(title);
  await app.getByText("What else it takes").click();
  await app.getByLabel("status").selectOption("doing");
  await app.getByLabel("tags").fill("home\nfood");
  if (folder) await looksRight(window, app, "hub-draft");
  await app.getByRole("button", { name: "Run" }).click();
  await app.locator("summary").filter({ hasText: "create_tasks" }).click();
  await app.getByText('"success_count": 1').waitFor();
  const found = await hub.client.callTool({ name: "desk__query_tasks", arguments: { search: title } });
  const [{ status, tags, due }] = found.structuredContent.items;
  same([status, tags, due], ["doing", ["home", "food"], "2027-01-02"], "the task of a draft");
  check((await told(window)).includes(title), "the model is not told the result");
}

async function answersAQuestionAtTheHub(window, host, hub) {
  const { result, app } = await call(window, host, hub, { task: "find something" });
  check(result.structuredContent.session, `this should be a question: ${JSON.stringify(result)}`);
  await app.getByRole("button", { name: "search_notes" }).click();
  await app.getByLabel("query").fill("milk");
  await app.getByLabel("query").press("Enter");
  await app.locator("summary .tool").getByText("search_notes").waitFor();
}

async function confirmsAtTheHub(window, host, hub) {
  const name = `person ${Date.now()}`;
  const remember = { entities: [{ name, entityType: "person", observations: ["likes tea"] }] };
  await hub.client.callTool({ name: "memory__create_entities", arguments: remember });
  const isThere = async () => {
    const { content } = await hub.client.callTool({ name: "memory__read_graph", arguments: {} });
    return JSON.stringify(content).includes(name);
  };
  const input = { task: "memory__delete_entities", context: { arguments: { entityNames: [name] } } };
  for (const [answer, shown, stays] of [
    ["Leave it", "Not run", true],
    ["Do it", "% sure", false],
  ]) {
    const { result, app } = await call(window, host, hub, input);
    check(result.structuredContent.confirm, `this should be confirmed: ${JSON.stringify(result)}`);
    await app.getByRole("definition").getByText(name).waitFor();
    await app.getByRole("button", { name: answer }).click();
    await app.getByText(shown).waitFor();
    check((await isThere()) === stays, `after “${answer}” the entity should ${stays ? "stay" : "be gone"}`);
  }
}

async function embedsTheAppOfAServer(window, host, hub, look = "") {
  const { result, app } = await call(window, host, hub, { task: "sys__get-system-info" });
  const { tools } = result._meta["toolyard/app"];
  same(tools["poll-system-stats"], "sys__poll-system-stats", "a tool that the app of a server may call");
  const monitor = app.frameLocator("iframe");
  await monitor.getByText(result.structuredContent.result.hostname).first().waitFor();
  const polls = () => calls(window).filter(({ name }) => name === "sys__poll-system-stats").length;
  if (!polls()) await monitor.getByRole("button").first().click();
  await monitor
    .getByText(/\d+\s*%/)
    .first()
    .waitFor();
  check(polls() > 0, "the app of a server does not reach its tool");
  if (look) await looksRight(window, app, `hub-app-${look}`);
}

async function embedsTheAppOfACalledTool(window, host, hub) {
  const { app } = await call(window, host, hub, { name: "clock__get-time", arguments: {} }, "call_tool");
  const clock = app.frameLocator("iframe");
  await clock.getByRole("button", { name: "Get Server Time" }).click();
  await clock
    .getByText(/\d{4}-\d\d-\d\dT/)
    .first()
    .waitFor();
  check(
    calls(window).some(({ name }) => name === "clock__get-time"),
    "the app of the clock does not reach its tool",
  );
  if (folder) await looksRight(window, app, "hub-app-of-call_tool");
}

async function tryHub(browser, host) {
  const hub = { client: await step("connecting", () => connect(SERVERS, address)) };
  await step("reading the app", () => readsTheApp(hub));
  const window = await open(browser, host);
  const steps = {
    completesADraftAtTheHub,
    answersAQuestionAtTheHub,
    confirmsAtTheHub,
    embedsTheAppOfAServer,
    embedsTheAppOfACalledTool,
  };
  for (const [name, work] of Object.entries(steps)) await step(name, () => work(window, host, hub));
  await window.page.evaluate(() => window.host.close());
  await window.page.context().close();
  if (folder) await inEveryLook(browser, host, (window, look) => embedsTheAppOfAServer(window, host, hub, look));
  await hub.client.close();
}

async function photographs(browser, host, html) {
  const kinds = {
    draft: canned.draft,
    question: canned.question,
    confirmation: canned.confirmation,
    plan: canned.plan,
    stopped: canned.stopped,
    result: canned.result,
    failed: canned.failed,
    lack: canned.lack,
    rtl: canned.rightToLeft,
  };
  await inEveryLook(browser, host, async (window, look) => {
    for (const [name, result] of Object.entries(kinds)) {
      doing = `photographing ${name}`;
      const app = await show(window, host, { html, result });
      await looksRight(window, app, `${name}-${look}`);
      if (name !== "result") continue;
      await app.locator("summary").click();
      await looksRight(window, app, `${name}-open-${look}`);
    }
  });
}

async function inEveryLook(browser, host, work) {
  for (const size of Object.keys(SIZES)) {
    for (const theme of ["light", "dark"]) {
      const window = await open(browser, host, { size, theme });
      await work(window, `${size}-${theme}`);
      await window.page.context().close();
    }
  }
}

/** Photographs what is shown, if there is a place for that, and checks that nothing is too wide. */
async function looksRight({ page }, app, name) {
  await page.waitForTimeout(150);
  const excess = await app.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  check(excess <= 0, `${name} is ${excess} pixels too wide`);
  same(await app.evaluate(contrasts), [], `text of ${name} that is hard to read`);
  if (folder) await page.locator("body").screenshot({ path: join(folder, `${name}.png`) });
}

async function tryCanned(browser, host) {
  const html = readFileSync(APP, "utf8");
  const window = await open(browser, host);
  const steps = {
    completesADraft,
    runsADraftAsItIs,
    picksAnother,
    answersAQuestion,
    trustsTheHubAlone,
    confirms,
    completesAStep,
    takesTheLookOfTheHost,
    bearsAnEcho,
    showsPlansAndErrors,
    saysWhatFailed,
    survives,
    embeds,
  };
  for (const [name, work] of Object.entries(steps)) await step(name, () => work(window, host, html));
  await window.page.evaluate(() => window.host.close());
  await window.page.context().close();
  if (folder) await photographs(browser, host, html);
}

if (!address) {
  console.error("usage: node app.mjs ADDRESS|- [FOLDER]");
  process.exit(2);
}
if (folder) mkdirSync(folder, { recursive: true });
const host = await serve(SERVERS, resolve(import.meta.dirname, "app"));
const browser = await launch();
try {
  await tryCanned(browser, host);
  if (address !== "-") await tryHub(browser, host);
} catch (error) {
  problems.unshift(`while ${doing}: ${error.message}`);
  const pages = browser.contexts().flatMap((context) => context.pages());
  if (folder && pages[0])
    await pages[0].screenshot({ path: join(folder, "failed.png"), fullPage: true }).catch(() => {});
}
await browser.close();
host.close();
for (const problem of problems) console.error(problem);
if (problems.length) process.exit(1);
console.log("the app works");
