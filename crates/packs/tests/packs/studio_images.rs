//! Images: what is accepted, what is measured, and batches that report what failed.

use std::{fs, io::Cursor};

use image::ImageFormat;
use serde_json::{Value, json};

use crate::studio::{Shop, encoded, png};

fn add(shop: &Shop, path: &str) -> Value {
    shop.call("manage_product", json!({ "action": "add_image", "slug": "soda", "image_path": path }))
}

fn shop() -> Shop {
    let shop = Shop::new();
    shop.ok("manage_product", json!({ "action": "create", "name": "Soda" }));
    shop
}

fn said(result: &Value) -> &str {
    assert_eq!(result["isError"], true, "{result}");
    result["content"][0]["text"].as_str().unwrap()
}

#[test]
fn c5_only_images_in_uploads_that_exist_and_are_what_they_are_called() {
    let shop = shop();
    shop.put("outside.png", &png(4, 4, &[[1, 2, 3]]));
    shop.put("generated/made.png", &png(4, 4, &[[1, 2, 3]]));
    shop.put("uploads/text.png", b"not an image");
    shop.put("uploads/empty.png", b"");
    shop.put("uploads/really-a.jpg", &png(4, 4, &[[1, 2, 3]]));
    shop.put("uploads/bitmap.bmp", b"BM");
    shop.put("uploads/gif.png", b"GIF89a\x01\x00\x01\x00\x00\x00\x00;");
    shop.put("uploads/cut.png", &png(64, 64, &[[1, 2, 3], [200, 2, 3]])[..60]);
    for (path, reason) in [
        ("outside.png", "is not in `uploads/`"),
        ("generated/made.png", "is not in `uploads/`"),
        ("Uploads/bottle.png", "is not in `uploads/`"),
        ("uploads", "is not in `uploads/`"),
        ("uploads/missing.png", "there is no file"),
        ("uploads/text.png", "Invalid image format"),
        ("uploads/empty.png", "Invalid image format"),
        ("uploads/gif.png", "Invalid image format"),
        ("uploads/really-a.jpg", "named like a jpg image and is a png image"),
        ("uploads/bitmap.bmp", "does not end in .png"),
        ("uploads/bottle", "does not end in .png"),
        ("uploads/cut.png", "damaged"),
    ] {
        let result = add(&shop, path);
        assert!(said(&result).contains(reason), "{path}: {}", said(&result));
    }
    assert_eq!(shop.ok("list_products", json!({}))["products"][0]["image_count"], 0);
    shop.put("uploads/UPPER.PNG", &png(4, 4, &[[1, 2, 3]]));
    shop.put("uploads/photo.jpeg", &encoded(ImageFormat::Jpeg, 8, 8, &[[9, 9, 9]]));
    for path in [
        "uploads/bottle.png",
        "uploads/hero-banner.jpg",
        "uploads/snow.webp",
        "uploads/UPPER.PNG",
        "uploads/photo.jpeg",
    ] {
        assert_eq!(add(&shop, path)["isError"], false, "{path}");
    }
}

#[test]
fn c5_ten_megabytes_are_the_limit() {
    const LIMIT: usize = 10 * 1024 * 1024;
    let shop = shop();
    let mut bytes = png(4, 4, &[[1, 2, 3]]);
    // What comes behind the end of a PNG is not read.
    bytes.resize(LIMIT, 0);
    shop.put("uploads/just.png", &bytes);
    assert_eq!(add(&shop, "uploads/just.png")["isError"], false);
    bytes.push(0);
    shop.put("uploads/over.png", &bytes);
    let result = add(&shop, "uploads/over.png");
    assert!(said(&result).contains("larger than 10 MB"), "{result}");
}

#[test]
fn c5_an_image_that_unpacks_into_too_much_is_refused() {
    let shop = shop();
    // One grey row after another: a few kilobytes that would become 400 million pixels.
    let image = image::GrayImage::new(20_000, 3000);
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, ImageFormat::Png).unwrap();
    let bytes = bytes.into_inner();
    assert!(bytes.len() < 1024 * 1024, "{}", bytes.len());
    shop.put("uploads/bomb.png", &bytes);
    let result = add(&shop, "uploads/bomb.png");
    assert!(said(&result).contains("20000 by 3000 pixels"), "{result}");
    let mut huge = png(4, 4, &[[1, 2, 3]]);
    // The header claims a size that the file does not have; its checksum is wrong as well.
    huge[16..24].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff]);
    shop.put("uploads/huge.png", &huge);
    said(&add(&shop, "uploads/huge.png"));
}

#[test]
fn c9_size_format_and_colours_are_measured() {
    let shop = shop();
    shop.put("uploads/flag.png", &png(300, 200, &[[255, 0, 0], [255, 255, 255], [0, 0, 255]]));
    let image = &add(&shop, "uploads/flag.png")["structuredContent"]["product"]["images"][0].clone();
    assert_eq!(image["width"], 300);
    assert_eq!(image["height"], 200);
    assert_eq!((&image["format"], &image["transparent"]), (&json!("png"), &json!(false)));
    let colours = image["colours"].as_array().unwrap();
    let mut hexes: Vec<&str> = colours.iter().map(|it| it["hex"].as_str().unwrap()).collect();
    hexes.sort_unstable();
    assert_eq!(hexes, ["#0000ff", "#ff0000", "#ffffff"]);
    for colour in colours {
        assert!((colour["share"].as_f64().unwrap() - 1.0 / 3.0).abs() < 0.01, "{colour}");
    }
    let jpeg = &add(&shop, "uploads/hero-banner.jpg")["structuredContent"]["product"]["images"][1].clone();
    assert_eq!((&jpeg["width"], &jpeg["height"], &jpeg["format"]), (&json!(64), &json!(32), &json!("jpg")));
    let webp = &add(&shop, "uploads/snow.webp")["structuredContent"]["product"]["images"][2].clone();
    assert_eq!(
        (&webp["format"], &webp["colours"]),
        (&json!("webp"), &json!([{ "hex": "#f0f5ff", "share": 1.0 }]))
    );
}

#[test]
fn c9_what_is_see_through_is_no_colour() {
    let shop = shop();
    let image =
        image::RgbaImage::from_fn(10, 10, |x, _| image::Rgba([255, 0, 0, if x < 5 { 0 } else { 255 }]));
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, ImageFormat::Png).unwrap();
    shop.put("uploads/half.png", &bytes.into_inner());
    let image = &add(&shop, "uploads/half.png")["structuredContent"]["product"]["images"][0].clone();
    assert_eq!(image["transparent"], true);
    assert_eq!(image["colours"], json!([{ "hex": "#ff0000", "share": 1.0 }]));
}

#[test]
fn c9_packaging_is_analyzed_without_a_model() {
    let shop = shop();
    add(&shop, "uploads/bottle.png");
    shop.ok(
        "update_packaging_text",
        json!({ "slug": "soda", "field": "headline", "value": "Taste the sun" }),
    );
    let all = shop.ok("analyze_packaging", json!({ "slug": "soda" }));
    let one = &all["analyses"][0];
    assert_eq!(one["text_present"], json!(["headline"]));
    assert_eq!(one["text_missing"], json!(["subheadline", "body", "tagline"]));
    assert_eq!((&one["image"]["width"], &one["image"]["format"]), (&json!(1200), &json!("png")));
    assert_eq!(one["contrast"]["readable"], true);
    let mut between: Vec<&str> =
        one["contrast"]["between"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    between.sort_unstable();
    assert_eq!(between, ["#14143c", "#fac814"]);
    // By the definition of WCAG, worked out by hand from the two colours.
    assert_eq!(one["contrast"]["ratio"], 11.16);
    assert!(one.get("model_notes").is_none());
    let findings = one["findings"].to_string();
    assert!(findings.contains("missing packaging text: subheadline, body, tagline"), "{findings}");
    assert!(!findings.contains("print needs"), "{findings}");
}

#[test]
fn c9_weak_packaging_is_told_apart() {
    let shop = shop();
    shop.put("uploads/grey.png", &png(100, 50, &[[120, 120, 120], [190, 190, 190]]));
    shop.ok("manage_product", json!({ "action": "create", "name": "Bare" }));
    add(&shop, "uploads/grey.png");
    let all = shop.ok("analyze_packaging", json!({ "mode": "all" }));
    let bare = &all["analyses"][0];
    assert!(bare["findings"].to_string().contains("there is no image"), "{bare}");
    assert!(bare.get("image").is_none() && bare.get("contrast").is_none());
    let grey = &all["analyses"][1]["findings"].to_string();
    assert!(grey.contains("100 by 50 pixels: print needs 1000"), "{grey}");
    assert!(grey.contains("low contrast"), "{grey}");
    fs::remove_file(shop.folder().join("uploads/grey.png")).unwrap();
    let gone = shop.ok("analyze_packaging", json!({ "slug": "soda" }));
    assert!(gone["analyses"][0]["findings"].to_string().contains("cannot be read"), "{gone}");
    assert_eq!(gone["analyses"][0]["image"]["width"], 100);
}

#[test]
fn c4_a_batch_reports_what_failed_in_the_agreed_form() {
    let shop = Shop::new();
    shop.put("uploads/hero-banner.png", &png(8, 8, &[[1, 1, 1]]));
    shop.put("uploads/bad.png", b"bad");
    let batch =
        json!({ "action": "create_batch", "image_paths": ["uploads/hero-banner.png", "uploads/bad.png"] });
    let report = shop.ok("manage_style_reference", batch);
    assert_eq!(
        report,
        json!({
            "created": [{ "name": "Hero Banner", "slug": "hero-banner" }],
            "failed": [{
                "path": "uploads/bad.png",
                "error": "`uploads/bad.png`: Invalid image format: send a png, jpg or webp file",
            }],
            "total": 2,
            "success_count": 1,
        })
    );
}

#[test]
fn c4_a_batch_has_one_to_ten_images() {
    let shop = Shop::new();
    let paths: Vec<&str> = vec!["uploads/snow.webp"; 10];
    let report = shop.ok(
        "manage_style_reference",
        json!({ "action": "create_batch", "image_paths": paths, "default_strict": true }),
    );
    assert_eq!((&report["total"], &report["success_count"]), (&json!(10), &json!(10)));
    assert_eq!(report["created"][9], json!({ "name": "Snow", "slug": "snow-10" }));
    let one = shop.ok("get_style_reference", json!({ "slug": "snow-10" }));
    assert_eq!(one["style_references"][0]["default_strict"], true);
    let eleven = vec!["uploads/snow.webp"; 11];
    let text =
        shop.refused("manage_style_reference", json!({ "action": "create_batch", "image_paths": eleven }));
    assert!(text.contains("11 items, over 10"), "{text}");
    let text = shop.refused("manage_style_reference", json!({ "action": "create_batch", "image_paths": [] }));
    assert!(text.contains("1 to 10 images"), "{text}");
    assert_eq!(shop.ok("get_style_reference", json!({}))["total_count"], 10);
}

#[test]
fn c9_a_style_is_measured_and_measured_again() {
    let shop = Shop::new();
    let create = json!({ "action": "create", "name": "Winter", "image_path": "uploads/snow.webp" });
    let made = shop.ok("manage_style_reference", create)["style_reference"].clone();
    assert_eq!(made["analysis"]["temperature"], "neutral");
    assert!(made["analysis"]["summary"].as_str().unwrap().starts_with("bright, muted"), "{made}");
    let with = |reanalyze: bool, path: &str| {
        let given =
            json!({ "action": "add_image", "slug": "winter", "image_path": path, "reanalyze": reanalyze });
        shop.ok("manage_style_reference", given)["style_reference"].clone()
    };
    let kept = with(false, "uploads/hero-banner.jpg");
    assert_eq!(kept["analysis"], made["analysis"]);
    assert_eq!(kept["images"].as_array().unwrap().len(), 2);
    let again = shop.ok("manage_style_reference", json!({ "action": "reanalyze", "slug": "winter" }));
    assert_eq!(again["style_reference"]["analysis"]["image_count"], 2);
    assert_eq!(again["style_reference"]["analysis"]["temperature"], "warm");
    let more = with(true, "uploads/bottle.png");
    assert_eq!(more["analysis"]["image_count"], 3);
    shop.ok("manage_style_reference", json!({ "action": "create", "name": "Empty" }));
    let text = shop.refused("manage_style_reference", json!({ "action": "reanalyze", "slug": "empty" }));
    assert!(text.contains("it has no image") && text.contains("action=\"add_image\""), "{text}");
}

#[test]
fn c5_a_bad_image_leaves_no_half_made_style_reference() {
    let shop = Shop::new();
    let create = json!({ "action": "create", "name": "Broken", "image_path": "uploads/none.png" });
    assert!(shop.refused("manage_style_reference", create).contains("there is no file"));
    assert_eq!(shop.ok("get_style_reference", json!({}))["total_count"], 0);
}

#[test]
fn c9_assets_say_what_uses_them() {
    let shop = shop();
    add(&shop, "uploads/bottle.png");
    shop.ok(
        "manage_style_reference",
        json!({ "action": "create", "name": "Winter", "image_path": "uploads/snow.webp" }),
    );
    shop.put("generated/a.png", &png(4, 4, &[[1, 2, 3]]));
    shop.put("uploads/readme.txt", b"no image");
    let all = shop.ok("browse_brand_assets", json!({}));
    let rows: Vec<_> = all["assets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| format!("{} {} {}", it["path"], it["kind"], it["used_by"]))
        .collect();
    assert_eq!(
        rows,
        [
            r#""generated/a.png" "generated" []"#,
            r#""uploads/bottle.png" "product_image" ["soda"]"#,
            r#""uploads/hero-banner.jpg" "upload" []"#,
            r#""uploads/snow.webp" "style_reference_image" ["winter"]"#,
        ]
    );
    let page = shop.ok("browse_brand_assets", json!({ "kind": "upload", "limit": 1 }));
    assert_eq!((&page["total_count"], &page["has_more"]), (&json!(1), &json!(false)));
    fs::remove_file(shop.folder().join("uploads/bottle.png")).unwrap();
    let gone = shop.ok("browse_brand_assets", json!({ "kind": "product_image" }));
    assert_eq!((&gone["assets"][0]["exists"], &gone["assets"][0]["bytes"]), (&json!(false), &json!(0)));
}
