//! A task, cut into the requests it is made of.
//!
//! Most tasks are one request, and cutting one of those does more harm than leaving two together. So a joint cuts
//! only where what stands on both sides of it is a request of its own.

use std::ops::Range;
use std::sync::LazyLock;

use serde_json::Value;

use super::joint::{Joint, Joints};
use super::piece::{Piece, pieces};
use crate::language::WordSet;
use crate::lexicon::{Language, Reading, folded};
use crate::text::terms;

/// Words before where something is.
static PLACES: LazyLock<WordSet> = LazyLock::new(|| WordSet::of(|it| &it.prepositions.place));

/// One request of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// Its words, without those that join it to others.
    pub words: String,
    /// Where they stand in the task; a request that is only implied stands nowhere.
    pub span: Range<usize>,
    /// What the words alone show it to be.
    pub shape: Shape,
    /// Whether it was said to come after the one before it.
    pub is_after: bool,
    /// Whether it is done once for each of several things.
    pub each: Option<Each>,
    /// The language of the task.
    pub language: Language,
}

/// What a part of a task is, as far as its words alone show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A request of its own.
    Request,
    /// A question behind something else, perhaps only about that.
    Question,
    /// A request, or a part of the one before it.
    Unclear,
    /// Something that is told before a request.
    Told,
}

/// What a request is repeated for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Each {
    /// For everything that an earlier request found.
    Found,
    /// For these, which its words do not have.
    Listed(Vec<String>),
    /// For these values of a parameter, which its words list.
    Values {
        /// The parameter.
        parameter: String,
        /// Its values.
        values: Vec<Value>,
    },
}

/// Requests of one task; more is a document.
const MOST_CLAUSES: usize = 12;

/// Cuts a task into its requests, in the order in which they are done. A task that is one request stays whole.
///
/// Some cuts are only likely: whether such a part is a request shows when tools were compared with it.
pub fn clauses(task: &str) -> Vec<Clause> {
    let language = Reading::of(task).language;
    let cutter = Cutter { task, language, joints: Joints::of(language), pieces: pieces(task, language) };
    let clauses = cutter.cut();
    match clauses.as_slice() {
        [only] if only.each.is_some() => clauses,
        [_, _, ..] if clauses.len() <= MOST_CLAUSES => clauses,
        _ => vec![Clause::whole(task, language)],
    }
}

impl Clause {
    fn whole(task: &str, language: Language) -> Self {
        let words = task.trim().to_owned();
        Self { words, span: 0..task.len(), shape: Shape::Request, is_after: false, each: None, language }
    }

    /// Joins a part that is no request of its own to the request before it.
    pub fn join(&mut self, task: &str, part: &Self) {
        self.span = self.span.start.min(part.span.start)..self.span.end.max(part.span.end);
        task[self.span.clone()].trim().clone_into(&mut self.words);
    }
}

/// A part of a task between two joints that cut.
#[derive(Clone, Debug)]
struct Part {
    pieces: Range<usize>,
    joint: Joint,
    shape: Shape,
}

struct Cutter<'a> {
    task: &'a str,
    language: Language,
    joints: &'static Joints,
    pieces: Vec<Piece>,
}

impl Cutter<'_> {
    fn cut(&self) -> Vec<Clause> {
        let mut clauses: Vec<Clause> = Vec::new();
        for part in self.ordered(self.parts()) {
            self.unfold(&part, &mut clauses);
        }
        clauses
    }

    /// Finds the parts in the order in which they are said.
    fn parts(&self) -> Vec<Part> {
        let mut parts: Vec<Part> = Vec::new();
        let (mut start, mut joint, mut shape) = (0, Joint::Stop, Shape::Request);
        let mut at = 0;
        while at < self.pieces.len() {
            let Some((next, kind)) = self.joint_at(at) else {
                at += 1;
                continue;
            };
            let left = start..at;
            if left.is_empty() && matches!(kind, Joint::Before | Joint::After) {
                // A task may begin with `before`.
                joint = kind;
            }
            match self.cut_at(&left, (next, kind)) {
                Some(found) => {
                    // What follows a part that may be none is no surer than that part.
                    let is_unclear = shape == Shape::Unclear && found == Shape::Request;
                    let is_opening = parts.is_empty() && joint == Joint::Stop;
                    let here = if is_opening { self.opening(&left) } else { shape };
                    parts.push(Part { pieces: left, joint, shape: here });
                    (start, joint, shape) = (next, kind, if is_unclear { Shape::Unclear } else { found });
                }
                None if start == at && kind != Joint::Each => start = next,
                None => {}
            }
            at = next.max(at + 1);
        }
        if start < self.pieces.len() {
            parts.push(Part { pieces: start..self.pieces.len(), joint, shape });
        }
        parts
    }

    /// Returns the joint before or at a piece, with the piece that follows it.
    fn joint_at(&self, at: usize) -> Option<(usize, Joint)> {
        let stop = at.checked_sub(1).and_then(|before| self.pieces[before].stop);
        let (mut next, mut kind) = (at, stop);
        if (at == 0 || stop == Some(Joint::Stop)) && self.is_number(at) {
            (next, kind) = (at + 1, Some(Joint::Stop));
        }
        while let Some((words, joint)) = self.word_joint(next) {
            // `for each` belongs to the part that follows.
            if joint == Joint::Each {
                break;
            }
            next += words;
            kind = kind.max(Some(joint));
        }
        kind.map(|kind| (next, kind))
    }

    /// Whether a piece numbers what follows it, or marks it as an item.
    fn is_number(&self, at: usize) -> bool {
        let piece = &self.pieces[at];
        let number = piece.word.trim_end_matches(')');
        let is_number =
            number.len() <= 2 && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number && (piece.stop.is_some() || number != piece.word) || matches!(&*piece.word, "-" | "*" | "•")
    }

    fn word_joint(&self, at: usize) -> Option<(usize, Joint)> {
        if self.pieces.get(at)?.is_held {
            return None;
        }
        let words: Vec<&str> = self.pieces[at..].iter().take(5).map(|piece| piece.word.as_str()).collect();
        let found = self.joints.leading(&words);
        // Within a joint nothing may end.
        found.filter(|(length, _)| self.pieces[at..at + length - 1].iter().all(|piece| piece.stop.is_none()))
    }

    /// Returns what follows a joint that stands between two requests.
    fn cut_at(&self, left: &Range<usize>, (next, kind): (usize, Joint)) -> Option<Shape> {
        let right = next..self.right_end(next);
        if left.is_empty() || right.is_empty() || self.is_open_list(left) {
            return None;
        }
        let is_sure = match kind {
            Joint::Then => self.is_request(left) && self.begins_request(&right, Likeness::Word),
            Joint::Stop | Joint::And | Joint::Comma => {
                self.is_request(left)
                    && self.begins_request(left, Likeness::Word)
                    && !self.is_in_content(left, kind)
                    && self.begins_request(&right, Likeness::Verb)
                    && !self.reports(&right)
            }
            Joint::Before | Joint::After => return self.begins_doing(&right).then_some(Shape::Request),
            Joint::Colon | Joint::Each => return None,
        };
        // What is told first leaves nothing that a report could be about.
        let is_first = kind == Joint::Stop && left.start == 0 && self.begins_request(&right, Likeness::Verb);
        if is_sure || is_first && self.opening(left) == Shape::Told {
            return Some(Shape::Request);
        }
        if self.is_in_content(left, kind) {
            return None;
        }
        let likeness = if kind == Joint::Comma { Likeness::Verb } else { Likeness::Form };
        if left.len() > 1 && self.begins_request(&right, likeness) {
            return Some(Shape::Unclear);
        }
        let is_asked = kind != Joint::Comma && self.asks(&right) && self.begins(left);
        is_asked.then_some(if kind == Joint::Then { Shape::Request } else { Shape::Question })
    }

    /// Returns what the beginning of a task is.
    fn opening(&self, part: &Range<usize>) -> Shape {
        match self.begins(part) {
            true => Shape::Request,
            false if self.tells(part) => Shape::Told,
            false => Shape::Unclear,
        }
    }

    /// Whether pieces that are no request by their form tell something: they begin with who or what it is about.
    fn tells(&self, part: &Range<usize>) -> bool {
        if self.joints.has_verb_last || self.language == Language::Zh {
            return true;
        }
        let words = self.words(part);
        let words = &words[self.joints.polite(&words)..];
        let is_stop = |word: &&str| {
            Reading::of_part(word, self.language).words.first().is_some_and(|word| word.is_stop)
        };
        let is_small = |word: &&str| is_stop(word) && !self.joints.is_object(word);
        words.first().is_some_and(is_stop) || words.get(1).is_some_and(is_small)
    }

    /// Whether pieces are a request or a question.
    fn begins(&self, part: &Range<usize>) -> bool {
        self.asks(part) || self.is_request(part) && self.begins_request(part, Likeness::Word)
    }

    /// Whether pieces are a question.
    fn asks(&self, part: &Range<usize>) -> bool {
        if self.joints.has_verb_last || self.language == Language::Zh {
            return self.joints.has_asking(&folded(self.text(part)));
        }
        let words = self.words(part);
        let words = &words[self.joints.polite(&words)..];
        let first = words.first().map_or("", |word| word.split(['\'', '’']).next().unwrap_or(word));
        words.len() > 2 && (self.joints.begins_asking(words) || self.joints.begins_asking(&[first]))
    }

    /// Whether pieces begin with `for each` and only say what it is for.
    fn is_open_list(&self, left: &Range<usize>) -> bool {
        let begin = left.start + self.joints.polite(&self.words(left));
        let is_each = self.word_joint(begin).is_some_and(|(_, joint)| joint == Joint::Each);
        let is_done = |at: usize| {
            self.pieces[at - 1].stop.is_some() && self.begins_request(&(at..left.end), Likeness::Form)
        };
        is_each && !(begin + 1..left.end).any(is_done)
    }

    /// Returns where the part that begins at a piece ends at the latest.
    fn right_end(&self, next: usize) -> usize {
        (next..self.pieces.len())
            .find(|at| self.pieces[*at].stop.is_some())
            .map_or(self.pieces.len(), |at| at + 1)
    }

    /// Whether pieces hold a verb and what it is done to.
    fn is_request(&self, part: &Range<usize>) -> bool {
        let words = self.words(part);
        let skipped = self.joints.polite(&words);
        let words = &words[skipped..];
        if self.joints.opens_content(words) {
            return false;
        }
        let reading = Reading::of_part(&words.join(" "), self.language);
        let is_verb = reading.words.iter().any(|word| word.action.is_some());
        let has_object =
            words.len() > 1 || words.iter().any(|word| word.chars().count() > 3 && !word.is_ascii());
        let is_pair = words.len() == 1 && self.joints.has_verb_last;
        is_verb && (has_object || is_pair)
    }

    /// Whether what a part tells has begun before its end: what something says, or what it is for.
    fn is_in_content(&self, left: &Range<usize>, kind: Joint) -> bool {
        // A sentence ends what was said in it.
        let from = match kind {
            Joint::Stop => return false,
            Joint::Colon
            | Joint::Comma
            | Joint::And
            | Joint::Then
            | Joint::Before
            | Joint::After
            | Joint::Each => left
                .clone()
                .rev()
                .find(|at| *at > left.start && self.pieces[at - 1].stop == Some(Joint::Stop)),
        };
        let words = self.words(&(from.unwrap_or(left.start)..left.end));
        let skipped = self.joints.polite(&words);
        (skipped..words.len()).any(|at| self.joints.opens_content(&words[at..]))
    }

    /// Whether pieces begin with a request of their own.
    fn begins_request(&self, right: &Range<usize>, likeness: Likeness) -> bool {
        let words = self.words(right);
        if self.joints.has_verb_last {
            return self.is_request(right) && (likeness != Likeness::Verb || self.ends_with_verb(right));
        }
        if self.language == Language::Zh {
            return self.is_request(right) && self.is_command(right);
        }
        let polite = self.joints.polite(&words);
        if polite > 0 && polite == words.len() {
            return false;
        }
        let each = self.word_joint(right.start + polite).filter(|(_, joint)| *joint == Joint::Each);
        if each.is_some() {
            return true;
        }
        let words = &words[polite..];
        let first = words[0];
        let written = &self.task[self.pieces[right.start + polite].span.clone()];
        // Names of methods and of statements are part of what is asked.
        if written.len() > 1 && written.chars().filter(|c| c.is_alphabetic()).all(char::is_uppercase) {
            return false;
        }
        let plain = first.split(['\'', '’']).next().unwrap_or(first);
        if self.joints.is_never(plain) || self.pieces[right.start + polite].is_held {
            return false;
        }
        let reading = Reading::of_part(&words[..words.len().min(4)].join(" "), self.language);
        let is_verb = reading
            .words
            .first()
            .is_some_and(|word| word.action.is_some() && !is_inflected(first, self.language))
            || self.is_parted_verb(&(right.start + polite..right.end));
        let has_object = self.has_object(right.start + polite);
        let is_form = likeness == Likeness::Form && has_object && is_word(first) && !reading.words[0].is_stop;
        let is_sure = likeness != Likeness::Verb || !self.joints.is_either(first) || has_object;
        (is_verb || is_form) && words.len() > 1 && is_sure
    }

    /// Whether pieces end with a verb, as requests do in languages where it stands last.
    fn ends_with_verb(&self, part: &Range<usize>) -> bool {
        let reading = Reading::of_part(self.text(part), self.language);
        let last = reading.words.iter().rev().find(|word| !word.is_stop);
        last.is_some_and(|word| word.action.is_some())
    }

    /// Whether pieces of a script without spaces begin with a verb and ask nothing.
    fn is_command(&self, part: &Range<usize>) -> bool {
        let text = self.text(part);
        let reading = Reading::of_part(text, self.language);
        let first = reading.words.iter().find(|word| !word.is_stop);
        first.is_some_and(|word| word.action.is_some()) && !self.joints.has_never(text)
    }

    /// Whether pieces are a command whose verb has its second half at the end, as in `füge … hinzu`.
    fn is_parted_verb(&self, right: &Range<usize>) -> bool {
        let parts = matches!(self.language, Language::De | Language::Nl) && right.len() > 2;
        let (Some(first), Some(last)) = (self.pieces.get(right.start), self.pieces.get(right.end - 1)) else {
            return false;
        };
        let is_lower = self.task[first.span.clone()].starts_with(char::is_lowercase);
        let half = Reading::of_part(&last.word, self.language);
        parts
            && is_lower
            && !Reading::of_part(&first.word, self.language).words.iter().any(|word| word.is_stop)
            && half.words.iter().any(|word| word.action.is_some())
    }

    /// Whether a part only says how the answer to the part before it is told.
    fn reports(&self, right: &Range<usize>) -> bool {
        let words = self.words(right);
        let polite = self.joints.polite(&words);
        self.joints.reports(&words[polite..])
    }

    /// Whether the word behind a verb shows that it is one.
    fn has_object(&self, verb: usize) -> bool {
        let Some(next) = self.pieces.get(verb + 1) else { return false };
        if self.pieces[verb].stop.is_some() {
            return false;
        }
        let text = &self.task[next.span.clone()];
        if text.contains('@') && !text.starts_with('@') {
            // An address on its own is the value of a field.
            return next.stop.is_none()
                && self.pieces.get(verb + 2).is_some_and(|it| self.joints.is_object(&it.word));
        }
        next.is_held
            || self.joints.is_object(&next.word)
            || text.starts_with(['#', '@', '"', '\'', '`'])
            || text.starts_with(char::is_uppercase)
            || text.contains(['/', '.', '_'])
    }

    /// Whether pieces begin with what is being done, as behind `before` and `after`.
    fn begins_doing(&self, right: &Range<usize>) -> bool {
        let words = self.words(right);
        let first = Reading::of_part(&words[..words.len().min(6)].join(" "), self.language);
        if self.language != Language::En {
            return first.words.iter().any(|word| word.action.is_some());
        }
        words.len() > 1
            && first.words.first().is_some_and(|word| word.action.is_some())
            && (words[0].ends_with("ing")
                || !is_inflected(words[0], self.language) && words[0].ends_with("ed"))
    }

    /// Brings parts into the order in which they are done.
    fn ordered(&self, parts: Vec<Part>) -> Vec<Part> {
        let mut ordered: Vec<Part> = Vec::new();
        let mut parts = parts.into_iter().peekable();
        while let Some(part) = parts.next() {
            match part.joint {
                // `Before leaving, lock the door`: what is said second is done first.
                Joint::Before if ordered.is_empty() && parts.peek().is_some() => {
                    let Some(first) = parts.next() else { break };
                    ordered.push(Part { joint: Joint::Stop, ..first });
                    ordered.push(Part { joint: Joint::Then, ..part });
                }
                // `Lock the door after closing it`.
                Joint::After if !ordered.is_empty() => {
                    let Some(last) = ordered.pop() else { break };
                    ordered.push(Part { joint: last.joint, ..part });
                    ordered.push(Part { joint: Joint::Then, ..last });
                }
                Joint::Colon
                | Joint::Comma
                | Joint::And
                | Joint::Stop
                | Joint::Then
                | Joint::Before
                | Joint::After
                | Joint::Each => ordered.push(part),
            }
        }
        ordered
    }

    /// Adds the requests of a part: two where it says what to find for each of which something is done.
    fn unfold(&self, part: &Part, clauses: &mut Vec<Clause>) {
        let is_after = !clauses.is_empty() && part.joint != Joint::And && part.joint != Joint::Comma;
        let push = |pieces: &Range<usize>, is_after: bool, each: Option<Each>, clauses: &mut Vec<Clause>| {
            let (words, span) = self.words_and_span(pieces);
            let (shape, language) = (part.shape, self.language);
            clauses.push(Clause { words, span, shape, is_after, each, language });
        };
        let at = part.pieces.clone().find(|at| self.word_joint(*at).is_some_and(|(_, it)| it == Joint::Each));
        let Some((at, (length, _))) = at.and_then(|at| Some((at, self.word_joint(at)?))) else {
            return push(&part.pieces, is_after, None, clauses);
        };
        let from = at + length;
        let is_first = self.joints.polite(&self.words(&part.pieces)) + part.pieces.start >= at;
        let (listed, body) = if is_first {
            let end = self.list_end(from, part.pieces.end);
            (from..end, end..part.pieces.end)
        } else {
            (from..part.pieces.end, part.pieces.start..at)
        };
        let text = self.text(&listed);
        let is_body = !listed.is_empty() && !body.is_empty() && self.begins_request(&body, Likeness::Form);
        if !is_body || !is_first && !self.is_known(text, clauses) && !self.is_repeated(&body, &listed) {
            return push(&part.pieces, is_after, None, clauses);
        }
        if let Some(items) = items(text) {
            return push(&body, is_after, Some(Each::Listed(items)), clauses);
        }
        if !self.is_known(text, clauses) {
            let words = format!("list {text}");
            let (shape, language) = (part.shape, self.language);
            clauses.push(Clause { words, span: 0..0, shape, is_after, each: None, language });
        }
        push(&body, true, Some(Each::Found), clauses);
    }

    /// Whether something is done for each of what lies somewhere. What is only asked for each of several things
    /// is one request.
    fn is_repeated(&self, body: &Range<usize>, listed: &Range<usize>) -> bool {
        let action =
            Reading::of_part(self.text(body), self.language).words.iter().find_map(|word| word.action);
        let is_placed = self.words(listed).iter().any(|word| PLACES.has(word));
        action.is_some_and(|action| !action.only_reads()) && is_placed
    }

    /// Finds where the list behind `for each` ends and what is done begins.
    fn list_end(&self, from: usize, end: usize) -> usize {
        let is_verb = |at: &usize| {
            let likeness = if self.pieces[at - 1].stop.is_some() { Likeness::Form } else { Likeness::Verb };
            self.begins_request(&(*at..end), likeness)
        };
        let mut stops = (from + 1..end).filter(|at| self.pieces[at - 1].stop.is_some());
        let last_stop = stops.clone().find(is_verb).or_else(|| stops.next_back());
        last_stop.or_else(|| (from + 1..end).find(is_verb)).unwrap_or(end)
    }

    /// Whether what is listed was found before: it is a stand-in, or has a word of an earlier request.
    fn is_known(&self, listed: &str, clauses: &[Clause]) -> bool {
        let Some(before) = clauses.last() else { return false };
        let known = terms(&before.words, 64);
        let listed: Vec<String> = terms(listed, 64).into_iter().filter(|term| term.len() > 1).collect();
        listed.len() < 2 || listed.iter().any(|term| known.contains(term))
    }

    /// Returns the words of a request without those that lead over to it, and where they stand.
    fn words_and_span(&self, pieces: &Range<usize>) -> (String, Range<usize>) {
        let mut pieces = pieces.clone();
        let polite = self.joints.polite(&self.words(&pieces));
        if polite < pieces.len() {
            pieces.start += polite;
        }
        let start = self.pieces.get(pieces.start).map_or(0, |piece| piece.span.start);
        let words = self.text(&pieces);
        (words.to_owned(), start..start + words.len())
    }

    fn words(&self, part: &Range<usize>) -> Vec<&str> {
        self.pieces[part.clone()].iter().map(|piece| piece.word.as_str()).collect()
    }

    fn text(&self, part: &Range<usize>) -> &str {
        match (self.pieces.get(part.start), part.end.checked_sub(1).and_then(|last| self.pieces.get(last))) {
            (Some(first), Some(last)) if first.span.start < last.span.end => {
                &self.task[first.span.start..last.span.end]
            }
            _ => "",
        }
    }
}

/// How sure it must be that a word is a verb.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Likeness {
    /// It may be one.
    Word,
    /// It is one and not a noun.
    Verb,
    /// It stands where one does, known or not.
    Form,
}

/// Whether something is a word of letters, as verbs are.
fn is_word(text: &str) -> bool {
    text.chars().count() > 1 && text.chars().all(char::is_alphabetic)
}

/// Whether a verb is not a command: `running`, `created`.
fn is_inflected(word: &str, language: Language) -> bool {
    let clauses = &language.words().clauses;
    clauses.inflections.iter().any(|ending| word.ends_with(ending.as_str()))
        && !clauses.uninflected.iter().any(|known| known == word)
}

/// Reads `Paris, Rome and Oslo` as the things it names.
fn items(text: &str) -> Option<Vec<String>> {
    let text = text.trim_start_matches("these:").trim_start_matches("of ");
    let parts: Vec<&str> = text.split([',', ';']).flat_map(|part| part.split(" and ")).collect();
    let items: Vec<String> =
        parts.iter().map(|part| part.trim().trim_matches(['"', '\'', '`'])).map(str::to_owned).collect();
    let is_name = |item: &String| {
        let is_short = item.split_whitespace().count() <= 4;
        is_short && item.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit() || c == '#' || c == '@')
            || item.contains(['.', '/'])
    };
    (items.len() > 1 && items.iter().all(is_name)).then_some(items)
}

#[cfg(test)]
mod tests;
