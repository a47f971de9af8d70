"""Extends the word pieces of the base model for requests in other languages.

Pieces come from the training requests and the parallel texts that are not English, normalised as BERT does
(lower case, accents stripped, Hangul decomposed). They take the places of [unusedN] first and are appended
then; each new row starts as the mean of the rows its text was split into before.
"""

import gzip
import json
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing
from tokenizers.trainers import WordPieceTrainer

# Chosen once and kept: the trainer of word pieces breaks ties differently from run to run.
PIECES = Path(__file__).resolve().parent / "pieces.txt"
NORMALIZER = BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=True)


def tokenizer(vocab):
    """A BERT-uncased tokenizer over a list of word pieces."""
    ids = {piece: i for i, piece in enumerate(vocab)}
    model = Tokenizer(WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
    model.normalizer = NORMALIZER
    model.pre_tokenizer = BertPreTokenizer()
    model.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])]
    )
    return model


def word_counts(out, requests):
    """How often each normalised word occurs per language; requests weigh more than parallel texts."""
    splitter = BertPreTokenizer()
    counts = defaultdict(Counter)

    def add(language, text, weight):
        for word, _ in splitter.pre_tokenize_str(NORMALIZER.normalize_str(text)):
            counts[language][word] += weight

    for request in requests:
        if request["lang"] != "en":
            add(request["lang"], request["text"], 8)
    parallel = out / "parallel.jsonl.gz"
    if parallel.exists():
        with gzip.open(parallel, "rt", encoding="utf-8") as file:
            for line in file:
                for language, text in json.loads(line)["tr"].items():
                    add(language, text, 1)
    return counts


def ideograph(piece):
    """Whether a piece is one Chinese or Japanese ideograph; the tokenizer never joins those."""
    return len(piece) == 1 and "\u3400" <= piece <= "\u9fff"


def choose(counts, vocab, wanted):
    """The pieces that save most when added, languages weighing alike."""
    known = set(vocab)
    balanced = Counter()
    for language, table in counts.items():
        # A language with few texts must not get a piece for each of its words.
        share = 1_000_000 / max(sum(table.values()), 60_000)
        for word, count in table.items():
            balanced[word] += count * share
    old = tokenizer(vocab)
    pieces = {w: len(old.encode(w, add_special_tokens=False).tokens) for w in balanced}
    broken = {w for w in balanced if "[UNK]" in old.encode(w, add_special_tokens=False).tokens}
    stream = Tokenizer(WordPiece(unk_token="[UNK]"))
    stream.pre_tokenizer = BertPreTokenizer()
    trainer = WordPieceTrainer(vocab_size=26_000, min_frequency=30, special_tokens=["[UNK]"], show_progress=False)
    foreign = [w for w in balanced if pieces[w] > 1 or w in broken]
    stream.train_from_iterator((" ".join([w] * min(400, max(1, round(balanced[w] / 12)))) for w in foreign), trainer)
    candidates = [p for p in stream.get_vocab() if p not in known and p != "[UNK]"]
    gain = Counter()
    extended = tokenizer(vocab + candidates)
    for word in foreign:
        for piece in extended.encode(word, add_special_tokens=False).tokens:
            if piece not in known:
                bare = piece.removeprefix("##")
                cost = 12 if word in broken else len(old.encode(bare, add_special_tokens=False).tokens) - 1
                gain[piece] += balanced[word] * max(cost, 0.2)
    signs = {w for w, count in balanced.items() if ideograph(w) and w not in known and count >= 5}
    rest = [piece for piece, _ in gain.most_common() if piece != "[UNK]" and piece not in signs]
    return (sorted(signs) + rest)[:wanted]


def extend(base, out, requests, tools, wanted):
    """Writes vocab.txt and base.safetensors (word rows as int8 with one scale each) with the added pieces."""
    vocab = (base / "vocab.txt").read_text(encoding="utf-8").split("\n")
    vocab = [v for v in vocab if v]
    counts = word_counts(out, requests)
    if PIECES.exists():
        new = PIECES.read_text(encoding="utf-8").split()
    else:
        new = choose(counts, vocab, wanted)
        PIECES.write_text("\n".join(new) + "\n", encoding="utf-8")
    weights = {k.removeprefix("bert."): v for k, v in load_file(base / "model.safetensors").items()}
    rows = weights.pop("embeddings.word_embeddings.weight").astype(np.float32)
    old = tokenizer(vocab)
    added = []
    for piece in new:
        ids = old.encode(piece.removeprefix("##"), add_special_tokens=False).ids
        added.append(rows[ids].mean(0))
    # Ideographs stand alone after pre-tokenising, so their continuation forms are never produced.
    places = [i for i, v in enumerate(vocab) if v.startswith("[unused") or (v.startswith("##") and ideograph(v[2:]))]
    extended = list(vocab)
    for piece, row in zip(new, added):
        if places:
            at = places.pop(0)
            extended[at], rows[at] = piece, row
        else:
            extended.append(piece)
    rest = len(extended) - len(vocab)
    rows = np.concatenate([rows, np.stack(added[-rest:])]) if rest else rows
    scale = np.abs(rows).max(1).clip(1e-6) / 127
    weights = {k: v.astype(np.float16) for k, v in weights.items() if v.dtype in (np.float16, np.float32)}
    weights["words.int8"] = np.round(rows / scale[:, None]).astype(np.int8)
    weights["words.scale"] = scale.astype(np.float32)
    save_file(weights, out / "base.safetensors")
    (out / "vocab.txt").write_text("\n".join(extended) + "\n", encoding="utf-8")
    print("word pieces:", len(vocab), "->", len(extended), "first:", new[:30])
    fresh = tokenizer(extended)
    for language in sorted(counts, key=lambda c: -sum(counts[c].values()))[:19]:
        sample = [r["text"] for r in requests if r["lang"] == language][:300]
        if sample:
            before = np.mean([len(old.encode(t).ids) for t in sample])
            after = np.mean([len(fresh.encode(t).ids) for t in sample])
            unknown = np.mean(["[UNK]" in old.encode(t).tokens for t in sample]), np.mean(["[UNK]" in fresh.encode(t).tokens for t in sample])
            print(f"  {language}: tokens {before:.1f} -> {after:.1f}, texts with unknown pieces {unknown[0]:.2f} -> {unknown[1]:.2f}")
