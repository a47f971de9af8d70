// Starts the browser that the scripts here drive. It takes playwright-core from `.servers` (or $TOOLYARD_SERVERS) and the
// browser from $TOOLYARD_CHROMIUM.

import { createRequire } from "node:module";
import { join, resolve } from "node:path";

export const SERVERS = process.env.TOOLYARD_SERVERS ?? resolve(import.meta.dirname, "../../../../.servers");
const CHROMIUM = process.env.TOOLYARD_CHROMIUM ?? "/usr/bin/chromium";
const { chromium } = createRequire(join(SERVERS, "npm/package.json"))("playwright-core");

export function launch() {
  return chromium.launch({
    executablePath: CHROMIUM,
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"].concat([
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ]),
  });
}
