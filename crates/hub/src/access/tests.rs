//! What registered clients may do, and how the registry is kept.

use super::*;
use std::os::unix::fs::PermissionsExt;

fn registry(folder: &tempfile::TempDir) -> ClientRegistry {
    ClientRegistry::new(folder.path())
}

#[test]
fn t27_a_token_lets_its_client_in_and_is_kept_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let token = registry(&folder).add(Registration::new("ana")).unwrap();
    let access = Access::open(folder.path());
    assert_eq!(access.grant(&token).unwrap().name(), Some("ana"));
    assert_eq!(access.grant("toolyard_other"), Err(Turned::Unknown));
    let file = std::fs::read_to_string(folder.path().join("clients.json")).unwrap();
    assert!(!file.contains(&token) && !file.contains(token.trim_start_matches("toolyard_")), "{file}");
    let mode = std::fs::metadata(folder.path().join("clients.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn t27_a_client_has_one_token_and_is_gone_when_it_is_revoked() {
    let folder = tempfile::tempdir().unwrap();
    let clients = registry(&folder);
    let (ana, ben) =
        (clients.add(Registration::new("ana")).unwrap(), clients.add(Registration::new("ben")).unwrap());
    assert!(matches!(clients.add(Registration::new("ana")), Err(Error::Taken(_))));
    assert_eq!(clients.revoke("ana").unwrap(), 1);
    assert!(matches!(clients.revoke("ana"), Err(Error::Missing(_))));
    let access = Access::open(folder.path());
    assert_eq!(access.grant(&ana), Err(Turned::Unknown));
    assert!(access.grant(&ben).is_ok());
    clients.revoke("ben").unwrap();
    assert!(
        Access::open(folder.path()).is_registering(),
        "the door does not open because the last client is gone"
    );
}

#[test]
fn t27_a_damaged_file_lets_nobody_in() {
    let folder = tempfile::tempdir().unwrap();
    let token = registry(&folder).add(Registration::new("ana")).unwrap();
    let (path, whole) =
        (registry(&folder).path(), std::fs::read_to_string(registry(&folder).path()).unwrap());
    let twice = whole.replace("\"clients\": [", &format!("\"clients\": [{},", entry(&whole)));
    for damage in [
        "",
        "{",
        "[]",
        "null",
        &whole[..whole.len() / 2],
        &whole.replace("\"version\": 1", "\"version\": 2"),
        &whole.replace("\"effect\"", "\"efect\""),
        &whole.replace("sha256\": \"", "sha256\": \"zz"),
        &twice,
    ] {
        std::fs::write(&path, damage).unwrap();
        let access = Access::open(folder.path());
        assert!(access.is_registering(), "{damage}");
        assert_eq!(access.grant(&token), Err(Turned::Unreadable), "{damage}");
        let refused = registry(&folder).add(Registration::new("ben")).unwrap_err();
        assert!(matches!(refused, Error::Damaged { .. }), "{damage}: {refused}");
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            damage,
            "what is damaged is left for a person to see"
        );
    }
}

#[test]
fn t27_a_file_that_others_may_write_lets_nobody_in() {
    let folder = tempfile::tempdir().unwrap();
    let token = registry(&folder).add(Registration::new("ana")).unwrap();
    let path = registry(&folder).path();
    for mode in [0o666, 0o620, 0o602] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(Access::open(folder.path()).grant(&token), Err(Turned::Unreadable), "{mode:o}");
    }
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert!(Access::open(folder.path()).grant(&token).is_ok());
    std::fs::remove_file(&path).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    assert_eq!(
        Access::open(folder.path()).grant(&token),
        Err(Turned::Unreadable),
        "a pipe is not waited for"
    );
}

/// Cuts the one entry out of a file of clients.
fn entry(file: &str) -> String {
    let file: serde_json::Value = serde_json::from_str(file).unwrap();
    file["clients"][0].to_string()
}

#[test]
fn t27_a_token_that_expired_lets_nobody_in_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let over = Registration { expires: Some(Timestamp::now()), ..Registration::new("ana") };
    let token = registry(&folder).add(over).unwrap();
    assert_eq!(Access::open(folder.path()).grant(&token), Err(Turned::Expired("ana".to_owned())));
}

#[test]
fn t27_names_are_plain_and_stand_for_nobody_else() {
    let is_fine = |name: &str| check_name(name).is_ok();
    assert!(["ana", "Ana-2", "ci.build_7"].into_iter().all(is_fine));
    let long = "a".repeat(65);
    for name in ["", "-ana", "ana ben", "ana/ben", "ana\n", "änne", "local", "owner", &long] {
        assert!(!is_fine(name), "{name}");
    }
}

#[test]
fn t27_processes_that_add_clients_at_once_lose_none() {
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let clients = registry(&folder);
            scope.spawn(move || {
                for turn in 0..5 {
                    clients.add(Registration::new(&format!("c{number}-{turn}"))).unwrap();
                }
            });
        }
    });
    assert_eq!(registry(&folder).read().unwrap().unwrap().len(), 40);
    let files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(files.len(), 2, "the file and its lock, and nothing half written: {files:?}");
}

#[test]
fn t27_a_scope_says_what_it_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let permissions = Permissions {
        servers: vec!["fs".to_owned()],
        effect: Effect::Write,
        profiles: Vec::new(),
        admin: false,
    };
    let token = registry(&folder).add(Registration { permissions, ..Registration::new("ana") }).unwrap();
    let grant = Access::open(folder.path()).grant(&token).unwrap();
    let said = |tool, server, effect| grant.refusal(tool, server, effect).map(|it| it.to_string());
    assert_eq!(said("fs__write", "fs", Effect::Write), None);
    insta::assert_snapshot!(said("fs__rm", "fs", Effect::Destroy).unwrap(), @"this call of `fs__rm` would destroy, and the scope of client `ana` permits to write at most");
    insta::assert_snapshot!(said("db__read", "db", Effect::Read).unwrap(), @"tool `db__read` is not in the scope of client `ana`, which may use `fs`");
    assert_eq!(Grant::owner().refusal("db__drop", "db", Effect::Destroy), None);
    let names = |servers: &[&str]| servers.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    assert_eq!(grant.narrowed(&[]), Some(names(&["fs"])));
    assert_eq!(grant.narrowed(&names(&["db", "fs"])), Some(names(&["fs"])));
    assert_eq!(grant.narrowed(&names(&["db"])), None, "no server in common is none, not all");
}

#[tokio::test]
async fn t27_a_grant_ends_when_its_client_is_revoked_and_no_other_does() {
    let folder = tempfile::tempdir().unwrap();
    let clients = registry(&folder);
    let (ana, ben) =
        (clients.add(Registration::new("ana")).unwrap(), clients.add(Registration::new("ben")).unwrap());
    let access = Arc::new(Access::open(folder.path()));
    let following = tokio::spawn(Arc::clone(&access).follow());
    let (ana, ben) = (access.grant(&ana).unwrap(), access.grant(&ben).unwrap());
    let (ana_ended, mut ben_ended) = (access.ended(&ana), Box::pin(access.ended(&ben)));
    clients.revoke("ana").unwrap();
    ana_ended.await;
    assert!(futures_util::FutureExt::now_or_never(&mut ben_ended).is_none());
    // The same name with another token is the same client for what it left behind, not for what it had open.
    clients.add(Registration::new("ana")).unwrap();
    access.ended(&ana).await;
    following.abort();
}
