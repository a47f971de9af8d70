//! The names that the studio's tools had before several became one, and how to call each of them.

use serde_json::{Map, Value, json};

/// A tool's old name, and the call that does the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OldName {
    /// The name that is gone.
    pub old: String,
    /// The tool that does it.
    pub new: String,
    /// Arguments that the old name stood for, such as `action: "create"`.
    pub fixed: Map<String, Value>,
    /// Old argument names and what they are called in the new tool.
    pub renamed: Vec<(String, String)>,
    /// The new call, as it is written in instructions.
    pub usage: String,
}

/// An old name, the new call, and what the old name stood for.
struct Row {
    old: &'static str,
    usage: &'static str,
    fixed: Option<(&'static str, &'static str)>,
    renamed: &'static [(&'static str, &'static str)],
}

const fn row(
    old: &'static str,
    usage: &'static str,
    fixed: Option<(&'static str, &'static str)>,
    renamed: &'static [(&'static str, &'static str)],
) -> Row {
    Row { old, usage, fixed, renamed }
}

const fn action(name: &'static str) -> Option<(&'static str, &'static str)> {
    Some(("action", name))
}

const PRODUCT: &[(&str, &str)] = &[("product_slug", "slug"), ("text", "value")];
const STYLE: &[(&str, &str)] =
    &[("style_ref_slug", "slug"), ("style_reference_slug", "slug"), ("images", "image_paths")];
const TODO_LIST: &[(&str, &str)] = &[
    ("title", "name"),
    ("items", "tasks"),
    ("list_id", "slug"),
    ("todo_list_id", "slug"),
    ("item_id", "task"),
    ("item", "task"),
    ("output_path", "output"),
];
const CONTEXT: &[(&str, &str)] = &[
    ("product_slug", "slug"),
    ("style_ref_slug", "slug"),
    ("style_reference_slug", "slug"),
    ("context_type", "entity_type"),
];

const ROWS: [Row; 23] = [
    row("create_product", r#"manage_product(action="create", name="...")"#, action("create"), PRODUCT),
    row("update_product", r#"manage_product(action="update", slug="...", ...)"#, action("update"), PRODUCT),
    row(
        "delete_product",
        r#"manage_product(action="delete", slug="...", confirm=True)"#,
        action("delete"),
        PRODUCT,
    ),
    row(
        "add_product_image",
        r#"manage_product(action="add_image", slug="...", image_path="...")"#,
        action("add_image"),
        PRODUCT,
    ),
    row(
        "set_product_primary_image",
        r#"manage_product(action="set_primary", slug="...", image_path="...")"#,
        action("set_primary"),
        PRODUCT,
    ),
    row(
        "analyze_product_packaging",
        r#"analyze_packaging(slug="...", mode="single")"#,
        Some(("mode", "single")),
        PRODUCT,
    ),
    row(
        "analyze_all_product_packaging",
        r#"analyze_packaging(mode="all", offset=0, limit=20)"#,
        Some(("mode", "all")),
        PRODUCT,
    ),
    row(
        "update_product_packaging_text",
        r#"update_packaging_text(slug="...", field="headline", value="...")"#,
        None,
        PRODUCT,
    ),
    row("list_style_references", "get_style_reference()", None, STYLE),
    row("get_style_reference_detail", r#"get_style_reference(slug="...")"#, None, STYLE),
    row(
        "create_style_reference",
        r#"manage_style_reference(action="create", name="...")"#,
        action("create"),
        STYLE,
    ),
    row(
        "create_style_references_from_images",
        r#"manage_style_reference(action="create_batch", image_paths=[...])"#,
        action("create_batch"),
        STYLE,
    ),
    row(
        "update_style_reference",
        r#"manage_style_reference(action="update", slug="...", ...)"#,
        action("update"),
        STYLE,
    ),
    row(
        "add_style_reference_image",
        r#"manage_style_reference(action="add_image", slug="...", image_path="...")"#,
        action("add_image"),
        STYLE,
    ),
    row(
        "reanalyze_style_reference",
        r#"manage_style_reference(action="reanalyze", slug="...")"#,
        action("reanalyze"),
        STYLE,
    ),
    row(
        "delete_style_reference",
        r#"manage_style_reference(action="delete", slug="...", confirm=True)"#,
        action("delete"),
        STYLE,
    ),
    row("create_todo_list", r#"create_task_file(name="...", tasks=[...])"#, None, TODO_LIST),
    row("update_todo_item", r#"update_task(slug="...", task=1, status="done")"#, None, TODO_LIST),
    row("add_todo_output", r#"update_task(slug="...", task=1, output="...")"#, None, TODO_LIST),
    row("complete_todo_list", r#"complete_task_file(slug="...")"#, None, TODO_LIST),
    row("fetch_context_cached", r#"get_context(entity_type="product", slug="...")"#, None, CONTEXT),
    row(
        "get_cached_product_context",
        r#"get_context(entity_type="product", slug="...")"#,
        Some(("entity_type", "product")),
        CONTEXT,
    ),
    row(
        "get_cached_style_reference_context",
        r#"get_context(entity_type="style_reference", slug="...")"#,
        Some(("entity_type", "style_reference")),
        CONTEXT,
    ),
];

/// Returns every old name of the studio's tools.
pub(crate) fn old_names() -> Vec<OldName> {
    let aliases = ROWS.iter().map(|row| OldName {
        old: row.old.to_owned(),
        // The usage begins with the name of the tool.
        new: row.usage.split('(').next().unwrap_or(row.usage).to_owned(),
        fixed: row.fixed.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect(),
        renamed: row.renamed.iter().map(|(old, new)| ((*old).to_owned(), (*new).to_owned())).collect(),
        usage: row.usage.to_owned(),
    });
    aliases.collect()
}
