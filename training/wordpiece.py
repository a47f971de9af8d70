"""Text into word pieces and the bytes they stand for, as `crates/encoder/src/wordpiece.rs` does it (BERT-uncased)."""

import re
import unicodedata

MAX_WORD_CHARS = 100
ASCII_WORD = re.compile(r"[a-z0-9]+|[!-/:-@\[-`{-~]")
ASCII_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
IDEOGRAPHS = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip


def is_control(char):
    return char not in "\t\n\r" and (char == "\ufffd" or unicodedata.category(char) in ("Cc", "Cf", "Co"))


def stands_alone(char):
    """Whether a character is a word of its own: punctuation or an ideograph."""
    if char.isascii():
        return bool(ASCII_WORD.fullmatch(char)) and not char.isalnum()
    in_block = any(first <= ord(char) <= last for first, last in IDEOGRAPHS)
    return in_block or unicodedata.category(char).startswith("P")


def clean(text):
    """The characters without case and accents, and where the bytes of each start and end in the text."""
    chars, starts, ends = [], [], []
    at = 0
    for char in text:
        end = at + len(char.encode())
        if not is_control(char):
            plain = [c for c in unicodedata.normalize("NFD", char) if unicodedata.category(c) != "Mn"]
            if not plain and ends and ends[-1] == at:
                # An accent of its own belongs to the letter before it.
                ends[-1] = end
            for low in "".join(c.lower() for c in plain):
                chars.append(low)
                starts.append(at)
                ends.append(end)
        at = end
    return "".join(chars), starts, ends


def words(text):
    """Splits a text; yields each word with the bytes where its characters start and end."""
    if text.isascii() and not ASCII_CONTROL.search(text):
        for found in ASCII_WORD.finditer(text.lower()):
            first, last = found.span()
            yield found.group(), range(first, last), range(first + 1, last + 1)
        return
    chars, starts, ends = clean(text)
    first = 0
    for at, char in enumerate(chars + " "):
        alone = stands_alone(char)
        if alone or char.isspace():
            if at > first:
                yield chars[first:at], starts[first:at], ends[first:at]
            if alone:
                yield char, starts[at : at + 1], ends[at : at + 1]
            first = at + 1


class WordPiece:
    """The pieces of words that a vocabulary knows."""

    def __init__(self, tokens):
        # The first of two equal tokens counts.
        self.ids = {token: at for at, token in reversed(list(enumerate(tokens)))}
        self.longest = max(map(len, tokens))
        self.known = {}

    def pieces(self, text, limit):
        """At most `limit` pieces of a text as ids, and the range of bytes of each."""
        ids, ranges = [], []
        for word, starts, ends in words(text):
            for piece, first, last in self.split(word):
                ids.append(piece)
                ranges.append((starts[first], ends[last - 1]))
            if len(ids) >= limit:
                break
        return ids[:limit], ranges[:limit]

    def split(self, word):
        """The pieces of a word with the characters where they start and end, or one unknown."""
        if word not in self.known:
            self.known[word] = self.find(word)
        return self.known[word]

    def find(self, word):
        found, at = [], 0
        while at < len(word) <= MAX_WORD_CHARS:
            mark = "##" if at else ""
            ends = range(min(len(word), at + self.longest), at, -1)
            end = next((end for end in ends if mark + word[at:end] in self.ids), None)
            if end is None:
                break
            found.append((self.ids[mark + word[at:end]], at, end))
            at = end
        return found if at == len(word) else [(self.ids["[UNK]"], 0, len(word))]
