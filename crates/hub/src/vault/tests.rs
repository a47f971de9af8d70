//! The vault through its front door, with real files and a keyring that is a shell script.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::{Error, Keyring, Secret, Vault};

#[test]
fn an_entry_is_there_for_another_process_and_gone_when_removed() {
    let folder = tempfile::tempdir().unwrap();
    vault(folder.path()).put("a", &Secret::new("one".to_owned())).unwrap();
    vault(folder.path()).put("b", &Secret::new("two".to_owned())).unwrap();
    assert_eq!(text(folder.path(), "a").as_deref(), Some("one"));
    vault(folder.path()).remove("a").unwrap();
    assert_eq!((text(folder.path(), "a"), text(folder.path(), "b").as_deref()), (None, Some("two")));
}

#[test]
fn nothing_readable_is_on_disk_and_only_the_owner_may_look() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    vault(&store).put("server", &Secret::new("hunter2".to_owned())).unwrap();
    for entry in fs::read_dir(&store).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        assert!(!bytes.windows(7).any(|part| part == b"hunter2"), "{}", path.display());
        #[cfg(unix)]
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    #[cfg(unix)]
    assert_eq!(mode(&store), 0o700);
    assert_eq!(format!("{:?}", Secret::new("hunter2".to_owned())), "Secret");
}

#[test]
fn a_damaged_vault_is_kept_aside_and_the_next_login_starts_anew() {
    let folder = tempfile::tempdir().unwrap();
    vault(folder.path()).put("a", &Secret::new("one".to_owned())).unwrap();
    let file = folder.path().join("vault.bin");
    let mut bytes = fs::read(&file).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&file, &bytes).unwrap();

    let Err(Error::Damaged { aside }) = vault(folder.path()).get::<Secret>("a") else {
        panic!("not noticed")
    };
    assert_eq!(fs::read(aside).unwrap(), bytes);
    vault(folder.path()).put("a", &Secret::new("again".to_owned())).unwrap();
    assert_eq!(text(folder.path(), "a").as_deref(), Some("again"));
}

#[test]
fn a_missing_key_is_told_apart_from_damage() {
    let folder = tempfile::tempdir().unwrap();
    vault(folder.path()).put("a", &Secret::new("one".to_owned())).unwrap();
    fs::remove_file(folder.path().join("vault.key")).unwrap();
    assert!(matches!(vault(folder.path()).get::<Secret>("a"), Err(Error::KeyMissing { .. })));
    assert!(matches!(vault(folder.path()).put("b", &1), Err(Error::KeyMissing { .. })));
    assert!(folder.path().join("vault.bin").exists());
}

#[test]
fn many_writers_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for n in 0..8 {
            // Each has its own vault, as processes have; the lock is on the open file.
            let vault = vault(folder.path());
            scope.spawn(move || (0..5).for_each(|k| vault.put(&format!("{n}/{k}"), &n).unwrap()));
        }
    });
    let vault = vault(folder.path());
    let found = (0..8).flat_map(|n| (0..5).map(move |k| format!("{n}/{k}")));
    assert_eq!(found.filter(|name| vault.get::<u8>(name).unwrap().is_some()).count(), 40);
}

#[test]
fn the_stamp_changes_with_every_write() {
    let folder = tempfile::tempdir().unwrap();
    let vault = vault(folder.path());
    assert_eq!(vault.stamp(), None);
    vault.put("a", &1).unwrap();
    let before = vault.stamp();
    vault.put("a", &2).unwrap();
    assert_ne!(vault.stamp(), before);
}

#[cfg(unix)]
#[test]
fn the_key_goes_to_the_keyring_when_one_answers() {
    let folder = tempfile::tempdir().unwrap();
    let keyring = fake_keyring(folder.path(), "keeps");
    let store = folder.path().join("store");
    Vault::open(&store, Some(keyring.clone())).put("a", &Secret::new("one".to_owned())).unwrap();
    assert!(!store.join("vault.key").exists());
    let found = Vault::open(&store, Some(keyring)).get::<Secret>("a").unwrap().unwrap();
    assert_eq!(found.expose(), "one");
    assert!(matches!(Vault::open(&store, None).get::<Secret>("a"), Err(Error::Keyring { .. })));
}

#[cfg(unix)]
#[test]
fn the_key_goes_to_a_file_when_the_keyring_fails() {
    let folder = tempfile::tempdir().unwrap();
    let keyring = fake_keyring(folder.path(), "fails");
    let store = folder.path().join("store");
    Vault::open(&store, Some(keyring)).put("a", &Secret::new("one".to_owned())).unwrap();
    assert_eq!(text(&store, "a").as_deref(), Some("one"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_file_content_is_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..120), real_start in any::<bool>()) {
        let folder = tempfile::tempdir().unwrap();
        let vault = vault(folder.path());
        vault.put("a", &1).unwrap();
        let file = folder.path().join("vault.bin");
        let mut content = if real_start { fs::read(&file).unwrap()[..13].to_vec() } else { Vec::new() };
        content.extend(bytes);
        fs::write(&file, content).unwrap();
        prop_assert!(vault.get::<u8>("a").is_err());
    }
}

fn vault(folder: &Path) -> Vault {
    Vault::open(folder, None)
}

fn text(folder: &Path, name: &str) -> Option<String> {
    vault(folder).get::<Secret>(name).unwrap().map(|secret| secret.expose().to_owned())
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&fs::metadata(path).unwrap().permissions()) & 0o777
}

/// A `secret-tool` that keeps values as files in its folder, or has no service behind it.
#[cfg(unix)]
fn fake_keyring(folder: &Path, behaviour: &str) -> Keyring {
    let program = folder.join("secret-tool");
    let script = match behaviour {
        "keeps" => {
            "#!/bin/sh\ncd \"$(dirname \"$0\")\"\nfor last; do :; done\n\
             case $1 in store) cat > \"kept-$last\";; lookup) cat \"kept-$last\" 2>/dev/null || exit 1;; esac\n"
        }
        _ => "#!/bin/sh\ncat >/dev/null\necho 'Cannot autolaunch D-Bus without X11' >&2\nexit 1\n",
    };
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    Keyring::SecretTool(program)
}

#[test]
fn t27_a_key_that_others_may_read_is_not_used_and_nothing_is_lost() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let open = || Vault::open(folder.path(), None);
    let key = folder.path().join("vault.key");
    let set = |mode| fs::set_permissions(&key, fs::Permissions::from_mode(mode)).unwrap();
    open().put("a", &Secret::new("one".to_owned())).unwrap();
    set(0o644);
    let said = open().get::<Secret>("a").unwrap_err().to_string();
    assert!(said.contains("is not used: other users may read or change it; make it yours alone"), "{said}");
    assert!(open().put("a", &Secret::new("two".to_owned())).is_err());
    set(0o600);
    assert_eq!(open().get::<Secret>("a").unwrap().unwrap().expose(), "one");
}
