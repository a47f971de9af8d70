//! Which tools of a server act on the same entity.
//!
//! Names decide: an entity is what some tool acts on by its whole name. A tool about a part or a kind of it belongs to
//! it as well where it shares a parameter with such a tool.

use std::collections::{BTreeMap, BTreeSet};

use super::name::{Match, ParsedName};
use super::shape::Shape;
use super::verbs::VerbKind;
use crate::tool::words::words;
use crate::tool::{Effect, Tool};

/// What tools of one entity may stand together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Class {
    /// They show what is there.
    Read,
    /// They change what is there, or remove it.
    Change,
    /// They look for something or measure it, and change nothing.
    Analysis,
    /// The same, but as far as is known they may change something.
    Effort,
}

/// A tool that may be part of a family.
#[derive(Clone, Debug)]
pub(super) struct Candidate<'a> {
    pub(super) name: &'a ParsedName,
    pub(super) shape: &'a Shape,
    pub(super) class: Class,
}

/// Tools on one entity.
#[derive(Clone, Debug)]
pub(super) struct Family {
    /// The nouns in the singular.
    pub(super) entity: Vec<String>,
    /// The entity as the server spells it, with the part of the server that it is in.
    pub(super) title: String,
    /// The places of the tools among the candidates.
    pub(super) members: Vec<usize>,
}

/// Fewer tools are a family only where no larger one takes them.
const LEAST: usize = 3;
const PAIR: usize = 2;

impl Class {
    /// Returns the class of a tool; `None` where its name says one thing and its server another.
    pub(super) fn of(tool: &Tool, kind: Option<VerbKind>) -> Option<Self> {
        let reads = tool.effect == Effect::Read;
        match kind {
            Some(VerbKind::Analyse) => Some(if reads { Self::Analysis } else { Self::Effort }),
            Some(VerbKind::Get | VerbKind::List | VerbKind::Read) => reads.then_some(Self::Read),
            Some(VerbKind::Change) => (!reads).then_some(Self::Change),
            // What `select_page` does is not for a tool that shows things.
            Some(VerbKind::Other) | None => (!reads).then_some(Self::Change),
        }
    }

    /// Whether its tools look for something or measure it.
    pub(super) fn is_analysis(self) -> bool {
        matches!(self, Self::Analysis | Self::Effort)
    }
}

/// Finds families among candidates, those with the longest names first.
pub(super) fn families(candidates: &[Candidate<'_>]) -> Vec<Family> {
    let entities = entities(candidates);
    let is_own: Vec<bool> = entities.iter().map(|entity| entity.is_own(&entities, candidates)).collect();
    let mut is_free = vec![true; candidates.len()];
    let mut found = Vec::new();
    for least in [LEAST, PAIR] {
        let longest = entities.iter().map(|entity| entity.nouns.len()).max().unwrap_or_default();
        for length in (1..=longest).rev() {
            let of_length = entities.iter().zip(&is_own).filter(|(it, _)| it.nouns.len() == length);
            let of_length: Vec<(&Entity, usize)> =
                of_length.map(|(it, is_own)| (it, if *is_own { PAIR } else { least })).collect();
            for (entity, members) in assign(&of_length, candidates, &is_free) {
                if !is_worth(&members, candidates) {
                    continue;
                }
                members.iter().for_each(|at| is_free[*at] = false);
                let title = entity.title(&members, candidates);
                found.push(Family { entity: entity.nouns.clone(), title, members });
            }
        }
    }
    found
}

/// Something that tools act on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entity {
    space: Option<String>,
    nouns: Vec<String>,
}

impl Entity {
    fn matches(&self, candidate: &Candidate<'_>) -> Option<Match> {
        candidate.name.matches(&self.nouns).filter(|_| candidate.name.space == self.space)
    }

    /// Whether a tool acts on it by its whole name, with a verb that is known.
    fn is_named_by(&self, candidate: &Candidate<'_>) -> bool {
        candidate.name.kind.is_some() && self.matches(candidate) == Some(Match::Whole)
    }

    /// Whether two tools alone make it an entity of its own beside a shorter one, as issue links are beside issues: they
    /// do different things of one class, and one of them would not belong to the other entity.
    fn is_own(&self, entities: &[Self], candidates: &[Candidate<'_>]) -> bool {
        let places: Vec<usize> =
            (0..candidates.len()).filter(|at| self.is_named_by(&candidates[*at])).collect();
        let verbs = |class: Class| {
            let own = places.iter().map(|at| &candidates[*at]).filter(|it| it.class == class);
            own.map(|it| &it.name.verb).collect::<BTreeSet<_>>().len()
        };
        let shorter: Vec<&Self> = entities.iter().filter(|it| it.nouns.len() < self.nouns.len()).collect();
        let is_elsewhere = |at: &usize| shorter.iter().any(|it| belongs(it, candidates, *at).is_some());
        let is_several = verbs(Class::Read) >= PAIR || verbs(Class::Change) >= PAIR;
        is_several && self.nouns.len() > 1 && !places.iter().all(is_elsewhere)
    }

    /// Spells it as the shortest name of its tools does.
    fn title(&self, members: &[usize], candidates: &[Candidate<'_>]) -> String {
        let own = members.iter().map(|at| &candidates[*at]).filter(|it| self.is_named_by(it));
        let spelled = own
            .map(|it| it.name.nouns.iter().map(|noun| noun.written.as_str()).collect::<Vec<_>>().join("_"));
        let spelled = spelled.min_by_key(String::len).unwrap_or_else(|| self.nouns.join("_"));
        match &self.space {
            Some(space) => format!("{space}_{spelled}"),
            None => spelled,
        }
    }
}

fn entities(candidates: &[Candidate<'_>]) -> Vec<Entity> {
    let known = candidates.iter().filter(|it| it.name.kind.is_some());
    let all: BTreeSet<Entity> =
        known.map(|it| Entity { space: it.name.space.clone(), nouns: it.name.entity() }).collect();
    all.into_iter().collect()
}

/// Gives each free tool to the entity that it is about most; entities that end up with too few tools get none.
fn assign<'a>(
    entities: &[(&'a Entity, usize)],
    candidates: &[Candidate<'_>],
    is_free: &[bool],
) -> Vec<(&'a Entity, Vec<usize>)> {
    let claim = |(entity, least): &(&'a Entity, usize)| {
        let free = (0..candidates.len()).filter(|at| is_free[*at]);
        let matched: BTreeMap<usize, Match> =
            free.filter_map(|at| Some((at, belongs(entity, candidates, at)?))).collect();
        let named = matched.keys().filter(|at| entity.is_named_by(&candidates[**at])).count();
        Claim { entity, matched, named, least: *least }
    };
    let mut alive: Vec<Claim<'_>> = entities.iter().map(claim).collect();
    loop {
        alive.retain(|claim| claim.matched.len() >= claim.least);
        let mut given: Vec<Vec<usize>> = vec![Vec::new(); alive.len()];
        for at in (0..candidates.len()).filter(|at| is_free[*at]) {
            let claims = alive.iter().enumerate().filter_map(|(to, claim)| Some((claim.strength(at)?, to)));
            if let Some((_, to)) = claims.max_by_key(|(strength, to)| (*strength, usize::MAX - to)) {
                given[to].push(at);
            }
        }
        let too_few = (0..alive.len()).filter(|to| given[*to].len() < alive[*to].least);
        match too_few.min_by_key(|to| given[*to].len()) {
            Some(to) => drop(alive.remove(to)),
            None => return alive.into_iter().map(|claim| claim.entity).zip(given).collect(),
        }
    }
}

/// What an entity could be given.
struct Claim<'a> {
    entity: &'a Entity,
    matched: BTreeMap<usize, Match>,
    /// How many tools are named by it.
    named: usize,
    /// How many tools it needs.
    least: usize,
}

impl Claim<'_> {
    /// Returns how much a tool is about the entity: by its whole name first, then the better known the entity is.
    fn strength(&self, at: usize) -> Option<(bool, usize, Match)> {
        let how = *self.matched.get(&at)?;
        Some((how == Match::Whole, self.named, how))
    }
}

/// Returns how a tool belongs to an entity. Beside its name, its parameters must say so, unless it is named by it.
fn belongs(entity: &Entity, candidates: &[Candidate<'_>], at: usize) -> Option<Match> {
    let candidate = &candidates[at];
    let how = entity.matches(candidate)?;
    if how == Match::Whole && candidate.name.kind.is_some() {
        return Some(how);
    }
    let own = ideas(candidate);
    let shares = |other: &&Candidate<'_>| {
        let others = ideas(other);
        // A comment that both can do without does not make two changes changes of one thing.
        let counts = |(idea, is_required): (&String, &bool)| {
            let other = others.get(idea);
            other.is_some_and(|also| candidate.class != Class::Change || *is_required || *also)
        };
        own.iter().any(counts)
    };
    candidates.iter().filter(|it| entity.is_named_by(it)).any(|it| shares(&it)).then_some(how)
}

/// Returns what the parameters of a tool are about, and whether each is required.
fn ideas(candidate: &Candidate<'_>) -> BTreeMap<String, bool> {
    let Shape { parameters, required, .. } = candidate.shape;
    let idea = |name: &String| words(name).collect::<String>().to_lowercase();
    parameters.iter().map(|(name, _)| (idea(name), required.contains(name))).collect()
}

/// Whether tools are worth keeping together: some of them can become one, or they are looked at and changed by tools
/// that are better kept apart.
fn is_worth(members: &[usize], candidates: &[Candidate<'_>]) -> bool {
    let classes: Vec<Class> = members.iter().map(|at| candidates[*at].class).collect();
    let count = |class: Class| classes.iter().filter(|it| **it == class).count();
    let is_mixed = classes.iter().any(|it| it.is_analysis()) && members.len() >= LEAST;
    count(Class::Read) >= PAIR || count(Class::Change) >= PAIR || is_mixed
}
