//! Many conversations at the same time, over one registry.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use toolyard_core::lexicon::Action;
use toolyard_core::session::{Caps, Meant, Registered, Registry, Said, Stock, Toolset};

#[test]
fn s9_a_thousand_conversations_at_once_do_not_see_one_another() {
    let mut registry = Registry::default();
    for domain in 0..8 {
        for tool in 0..4 {
            let tags = vec![format!("domain:d{domain}").into()];
            let name = format!("d{domain}_{tool}").into();
            registry.add_tool(Registered { name, group: "g".into(), action: Action::Read, tags }, None);
        }
    }
    let skill =
        |at: usize| (format!("s{at}").into(), vec![format!("s{at}_a").into(), format!("s{at}_b").into()]);
    let skills: BTreeMap<Arc<str>, Vec<Arc<str>>> = (0..5).map(skill).collect();
    let stock =
        Stock { registry: &registry, core: &[], tier: Some(0), skills: &skills, caps: Caps::STANDARD };
    let play = |number: usize| {
        let (mut toolset, mut dice) = (Toolset::default(), number);
        for _ in 0..12 {
            dice = (dice * 1_103_515_245 + 12_345) % 2_147_483_648;
            let meant = |at: usize| Meant { domain: format!("domain:d{}", at % 8).into(), weight: 1.0 };
            let domains = [meant(dice >> 8), meant(dice >> 12)];
            toolset.select(&stock, &Said { domains: &domains, ..Said::default() });
            toolset.activate(&stock, &format!("s{}", (dice >> 16) % 5)).expect("the skill exists");
        }
        toolset.listed(&stock)
    };
    let alone: Vec<Vec<Arc<str>>> = (0..1000).map(play).collect();
    let together: Vec<Vec<Arc<str>>> = std::thread::scope(|scope| {
        let play = &play;
        let of = |first: usize| (0..1000).filter(move |it| it % 8 == first);
        let threads: Vec<_> = (0..8)
            .map(|first| scope.spawn(move || of(first).map(|it| (it, play(it))).collect::<Vec<_>>()))
            .collect();
        let mut all: Vec<_> = threads.into_iter().flat_map(|it| it.join().expect("it ends")).collect();
        all.sort_by_key(|(number, _)| *number);
        all.into_iter().map(|(_, list)| list).collect()
    });
    assert_eq!(together, alone, "the same messages give the same list, whoever else speaks");
    assert!(alone.iter().collect::<BTreeSet<_>>().len() > 50, "the conversations differ");
}
