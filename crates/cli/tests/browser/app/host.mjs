// The page of a host, with the official bridge. It is driven through `window.host`; what the app asks of its server goes
// through `window.toServer`, which the test gives it.

import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";

const CAPABILITIES = {
  openLinks: {},
  serverTools: {},
  serverResources: {},
  logging: {},
  updateModelContext: { text: {} },
  message: { text: {} },
};

/** What the app did, for the test to look at. */
const seen = { contexts: [], messages: [], links: [], logs: [], sizes: [] };
let bridge = null;

async function toServer(method, params) {
  const { result, error } = await window.toServer(method, params);
  if (error) throw Object.assign(new Error(error.message), { code: error.code });
  return result;
}

/** Shows an app for a call, as after a `tools/call` of a model. */
async function show({ html, input, result, sandbox, context = {}, capabilities = CAPABILITIES }) {
  await close();
  for (const list of Object.values(seen)) list.length = 0;
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts allow-same-origin");
  document.body.replaceChildren(frame);
  bridge = new AppBridge(null, { name: "test-host", version: "1.0.0" }, capabilities, {
    hostContext: { displayMode: "inline", availableDisplayModes: ["inline"], ...context },
  });
  bridge.oncalltool = (params) => toServer("tools/call", params);
  bridge.onreadresource = (params) => toServer("resources/read", params);
  bridge.onupdatemodelcontext = async (params) => (seen.contexts.push(params), {});
  bridge.onmessage = async (params) => (seen.messages.push(params), {});
  bridge.onopenlink = async (params) => (seen.links.push(params), {});
  bridge.onloggingmessage = (params) => seen.logs.push(params);
  bridge.onsizechange = ({ height }) => {
    seen.sizes.push(height);
    const { maxHeight = Infinity } = context.containerDimensions ?? {};
    frame.style.height = `${Math.min(height, maxHeight)}px`;
  };
  const isReady = new Promise((done) => (bridge.onsandboxready = done));
  const isInitialized = new Promise((done) => (bridge.oninitialized = done));
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.src = sandbox;
  await isReady;
  await bridge.sendSandboxResourceReady({ html, sandbox: "allow-scripts" });
  await isInitialized;
  await bridge.sendToolInput({ arguments: input });
  if (result) await bridge.sendToolResult(result);
}

async function close() {
  if (!bridge) return;
  await bridge.teardownResource({ reason: "the test goes on" });
  await bridge.close();
  bridge = null;
}

window.host = {
  show,
  close,
  seen,
  version: () => bridge.getAppVersion(),
  ping: () => bridge.request({ method: "ping" }, { parse: (it) => it }),
  change: (context) => bridge.sendHostContextChange(context),
  /** Tells of a call as if a model had made it. */
  async tell(input, result) {
    await bridge.sendToolInput({ arguments: input });
    await bridge.sendToolResult(result);
  },
  cancel: (reason) => bridge.sendToolCancelled({ reason }),
};
