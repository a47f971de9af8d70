//! Conversations, turn by turn.

mod random; // properties that hold for all of them

use super::*;

/// A registry, core tools and skills to put toolsets together from.
struct Yard {
    registry: Registry,
    core: Vec<Arc<str>>,
    tier: Option<u8>,
    skills: BTreeMap<Arc<str>, Vec<Arc<str>>>,
    caps: Caps,
}

impl Yard {
    fn empty() -> Self {
        let (registry, core, skills) = (Registry::default(), Vec::new(), BTreeMap::new());
        Self { registry, core, tier: Some(0), skills, caps: Caps::STANDARD }
    }

    /// Domains of four tools each.
    fn of_domains(names: &[&str]) -> Self {
        let mut yard = Self::empty();
        for plural in names {
            let singular = plural.trim_end_matches('s');
            yard.add(&format!("query_{plural}"), Action::Search, plural);
            yard.add(&format!("get_{singular}"), Action::Read, plural);
            yard.add(&format!("create_{plural}"), Action::Create, plural);
            yard.add(&format!("update_{singular}"), Action::Update, plural);
        }
        yard
    }

    fn add(&mut self, name: &str, action: Action, domain: &str) {
        let tags = vec![format!("domain:{domain}").into(), action.as_str().into()];
        self.registry.add_tool(Registered { name: name.into(), group: "life".into(), action, tags }, None);
    }

    fn skill(&mut self, name: &str, tools: &[&str]) {
        self.skills.insert(name.into(), tools.iter().map(|tool| Arc::from(*tool)).collect());
    }

    fn stock(&self) -> Stock<'_> {
        let Self { registry, core, tier, skills, caps } = self;
        Stock { registry, core, tier: *tier, skills, caps: *caps }
    }

    /// Says something, and shows what is active then: domains, how many tools, why.
    fn say(&self, toolset: &mut Toolset, message: &str) -> String {
        let meant = named(&self.registry, message);
        let selection = toolset.select(&self.stock(), &Said { domains: &meant, ..Said::default() });
        assert_eq!(selection.tool_names, toolset.listed(&self.stock()));
        let domains: Vec<&str> = selection.domains.iter().map(|it| it.trim_start_matches(DOMAIN)).collect();
        format!("{} {} | {}", domains.join("+"), selection.tool_names.len(), selection.reasoning)
    }
}

fn life() -> Yard {
    Yard::of_domains(&["tasks", "goals", "reminders", "reading", "ideas"])
}

fn names<'a>(tools: impl IntoIterator<Item = &'a Registered>) -> Vec<&'a str> {
    tools.into_iter().map(|tool| &*tool.name).collect()
}

#[test]
fn d3_a_selection_goes_on_from_the_tools_that_a_conversation_has() {
    let yard = life();
    let select =
        |message: &str, current: &[&str]| yard.say(&mut Toolset::with_tools(&yard.stock(), current), message);
    assert!(select("What are my goals?", &[]).starts_with("goals 4 |"));
    let said = select("What are my goals?", &["query_tasks", "get_task", "create_tasks", "update_task"]);
    assert!(said.starts_with("tasks+goals 8 |"), "{said}");
    // What came first is the oldest and goes first.
    let said = select("Add a reminder", &["get_task", "get_goal", "nobody_has_it"]);
    assert!(said.starts_with("goals+reminders 8 |") && said.contains("`tasks` went"), "{said}");
    let said = select("Add a reminder", &["get_goal", "get_task"]);
    assert!(said.starts_with("tasks+reminders 8 |"), "{said}");
}

/// The home of seed 000: Z-Wave controls, clock and volume, a browser.
fn home() -> Yard {
    let mut yard = Yard::empty();
    let mut add = |name: &str, group: &str, tier: Option<u8>| {
        let tags = vec![format!("domain:{group}").into()];
        let entry = Registered { name: name.into(), group: group.into(), action: Action::Execute, tags };
        yard.registry.add_tool(entry, tier);
    };
    for name in ["list_devices", "set_switch", "set_dimmer", "get_sensor"] {
        add(name, "zwave", Some(0));
    }
    add("get_datetime", "clock", None);
    add("set_volume", "audio", None);
    for at in 0..22 {
        add(&format!("browser_{at}"), "playwright", Some(FALLBACK));
    }
    yard
}

#[test]
fn t1_every_tool_is_in_exactly_one_tier() {
    let mut yard = home();
    for entry in yard.registry.tools_up_to_tier(FALLBACK).into_iter().cloned().collect::<Vec<_>>() {
        let tiers = (0..=FALLBACK).filter(|tier| yard.registry.tools_by_tier(*tier).contains(&&entry));
        assert_eq!(tiers.count(), 1, "{}", entry.name);
        yard.registry.add_tool(entry, Some(0));
    }
    assert_eq!(yard.registry.tools_by_tier(0).len(), 28);
    assert_eq!(yard.registry.tools_up_to_tier(FALLBACK).len(), 28);
}

#[test]
fn t2_a_tier_has_its_own_tools_and_asking_changes_nothing() {
    let registry = home().registry;
    assert_eq!(names(registry.tools_by_tier(0)), ["list_devices", "set_switch", "set_dimmer", "get_sensor"]);
    assert_eq!(names(registry.tools_by_tier(1)), ["get_datetime", "set_volume"]);
    assert_eq!(registry.tools_by_tier(2).len(), 22);
    assert_eq!(names(registry.tools_by_tier(7)), [""; 0]);
    assert_eq!(registry.tools_by_tier(2).len(), 22);
}

#[test]
fn t3_tiers_add_up() {
    let registry = home().registry;
    assert_eq!([0, 1, 2].map(|most| registry.tools_up_to_tier(most).len()), [4, 6, 28]);
}

#[test]
fn t4_a_tool_without_a_tier_is_of_the_usual_one() {
    let registry = home().registry;
    assert_eq!((registry.tier("get_datetime"), registry.tier("set_switch")), (Some(1), Some(0)));
    assert_eq!(registry.tier("nothing"), None);
}

#[test]
fn t5_fallback_tools_are_not_in_the_first_list() {
    let yard = home();
    let listed = Toolset::default().listed(&yard.stock());
    assert_eq!(listed.len(), 4);
    assert!(listed.iter().all(|name| yard.registry.tier(name) == Some(0)));
    let utilities = Yard { tier: Some(1), ..home() };
    assert_eq!(Toolset::default().listed(&utilities.stock()).len(), 6);
}

#[test]
fn t6_a_lazy_group_is_there_by_name() {
    let registry = home().registry;
    assert_eq!(registry.group("playwright").len(), 22);
    assert_eq!(names(registry.group("nobody")), [""; 0]);
}

#[test]
fn t7_the_browser_is_bound_for_one_query() {
    let yard = home();
    let mut toolset = Toolset::default();
    let before = toolset.listed(&yard.stock());
    insta::assert_snapshot!(yard.say(&mut toolset, "look it up with playwright"), @" 15 | `browser_0` and 21 more came for this request only.");
    assert_eq!(toolset.bound().len(), 22);
    assert!(toolset.is_active(&yard.stock(), "browser_21"), "there was only no room to list it");
    insta::assert_snapshot!(yard.say(&mut toolset, "turn the light off"), @" 4 | Nothing changed.");
    assert_eq!(toolset.listed(&yard.stock()), before);
    assert!(!toolset.is_active(&yard.stock(), "browser_21"));
}

#[test]
fn t7_a_part_of_the_browser_brings_the_whole_group() {
    let mut yard = Yard::empty();
    for (name, domain) in [("click", "elements"), ("drag", "elements"), ("open", "pages"), ("close", "pages")]
    {
        let tags = vec![format!("domain:browser/{domain}").into()];
        let entry = Registered { name: name.into(), group: "browser".into(), action: Action::Execute, tags };
        yard.registry.add_tool(entry, Some(FALLBACK));
    }
    let mut toolset = Toolset::default();
    yard.say(&mut toolset, "which elements are there");
    assert_eq!(toolset.bound().join(" "), "click drag open close");
    assert_eq!(toolset.domains().count(), 0);
    yard.say(&mut toolset, "thanks");
    assert!(toolset.listed(&yard.stock()).is_empty());
}

#[test]
fn d2_domains_have_tags_tools_and_counts() {
    let registry = life().registry;
    assert_eq!(
        registry.domains().into_iter().collect::<Vec<_>>(),
        ["domain:goals", "domain:ideas", "domain:reading", "domain:reminders", "domain:tasks"]
    );
    let tasks = names(registry.tools_by_domain("domain:tasks"));
    assert_eq!(tasks, ["query_tasks", "get_task", "create_tasks", "update_task"]);
    assert_eq!(names(registry.tools_by_domain("domain:nothing")), [""; 0]);
    assert!(registry.domain_tool_count().values().all(|count| *count == 4));
}

#[test]
fn d5_scenario_1_a_conversation_of_one_domain() {
    let (yard, mut toolset) = (life(), Toolset::default());
    insta::assert_snapshot!(yard.say(&mut toolset, "Create a task called buy groceries"), @"tasks 4 | `tasks` came: it is meant now.");
    let before = toolset.listed(&yard.stock());
    insta::assert_snapshot!(yard.say(&mut toolset, "Mark it as done"), @"tasks 4 | Nothing changed.");
    assert_eq!(toolset.listed(&yard.stock()), before);
    assert!(toolset.is_active(&yard.stock(), "update_task"));
}

#[test]
fn d5_scenario_2_a_conversation_of_several_domains() {
    let (yard, mut toolset) = (life(), Toolset::default());
    insta::assert_snapshot!(yard.say(&mut toolset, "Create a task for my fitness goal"), @"tasks+goals 8 | `tasks` came: it is meant now; `goals` came: it is meant now.");
    insta::assert_snapshot!(yard.say(&mut toolset, "Add a reminder for tomorrow"), @"goals+reminders 8 | `reminders` came: it is meant now; `tasks` went: 12 tools would be more than 10, and it was used longest ago.");
}

#[test]
fn d5_scenario_3_the_domain_switches_with_recency() {
    let (yard, mut toolset) = (life(), Toolset::default());
    insta::assert_snapshot!(yard.say(&mut toolset, "What are my reading list items?"), @"reading 4 | `reading` came: it is meant now.");
    insta::assert_snapshot!(yard.say(&mut toolset, "Now show me my tasks"), @"reading+tasks 8 | `tasks` came: it is meant now.");
    insta::assert_snapshot!(yard.say(&mut toolset, "Create a reminder and add a new idea"), @"reminders+ideas 8 | `reminders` came: it is meant now; `ideas` came: it is meant now; `tasks` went: 12 tools would be more than 10, and it was used longest ago; `reading` went: 12 tools would be more than 10, and it was used longest ago.");
}

#[test]
fn d5_scenario_4_a_domain_is_dropped_and_comes_again() {
    let (yard, mut toolset) = (life(), Toolset::default());
    insta::assert_snapshot!(yard.say(&mut toolset, "Create a task"), @"tasks 4 | `tasks` came: it is meant now.");
    insta::assert_snapshot!(yard.say(&mut toolset, "What are my goals and reminders?"), @"goals+reminders 8 | `goals` came: it is meant now; `reminders` came: it is meant now; `tasks` went: 12 tools would be more than 10, and it was used longest ago.");
    insta::assert_snapshot!(yard.say(&mut toolset, "Actually, update that task from earlier"), @"reminders+tasks 8 | `tasks` came: it is meant now; `goals` went: 12 tools would be more than 10, and it was used longest ago.");
}

#[test]
fn d6_the_example_conversation_of_fifteen_turns() {
    let (yard, mut toolset) = (life(), Toolset::default());
    insta::assert_snapshot!(yard.say(&mut toolset, "Create a task"), @"tasks 4 | `tasks` came: it is meant now.");
    insta::assert_snapshot!(yard.say(&mut toolset, "Add a reminder for tomorrow"), @"tasks+reminders 8 | `reminders` came: it is meant now.");
    insta::assert_snapshot!(yard.say(&mut toolset, "What are my goals?"), @"reminders+goals 8 | `goals` came: it is meant now; `tasks` went: 12 tools would be more than 10, and it was used longest ago.");
    insta::assert_snapshot!(yard.say(&mut toolset, "Add an item to my reading list and create an idea"), @"reading+ideas 8 | `reading` came: it is meant now; `ideas` came: it is meant now; `goals` went: 12 tools would be more than 10, and it was used longest ago; `reminders` went: 12 tools would be more than 10, and it was used longest ago.");
}

#[test]
fn d5_the_worked_example_of_the_limit() {
    let (mut yard, mut toolset) = (life(), Toolset::default());
    yard.caps.max_tools = 12;
    for message in ["my reading", "my tasks", "my goals"] {
        yard.say(&mut toolset, message);
    }
    assert_eq!(toolset.domains().count(), 3);
    yard.caps.max_tools = 10;
    insta::assert_snapshot!(yard.say(&mut toolset, "a reminder"), @"goals+reminders 8 | `reminders` came: it is meant now; `tasks` went: 12 tools would be more than 10, and it was used longest ago; `reading` went: 12 tools would be more than 10, and it was used longest ago.");
}

#[test]
fn d4_what_one_message_names_beyond_the_limit_is_left_out_and_said() {
    let (yard, mut toolset) = (life(), Toolset::default());
    insta::assert_snapshot!(yard.say(&mut toolset, "tasks, goals, reminders and ideas"), @"tasks+goals 8 | `tasks` came: it is meant now; `goals` came: it is meant now; `reminders` is left out although it is meant: 12 tools would be more than 10; `ideas` is left out although it is meant: 12 tools would be more than 10.");
    assert_eq!(toolset.listed(&yard.stock()).len(), 8);
}

#[test]
fn d6_a_domain_whose_server_is_gone_keeps_no_place() {
    let (yard, mut toolset) = (life(), Toolset::default());
    yard.say(&mut toolset, "tasks and goals");
    let without_tasks = Yard::of_domains(&["goals", "reminders"]);
    insta::assert_snapshot!(without_tasks.say(&mut toolset, "a reminder"), @"goals+reminders 8 | `reminders` came: it is meant now.");
}

#[test]
fn d3_at_most_three_domains_are_active() {
    let mut yard = Yard::empty();
    for domain in ["alpha", "beta", "gamma", "delta"] {
        yard.add(&format!("read_{domain}"), Action::Read, domain);
    }
    let mut toolset = Toolset::default();
    insta::assert_snapshot!(yard.say(&mut toolset, "alpha beta gamma"), @"alpha+beta+gamma 3 | `alpha` came: it is meant now; `beta` came: it is meant now; `gamma` came: it is meant now.");
    insta::assert_snapshot!(yard.say(&mut toolset, "delta"), @"beta+gamma+delta 3 | `delta` came: it is meant now; `alpha` went: at most 3 domains are active, and it was used longest ago.");
}

#[test]
fn d8_a_domain_that_is_too_large_keeps_its_most_relevant_tools() {
    let mut yard = Yard::empty();
    for (verb, action) in [("list", Action::List), ("create", Action::Create), ("delete", Action::Delete)] {
        for at in 0..5 {
            yard.add(&format!("{verb}_{at}"), action, "things");
        }
    }
    let mut toolset = Toolset::default();
    let meant = named(&yard.registry, "my things");
    let ranked: Vec<Arc<str>> = ["list_3", "list_4", "create_2"].map(Arc::from).to_vec();
    let message = Said { domains: &meant, ranked: &ranked, ..Said::default() };
    let first = toolset.select(&yard.stock(), &message);
    insta::assert_snapshot!(first.tool_names.join(" "), @"list_0 list_1 list_2 list_3 list_4 create_0 create_1 create_2 create_3 delete_0");
    insta::assert_snapshot!(first.reasoning, @"`things` came: it is meant now; `things` has 15 tools and there is room for 10: the most relevant stay, one for each kind of action first.");
    // The list stays while the tool that is meant is in it, and changes when it is not.
    let second = toolset.select(&yard.stock(), &message);
    assert_eq!((second.tool_names, second.reasoning.as_str()), (first.tool_names, "Nothing changed."));
    let other: Vec<Arc<str>> = vec!["delete_4".into()];
    let message = Said { domains: &meant, ranked: &other, ..Said::default() };
    assert!(toolset.select(&yard.stock(), &message).tool_names.contains(&other[0]));
}

/// The core tools and skills of seed 003.
fn studio() -> Yard {
    let mut yard = Yard::empty();
    let core = ["load_brand", "propose_choices", "activate_skill", "list_products", "check_interrupt"];
    yard.core = core.map(Arc::from).to_vec();
    yard.skill("image-composer", &["generate_image", "propose_images"]);
    yard.skill("image-prompt-engineering", &[]);
    yard.skill("product-management", &["manage_product", "analyze_packaging", "update_packaging_text"]);
    yard.skill("style-references", &["manage_style_reference", "get_style_reference"]);
    let research = ["web_search", "request_deep_research", "get_research_status", "search_research_cache"];
    yard.skill("research", &research);
    yard.skill("brand-identity", &["fetch_brand_detail", "browse_brand_assets"]);
    yard.skill("file-operations", &["read_file", "write_file", "list_files"]);
    yard
}

#[test]
fn s1_five_core_tools_and_two_to_four_a_skill_stay_within_the_budget() {
    let yard = studio();
    let names: Vec<Arc<str>> = yard.skills.keys().cloned().collect();
    for first in &names {
        for second in &names {
            for third in &names {
                let mut toolset = Toolset::default();
                let mut counts = vec![toolset.listed(&yard.stock()).len()];
                for skill in [first, second, third] {
                    toolset.activate(&yard.stock(), skill).unwrap();
                    counts.push(toolset.listed(&yard.stock()).len());
                }
                assert_eq!(counts[0], 5);
                assert!(counts.iter().all(|count| *count <= 15), "{first} {second} {third}: {counts:?}");
            }
        }
    }
}

#[test]
fn s2_product_style_and_image_work_together() {
    let (yard, mut toolset) = (studio(), Toolset::default());
    let mut counts = Vec::new();
    for skill in ["product-management", "style-references", "image-composer"] {
        assert_eq!(toolset.activate(&yard.stock(), skill).unwrap().evicted, None);
        counts.push(toolset.listed(&yard.stock()).len());
    }
    assert_eq!(counts, [8, 10, 12]);
    assert!(toolset.is_active(&yard.stock(), "generate_image"));
}

#[test]
fn s3_the_fourth_skill_evicts_the_oldest() {
    let (yard, mut toolset) = (studio(), Toolset::default());
    for skill in ["research", "brand-identity", "file-operations", "research"] {
        assert_eq!(toolset.activate(&yard.stock(), skill).unwrap().evicted, None);
    }
    insta::assert_snapshot!(toolset.activate(&yard.stock(), "brand-identity").unwrap().reasoning, @"The skill `brand-identity` is active already.");
    let fourth = toolset.activate(&yard.stock(), "image-composer").unwrap();
    assert_eq!(fourth.evicted.as_deref(), Some("research"));
    insta::assert_snapshot!(fourth.reasoning, @"The skill `research` went: it was the oldest of 3; the skill `image-composer` came, with 2 tools.");
    assert_eq!(toolset.skills().join(" "), "brand-identity file-operations image-composer");
    assert!(!toolset.is_active(&yard.stock(), "web_search"));
}

#[test]
fn s4_an_unknown_skill_is_told_which_ones_there_are() {
    let (yard, mut toolset) = (studio(), Toolset::default());
    let error = toolset.activate(&yard.stock(), "cooking").unwrap_err();
    insta::assert_snapshot!(error, @"there is no skill `cooking`; skills: brand-identity, file-operations, image-composer, image-prompt-engineering, product-management, research, style-references");
    assert_eq!(toolset, Toolset::default());
    let nothing = Toolset::default().activate(&Yard::empty().stock(), "x").unwrap_err();
    assert_eq!(nothing.to_string(), "there is no skill `x`; no skill is configured");
}

#[test]
fn s6_the_list_keeps_its_order_and_has_no_duplicates() {
    let mut yard = studio();
    yard.skill("both", &["write_file", "load_brand", "generate_image"]);
    let mut toolset = Toolset::default();
    for skill in ["file-operations", "both"] {
        toolset.activate(&yard.stock(), skill).unwrap();
    }
    insta::assert_snapshot!(toolset.listed(&yard.stock()).join(" "), @"load_brand propose_choices activate_skill list_products check_interrupt read_file write_file list_files generate_image");
}

#[test]
fn s7_a_skill_may_have_instructions_only() {
    let (yard, mut toolset) = (studio(), Toolset::default());
    let activation = toolset.activate(&yard.stock(), "image-prompt-engineering").unwrap();
    insta::assert_snapshot!(activation.reasoning, @"The skill `image-prompt-engineering` came, with instructions and no tools.");
    assert_eq!(toolset.listed(&yard.stock()).len(), 5);
}

#[test]
fn d3_the_whole_list_is_capped_and_domains_give_way_to_skills() {
    let mut yard = life();
    yard.core = vec!["core_1".into(), "core_2".into()];
    yard.skill("four", &["s1", "s2", "s3", "s4"]);
    yard.skill("five", &["s5", "s6", "s7", "s8", "s9"]);
    let mut toolset = Toolset::default();
    yard.say(&mut toolset, "tasks and goals");
    assert_eq!(toolset.listed(&yard.stock()).len(), 10);
    insta::assert_snapshot!(toolset.activate(&yard.stock(), "four").unwrap().reasoning, @"The skill `four` came, with 4 tools.");
    assert_eq!(toolset.listed(&yard.stock()).len(), 14);
    insta::assert_snapshot!(toolset.activate(&yard.stock(), "five").unwrap().reasoning, @"The skill `five` came, with 5 tools; `tasks` went: 8 tools would be more than 4, and it was used longest ago.");
    assert_eq!(toolset.listed(&yard.stock()).len(), 15);
}

#[test]
fn d7_the_index_says_which_domains_are_meant() {
    let registry = life().registry;
    let ranked = |pairs: &[(&str, f32)]| {
        pairs.iter().map(|(name, share)| (Arc::from(*name), *share)).collect::<Vec<(Arc<str>, f32)>>()
    };
    let domains = |message: &str, pairs: &[(&str, f32)]| {
        let found = meant(&registry, message, &ranked(pairs));
        found.iter().map(|it| it.domain.trim_start_matches(DOMAIN).to_owned()).collect::<Vec<_>>()
    };
    // One that is believed in needs no name; one that is named needs little belief.
    assert_eq!(domains("put milk on my list", &[("create_tasks", 0.4), ("query_tasks", 0.2)]), ["tasks"]);
    let both = [("create_goals", 0.5), ("create_tasks", 0.3), ("create_ideas", 0.1)];
    assert_eq!(domains("a task for my goal", &both), ["tasks", "goals"]);
    assert_eq!(domains("do something", &[("create_tasks", 0.2), ("create_ideas", 0.2)]), [""; 0]);
    assert_eq!(domains("a task", &[]), [""; 0]);
}
