//! The desk: tasks, goals, reminders, a reading list and ideas, as declared in `desk/desk.json`.

use std::sync::LazyLock;

use crate::crud::Entity;

static ENTITIES: LazyLock<Vec<Entity>> = LazyLock::new(|| {
    let declared = serde_json::from_str(include_str!("desk/desk.json")).expect("the declaration is JSON");
    Entity::read_all(&declared).expect("a test reads the declaration")
});

/// Returns what the desk keeps.
pub(crate) fn entities() -> Vec<Entity> {
    ENTITIES.clone()
}

#[cfg(test)]
mod tests {
    use super::entities;

    #[test]
    fn d1_the_declaration_of_the_desk_is_read() {
        let tags: Vec<String> = entities().iter().map(|entity| entity.domain_tag()).collect();
        let wanted = ["domain:tasks", "domain:goals", "domain:reminders", "domain:reading", "domain:ideas"];
        assert_eq!(tags, wanted);
    }
}
