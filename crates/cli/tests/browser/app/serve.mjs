// Serves the host and its sandbox on two origins, and connects to a hub.

import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

// What the specification wants where an app declares no domains.
const STRICT = [
  "default-src 'none'",
  "script-src 'self' 'unsafe-inline'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "media-src 'self' data:",
  "connect-src 'none'",
  "frame-src 'none'",
  "object-src 'none'",
  "base-uri 'self'",
].join("; ");

/** Loads a package as a module; not all of them have a form for `require`. */
async function load(servers, name) {
  const installed = createRequire(join(servers, "npm/package.json"));
  try {
    return await import(pathToFileURL(installed.resolve(name)));
  } catch {
    return installed(name);
  }
}

/** Puts the host's script and the bridge into one file. */
async function bundled(servers, folder) {
  const { rolldown } = await load(servers, "rolldown");
  const build = await rolldown({
    input: join(folder, "host.mjs"),
    platform: "browser",
    resolve: { modules: [join(servers, "npm/node_modules")] },
    logLevel: "silent",
  });
  const { output } = await build.generate({ format: "esm" });
  await build.close();
  return output[0].code;
}

function listen(answers, headers = {}) {
  const server = createServer(({ url }, response) => {
    const [type, text] = answers[new URL(url, "http://localhost").pathname] ?? [];
    if (!text) return response.writeHead(404).end();
    response.writeHead(200, { "content-type": `${type}; charset=utf-8`, ...headers }).end(text);
  });
  return new Promise((done) => server.listen(0, "127.0.0.1", () => done(server)));
}

/** Serves the host; returns the addresses of its page and of its sandbox. */
export async function serve(servers, folder) {
  const read = (name) => readFileSync(join(folder, name), "utf8");
  const pages = await listen({
    "/": ["text/html", read("host.html")],
    "/host.js": ["text/javascript", await bundled(servers, folder)],
  });
  const sandbox = await listen({ "/": ["text/html", read("sandbox.html")] }, { "content-security-policy": STRICT });
  return {
    // Two names of one machine are two sites.
    page: `http://localhost:${pages.address().port}/`,
    sandbox: `http://127.0.0.1:${sandbox.address().port}/`,
    close: () => (pages.close(), sandbox.close()),
  };
}

/** Connects to a hub as a host that shows apps. */
export async function connect(servers, address) {
  const { Client, StreamableHTTPClientTransport } = await load(servers, "@modelcontextprotocol/client");
  const ui = { mimeTypes: ["text/html;profile=mcp-app"] };
  const capabilities = { extensions: { "io.modelcontextprotocol/ui": ui } };
  const client = new Client({ name: "test-host", version: "1.0.0" }, { capabilities });
  await client.connect(new StreamableHTTPClientTransport(new URL(address)));
  return client;
}
