//! Old names, followed and applied.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use serde_json::value::RawValue;

use super::*;
use crate::catalog::{Advertised, Bounds};

const BOUNDS: Bounds = Bounds { tools: 100, name_chars: 60, description_chars: 200, nesting: 16 };

/// Makes a catalog of one server with tools and the names of their required texts; `?` marks optional ones.
fn catalog(server: &str, tools: &[(&str, &[&str])]) -> Catalog {
    let definition = |(name, parameters): &(&str, &[&str])| {
        let bare = |it: &&str| it.trim_end_matches('?').to_owned();
        let properties: Map<String, Value> =
            parameters.iter().map(|it| (bare(it), json!({"type": "string"}))).collect();
        let required: Vec<String> = parameters.iter().filter(|it| !it.ends_with('?')).map(bare).collect();
        let schema = json!({"type": "object", "properties": properties, "required": required});
        RawValue::from_string(json!({"name": name, "inputSchema": schema}).to_string()).unwrap()
    };
    let server: Arc<str> = server.into();
    Catalog::gather([(Advertised { server, tools: tools.iter().map(definition).collect() }, BOUNDS)]).0
}

fn alias(old: &str, to: &str, fixed: Value, renamed: &[(&str, &str)]) -> Alias {
    let Value::Object(fixed) = fixed else { panic!("fixed arguments are an object") };
    let renamed = renamed.iter().map(|(old, new)| ((*old).to_owned(), (*new).to_owned())).collect();
    Alias { old: old.to_owned(), to: to.to_owned(), fixed, renamed, usage: None, phase: Phase::Warn }
}

fn create() -> Alias {
    alias(
        "create_product",
        "studio__manage_product",
        json!({"action": "create"}),
        &[("product_slug", "slug")],
    )
}

fn studio() -> Catalog {
    catalog("studio", &[("manage_product", &["action", "slug?", "name?"])])
}

fn applied(alias: &Alias, given: Value) -> Result<Value, Error> {
    let Value::Object(given) = given else { panic!("arguments are an object") };
    Ok(Value::Object(alias.apply(given, Value::clone)?.into_iter().collect()))
}

fn meant(aliases: &Aliases, name: &str, catalog: &Catalog) -> Option<Alias> {
    aliases.resolve(name, catalog, |_| true).unwrap()
}

#[test]
fn c7_an_old_name_is_found_alone_and_with_its_server() {
    let aliases = Aliases::gather(vec![create()], []);
    let catalog = studio();
    for name in ["create_product", "studio__create_product"] {
        assert_eq!(meant(&aliases, name, &catalog), Some(create()), "{name}");
    }
    for name in ["create_products", "shop__create_product", "studio__manage_product", ""] {
        assert_eq!(meant(&aliases, name, &catalog), None, "{name}");
    }
}

#[test]
fn c7_a_tool_that_has_the_name_wins_and_is_reported() {
    let aliases = Aliases::gather(vec![create()], []);
    let catalog =
        catalog("studio", &[("manage_product", &["action", "slug"]), ("create_product", &["name"])]);
    assert_eq!(meant(&aliases, "studio__create_product", &catalog), None);
    assert_eq!(meant(&aliases, "create_product", &catalog), None);
    assert_eq!(
        aliases.problems(&catalog, |_| false),
        ["`create_product` is an old name, but there is a tool `studio__create_product`, which is called"]
    );
}

#[test]
fn c7_given_arguments_are_renamed_and_fixed_ones_added() {
    let given = json!({"product_slug": "lamp", "name": "Lamp"});
    assert_eq!(
        applied(&create(), given).unwrap(),
        json!({"slug": "lamp", "name": "Lamp", "action": "create"})
    );
    assert_eq!(applied(&create(), json!({})).unwrap(), json!({"action": "create"}));
}

#[test]
fn c7_arguments_that_swap_their_names_are_swapped() {
    let swap = alias("move", "fs__move", json!({}), &[("from", "to"), ("to", "from")]);
    assert_eq!(applied(&swap, json!({"from": "a", "to": "b"})).unwrap(), json!({"to": "a", "from": "b"}));
}

#[test]
fn c7_one_argument_under_two_names_must_have_one_value() {
    let both = |slug: &str| json!({"product_slug": "lamp", "slug": slug});
    assert_eq!(applied(&create(), both("lamp")).unwrap(), json!({"slug": "lamp", "action": "create"}));
    insta::assert_snapshot!(
        applied(&create(), both("desk")).unwrap_err(),
        @"`product_slug` and `slug` are one argument of `studio__manage_product`, but have different values; give one of them"
    );
}

#[test]
fn c7_what_is_fixed_cannot_be_overridden() {
    assert!(applied(&create(), json!({"action": "create"})).is_ok());
    insta::assert_snapshot!(
        applied(&create(), json!({"action": "delete"})).unwrap_err(),
        @r#"`create_product` always gives `action` the value "create"; leave `action` out, or call `studio__manage_product` itself"#
    );
}

#[test]
fn c7_usage_is_what_somebody_wrote_or_follows_from_mapping_and_schema() {
    let catalog = studio();
    let tool = catalog.get("studio__manage_product");
    assert_eq!(create().usage(tool), r#"studio__manage_product(action="create", slug="...", ...)"#);
    assert_eq!(create().usage(None), r#"studio__manage_product(action="create", slug=..., ...)"#);
    let written = Alias { usage: Some("manage_product(…)".to_owned()), ..create() };
    assert_eq!(written.usage(tool), "manage_product(…)");
    let plain = alias("list", "studio__manage_product", json!({}), &[]);
    assert_eq!(plain.usage(tool), r#"studio__manage_product(action="...", ...)"#);
}

#[test]
fn c7_old_names_of_old_names_are_followed_to_the_tool() {
    let first =
        alias("add_item", "studio__create_product", json!({"name": "New"}), &[("id", "product_slug")]);
    let aliases = Aliases::gather(vec![first, create()], []);
    let found = meant(&aliases, "add_item", &studio()).unwrap();
    assert_eq!(found.to, "studio__manage_product");
    assert_eq!(
        applied(&found, json!({"id": "lamp"})).unwrap(),
        json!({"slug": "lamp", "action": "create", "name": "New"})
    );
}

#[test]
fn c7_a_circle_of_old_names_is_said_and_not_followed_for_ever() {
    let circle = [alias("a", "s__b", json!({}), &[]), alias("b", "s__a", json!({}), &[])];
    let aliases = Aliases::gather(circle.to_vec(), []);
    let error = aliases.resolve("a", &Catalog::default(), |_| true).unwrap_err();
    assert_eq!(error, Error::Circle("a".to_owned()));
    let itself = Aliases::gather(vec![alias("s__a", "s__a", json!({}), &[])], []);
    assert!(itself.resolve("s__a", &Catalog::default(), |_| true).is_err());
    let twice = [create(), alias("make", "studio__create_product", json!({"action": "delete"}), &[])];
    let twice = Aliases::gather(twice.to_vec(), []);
    let error = twice.resolve("make", &studio(), |_| true).unwrap_err();
    insta::assert_snapshot!(error, @"`make` gives `action` two different values on the way to `studio__manage_product`");
}

#[test]
fn c7_what_servers_bring_along_gives_way_to_what_a_person_wrote() {
    let brought = |server: &str| {
        let fixed = Map::from_iter([("action".to_owned(), json!("make"))]);
        let (old, new) = ("create_product".to_owned(), "manage_product".to_owned());
        Alias::of_server(
            server,
            Renaming { old, new, fixed, renamed: BTreeMap::new(), usage: None },
            Phase::Gone,
        )
    };
    let both = Aliases::gather(vec![create()], [brought("studio"), brought("shop")]);
    let none = Catalog::default();
    assert_eq!(meant(&both, "create_product", &none), Some(create()));
    assert_eq!(meant(&both, "studio__create_product", &none), Some(create()));
    assert_eq!(meant(&both, "shop__create_product", &none), Some(brought("shop")));
    let alone = Aliases::gather(Vec::new(), [brought("studio"), brought("shop")]);
    let error = alone.resolve("create_product", &none, |_| true).unwrap_err();
    insta::assert_snapshot!(
        error,
        @"`create_product` is the old name of several tools; call one of `studio__manage_product`, `shop__manage_product`"
    );
    // Whoever sees one of the two servers only has nothing to choose.
    let seen = alone.resolve("create_product", &none, |to| to.starts_with("shop__")).unwrap();
    assert_eq!(seen, Some(brought("shop")));
}

#[test]
fn c7_dead_old_names_and_arguments_that_nobody_takes_are_reported() {
    let dead = alias("old", "studio__lost", json!({}), &[]);
    let awaited = alias("other", "late__tool", json!({}), &[]);
    let typo = alias("make", "studio__manage_product", json!({"acton": 1}), &[("a", "slug")]);
    let aliases = Aliases::gather(vec![dead, awaited, typo], []);
    assert_eq!(
        aliases.problems(&studio(), |to| to.starts_with("late__")),
        [
            "`old` stands for `studio__lost`, which no server has",
            "`make` gives `acton` to `studio__manage_product`, which does not take it",
        ]
    );
}

#[test]
fn c7_a_bare_name_of_a_tool_that_only_moved_is_no_circle() {
    let moved = alias("get_product", "shop__get_product", json!({}), &[]);
    assert_eq!(moved.names(), ["get_product"]);
    let catalog = catalog("shop", &[("get_product", &["slug"])]);
    assert_eq!(meant(&Aliases::gather(vec![moved.clone()], []), "get_product", &catalog), Some(moved));
}

/// Fixed arguments, and new names of others.
type Mapping = (Vec<(String, u8)>, Vec<(String, String)>);

fn mapping() -> impl Strategy<Value = Mapping> {
    let key = || "[a-d]";
    (prop::collection::vec((key(), 0_u8..3), 0..3), prop::collection::vec((key(), key()), 0..4))
}

fn of(old: &str, to: &str, (fixed, renamed): Mapping) -> Alias {
    let fixed = fixed.into_iter().map(|(key, value)| (key, json!(value))).collect();
    let renamed = renamed.into_iter().collect();
    Alias { old: old.into(), to: to.into(), fixed, renamed, usage: None, phase: Phase::Warn }
}

fn sorted(value: Result<Value, Error>) -> Option<BTreeMap<String, Value>> {
    value.ok().map(|value| value.as_object().unwrap().clone().into_iter().collect())
}

proptest! {
    #[test]
    fn c7_two_old_names_in_a_row_do_what_each_does_by_itself(
        first in mapping(),
        second in mapping(),
        given in prop::collection::btree_map("[a-e]", 0_u8..3, 0..5),
    ) {
        let (first, second) = (of("one", "s__two", first), of("two", "s__three", second));
        let given: Map<String, Value> = given.into_iter().map(|(key, value)| (key, json!(value))).collect();
        let one_by_one = applied(&first, Value::Object(given.clone())).and_then(|it| applied(&second, it));
        let at_once = first.then(&second).and_then(|both| applied(&both, Value::Object(given)));
        prop_assert_eq!(sorted(one_by_one), sorted(at_once));
    }

    #[test]
    fn c7_fixed_arguments_always_arrive_and_nothing_given_is_lost(
        mapping in mapping(),
        given in prop::collection::btree_map("[a-e]", 0_u8..3, 0..5),
    ) {
        let alias = of("old", "s__new", mapping);
        let given: Map<String, Value> = given.into_iter().map(|(key, value)| (key, json!(value))).collect();
        if let Ok(arguments) = applied(&alias, Value::Object(given.clone())) {
            for (key, value) in &alias.fixed {
                prop_assert_eq!(arguments.get(key), Some(value));
            }
            for (key, value) in &given {
                prop_assert_eq!(arguments.get(alias.argument(key)), Some(value));
            }
        }
    }
}
