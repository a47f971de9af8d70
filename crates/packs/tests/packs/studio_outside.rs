//! What works only with a world outside: images, searches, research and the model's view.

use std::sync::Arc;

use serde_json::{Value, json};
use toolyard_packs::Abilities;

use crate::studio::{Desk, Shop, answered, open, outside};

const STYLE: &str = "manage_style_reference";

fn names(shop: &Shop) -> Vec<String> {
    shop.pack.tools().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn c9_the_six_steps_of_the_original_verification_work_with_the_reduced_set() {
    let desk = Desk::everything();
    // 1. A fresh session.
    let shop = Shop::with(outside(&desk));
    // 2. Load the brand.
    shop.ok(
        "manage_brand",
        json!({ "action": "create", "name": "Sunny Drinks", "summary": "Honest lemonade" }),
    );
    assert_eq!(shop.ok("load_brand", json!({}))["brands"][0]["slug"], "sunny-drinks");
    // 3. Create a product with an image.
    let product = json!({ "action": "create", "name": "Summer Soda", "attributes": { "size": "330 ml" } });
    shop.ok("manage_product", product);
    shop.ok(
        "manage_product",
        json!({ "action": "add_image", "slug": "summer-soda", "image_path": "uploads/bottle.png" }),
    );
    // 4. Create a style reference.
    let style = json!({ "action": "create", "name": "Winter", "image_path": "uploads/snow.webp", "default_strict": true });
    let style = shop.ok(STYLE, style);
    assert_eq!(style["style_reference"]["analysis"]["model_notes"], "A calm, sunny look.");
    // 5. Generate an image with both.
    let order = json!({ "prompt": "A bottle in the snow", "product_slug": "summer-soda", "style_reference_slug": "winter" });
    let image = shop.ok("generate_image", order.clone());
    assert_eq!(
        (&image["path"], &image["strict"]),
        (&json!("generated/a-bottle-in-the-snow-1.png"), &json!(true))
    );
    assert_eq!((&image["width"], &image["height"], &image["format"]), (&json!(16), &json!(8), &json!("png")));
    assert_eq!(image["references"], json!(["uploads/bottle.png", "uploads/snow.webp"]));
    assert!(shop.folder().join("generated/a-bottle-in-the-snow-1.png").is_file());
    let asked = desk.asked().pop().unwrap();
    for part in [
        "A bottle in the snow",
        "Product: Summer Soda.",
        r#"{"size":"330 ml"}"#,
        "Follow this style closely: Winter.",
        "A calm, sunny look.",
        "product: Summer Soda image/png",
        "style reference: Winter image/webp",
    ] {
        assert!(asked.contains(part), "{part} is not in {asked}");
    }
    // 6. Everything works with the reduced set.
    let context = shop.ok("get_context", json!({ "entity_type": "product", "slug": "summer-soda" }));
    assert_eq!(context["generated"][0]["path"], "generated/a-bottle-in-the-snow-1.png");
    let context = shop.ok("get_context", json!({ "entity_type": "style_reference", "slug": "winter" }));
    assert_eq!(context["generated"][0]["prompt"], "A bottle in the snow");
    assert_eq!(shop.ok("generate_image", order)["path"], "generated/a-bottle-in-the-snow-2.png");
    let assets = shop.ok("browse_brand_assets", json!({ "kind": "generated" }));
    assert_eq!(assets["total_count"], 2);
    let again = json!({ "image_paths": ["generated/a-bottle-in-the-snow-1.png", "generated/a-bottle-in-the-snow-2.png"] });
    shop.ok("propose_images", again);
    assert_eq!(names(&shop).len(), 28);
}

#[test]
fn c9_a_tool_exists_only_where_its_ability_is_offered() {
    assert_eq!(names(&Shop::new()).len(), 23);
    for (abilities, added) in [
        (Abilities::default(), vec![]),
        (Abilities { answers: true, vision: true, ..Abilities::default() }, vec![]),
        (Abilities { pictures: true, ..Abilities::default() }, vec!["generate_image"]),
        (
            Abilities { search: true, ..Abilities::default() },
            vec!["web_search", "request_deep_research", "get_research_status", "search_research_cache"],
        ),
    ] {
        let shop = Shop::with(outside(&Arc::new(Desk { abilities, ..Desk::default() })));
        assert_eq!(names(&shop)[23..], added);
    }
}

#[test]
fn c9_handles_are_equal_when_they_lead_to_the_same_services() {
    let (one, other) = (Desk::everything(), Desk::everything());
    let (a, b) = (outside(&one), outside(&other));
    assert_eq!(a, a.clone());
    assert_ne!(a, b);
    assert!(format!("{a:?}").contains("pictures: true"));
}

#[test]
fn c9_a_service_that_fails_loses_nothing_and_is_told() {
    let desk = Arc::new(Desk { fails: true, abilities: Desk::everything().abilities, ..Desk::default() });
    let shop = Shop::with(outside(&desk));
    let before = shop.snapshot();
    let text = shop.refused("generate_image", json!({ "prompt": "A bottle" }));
    assert!(text.contains("no image was made: the line is dead"), "{text}");
    assert_eq!(shop.snapshot(), before);
    assert!(shop.refused("web_search", json!({ "query": "x" })).contains("the line is dead"));
    let made =
        shop.ok(STYLE, json!({ "action": "create", "name": "Winter", "image_path": "uploads/snow.webp" }));
    assert!(made["message"].as_str().unwrap().contains("the model could not be asked"), "{made}");
    assert_eq!(made["style_reference"]["analysis"]["image_count"], 1);
    shop.ok("manage_product", json!({ "action": "create", "name": "Soda" }));
    let analysis = shop.ok("analyze_packaging", json!({ "slug": "soda" }));
    assert!(analysis["analyses"][0]["findings"].to_string().contains("the model could not be asked"));
}

#[test]
fn c9_the_model_adds_its_view_to_the_analysis() {
    let desk = Desk::everything();
    let shop = Shop::with(outside(&desk));
    shop.ok("manage_product", json!({ "action": "create", "name": "Soda" }));
    shop.ok(
        "manage_product",
        json!({ "action": "add_image", "slug": "soda", "image_path": "uploads/bottle.png" }),
    );
    let analysis = shop.ok("analyze_packaging", json!({ "slug": "soda" }));
    assert_eq!(analysis["analyses"][0]["model_notes"], "A calm, sunny look.");
    assert_eq!(analysis["analyses"][0]["image"]["width"], 1200);
    assert!(desk.asked()[0].contains("(1 images)"), "{:?}", desk.asked());
}

#[test]
fn c9_unknown_products_and_stop_are_refused_before_anything_is_asked() {
    let desk = Desk::everything();
    let shop = Shop::with(outside(&desk));
    let text = shop.refused("generate_image", json!({ "prompt": "x", "product_slug": "none" }));
    assert!(text.contains("there is no product `none`"), "{text}");
    let text = shop.refused("generate_image", json!({ "prompt": "x", "style_reference_slug": "none" }));
    assert!(text.contains("there is no style reference `none`"), "{text}");
    shop.put("STOP", b"");
    assert!(shop.refused("generate_image", json!({ "prompt": "x" })).contains("Stop was asked for"));
    assert!(desk.asked().is_empty());
}

#[test]
fn c9_searches_are_kept_and_found_again() {
    let desk = Desk::everything();
    let shop = Shop::with(outside(&desk));
    let found = shop.ok("web_search", json!({ "query": "lemonade trends", "limit": 2 }));
    assert_eq!((&found["total_count"], &found["has_more"]), (&json!(3), &json!(true)));
    assert_eq!(found["results"][0]["url"], "https://example.org/1");
    shop.ok("web_search", json!({ "query": "tea" }));
    let kept = shop.ok("search_research_cache", json!({ "query": "Trend lemonade" }));
    assert_eq!(kept["findings"][0]["asked"], "lemonade trends");
    assert_eq!(shop.ok("search_research_cache", json!({ "query": "coffee" }))["total_count"], 0);
    let page = shop.ok("search_research_cache", json!({ "query": "glass", "limit": 1 }));
    assert_eq!((&page["total_count"], &page["has_more"]), (&json!(2), &json!(true)));
    assert_eq!(desk.asked().len(), 2);
}

#[test]
fn c9_research_runs_in_the_background_and_can_be_waited_for() {
    let desk = Desk::everything();
    let shop = Shop::with(outside(&desk));
    let id = shop.ok("request_deep_research", json!({ "question": "How is lemonade sold?" }))["id"].clone();
    let done = shop.ok("get_research_status", json!({ "id": id, "wait_seconds": 50 }));
    let research = &done["researches"][0];
    assert_eq!((&research["status"], &research["report"]), (&json!("done"), &json!("A calm, sunny look.")));
    assert_eq!((&research["queries_done"], &research["queries_total"]), (&json!(3), &json!(3)));
    assert_eq!(research["sources"].as_array().unwrap().len(), 3);
    let searched: Vec<String> = desk.asked().into_iter().filter(|it| it.starts_with("search:")).collect();
    assert_eq!(
        searched,
        ["search: How is lemonade sold?", "search: lemonade bottles", "search: lemonade prices"]
    );
    let kept = shop.ok("search_research_cache", json!({ "query": "sunny" }));
    assert_eq!(kept["findings"][0]["kind"], "research");
    assert_eq!(shop.ok("get_research_status", json!({}))["total_count"], 1);
    assert!(shop.refused("get_research_status", json!({ "id": 99 })).contains("there is no research 99"));
}

#[test]
fn c9_research_without_a_model_reports_what_was_found() {
    let abilities = Abilities { search: true, ..Abilities::default() };
    let shop = Shop::with(outside(&Arc::new(Desk { abilities, ..Desk::default() })));
    let id = shop.ok("request_deep_research", json!({ "question": "Tea?" }))["id"].clone();
    let done = shop.ok("get_research_status", json!({ "id": id, "wait_seconds": 50 }));
    let report = done["researches"][0]["report"].as_str().unwrap();
    assert!(report.contains("- Tea? 1 (https://example.org/1): Lemonade sells in glass"), "{report}");
}

#[test]
fn c9_research_that_fails_or_is_stopped_says_so() {
    let desk = Arc::new(Desk { fails: true, abilities: Desk::everything().abilities, ..Desk::default() });
    let shop = Shop::with(outside(&desk));
    let wait = |shop: &Shop, id: &Value| {
        shop.ok("get_research_status", json!({ "id": id, "wait_seconds": 50 }))["researches"][0].clone()
    };
    let id = shop.ok("request_deep_research", json!({ "question": "Tea?" }))["id"].clone();
    let failed = wait(&shop, &id);
    assert_eq!(failed["status"], "failed");
    assert!(failed["report"].as_str().unwrap().contains("the line is dead"), "{failed}");
    let shop = Shop::with(outside(&Desk::everything()));
    shop.put("STOP", b"");
    let id = shop.ok("request_deep_research", json!({ "question": "Tea?" }))["id"].clone();
    let stopped = wait(&shop, &id);
    assert_eq!((&stopped["status"], &stopped["queries_done"]), (&json!("stopped"), &json!(0)));
}

#[test]
fn c9_research_that_was_cut_short_goes_on_where_it_was() {
    let desk = Desk::everything();
    let shop = Shop::with(outside(&desk));
    let database = rusqlite::Connection::open(shop.folder().join("studio.db")).unwrap();
    // What a program leaves behind that was killed after the first of three queries.
    database
        .execute_batch(
            r#"INSERT INTO research (id, question, status, report, queries, lease, created)
               VALUES (7, 'Tea?', 'running', '', '["Tea?", "tea shops", "tea prices"]', 0, 'then');
               INSERT INTO finding (research, query, hits, created) VALUES (7, 'Tea?', '[]', 'then');"#,
        )
        .unwrap();
    let pack = open(&shop.folder(), outside(&desk));
    let given = json!({ "id": 7, "wait_seconds": 50 });
    let done =
        answered(&pack, "get_research_status", given.as_object().unwrap())["structuredContent"].clone();
    assert_eq!(
        (&done["researches"][0]["status"], &done["researches"][0]["queries_done"]),
        (&json!("done"), &json!(3))
    );
    let searched: Vec<String> = desk.asked().into_iter().filter(|it| it.starts_with("search:")).collect();
    assert_eq!(searched, ["search: tea shops", "search: tea prices"]);
}
