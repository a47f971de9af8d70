// Talks to the hub: requests, the token, and the stream of live events.

const BASE = new URL("api/", import.meta.url);
const TOKEN = "toolyard-token";
const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 30_000;
// The hub sends a comment every 15 seconds; a stream that is silent for three of them is dead.
const SILENCE_MS = 45_000;

/** A request that did not succeed, with what the hub says to do about it. */
export class ApiError extends Error {
  constructor(message, hint, status) {
    super(message);
    this.name = "ApiError";
    this.hint = hint;
    this.status = status;
  }
}

/**
 * Emits `route`, `server` and `numbers` with the event's JSON as `detail`; `state` with `connecting`, `open`, `lost` or
 * `locked`; `resumed` when the stream is back after a loss; and `unauthorized` when a request lacks a valid token.
 */
export const live = new EventTarget();

export function get(path, query, signal) {
  const url = new URL(path, BASE);
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== null && value !== undefined && value !== "") url.searchParams.set(name, value);
  }
  return request(url, { signal });
}

export function post(path, body, signal) {
  return request(new URL(path, BASE), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body ?? {}),
    signal,
  });
}

/** Returns a path with every segment encoded, because names come from servers. */
export function path(...segments) {
  return segments.map(encodeURIComponent).join("/");
}

export function setToken(given) {
  remember(given);
  reconnect();
}

/** Takes the token out of `#token=…`, so that it stays neither in the address bar nor in the history. */
export function adoptToken() {
  const found = /^#token=([^&]+)/.exec(location.hash);
  if (!found) return;
  remember(decodeURIComponent(found[1]));
  history.replaceState(null, "", `${location.pathname}#/overview`);
}

let token = null;
let attempt = 0;
let wake = null;
let stream = null;
let wasLost = false;

/** Keeps the stream of live events open for as long as the page is. */
export async function connect() {
  for (;;) {
    emit("state", { state: wasLost ? "lost" : "connecting" });
    const status = await readStream().catch(() => 0);
    if (status === 401) {
      emit("state", { state: "locked" });
      emit("unauthorized");
      await pause(24 * 3_600_000);
      continue;
    }
    wasLost = true;
    const delay = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** attempt) * (0.75 + Math.random() / 2);
    attempt += 1;
    emit("state", { state: "lost", retryAt: Date.now() + delay });
    await pause(delay);
  }
}

/** Opens the stream again without waiting. */
export function reconnect() {
  attempt = 0;
  stream?.abort();
  wake?.();
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden && wasLost) reconnect();
});

async function request(url, options) {
  let response;
  try {
    response = await fetch(url, {
      ...options,
      headers: { ...headers(), ...options.headers },
      cache: "no-store",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("The hub does not answer.", "Check that `toolyard serve --http` is running.", 0);
  }
  const text = await response.text();
  if (response.ok) return text ? parse(text) : null;
  if (response.status === 401) emit("unauthorized");
  const said = parse(text)?.error;
  throw new ApiError(
    said?.message ?? `The hub answered with status ${response.status}.`,
    said?.hint ?? "",
    response.status,
  );
}

async function readStream() {
  stream = new AbortController();
  let guard = silenceGuard(stream);
  try {
    const response = await fetch(new URL("live", BASE), {
      headers: { ...headers(), accept: "text/event-stream" },
      cache: "no-store",
      signal: stream.signal,
    });
    if (!response.ok || !response.body) return response.status;
    attempt = 0;
    emit("state", { state: "open" });
    if (wasLost) emit("resumed");
    wasLost = false;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return 0;
      clearTimeout(guard);
      guard = silenceGuard(stream);
      const blocks = (rest + value.replaceAll("\r", "")).split("\n\n");
      rest = blocks.pop();
      blocks.forEach(dispatch);
    }
  } finally {
    clearTimeout(guard);
  }
}

function silenceGuard(controller) {
  return setTimeout(() => controller.abort(), SILENCE_MS);
}

function dispatch(block) {
  let name = "message";
  const lines = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    if (line.startsWith("data:")) lines.push(line.slice(5).trimStart());
  }
  const value = lines.length ? parse(lines.join("\n")) : null;
  if (value !== null) emit(name, value);
}

function headers() {
  token ??= storage()?.getItem(TOKEN);
  return { "x-toolyard": "1", ...(token ? { authorization: `Bearer ${token}` } : {}) };
}

function remember(given) {
  token = given;
  storage()?.setItem(TOKEN, given);
}

function storage() {
  try {
    return sessionStorage;
  } catch {
    return null;
  }
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function emit(name, detail) {
  live.dispatchEvent(new CustomEvent(name, { detail }));
}

function pause(ms) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    wake = () => {
      clearTimeout(timer);
      resolve();
    };
  });
}
