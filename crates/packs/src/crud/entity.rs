//! What a collection is, and the fields of its items.

use jiff::civil::Time;
use serde_json::{Number, Value};

use super::{Error, declare};

/// A collection of items of one kind, such as tasks.
///
/// It is declared as JSON and needs no code:
///
/// ```
/// # use toolyard_packs::crud::Entity;
/// let declared = serde_json::json!([
///   {
///     "singular": "book",
///     "plural": "books",
///     "description": "cookbooks on the shelf",
///     "slug_from": "title",
///     "fields": [{ "name": "title", "type": "text", "required": true }]
///   },
///   {
///     "singular": "recipe",
///     "plural": "recipes",
///     "description": "dishes to cook, with how long they take",
///     "slug_from": "title",
///     "not_for": { "books": "a whole cookbook" },
///     "requests": { "query": ["what can I cook in half an hour"], "create": ["keep this recipe"] },
///     "fields": [
///       { "name": "title", "type": "text", "required": true, "description": "What the dish is called.",
///         "examples": ["Minestrone"] },
///       { "name": "minutes", "type": "integer", "minimum": 1, "maximum": 600 },
///       { "name": "cost", "type": "number" },
///       { "name": "vegetarian", "type": "boolean", "default": false },
///       { "name": "course", "type": "enum", "choices": ["starter", "main", "dessert"], "default": "main" },
///       { "name": "cooked", "type": "date", "description": "When it was last cooked." },
///       { "name": "dinner", "type": "datetime", "default_time": "19:00" },
///       { "name": "tags", "type": "texts" },
///       { "name": "book", "type": "reference", "to": "books" }
///     ]
///   }
/// ]);
/// let entities = Entity::read_all(&declared)?;
/// assert_eq!(entities[1].domain_tag(), "domain:recipes");
/// # Ok::<(), toolyard_packs::crud::Error>(())
/// ```
///
/// `singular` and `plural` name the tools: `query_recipes`, `get_recipe`, `create_recipes`,
/// `update_recipe`. `slug_from` is the required text field that items are named after; without it they
/// are numbered. `not_for` (what belongs into another entity, by its plural) and `requests` (what people
/// say) are optional and help models to choose the right tool. A field is optional unless it is `required`
/// or has a `default`; of a `datetime`, `default_time` is the time of day where only a day is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entity {
    pub(super) singular: String,
    pub(super) plural: String,
    /// What the items are, to be read after their name.
    pub(super) description: String,
    /// What belongs into another entity: the plural of that one, and what it is.
    pub(super) not_for: Vec<(String, String)>,
    /// What people say when they want one of the tools.
    pub(super) requests: Requests,
    /// The field that slugs are made from.
    pub(super) slug_from: Option<String>,
    pub(super) fields: Vec<EntityField>,
}

/// What people say when they want one of the four tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Requests {
    pub(super) query: Vec<String>,
    pub(super) get: Vec<String>,
    pub(super) create: Vec<String>,
    pub(super) update: Vec<String>,
}

/// One field of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EntityField {
    pub(super) name: String,
    pub(super) kind: FieldKind,
    pub(super) presence: Presence,
    pub(super) description: String,
    pub(super) examples: Vec<Value>,
}

/// What a field holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FieldKind {
    Text,
    Integer {
        minimum: Option<i64>,
        maximum: Option<i64>,
    },
    Number {
        minimum: Option<Number>,
        maximum: Option<Number>,
    },
    Boolean,
    Date,
    DateTime {
        /// The time of day where only a day is sent; without it, a time must be sent.
        default_time: Option<Time>,
    },
    Enum(Vec<String>),
    Texts,
    /// The slug of an item of the entity with this plural.
    Reference(String),
}

/// Whether an item can be without a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    Required,
    Optional,
    Default(Value),
}

impl Entity {
    /// Reads a list of declarations; every mistake is reported at once, with its place.
    pub fn read_all(declared: &Value) -> Result<Vec<Self>, Error> {
        declare::read_all(declared)
    }

    /// Returns the tag that all tools of the entity carry.
    pub fn domain_tag(&self) -> String {
        format!("domain:{}", self.plural)
    }

    /// Returns the name that the entity's items are stored under, such as `tasks`.
    pub fn plural(&self) -> &str {
        &self.plural
    }

    pub(super) fn field(&self, name: &str) -> Option<&EntityField> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Returns the singular as a person writes it.
    pub(super) fn one(&self) -> String {
        self.singular.replace('_', " ")
    }

    /// Returns the plural as a person writes it.
    pub(super) fn many(&self) -> String {
        // The items of `reading`, each a `reading_item`, are reading items.
        let of_a_whole = self.singular.strip_prefix(&self.plural).is_some_and(|rest| rest.starts_with('_'));
        if of_a_whole { format!("{}s", self.one()) } else { self.plural.replace('_', " ") }
    }
}

impl EntityField {
    /// Returns what the field holds where an item says nothing.
    pub(super) fn absent(&self) -> Value {
        match &self.presence {
            Presence::Required | Presence::Optional => Value::Null,
            Presence::Default(value) => value.clone(),
        }
    }
}
