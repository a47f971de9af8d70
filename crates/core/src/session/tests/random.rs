//! What holds for every conversation.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// One thing that happens in a conversation.
#[derive(Clone, Debug)]
enum Event {
    /// These domains are meant.
    Meant(Vec<usize>),
    /// This skill is activated.
    Activated(usize),
    /// These tools are bound for one message that means no domain.
    Bound(Vec<usize>),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => vec(0_usize..8, 0..4).prop_map(Event::Meant),
        2 => (0_usize..5).prop_map(Event::Activated),
        1 => vec(0_usize..30, 1..9).prop_map(Event::Bound),
    ]
}

/// Domains of these sizes, skills of the tools of some, two core tools.
fn yard(sizes: &[usize], caps: Caps) -> Yard {
    let mut yard = Yard { caps, ..Yard::empty() };
    let kinds = [Action::List, Action::Create, Action::Delete];
    for (at, size) in sizes.iter().enumerate() {
        for number in 0..*size {
            yard.add(&format!("d{at}_{number}"), kinds[number % 3], &format!("d{at}"));
        }
    }
    yard.core = vec!["core".into(), "d0_0".into()];
    for at in 0..5 {
        yard.skill(&format!("s{at}"), &[&format!("s{at}_a"), &format!("s{at}_b"), "shared", "d1_0"]);
    }
    yard
}

fn caps() -> impl Strategy<Value = Caps> {
    (1_usize..12, 1_usize..4, 1_usize..4, 4_usize..20).prop_map(
        |(max_tools, max_domains, max_skills, max_listed)| Caps {
            max_tools,
            max_domains,
            max_skills,
            max_listed,
        },
    )
}

fn happen(yard: &Yard, toolset: &mut Toolset, event: &Event) {
    let stock = yard.stock();
    match event {
        Event::Meant(said) => {
            let weigh = |(place, at): (usize, &usize)| Meant {
                domain: format!("domain:d{at}").into(),
                weight: 1.0 / (1.0 + place as f32),
            };
            let domains: Vec<Meant> = said.iter().enumerate().map(weigh).collect();
            toolset.select(&stock, &Said { domains: &domains, ..Said::default() });
        }
        Event::Activated(at) => drop(toolset.activate(&stock, &format!("s{at}")).unwrap()),
        Event::Bound(tools) => {
            let bound: Vec<Arc<str>> =
                tools.iter().map(|at| format!("d{}_{}", at % 8, at / 8).into()).collect();
            toolset.select(&stock, &Said { bound: &bound, ..Said::default() });
        }
    }
}

/// Returns the tools of domains that a list has beyond core tools, skills and what is bound.
fn of_domains(yard: &Yard, toolset: &Toolset, list: &[Arc<str>]) -> BTreeSet<Arc<str>> {
    let fixed = toolset.fixed(&yard.stock());
    let is_domain =
        |name: &&Arc<str>| name.starts_with('d') && !fixed.contains(name) && !toolset.bound().contains(name);
    list.iter().filter(is_domain).cloned().collect()
}

proptest! {
    #[test]
    fn d4_every_list_is_within_its_limits_and_of_complete_domains(
        sizes in vec(1_usize..14, 8), caps in caps(), events in vec(event(), 1..25)
    ) {
        let yard = yard(&sizes, caps);
        let mut toolset = Toolset::default();
        for event in &events {
            happen(&yard, &mut toolset, event);
            let list = toolset.listed(&yard.stock());
            prop_assert!(list.len() <= caps.max_listed, "{list:?}");
            prop_assert_eq!(list.iter().collect::<BTreeSet<_>>().len(), list.len(), "each once: {:?}", list);
            let tools = of_domains(&yard, &toolset, &list);
            prop_assert!(tools.len() <= caps.max_tools, "{tools:?}");
            prop_assert!(toolset.domains.len() <= caps.max_domains);
            prop_assert!(toolset.skills.len() <= caps.max_skills);
            let partly = toolset.domains.iter().filter(|active| active.kept.is_some()).count();
            // Beside a domain that is not whole others have only tools that are there anyway.
            let others = toolset.domains.iter().filter(|active| active.kept.is_none());
            let fixed = toolset.fixed(&yard.stock());
            let mut added = others.flat_map(|active| yard.registry.staying(&active.domain));
            prop_assert!(partly == 0 || added.all(|name| fixed.contains(name)), "{:?}", toolset.domains);
            for active in toolset.domains.iter().filter(|active| active.kept.is_none()) {
                let all: Vec<&Arc<str>> = yard.registry.staying(&active.domain).collect();
                let listed = all.iter().filter(|name| tools.contains(**name)).count();
                let own = all.iter().filter(|name| !list.contains(name) || tools.contains(**name)).count();
                prop_assert!(listed == own || listed == 0, "{} is in parts: {list:?}", active.domain);
            }
        }
    }

    #[test]
    fn d5_what_is_meant_now_is_always_in(
        sizes in vec(1_usize..14, 8), events in vec(event(), 0..15), said in vec(0_usize..8, 1..4)
    ) {
        let yard = yard(&sizes, Caps::STANDARD);
        let mut toolset = Toolset::default();
        events.iter().for_each(|event| happen(&yard, &mut toolset, event));
        happen(&yard, &mut toolset, &Event::Meant(said.clone()));
        let first: Arc<str> = format!("domain:d{}", said[0]).into();
        prop_assert!(toolset.domains().any(|domain| *domain == first), "{toolset:?}");
        let all: Vec<&Arc<str>> = yard.registry.staying(&first).collect();
        prop_assert!(all.iter().all(|name| toolset.is_active(&yard.stock(), name)));
        prop_assert!(toolset.listed(&yard.stock()).iter().any(|name| all.contains(&name)));
    }

    #[test]
    fn s3_skills_leave_in_the_order_they_came(activated in vec(0_usize..5, 1..40)) {
        let yard = yard(&[1; 8], Caps::STANDARD);
        let (mut toolset, mut expected) = (Toolset::default(), Vec::<String>::new());
        for at in activated {
            let name = format!("s{at}");
            let evicted = toolset.activate(&yard.stock(), &name).unwrap().evicted;
            let is_new = !expected.contains(&name);
            let oldest = (is_new && expected.len() == 3).then(|| expected.remove(0));
            prop_assert_eq!(evicted.as_deref(), oldest.as_deref());
            if is_new {
                expected.push(name);
            }
            prop_assert_eq!(toolset.skills().join(" "), expected.join(" "));
        }
    }

    #[test]
    fn d6_what_stays_keeps_its_order(sizes in vec(1_usize..8, 8), events in vec(event(), 2..25)) {
        let yard = yard(&sizes, Caps::STANDARD);
        let mut toolset = Toolset::default();
        let mut before = toolset.listed(&yard.stock());
        for event in &events {
            let bound = toolset.bound().to_vec();
            let had_skills = toolset.skills().to_vec();
            happen(&yard, &mut toolset, event);
            let after = toolset.listed(&yard.stock());
            // A tool that a skill brings or takes along stands elsewhere; all others stay in order.
            let moves = |name: &&Arc<str>| {
                let of = |skills: &[Arc<str>]| skills.iter().any(|it| yard.skills[it].contains(name));
                of(&had_skills) != of(toolset.skills()) || ["shared", "d1_0"].contains(&&***name)
            };
            let is_bound = |name: &&Arc<str>| bound.contains(name) || toolset.bound().contains(name);
            let kept = |list: &[Arc<str>], other: &[Arc<str>]| -> Vec<Arc<str>> {
                let stays = |name: &&Arc<str>| other.contains(name) && !moves(name) && !is_bound(name);
                list.iter().filter(stays).cloned().collect()
            };
            // A skill that goes and a domain that comes again are new.
            prop_assert_eq!(kept(&before, &after), kept(&after, &before));
            before = after;
        }
    }

    #[test]
    fn d6_a_message_about_nothing_changes_nothing_but_what_was_bound(events in vec(event(), 0..25)) {
        let yard = yard(&[4; 8], Caps::STANDARD);
        let mut toolset = Toolset::default();
        events.iter().for_each(|event| happen(&yard, &mut toolset, event));
        happen(&yard, &mut toolset, &Event::Meant(Vec::new()));
        let list = toolset.listed(&yard.stock());
        happen(&yard, &mut toolset, &Event::Meant(Vec::new()));
        prop_assert_eq!(toolset.listed(&yard.stock()), list);
        prop_assert!(toolset.bound().is_empty());
    }
}
