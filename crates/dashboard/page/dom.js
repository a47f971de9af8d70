// Builds elements. Every text becomes a text node, so nothing that a server sends is ever read as markup.

const SVG = "http://www.w3.org/2000/svg";

/**
 * Creates an element: `h("p.note", { data: { testid: "x" }, on: { click } }, "text", child)`.
 * Attributes that are null, undefined or false are left out.
 */
export function h(selector, attributes, ...children) {
  return build((tag) => document.createElement(tag), selector, attributes, children);
}

/** Creates an SVG element in the same way. */
export function svg(selector, attributes, ...children) {
  return build((tag) => document.createElementNS(SVG, tag), selector, attributes, children);
}

/** Sets custom properties, which the content security policy allows where style attributes are not. */
export function withVars(element, vars) {
  for (const [name, value] of Object.entries(vars)) element.style.setProperty(`--${name}`, value);
  return element;
}

/** Links to an address that came from outside, or shows it as text if it is not a web address. */
export function externalLink(address, label) {
  let url;
  try {
    url = new URL(address);
  } catch {
    return h("code", {}, String(address));
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") return h("code", {}, String(address));
  return h("a", { href: url.href, target: "_blank", rel: "noopener noreferrer" }, label ?? url.href);
}

/** Waits until calls stop for `ms` milliseconds, then makes the last one. */
export function debounce(ms, call) {
  let timer;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...values), ms);
  };
}

let lastId = 0;

/** Returns an id that no other element has. */
export function freshId(prefix) {
  lastId += 1;
  return `${prefix}-${lastId}`;
}

function build(create, selector, attributes, children) {
  const [tag, ...classes] = selector.split(".");
  const element = create(tag);
  if (classes.length) element.setAttribute("class", classes.join(" "));
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (name === "data") {
      for (const [key, entry] of Object.entries(value)) {
        if (entry !== null && entry !== undefined) element.dataset[key] = entry;
      }
    } else if (name === "value" || name === "checked" || name === "disabled" || name === "hidden") {
      element[name] = value;
    } else {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}
