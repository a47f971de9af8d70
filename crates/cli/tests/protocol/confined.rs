//! Servers that may use little of the machine: what they are kept from, and real ones that work all the same.

use std::io::Write;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::client::Client;
use testkit::{bin, wait_until};
use toolyard_hub::process::sandbox::confinement_support;

use crate::fleet::{START, are_there, real};
use crate::yard::{SOON, Yard, refusal};

/// Whether this system can enforce anything; says so where it cannot.
fn can_confine() -> bool {
    let missing = confinement_support().missing;
    if let Some((missing, _)) = missing {
        writeln!(std::io::stderr(), "skipped: {missing}").expect("stderr is open");
    }
    missing.is_none()
}

/// Everything around an intruder that it might be after.
struct Surroundings {
    yard: Yard,
    tcp: TcpListener,
    udp: UdpSocket,
    named: String,
    _sockets: (UnixListener, UnixDatagram, UnixListener),
}

impl Surroundings {
    fn new(sandbox: Option<Value>) -> Self {
        let mut server = json!({"command": bin("intruder-server")});
        if let Some(sandbox) = sandbox {
            server["sandbox"] = sandbox;
        }
        let yard = Yard::of(json!({"intruder": server}));
        let at = |name: &str| yard.path().join(name);
        for folder in ["given", "shown", "other"] {
            std::fs::create_dir(at(folder)).unwrap();
        }
        for file in ["secret", "victim", "shown/one", "other/two", "given/own"] {
            std::fs::write(at(file), format!("text of {file}")).unwrap();
        }
        std::os::unix::fs::symlink(at("secret"), at("given/link")).unwrap();
        let named = format!("toolyard-test-{}", at("").display());
        let address = SocketAddr::from_abstract_name(&named).unwrap();
        let sockets = (
            UnixListener::bind(at("given/stream.sock")).unwrap(),
            UnixDatagram::bind(at("given/datagrams.sock")).unwrap(),
            UnixListener::bind_addr(&address).unwrap(),
        );
        let (tcp, udp) = (TcpListener::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        Self { yard, tcp, udp, named, _sockets: sockets }
    }

    fn path(&self, name: &str) -> String {
        self.yard.path().join(name).display().to_string()
    }

    /// What an intruder tries, each of which works where nothing is enforced.
    fn attempts(&self, hub: u32) -> Vec<(&'static str, String)> {
        let files = [
            ("read", "secret"),
            ("read", "given/link"),
            ("read", "toolyard.json"),
            ("list", ""),
            ("list", "other"),
            ("write", "planted"),
            ("write", "shown/planted"),
            ("append", "victim"),
            ("append", "shown/one"),
            ("link", "secret"),
            ("mode", "victim"),
            ("mode", "shown/one"),
            ("rename", "other/two"),
            ("remove", "victim"),
        ];
        let mut all: Vec<_> = files.map(|(what, name)| (what, self.path(name))).into();
        all.extend([
            ("read", format!("/proc/{hub}/environ")),
            ("list", format!("/proc/{hub}/fd")),
            ("tcp", self.tcp.local_addr().unwrap().to_string()),
            ("listen", "127.0.0.1:0".to_owned()),
            ("udp", self.udp.local_addr().unwrap().to_string()),
            ("unix", self.path("given/stream.sock")),
            ("datagrams", self.path("given/datagrams.sock")),
            ("abstract", self.named.clone()),
        ]);
        if confinement_support().signals {
            all.push(("signal", hub.to_string()));
        }
        all
    }
}

async fn attempt(client: &Client, what: &str, target: &str) -> String {
    client.text("intruder__try", json!({"what": what, "target": target})).await
}

async fn run(client: &Client, words: &[&str]) -> String {
    client.text("intruder__run", json!({"words": words})).await
}

fn walls(network: bool) -> Value {
    json!({"network": network, "read": ["shown"], "write": ["given"]})
}

#[tokio::test]
async fn t27_a_confined_server_is_kept_from_everything_that_it_was_not_given() {
    if !can_confine() {
        return;
    }
    for sandbox in [Some(walls(false)), None] {
        let is_free = sandbox.is_none();
        let around = Surroundings::new(sandbox);
        let served = around.yard.http(&["--surface", "all"]);
        let client = served.modern("", json!({}));
        crate::yard::listed(&client, "intruder__try").await;
        for (what, target) in around.attempts(served.pid()) {
            let said = attempt(&client, what, &target).await;
            let expected = if is_free { "done: " } else { "refused: " };
            assert!(said.starts_with(expected), "{what} {target}: {said}");
        }
        // What it needs and what it was given works either way.
        for (what, name) in
            [("read", "shown/one"), ("write", "given/new"), ("append", "given/own"), ("remove", "given/new")]
        {
            let said = attempt(&client, what, &around.path(name)).await;
            assert!(said.starts_with("done: "), "{what} {name}: {said}");
        }
        assert_eq!(attempt(&client, "pair", "").await, "done: ");
        assert_eq!(
            run(
                &client,
                &[
                    "sh",
                    "-c",
                    "f=\"${TMPDIR:-/tmp}/toolyard-$$\"; echo $((40 + 2)) > \"$f\" && cat \"$f\" && rm \"$f\""
                ]
            )
            .await,
            "42\n[exit 0]"
        );
        if !is_free {
            assert_eq!(std::fs::read_to_string(around.path("victim")).unwrap(), "text of victim");
            let said =
                run(&client, &["sh", "-c", "cat \"$0\" || echo kept out", &around.path("secret")]).await;
            assert!(said.contains("kept out"), "what it starts is confined too: {said}");
            let said = attempt(&client, "read", "/proc/self/status").await;
            assert!(
                said.contains("CapEff:\t0000000000000000\n") && said.contains("NoNewPrivs:\t1\n"),
                "{said}"
            );
        }
        served.terminate().await;
    }
}

#[tokio::test]
async fn t27_system_calls_that_go_around_files_and_sockets_are_closed() {
    let python = Path::new("/usr/bin/python3");
    if !can_confine() || !python.exists() || cfg!(not(target_arch = "x86_64")) {
        writeln!(std::io::stderr(), "skipped: needs a system that can confine, /usr/bin/python3 and x86_64")
            .unwrap();
        return;
    }
    // ptrace(ATTACH), io_uring_setup, process_vm_readv, socket by its second number, keyctl, prlimit, pidfd_getfd.
    let script = "
import ctypes, errno, struct, sys
hub, libc = int(sys.argv[1]), ctypes.CDLL(None, use_errno=True)
zeros = ctypes.create_string_buffer(512)
part = ctypes.create_string_buffer(struct.pack('QQ', ctypes.addressof(zeros), 8))
word = ctypes.c_long
pidfd = libc.syscall(word(434), word(hub), word(0))
for name, call in [
    ('ptrace', (101, 16, hub, 0, 0)), ('rings', (425, 8, zeros)), ('memory', (310, hub, part, 1, part, 1, 0)),
    ('second socket', (0x40000000 + 41, 2, 1, 0)), ('raw', (41, 2, 3, 1)), ('packet', (41, 17, 3, 0)),
    ('vsock', (41, 40, 1, 0)), ('keys', (250, 0, -3, 1)), ('limits', (302, hub, 7, zeros, 0)), ('file', (438, pidfd, 0, 0)),
    ('mount', (165, b'none', b'/tmp', b'tmpfs', 0, 0)), ('truncate', (76, sys.argv[2].encode(), 0)),
    ('attribute', (188, sys.argv[2].encode(), b'user.x', b'y', 1, 0)), ('mode', (452, -100, sys.argv[2].encode(), 0o777, 0)),
]:
    ctypes.set_errno(0)
    done = libc.syscall(*[word(it) if isinstance(it, int) else it for it in call])
    print(name, 'done' if done >= 0 else errno.errorcode[ctypes.get_errno()])
";
    let around = Surroundings::new(Some(walls(true)));
    let served = around.yard.http(&["--surface", "all"]);
    let client = served.modern("", json!({}));
    crate::yard::listed(&client, "intruder__run").await;
    let (hub, victim) = (served.pid().to_string(), around.path("victim"));
    let said = run(&client, &["/usr/bin/python3", "-c", script, &hub, &victim]).await;
    assert!(said.contains("rings ENOSYS") && said.contains("mode ") && said.contains("[exit 0]"), "{said}");
    assert!(!said.contains("done"), "{said}");
    assert_eq!(std::fs::read_to_string(victim).unwrap(), "text of victim");
}

#[tokio::test]
async fn t27_a_confined_server_with_the_network_reaches_it_and_no_service_of_this_machine() {
    if !can_confine() {
        return;
    }
    let around = Surroundings::new(Some(walls(true)));
    let served = around.yard.http(&["--surface", "all"]);
    let client = served.modern("", json!({}));
    crate::yard::listed(&client, "intruder__try").await;
    let (tcp, udp) = (around.tcp.local_addr().unwrap(), around.udp.local_addr().unwrap());
    assert_eq!(attempt(&client, "tcp", &tcp.to_string()).await, "done: ");
    assert_eq!(attempt(&client, "udp", &udp.to_string()).await, "done: ");
    for (what, target) in [
        ("unix", around.path("given/stream.sock")),
        ("datagrams", around.path("given/datagrams.sock")),
        ("abstract", around.named.clone()),
    ] {
        assert!(attempt(&client, what, &target).await.starts_with("refused: "), "{what}");
    }
    // Its temporary files go with it.
    let said = run(&client, &["sh", "-c", "mkdir -p $TMPDIR/a/b && echo $TMPDIR"]).await;
    let temporary = PathBuf::from(said.lines().next().unwrap());
    assert!(temporary.join("a/b").is_dir());
    served.terminate().await;
    wait_until(SOON, || !temporary.exists()).await;
}

#[tokio::test]
async fn t27_a_server_that_cannot_be_confined_as_asked_does_not_start_and_says_why() {
    let sandbox = json!({"write": ["nowhere"]});
    let yard = Yard::of(json!({"intruder": {"command": bin("intruder-server"), "sandbox": sandbox}}));
    let client = yard.session(json!({})).await;
    let (_, said, _) = match client.call("intruder__run", json!({"words": ["true"]})).await {
        Ok(result) => (0, result.to_string(), Value::Null),
        failed @ Err(_) => refusal(failed),
    };
    let output = yard.command(&["doctor", "intruder"]).output().unwrap();
    let doctor = String::from_utf8_lossy(&output.stdout).into_owned();
    let why = match confinement_support().missing {
        Some((missing, _)) => missing,
        None => "in `sandbox.write` does not exist; make it, or take it out of the settings",
    };
    assert!(doctor.contains(why), "{doctor} {said}");
    assert!(!output.status.success());
}

#[tokio::test]
async fn t27_real_servers_work_confined_and_the_home_stays_closed() {
    if !can_confine() || !are_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for (name, text) in [("notes/one.txt", "the first note"), ("private/one.txt", "nobody's business")] {
        std::fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
        std::fs::write(root.join(name), text).unwrap();
    }
    let (notes, private) =
        (root.join("notes").display().to_string(), root.join("private").display().to_string());
    // The server itself would let its caller read both folders.
    let mut files = real("filesystem", &[&notes, &private]);
    files["sandbox"] = json!({"network": false, "write": [notes]});
    let mut time = real("time", &["--local-timezone", "Europe/Zurich"]);
    time["sandbox"] = json!({"network": false});
    // Writing asks for confirmation otherwise, which is another test's business.
    let policy = json!({"rules": [{"tool": "files__*", "then": "allow"}]});
    let yard = Yard::new(json!({"mcpServers": {"files": files, "time": time}, "policy": policy}));
    let yard = yard.keep(folder).learnt_within(START).await;
    let client = yard.session(json!({})).await;
    let said = client.text("files__read_text_file", json!({"path": format!("{notes}/one.txt")})).await;
    assert_eq!(said, "the first note");
    let written = json!({"path": format!("{notes}/two.txt"), "content": "the second"});
    let said = client.call("files__write_file", written).await.unwrap();
    assert_ne!(said["isError"], true, "{said}");
    assert_eq!(std::fs::read_to_string(format!("{notes}/two.txt")).unwrap(), "the second");
    let private = json!({"path": format!("{private}/one.txt")});
    let refused = client.call("files__read_text_file", private).await.unwrap();
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(!refused.to_string().contains("nobody's business"));
    let said = client.text("time__get_current_time", json!({"timezone": "Europe/Zurich"})).await;
    assert!(said.contains("Europe/Zurich"), "{said}");
}
