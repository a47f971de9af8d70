//! The definitions of the four tools that an entity becomes.

use serde_json::{Map, Value, json};

use super::{
    Records,
    entity::{Entity, FieldKind, Presence},
    read::{self, USUAL_LIMIT},
    schema::{self, FieldTest, filters},
    write::{self, MORE, MOST_MORE},
};
use crate::{
    reply::Outcome,
    slug::slug,
    tool::{Effect, Spec, Tool, record},
};

type Work = fn(&Records, &Entity, &Value, &Map<String, Value>) -> Outcome;

/// Returns the tools of the entities, four of each.
pub(crate) fn tools(records: &Records) -> Vec<Tool<Records>> {
    let mut tools = Vec::new();
    for (at, entity) in records.entities.iter().enumerate() {
        let domain = entity.domain_tag();
        let four: [(Spec, Work, &[&str]); 4] = [
            (query(entity), read::query, &["query", "list"]),
            (get(entity), read::get, &["get"]),
            (create(entity), write::create, &["create"]),
            (update(entity), write::update, &["update"]),
        ];
        for (spec, work, kinds) in four {
            let run = move |records: &Records, definition: &Value, given: &Map<String, Value>| {
                work(records, &records.entities[at], definition, given)
            };
            let tags = [domain.as_str()].into_iter().chain(kinds.iter().copied());
            tools.push(spec.run_own(run).tagged(tags));
        }
    }
    tools
}

fn query(entity: &Entity) -> Spec {
    let mut properties = json!({
        "search": {
            "type": "string",
            "description": "Words that must all be in the texts, in any case.",
            "minLength": 1,
            "maxLength": 200,
            "examples": [example_words(entity)],
        },
    });
    let mut names = Vec::new();
    for filter in filters(entity) {
        properties[&filter.name] = filter.schema();
        names.push(filter.name);
    }
    properties["include_deleted"] =
        json!({ "type": "boolean", "description": "Whether to list deleted ones too.", "examples": [true] });
    properties["sort"] = json!({
        "type": "string",
        "description": "A field, `created`, `changed` or `slug`; `-` before it turns the order.",
        "minLength": 1,
        "maxLength": 60,
        "examples": ["-created", "slug"],
    });
    properties["offset"] = number("How many to skip.", 0, 1_000_000, 0);
    properties["limit"] = number("How many to return.", 1, 100, USUAL_LIMIT);
    let (one, many, plural) = (entity.one(), entity.many(), &entity.plural);
    let filters = names.join(", ");
    let said = quotes(&entity.requests.query);
    let elsewhere = elsewhere(entity, "query");
    let (about, singular) = (&entity.description, &entity.singular);
    Spec {
        name: format!("query_{plural}").into(),
        title: format!("Find {many}").into(),
        description: format!(
            "Finds {many}: {about}. Use when the user wants to see, search, filter or count {many}{said}. Does not show \
             one {one} in full (use get_{singular}), add (use create_{plural}) or change any (use \
             update_{singular}){elsewhere}. Args, all optional: search; {filters}; include_deleted; sort, e.g. \
             \"-created\"; offset (0), limit ({USUAL_LIMIT}). Returns items, total_count, has_more, offset, limit. \
             Example: {}.",
            query_example(entity)
        )
        .into(),
        effect: Effect::Reads,
        input: (properties, Vec::new()),
        output: json!({
            "items": { "type": "array", "items": schema::shown_item(entity) },
            "total_count": { "type": "integer", "description": "How many fit." },
            "has_more": { "type": "boolean", "description": "Whether more follow: raise `offset` by `limit`." },
            "offset": { "type": "integer" },
            "limit": { "type": "integer" },
            "remarks": remarks(),
        }),
    }
}

fn get(entity: &Entity) -> Spec {
    let (one, plural, singular) = (entity.one(), &entity.plural, &entity.singular);
    let said = quotes(&entity.requests.get);
    let slug = example_slug(entity);
    let title = entity.slug_from.as_ref().map(|name| format!("; its {name} works too")).unwrap_or_default();
    Spec {
        name: format!("get_{singular}").into(),
        title: format!("Show one {one}").into(),
        description: format!(
            "Shows one {one} in full. Needs its slug, which query_{plural} and create_{plural} return{title}. \
             Use when the user asks about one {one}{said}. Does not list or search (use query_{plural}) nor change \
             it (use update_{singular}). Args: slug, e.g. \"{slug}\"; history (optional), true for the versions before. \
             Returns item, earlier, earlier_count; a name that fits several or none is answered with the nearest. \
             Example: {{\"slug\": \"{slug}\"}}."
        )
        .into(),
        effect: Effect::Reads,
        input: (
            json!({
                "slug": slug_schema(entity),
                "history": {
                    "type": "boolean",
                    "description": "Whether to show the earlier versions too, newest first.",
                    "examples": [true],
                },
            }),
            vec!["slug".to_owned()],
        ),
        output: json!({
            "item": schema::shown_item(entity),
            "earlier": { "type": "array", "items": schema::shown_item(entity) },
            "earlier_count": { "type": "integer", "description": "How often it was changed." },
            "remarks": remarks(),
        }),
    }
}

fn create(entity: &Entity) -> Spec {
    let (one, many, plural, singular) = (entity.one(), entity.many(), &entity.plural, &entity.singular);
    let fields: Vec<String> = entity
        .fields
        .iter()
        .map(|field| match field.presence {
            Presence::Required => format!("{} (required)", field.name),
            Presence::Optional | Presence::Default(_) => field.name.clone(),
        })
        .collect();
    let fields = fields.join(", ");
    let said = quotes(&entity.requests.create);
    let elsewhere = elsewhere(entity, "create");
    let (about, dates) = (&entity.description, dates(entity));
    let example = example_item(entity);
    let form = schema::new_item(entity);
    let required = form["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let required = required.map(str::to_owned).collect();
    let mut properties = form["properties"].clone();
    properties[MORE] = json!({
        "type": "array",
        "description": format!("Further {many} to create in the same call, each with fields of its own."),
        "items": form,
        "maxItems": MOST_MORE,
        "examples": [[example]],
    });
    Spec {
        name: format!("create_{plural}").into(),
        title: format!("Create {many}").into(),
        description: format!(
            "Creates one or several {many}: {about}. Use when the user wants to add or write down {many}{said}. Does \
             not change what exists (use update_{singular}){elsewhere}. Args: {fields}; {MORE}, up to {MOST_MORE} further \
             objects with the same.{dates} Returns created (with the slug of each {one}), failed, total, success_count: a mistake in \
             one does not stop the others. Example: {example}."
        )
        .into(),
        effect: Effect::Adds,
        input: (properties, required),
        output: json!({
            "created": { "type": "array", "items": schema::shown_item(entity) },
            "failed": {
                "type": "array",
                "items": record(&json!({
                    "index": { "type": "integer", "description": "Its place among all that were sent, from 0." },
                    "item": { "type": "string", "description": "What was sent." },
                    "problems": { "type": "array", "items": { "type": "string" } },
                })),
            },
            "total": { "type": "integer", "description": "How many were sent." },
            "success_count": { "type": "integer", "description": "How many were created." },
            "remarks": remarks(),
        }),
    }
}

fn update(entity: &Entity) -> Spec {
    let (one, plural, singular) = (entity.one(), &entity.plural, &entity.singular);
    let mut properties = json!({ "slug": slug_schema(entity) });
    for field in &entity.fields {
        properties[&field.name] = schema::change(field);
    }
    properties["deleted"] = json!({
        "type": "boolean",
        "description": "true deletes, false restores.",
        "examples": [true, false],
    });
    let fields: Vec<&str> = entity.fields.iter().map(|field| field.name.as_str()).collect();
    let fields = fields.join(", ");
    let said = quotes(&entity.requests.update);
    let title = entity.slug_from.as_ref().map(|name| format!(", or its whole {name}")).unwrap_or_default();
    Spec {
        name: format!("update_{singular}").into(),
        title: format!("Change one {one}").into(),
        description: format!(
            "Changes, deletes or restores one {one}. Needs its slug, which query_{plural} and create_{plural} \
             return{title}. Use when the user wants to edit, finish, delete or restore one{said}. Does not add a \
             new one (use create_{plural}) nor change several at once. Args: slug; what is to change of {fields} (null \
             empties a field); deleted, true deletes and false restores. What is not sent stays, and earlier versions \
             are kept, so nothing is lost (get_{singular} with history). Returns item, changes. Example: {}.",
            update_example(entity)
        )
        .into(),
        effect: Effect::Settles,
        input: (properties, vec!["slug".to_owned()]),
        output: json!({
            "item": schema::shown_item(entity),
            "changes": {
                "type": "array",
                "items": { "type": "string" },
                "description": "What was changed, field by field.",
            },
            "remarks": remarks(),
        }),
    }
}

fn slug_schema(entity: &Entity) -> Value {
    let one = entity.one();
    let title = entity.slug_from.as_ref().map(|name| format!(", or its `{name}`")).unwrap_or_default();
    json!({
        "type": "string",
        "description": format!("Which {one}: its slug{title}."),
        "minLength": 1,
        "maxLength": 300,
        "examples": [example_slug(entity)],
    })
}

fn remarks() -> Value {
    json!({
        "type": "array",
        "items": { "type": "string" },
        "description": "How dates were understood, and what could not be shown.",
    })
}

fn number(description: &str, least: usize, most: usize, usual: usize) -> Value {
    json!({
        "type": "integer",
        "description": description,
        "minimum": least,
        "maximum": most,
        "default": usual,
        "examples": [usual],
    })
}

/// Lists what people say, to be put behind "use when".
fn quotes(requests: &[String]) -> String {
    if requests.is_empty() {
        return String::new();
    }
    let quoted: Vec<String> = requests.iter().map(|request| format!("\"{request}\"")).collect();
    format!(": {}", quoted.join(", "))
}

/// Says which tools are for what does not belong here.
fn elsewhere(entity: &Entity, verb: &str) -> String {
    entity.not_for.iter().map(|(plural, what)| format!("; not for {what} (use {verb}_{plural})")).collect()
}

fn dates(entity: &Entity) -> &'static str {
    let has_time = entity.fields.iter().any(|field| matches!(field.kind, FieldKind::DateTime { .. }));
    if has_time {
        " Times may be words: \"next friday 17:00\", \"in 3 hours\"."
    } else if entity.fields.iter().any(|field| field.kind == FieldKind::Date) {
        " Dates may be words: \"next friday\", \"in 3 days\"."
    } else {
        ""
    }
}

fn example_slug(entity: &Entity) -> String {
    let title = entity.slug_from.as_ref().and_then(|name| entity.field(name));
    let title = title.map(|field| schema::examples(field)[0].clone());
    let slug = slug(title.as_ref().and_then(Value::as_str).unwrap_or_default());
    if slug.is_empty() { format!("{}-1", entity.singular.replace('_', "-")) } else { slug }
}

fn example_words(entity: &Entity) -> String {
    let slug = example_slug(entity);
    slug.rsplit('-').next().unwrap_or(&slug).to_owned()
}

/// Returns an item with the fields it must have, and the first date among the others.
fn example_item(entity: &Entity) -> Value {
    let mut item = Map::new();
    let is_date = |kind: &FieldKind| matches!(kind, FieldKind::Date | FieldKind::DateTime { .. });
    let date = entity.fields.iter().find(|field| is_date(&field.kind)).map(|field| &field.name);
    for field in &entity.fields {
        if field.presence == Presence::Required || Some(&field.name) == date {
            item.insert(field.name.clone(), schema::examples(field)[0].clone());
        }
    }
    Value::Object(item)
}

fn query_example(entity: &Entity) -> Value {
    let mut example = Map::new();
    let all = filters(entity);
    let choice = all.iter().find(|filter| matches!(filter.field.kind, FieldKind::Enum(_)));
    let before = all.iter().find(|filter| filter.test == FieldTest::Before);
    for filter in choice.into_iter().chain(before) {
        let first = if let FieldKind::Enum(choices) = &filter.field.kind {
            json!(choices.first())
        } else {
            schema::examples(filter.field)[0].clone()
        };
        example.insert(filter.name.clone(), first);
    }
    if example.is_empty() {
        example.insert("search".to_owned(), json!(example_words(entity)));
    }
    Value::Object(example)
}

/// Returns a change of the first field with choices, else of the first field.
fn update_example(entity: &Entity) -> Value {
    let mut example = json!({ "slug": example_slug(entity) });
    let choices = entity.fields.iter().find_map(|field| match &field.kind {
        FieldKind::Enum(choices) => {
            let chosen = field.examples.first().cloned().or_else(|| choices.last().map(|last| json!(last)));
            chosen.map(|chosen| (field, chosen))
        }
        FieldKind::Boolean => Some((field, json!(true))),
        FieldKind::Text
        | FieldKind::Integer { .. }
        | FieldKind::Number { .. }
        | FieldKind::Date
        | FieldKind::DateTime { .. }
        | FieldKind::Texts
        | FieldKind::Reference(_) => None,
    });
    let first = entity.fields.first().map(|field| (field, schema::examples(field)[0].clone()));
    if let Some((field, value)) = choices.or(first) {
        example[&field.name] = value;
    }
    example
}
