"""How a tool becomes the text that the model reads, and how requests are varied for training.

`render` is the contract with the Rust side: README.md states the same rules in words.
"""

import hashlib
import random
import re
import unicodedata

DESCRIPTION_CHARS = 300
PARAMETERS = 12
REMARK_WORDS = 8
CHOICES_CHARS = 60
SERVER_NOISE = {"mcp", "server", "servers", "api", "the"}
SECTION = re.compile(r"\b(Args|Arguments|Parameters|Params|Returns|Return|Example|Examples|Usage)\s*:")
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def words(name):
    """Splits an identifier at anything that is no letter or digit, and at camelCase."""
    spaced = "".join(c if c.isalnum() else " " for c in name)
    return " ".join(CAMEL.sub(" ", spaced).lower().split())


def server_words(server):
    """The telling words of a server's name: last path segment, without mcp, server, api."""
    kept = [w for w in words(server.rsplit("/", 1)[-1]).split() if w not in SERVER_NOISE]
    return " ".join(kept)


def first_part(description, limit=DESCRIPTION_CHARS):
    """The description on one line, up to its argument section, at most limit characters."""
    line = " ".join(description.split())
    section = SECTION.search(line, 20)
    if section:
        line = line[: section.start()]
    return line[:limit].strip()


def parameter_words(names):
    """The names of the first parameters as words."""
    return ", ".join(w for w in (words(n) for n in names[:PARAMETERS]) if w)


def render(server, name, description, parameters):
    """The text of a tool as the product encodes it."""
    head = " ".join(part for part in (server_words(server), words(name)) if part)
    text = head + ": " + first_part(description)
    listed = parameter_words(parameters)
    return text + (" | " + listed if listed else "")


def remark(schema):
    """What is said of a parameter: the first words of its description and, where they are listed, its choices."""
    if not isinstance(schema, dict):
        return ""
    said = schema.get("description")
    said = " ".join(said.split()[:REMARK_WORDS]) if isinstance(said, str) else ""
    listed = schema.get("enum")
    choices = ""
    for choice in listed if isinstance(listed, list) and len(listed) > 1 else []:
        if not isinstance(choice, str) or len(choices) + 1 + len(choice) > CHOICES_CHARS:
            break
        choices += " " + choice
    return (said + choices).strip()


def render_closely(server, name, description, parameters, remarks):
    """The text of a tool as it is read beside a request: each parameter with what is said of it."""
    listed = [(words(n), r) for n, r in zip(parameters[:PARAMETERS], remarks)]
    listed = ", ".join(f"{n} ({r})" if r else n for n, r in listed if n)
    return render(server, name, description, []) + (" | " + listed if listed else "")


def close_views(tool, rng, count):
    """The product's closer rendering first, then `count - 1` varied ones."""
    out = [render_closely(*(tool[k] for k in ("server", "name", "description", "parameters", "remarks")))]
    for _ in range(count - 1):
        kept = [at for at in range(len(tool["remarks"])) if rng.random() < 0.7]
        remarks = [tool["remarks"][at] if rng.random() < 0.7 else "" for at in kept]
        server = tool["server"] if rng.random() < 0.6 else ""
        out.append(render_closely(server, tool["name"], tool["description"], [tool["parameters"][at] for at in kept], remarks))
    return out


def views(tool, rng, count):
    """The product's rendering first, then `count - 1` varied ones."""
    server, name, description, parameters = tool["server"], tool["name"], tool["description"], tool["parameters"]
    out = [render(server, name, description, parameters)]
    for _ in range(count - 1):
        s = server if rng.random() < 0.6 else ""
        d = description if rng.random() < 0.88 else ""
        n = name if rng.random() < 0.93 or not d else ""
        p = parameters if rng.random() < 0.55 else []
        if p and rng.random() < 0.3:
            p = rng.sample(p, max(1, len(p) // 2))
        if d and rng.random() < 0.35:
            line = first_part(d, 100000)
            end = re.search(r"[.!?。](\s|$)", line)
            d = line[: end.start() + 1] if end else line[: rng.randint(60, 300)]
        out.append(render(s, n, d, p).strip(" :"))
    return out


KEYS = {"a": "sqz", "e": "wr3", "i": "uo", "o": "ip", "u": "yi", "s": "adz", "t": "ry", "n": "bm", "r": "et", "l": "k", "d": "sf", "c": "xv", "m": "n", "h": "gj"}
FILLERS = ["hey, ", "please ", "can you ", "could you ", "i need to ", "ok so ", "pls ", "quick one: ", "hi! ", "so ", "um, ", "i want to "]
ENDINGS = [" please", " thanks", " pls", " asap", "?", "!", " thx", " for me", "...", ""]


def typo(word, rng):
    """One slip of the fingers in a word."""
    if len(word) < 4 or not word.isascii():
        return word
    at = rng.randrange(1, len(word) - 1)
    kind = rng.random()
    if kind < 0.35:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    if kind < 0.65:
        return word[:at] + word[at + 1 :]
    if kind < 0.8:
        return word[:at] + word[at] + word[at:]
    near = KEYS.get(word[at].lower())
    return word[:at] + rng.choice(near) + word[at + 1 :] if near else word


def vary(text, rng):
    """A messier form of a request: typos, dropped words, filler, truncation, no punctuation."""
    parts = text.split()
    if len(parts) >= 4:
        if rng.random() < 0.35:
            parts = [typo(w, rng) if rng.random() < 0.15 else w for w in parts]
        if rng.random() < 0.3:
            kept = [w for w in parts if rng.random() > 0.12]
            parts = kept if len(kept) >= 3 else parts
        if len(parts) > 8 and rng.random() < 0.12:
            cut = rng.randint(6, len(parts))
            parts = parts[:cut] if rng.random() < 0.5 else parts[-cut:]
    out = " ".join(parts)
    if rng.random() < 0.15:
        out = re.sub(r"[^\w\s]", " ", out)
    if text.isascii() and rng.random() < 0.12:
        out = rng.choice(FILLERS) + out
    if text.isascii() and rng.random() < 0.12:
        out += rng.choice(ENDINGS)
    return out


def normalised(text):
    """Letters and digits only, folded: the key under which equal requests meet."""
    folded = unicodedata.normalize("NFKC", text).lower()
    return "".join(c for c in folded if c.isalnum())


def is_set_aside(text):
    """One text in ten, by the sum of its bytes: `fit` chooses the same ones."""
    return sum(b for b in text.encode() if b not in b" \t\n\x0b\x0c\r") % 10 == 3


def digest(text):
    """A stable number for a text, for splits that do not move when data is added."""
    return int(hashlib.md5(text.encode()).hexdigest()[:12], 16)


def generator(seed):
    """A seeded random generator."""
    return random.Random(seed)
