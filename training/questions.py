"""How a request, a tool and its parameters become the token sequences that the argument reader reads:

    [CLS] request [SEP] tool ":" about { [P] name ":" description kind { [O] option }* }* [SEP]

This is the contract with `crates/encoder/src/reader.rs`. `[P]` and `[O]` are marks behind the end of the vocabulary.
"""

from typing import NamedTuple

from wordpiece import WordPiece

# The most tokens of each part.
REQUEST, TOOL, ABOUT, NAME, DESCRIPTION, KIND, OPTION = 200, 10, 28, 12, 36, 14, 10
PARAMETER_TOKENS = 136
MAX_TOKENS = 448
MAX_PARAMETERS = 24


class Part(NamedTuple):
    """The tokens of one parameter: first its mark, and where the marks of its options are."""

    ids: list
    # Numbers of the options that had room, and the place of the mark of each.
    options: list
    places: list


class Sequence(NamedTuple):
    """What one forward pass reads."""

    ids: list
    request: int
    # The place of each parameter's mark, and of the marks of its options.
    marks: list
    places: list


class Phrasing:
    """Turns texts into the tokens of their parts."""

    def __init__(self, tokens):
        self.words = WordPiece(tokens)
        self.begin, self.end, self.colon = (self.words.ids[token] for token in ("[CLS]", "[SEP]", ":"))
        self.parameter_mark, self.option_mark = len(tokens), len(tokens) + 1

    def ids(self, text, limit):
        return self.words.pieces(text, limit)[0]

    def head(self, request, tool, about):
        """What stands before the first parameter; all three are given as tokens."""
        return [self.begin, *request, self.end, *tool, self.colon, *about]

    def part(self, name, description, kind, options):
        ids = [self.parameter_mark, *self.ids(name, NAME), self.colon, *self.ids(description, DESCRIPTION)]
        ids += self.ids(kind, KIND)
        kept, places = [], []
        for number, option in enumerate(options):
            pieces = self.ids(option, OPTION)
            if len(ids) + 1 + len(pieces) <= PARAMETER_TOKENS:
                kept.append(number)
                places.append(len(ids))
                ids += [self.option_mark, *pieces]
        return Part(ids, kept, places)

    def sequence(self, head, request, parts):
        """One sequence; `request` is the number of tokens of the request."""
        ids, marks, places = list(head), [], []
        for part in parts:
            marks.append(len(ids))
            places.append([len(ids) + place for place in part.places])
            ids += part.ids
        return Sequence((ids + [self.end])[:MAX_TOKENS], request, marks, places)


def groups(head, lengths):
    """Which parameters go into one forward pass together, by the tokens of the head and of each parameter."""
    out, total = [], 0
    for at, length in enumerate(lengths):
        if not out or total + length > MAX_TOKENS or len(out[-1]) == MAX_PARAMETERS:
            out.append([])
            total = head + 1
        out[-1].append(at)
        total += length
    return out
