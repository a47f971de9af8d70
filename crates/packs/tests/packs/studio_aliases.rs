//! Every old name has a new call that works.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use toolyard_packs::{Kind, OldName};

use crate::studio::Shop;

/// The names that the original document lists as "before", except those that are kept.
const OLD: &str = "
    create_product update_product delete_product add_product_image set_product_primary_image
    analyze_product_packaging analyze_all_product_packaging update_product_packaging_text
    list_style_references get_style_reference_detail create_style_reference create_style_references_from_images
    update_style_reference add_style_reference_image reanalyze_style_reference delete_style_reference
    create_todo_list update_todo_item add_todo_output complete_todo_list
    fetch_context_cached get_cached_product_context get_cached_style_reference_context";

fn studio_aliases() -> Vec<OldName> {
    Kind::Studio { folder: "unused".into(), outside: None }.old_names()
}

/// Turns the arguments of a call of an old name into those of the new tool.
fn translated(old: &OldName, arguments: &Map<String, Value>) -> Map<String, Value> {
    let new_name = |name: &String| {
        let renamed = old.renamed.iter().find(|(old, _)| old == name);
        renamed.map_or_else(|| name.clone(), |(_, new)| new.clone())
    };
    let given = arguments.iter().map(|(name, value)| (new_name(name), value.clone()));
    given.chain(old.fixed.clone()).collect()
}

/// What an old caller would have sent.
fn old_arguments(old: &str) -> Value {
    match old {
        "create_product" | "create_style_reference" => json!({ "name": "Cola" }),
        "update_product" => json!({ "product_slug": "soda", "description": "Sweet" }),
        "delete_product" => json!({ "product_slug": "soda", "confirm": true }),
        "add_product_image" | "set_product_primary_image" => {
            json!({ "product_slug": "soda", "image_path": "uploads/bottle.png" })
        }
        "analyze_product_packaging" | "get_cached_product_context" => json!({ "product_slug": "soda" }),
        "update_product_packaging_text" => {
            json!({ "product_slug": "soda", "field": "body", "text": "Sweet" })
        }
        "create_style_references_from_images" => json!({ "images": ["uploads/snow.webp"] }),
        "get_style_reference_detail" | "reanalyze_style_reference" | "get_cached_style_reference_context" => {
            json!({ "style_ref_slug": "soda" })
        }
        "update_style_reference" => json!({ "style_ref_slug": "soda", "name": "Cold" }),
        "add_style_reference_image" => {
            json!({ "style_ref_slug": "soda", "image_path": "uploads/bottle.png" })
        }
        "delete_style_reference" => json!({ "style_ref_slug": "soda", "confirm": true }),
        "create_todo_list" => json!({ "title": "Launch", "items": ["One"] }),
        "update_todo_item" => json!({ "list_id": "job", "item_id": 1, "status": "done" }),
        "add_todo_output" => json!({ "list_id": "job", "item_id": 1, "output": "generated/a.png" }),
        "complete_todo_list" => json!({ "list_id": "job", "skip_remaining": true }),
        "fetch_context_cached" => json!({ "context_type": "product", "product_slug": "soda" }),
        _ => json!({}),
    }
}

#[test]
fn c7_every_old_name_becomes_a_call_that_works() {
    let aliases = studio_aliases();
    for alias in &aliases {
        let shop = Shop::new();
        shop.ok("manage_product", json!({ "action": "create", "name": "Soda" }));
        shop.ok(
            "manage_product",
            json!({ "action": "add_image", "slug": "soda", "image_path": "uploads/bottle.png" }),
        );
        let style = json!({ "action": "create", "name": "Soda", "image_path": "uploads/snow.webp" });
        shop.ok("manage_style_reference", style);
        shop.ok("create_task_file", json!({ "name": "Job", "tasks": ["One"] }));
        let arguments = translated(alias, old_arguments(&alias.old).as_object().unwrap());
        shop.ok(&alias.new, Value::Object(arguments));
    }
    let names: BTreeSet<&str> = aliases.iter().map(|it| it.old.as_str()).collect();
    assert_eq!(names, OLD.split_whitespace().collect());
    assert_eq!(aliases.len(), 23);
}

#[test]
fn c7_no_alias_confirms_for_the_caller() {
    let shop = Shop::new();
    shop.ok("manage_product", json!({ "action": "create", "name": "Soda" }));
    for alias in studio_aliases() {
        assert!(!alias.fixed.contains_key("confirm"), "{}", alias.old);
    }
    let delete = studio_aliases().into_iter().find(|it| it.old == "delete_product").unwrap();
    let arguments = translated(&delete, json!({ "product_slug": "soda" }).as_object().unwrap());
    assert!(shop.refused(&delete.new, Value::Object(arguments)).contains("confirm=true"));
    assert_eq!(shop.ok("list_products", json!({}))["total_count"], 1);
}

#[test]
fn c7_usages_are_those_of_the_migration_table() {
    let usage = |old: &str| studio_aliases().into_iter().find(|it| it.old == old).unwrap().usage;
    assert_eq!(usage("create_product"), r#"manage_product(action="create", name="...")"#);
    assert_eq!(usage("update_product"), r#"manage_product(action="update", slug="...", ...)"#);
    assert_eq!(usage("delete_product"), r#"manage_product(action="delete", slug="...", confirm=True)"#);
    assert_eq!(
        usage("create_style_references_from_images"),
        r#"manage_style_reference(action="create_batch", image_paths=[...])"#
    );
    assert_eq!(usage("list_style_references"), "get_style_reference()");
    assert_eq!(usage("get_style_reference_detail"), r#"get_style_reference(slug="...")"#);
}

#[test]
fn c7_only_the_studio_has_aliases_and_no_old_name_is_a_tool() {
    let shop = Shop::new();
    let aliases: Vec<OldName> = studio_aliases();
    assert!(Kind::Time.old_names().is_empty());
    for alias in aliases {
        assert!(shop.pack.call(&alias.old, &Map::new()).is_none());
        assert!(shop.pack.tools().iter().any(|tool| tool["name"] == alias.new.as_str()), "{}", alias.new);
    }
}
