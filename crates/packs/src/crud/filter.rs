//! Which items a query means, and in which order.

use std::cmp::Ordering;

use jiff::{Timestamp, Zoned, civil::Date};
use serde_json::{Map, Value};

use super::{
    database::Kept,
    entity::{Entity, EntityField, FieldKind},
    item,
    schema::{FieldFilter, FieldTest, filters},
    value::{Reader, read_as},
};
use crate::{
    arguments::{fits, nearest},
    fold::fold,
    reply::{quoted, shown},
    time::{When, iso, weekday},
};

type Test<'e> = Box<dyn Fn(&Kept) -> bool + 'e>;

/// The items that a query asks for.
pub(super) struct Selection<'e> {
    tests: Vec<Test<'e>>,
    order: Order<'e>,
    /// How dates were understood.
    pub(super) remarks: Vec<String>,
}

/// What items are sorted by.
struct Order<'e> {
    by: SortKey<'e>,
    is_descending: bool,
}

enum SortKey<'e> {
    Created,
    Changed,
    Slug,
    Field(&'e EntityField),
}

/// A value that can be compared with others of the same field.
#[derive(PartialEq, PartialOrd)]
enum Rank {
    Number(f64),
    Day(Date),
    Moment(Timestamp),
    Text(String),
}

impl<'e> Selection<'e> {
    /// Reads the filters and the order of a query; what is wrong with them joins the problems.
    pub(super) fn read(
        entity: &'e Entity,
        given: &Map<String, Value>,
        reader: &Reader<'_>,
        problems: &mut Vec<String>,
    ) -> rusqlite::Result<Self> {
        let mut tests: Vec<Test<'e>> = Vec::new();
        let mut remarks = Vec::new();
        for filter in filters(entity) {
            let Some(value) = given.get(&filter.name).filter(|value| fits(&filter.schema(), value).is_ok())
            else {
                continue;
            };
            match test(&filter, value, reader, &mut remarks)? {
                Ok(test) => tests.push(test),
                Err(problem) => problems.push(problem),
            }
        }
        if let Some(words) = given.get("search").and_then(Value::as_str) {
            tests.push(search(entity, words));
        }
        let order = match Order::read(entity, given.get("sort").and_then(Value::as_str)) {
            Ok(order) => order,
            Err(problem) => {
                problems.push(problem);
                Order { by: SortKey::Created, is_descending: true }
            }
        };
        Ok(Self { tests, order, remarks })
    }

    /// Keeps the items that are meant, in their order.
    pub(super) fn apply(&self, items: &mut Vec<Kept>) {
        items.retain(|item| self.tests.iter().all(|test| test(item)));
        let mut ranked: Vec<(Option<Rank>, Kept)> =
            items.drain(..).map(|item| (self.order.rank(&item), item)).collect();
        ranked.sort_by(|(a, one), (b, other)| {
            let turned = |order: Ordering| if self.order.is_descending { order.reverse() } else { order };
            match (a, b) {
                (Some(a), Some(b)) => turned(a.partial_cmp(b).unwrap_or(Ordering::Equal)),
                // Items without a value come last, whichever way the others go.
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => Ordering::Equal,
            }
            .then_with(|| turned(one.id.cmp(&other.id)))
        });
        items.extend(ranked.into_iter().map(|(_, item)| item));
    }
}

impl<'e> Order<'e> {
    fn read(entity: &'e Entity, sort: Option<&str>) -> Result<Self, String> {
        let sort = sort.unwrap_or("-created").trim();
        let (name, is_descending) = match sort.strip_prefix('-') {
            Some(name) => (name, true),
            None => (sort, false),
        };
        let by = match name {
            "created" => SortKey::Created,
            "changed" => SortKey::Changed,
            "slug" => SortKey::Slug,
            _ => {
                let field = entity.field(name).filter(|field| field.kind != FieldKind::Texts);
                SortKey::Field(field.ok_or_else(|| unknown_order(entity, sort))?)
            }
        };
        Ok(Self { by, is_descending })
    }

    fn rank(&self, item: &Kept) -> Option<Rank> {
        match &self.by {
            // Items are numbered in the order in which they were created.
            SortKey::Created => Some(Rank::Number(item.id as f64)),
            SortKey::Changed => item.changed.parse().ok().map(Rank::Moment),
            SortKey::Slug => Some(Rank::Text(item.slug.clone())),
            SortKey::Field(field) => rank(field, &item::value(field, item)),
        }
    }
}

fn unknown_order(entity: &Entity, sort: &str) -> String {
    let fields = entity.fields.iter().filter(|field| field.kind != FieldKind::Texts);
    let names: Vec<&str> =
        fields.map(|field| field.name.as_str()).chain(["created", "changed", "slug"]).collect();
    let near = nearest(sort.trim_start_matches('-'), names.iter().copied());
    let near = near.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
    format!(
        "`sort` is `{}`, by which nothing can be sorted{near}: send one of {}, with `-` before it to turn the order",
        shown(sort),
        quoted(names)
    )
}

fn rank(field: &EntityField, value: &Value) -> Option<Rank> {
    match &field.kind {
        FieldKind::Integer { .. } | FieldKind::Number { .. } => value.as_f64().map(Rank::Number),
        FieldKind::Boolean => value.as_bool().map(|it| Rank::Number(f64::from(u8::from(it)))),
        FieldKind::Date => day(value).map(Rank::Day),
        FieldKind::DateTime { .. } => moment(value).map(Rank::Moment),
        FieldKind::Enum(choices) => {
            let at = choices.iter().position(|choice| value == choice)?;
            Some(Rank::Number(at as f64))
        }
        FieldKind::Text | FieldKind::Reference(_) => value.as_str().map(|text| Rank::Text(fold(text))),
        FieldKind::Texts => None,
    }
}

fn day(value: &Value) -> Option<Date> {
    value.as_str()?.parse().ok()
}

fn moment(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

/// Makes the test of a filter whose value fits its schema.
fn test<'e>(
    filter: &FieldFilter<'e>,
    value: &Value,
    reader: &Reader<'_>,
    remarks: &mut Vec<String>,
) -> rusqlite::Result<Result<Test<'e>, String>> {
    let field = filter.field;
    let text = value.as_str().unwrap_or_default().trim();
    Ok(match &field.kind {
        FieldKind::Text => {
            let wanted = fold(text);
            Ok(held(field, move |own| own.as_str().is_some_and(|own| fold(own).contains(&wanted))))
        }
        FieldKind::Integer { .. } | FieldKind::Number { .. } => {
            let (wanted, test) = (value.as_f64().unwrap_or_default(), filter.test);
            Ok(held(field, move |own| own.as_f64().is_some_and(|own| compare(test, own, wanted))))
        }
        FieldKind::Boolean | FieldKind::Enum(_) => {
            let wanted = value.clone();
            Ok(held(field, move |own| *own == wanted))
        }
        FieldKind::Texts => {
            let texts = |value: &Value| -> Vec<String> {
                let texts = value.as_array().into_iter().flatten().filter_map(Value::as_str);
                texts.map(|text| fold(text.trim())).collect()
            };
            let wanted = texts(value);
            Ok(held(field, move |own| {
                let own = texts(own);
                wanted.iter().all(|text| own.contains(text))
            }))
        }
        FieldKind::Reference(to) => reader.reference(&filter.name, to, text)?.map(|(slug, _)| {
            let test: Test<'e> = held(field, move |own| own == &slug);
            test
        }),
        FieldKind::Date | FieldKind::DateTime { .. } => {
            reader.when(&filter.name, text, &field.kind).map(|when| {
                let is_moment = when.has_time && field.kind != FieldKind::Date;
                let read = if is_moment { iso(&when.at) } else { when.at.date().to_string() };
                if read != text {
                    let meaning = format!("{} {read}", weekday(&when.at));
                    remarks.push(read_as(&filter.name, text, &meaning, false));
                }
                time_test(field, filter.test, &when, reader.now)
            })
        }
    })
}

fn held<'e>(field: &'e EntityField, test: impl Fn(&Value) -> bool + 'e) -> Test<'e> {
    Box::new(move |item| test(&item::value(field, item)))
}

fn compare(test: FieldTest, own: f64, wanted: f64) -> bool {
    match test {
        FieldTest::Is => own == wanted,
        FieldTest::Min => wanted <= own,
        FieldTest::Max => own <= wanted,
        FieldTest::Before => own < wanted,
        FieldTest::After => wanted < own,
    }
}

/// Compares with a day as a whole, unless a time of day was said for a field that has one.
fn time_test<'e>(field: &'e EntityField, test: FieldTest, when: &When, now: &Zoned) -> Test<'e> {
    let date = when.at.date();
    if field.kind == FieldKind::Date {
        return held(field, move |own| day(own).is_some_and(|own| placed(test, own.cmp(&date))));
    }
    if when.has_time {
        let wanted = when.at.timestamp();
        return held(field, move |own| moment(own).is_some_and(|own| placed(test, own.cmp(&wanted))));
    }
    let zone = now.time_zone().clone();
    held(field, move |own| {
        moment(own).is_some_and(|own| placed(test, own.to_zoned(zone.clone()).date().cmp(&date)))
    })
}

fn placed(test: FieldTest, order: Ordering) -> bool {
    match test {
        FieldTest::Is => order.is_eq(),
        FieldTest::Before => order.is_lt(),
        FieldTest::After => order.is_gt(),
        FieldTest::Min => order.is_ge(),
        FieldTest::Max => order.is_le(),
    }
}

/// Every word must be somewhere in the texts of an item.
fn search<'e>(entity: &'e Entity, words: &str) -> Test<'e> {
    let words: Vec<String> = fold(words).split_whitespace().map(str::to_owned).collect();
    Box::new(move |item| {
        let mut text = item.slug.clone();
        let is_searched = |field: &&EntityField| {
            matches!(field.kind, FieldKind::Text | FieldKind::Texts | FieldKind::Reference(_))
        };
        for field in entity.fields.iter().filter(is_searched) {
            let value = item::value(field, item);
            let texts = value.as_array().into_iter().flatten().chain([&value]).filter_map(Value::as_str);
            for one in texts {
                text.push('\n');
                text.push_str(&fold(one));
            }
        }
        words.iter().all(|word| text.contains(word.as_str()))
    })
}
