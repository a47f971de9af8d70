//! Nothing outside the folder is read or written, whatever lies inside it.

#![cfg(unix)]

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    sync::atomic::{AtomicUsize, Ordering},
};

use serde_json::json;
use tempfile::TempDir;

use crate::yard::Yard;

const CANARY: &str = "# Canary\n\nthe secret of the house\n";

#[test]
fn paths_that_lead_out_are_refused_with_a_reason() {
    let yard = Yard::new();
    let far = ["x"; 20].join("/");
    let calls: Vec<_> = [
        "/etc/passwd",
        "../outside.md",
        "Home/../../outside.md",
        "~/notes.md",
        "Home\\..\\..\\x.md",
        "a\0b.md",
        "Home//garden.md",
        ".git/config.md",
        "Home/./garden.md",
        far.as_str(),
    ]
    .iter()
    .map(|path| json!({ "note": path }))
    .collect();
    insta::assert_snapshot!(yard.texts("read_note", &calls), @r#"
    {"note":"/etc/passwd"}
    -> ERROR `/etc/passwd` is an absolute path: send one inside the folder of notes, for example `Projects/Plan.md`

    {"note":"../outside.md"}
    -> ERROR `../outside.md` leads out of the folder of notes, or might: send a path without `..`, such as `Projects/Plan.md`

    {"note":"Home/../../outside.md"}
    -> ERROR `Home/../../outside.md` leads out of the folder of notes, or might: send a path without `..`, such as `Projects/Plan.md`

    {"note":"~/notes.md"}
    -> ERROR `~/notes.md` is an absolute path: send one inside the folder of notes, for example `Projects/Plan.md`

    {"note":"Home\\..\\..\\x.md"}
    -> ERROR `Home\..\..\x.md` leads out of the folder of notes, or might: send a path without `..`, such as `Projects/Plan.md`

    {"note":"a\u0000b.md"}
    -> ERROR `a\u{0}b.md` has an empty part or a character that no name may have: send one such as `Projects/Plan.md`

    {"note":"Home//garden.md"}
    -> ERROR `Home//garden.md` has an empty part or a character that no name may have: send one such as `Projects/Plan.md`

    {"note":".git/config.md"}
    -> ERROR `.git/config.md` is hidden (a part of it begins with a dot): hidden files and folders are not notes

    {"note":"Home/./garden.md"}
    -> ERROR `Home/./garden.md` has an empty part or a character that no name may have: send one such as `Projects/Plan.md`

    {"note":"x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x"}
    -> ERROR `x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x/x` is too long: a name may have 200 bytes, a path 1000 and 16 parts
    "#);
}

#[test]
fn links_are_not_followed() {
    let (yard, outside) = linked();
    insta::assert_snapshot!(yard.texts("read_note", &[
        json!({ "note": "link.md" }),
        json!({ "note": "away/canary.md" }),
        json!({ "note": "loop/loop/Thoughts.md" }),
        json!({ "note": "dangling.md" }),
    ]), @r#"
    {"note":"link.md"}
    -> ERROR `link.md` is a link, or lies behind one: links are not followed, because they can lead out of the folder

    {"note":"away/canary.md"}
    -> ERROR `away/canary.md` is a link, or lies behind one: links are not followed, because they can lead out of the folder

    {"note":"loop/loop/Thoughts.md"}
    -> ERROR `loop/loop/Thoughts.md` is a link, or lies behind one: links are not followed, because they can lead out of the folder

    {"note":"dangling.md"}
    -> ERROR `dangling.md` is a link, or lies behind one: links are not followed, because they can lead out of the folder
    "#);
    insta::assert_snapshot!(yard.texts("update_note", &[
        json!({ "note": "link.md", "content": "x" }),
        json!({ "note": "away/canary.md", "content": "x" }),
    ]), @r#"
    {"note":"link.md","content":"x"}
    -> ERROR `link.md` is a link, or lies behind one: links are not followed, because they can lead out of the folder

    {"note":"away/canary.md","content":"x"}
    -> ERROR `away/canary.md` is a link, or lies behind one: links are not followed, because they can lead out of the folder
    "#);
    insta::assert_snapshot!(yard.texts("create_note", &[
        json!({ "title": "new", "folder": "away" }),
        json!({ "title": "new", "folder": "away/deeper" }),
        json!({ "title": "dangling" }),
    ]), @r#"
    {"title":"new","folder":"away"}
    -> ERROR `away/new.md` is a link, or lies behind one: links are not followed, because they can lead out of the folder

    {"title":"new","folder":"away/deeper"}
    -> ERROR `away/deeper/new.md` is a link, or lies behind one: links are not followed, because they can lead out of the folder

    {"title":"dangling"}
    -> ERROR there is a note `dangling.md` already, and creating never overwrites: change it with update_note or choose another title
    "#);
    insta::assert_snapshot!(yard.texts("search_notes", &[json!({ "query": "secret" })]), @r#"
    {"query":"secret"}
    -> 0 notes found for `secret`
    Not looked at: away: it is a link, and links are not followed
    Not looked at: dangling.md: it is a link, and links are not followed
    Not looked at: link.md: it is a link, and links are not followed
    Not looked at: loop: it is a link, and links are not followed
    "#);
    let left: Vec<_> = fs::read_dir(outside.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, ["canary.md"]);
    assert_eq!(fs::read_to_string(outside.path().join("canary.md")).unwrap(), CANARY);
}

#[test]
fn a_folder_of_notes_that_is_itself_behind_a_link_works() {
    let home = TempDir::new().unwrap();
    let yard = Yard::new();
    symlink(yard.folder.path(), home.path().join("notes")).unwrap();
    let kind = toolyard_packs::Kind::Notes { folder: home.path().join("notes") };
    let pack = toolyard_packs::Pack::open(&kind).unwrap();
    let arguments = json!({ "note": "garden", "content": "- prune" });
    assert_eq!(pack.call("update_note", arguments.as_object().unwrap()).unwrap()["isError"], false);
    assert!(yard.file("Home/garden.md").ends_with("- prune\n"));
}

#[test]
fn a_note_that_keeps_turning_into_a_link_leaks_nothing() {
    const SWAPS: usize = 20_000;
    let (yard, outside) = linked();
    yard.write("swap.md", "# Mine\n");
    let (place, kept, next) = (yard.path("swap.md"), yard.path("kept"), yard.path("next"));
    fs::hard_link(&place, &kept).unwrap();
    let swaps = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while swaps.fetch_add(1, Ordering::Relaxed) < SWAPS {
                symlink(outside.path().join("canary.md"), &next).unwrap();
                fs::rename(&next, &place).unwrap();
                fs::hard_link(&kept, &next).unwrap();
                fs::rename(&next, &place).unwrap();
            }
        });
        let mut shown = 0;
        while swaps.load(Ordering::Relaxed) < SWAPS || shown == 0 {
            let read = yard.call("read_note", &json!({ "note": "swap.md" }));
            assert!(!read.to_string().contains("secret"), "{read}");
            shown += usize::from(read["isError"] == false);
        }
    });
}

#[test]
fn a_pipe_is_not_opened() {
    let yard = Yard::new();
    let made = std::process::Command::new("mkfifo").arg(yard.path("pipe.md")).status().unwrap();
    assert!(made.success());
    insta::assert_snapshot!(yard.texts("read_note", &[json!({ "note": "pipe.md" })]), @r#"
    {"note":"pipe.md"}
    -> ERROR `pipe.md` is no ordinary file
    "#);
}

#[test]
fn permissions_are_kept_and_read_only_notes_stay_as_they_are() {
    let yard = Yard::new();
    let place = yard.path("Home/garden.md");
    fs::set_permissions(&place, fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(yard.call("update_note", &json!({ "note": "garden", "content": "x" }))["isError"], false);
    assert_eq!(fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o640);
    fs::set_permissions(&place, fs::Permissions::from_mode(0o440)).unwrap();
    insta::assert_snapshot!(yard.texts("update_note", &[json!({ "note": "garden", "content": "y" })]), @r#"
    {"note":"garden","content":"y"}
    -> ERROR `Home/garden.md` is read-only
    "#);
}

#[test]
fn nothing_temporary_is_left_behind() {
    let yard = Yard::new();
    yard.call("update_note", &json!({ "note": "garden", "content": "x" }));
    yard.call("create_note", &json!({ "title": "garden", "folder": "Home" }));
    let mut names: Vec<_> =
        fs::read_dir(yard.path("Home")).unwrap().map(|it| it.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["garden.md", "sweets.md"]);
}

/// A folder of notes with links to a canary outside, to itself and to nothing.
fn linked() -> (Yard, TempDir) {
    let (yard, outside) = (Yard::new(), TempDir::new().unwrap());
    fs::write(outside.path().join("canary.md"), CANARY).unwrap();
    symlink(outside.path().join("canary.md"), yard.path("link.md")).unwrap();
    symlink(outside.path(), yard.path("away")).unwrap();
    symlink(yard.folder.path(), yard.path("loop")).unwrap();
    symlink(outside.path().join("nothing.md"), yard.path("dangling.md")).unwrap();
    (yard, outside)
}
