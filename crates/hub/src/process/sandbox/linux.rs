//! Walls on Linux: Landlock for files and signals, seccomp for sockets and for what Landlock does not know.
//!
//! Landlock decides by the file that a path leads to, so links lead nowhere new. It knows nothing of sockets with
//! names, of modes and owners, and of rings of requests that the kernel carries out by itself; seccomp closes these
//! for everybody behind the walls. Capabilities go as well, so that walls around a hub of root's are as high.

use std::collections::BTreeMap;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

use super::{ConfinementSupport, Error, Walls};

/// The newest rules that are asked for; an older kernel gives what it has.
const NEWEST: ABI = ABI::V6;
/// The rules without which there are no walls.
const OLDEST: ABI = ABI::V1;
/// Devices that every program expects.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
/// Where the kernel says which answers its filters can give.
const SECCOMP: &str = "/proc/sys/kernel/seccomp/actions_avail";

/// System calls that the C library has no names for everywhere.
const FCHMODAT2: i64 = 452;
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;

/// The same system calls have second numbers on this processor.
#[cfg(target_arch = "x86_64")]
const SECOND_NUMBERS: Option<i64> = Some(0x4000_0000);
#[cfg(not(target_arch = "x86_64"))]
const SECOND_NUMBERS: Option<i64> = None;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

pub(super) fn support() -> ConfinementSupport {
    let strict = || Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let files = strict().handle_access(AccessFs::from_all(OLDEST)).and_then(Ruleset::create);
    let signals = strict().scope(Scope::Signal).and_then(Ruleset::create);
    let filters = std::fs::read_to_string(SECCOMP).is_ok_and(|actions| actions.contains("errno"));
    let missing = if files.is_err() {
        Some((
            "the kernel has no Landlock",
            "use Linux 5.13 or newer with `landlock` in `lsm=` of its command line",
        ))
    } else if !filters || target().is_none() {
        Some(("the kernel has no seccomp filters", "use a kernel with CONFIG_SECCOMP_FILTER"))
    } else {
        None
    };
    ConfinementSupport { missing, signals: signals.is_ok() }
}

pub(super) fn confine(walls: &Walls) -> Result<(), Error> {
    let failed = |what: String| Error::Failed(what);
    let rules = rules(walls).map_err(|err| failed(format!("its rules for files are refused: {err}")))?;
    let filters = [
        filter(denied(walls.network), libc::EPERM),
        // Programs that find no ring take another way.
        filter(rings(), libc::ENOSYS),
    ];
    let none = CapabilitySet::empty();
    let capabilities = CapabilitySets { effective: none, permitted: none, inheritable: none };
    set_capabilities(None, capabilities)
        .map_err(|err| failed(format!("its capabilities cannot be dropped: {err}")))?;
    let status = rules.restrict_self().map_err(|err| failed(format!("Landlock refuses: {err}")))?;
    if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
        return Err(failed("Landlock does not enforce anything".to_owned()));
    }
    for filter in filters {
        let filter = filter.ok_or_else(|| failed("no filter can be made for this processor".to_owned()))?;
        seccompiler::apply_filter(&filter).map_err(|err| failed(format!("seccomp refuses: {err}")))?;
    }
    Ok(())
}

fn rules(walls: &Walls) -> Result<landlock::RulesetCreated, landlock::RulesetError> {
    let mut ruleset =
        Ruleset::default().handle_access(AccessFs::from_all(NEWEST))?.scope(Scope::from_all(NEWEST))?;
    if !walls.network {
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
    }
    let mut created = ruleset.create()?;
    let read = AccessFs::from_read(NEWEST);
    // A device that is made in a folder of one's own is a way to everything.
    let write = AccessFs::from_all(NEWEST) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let device = AccessFs::ReadFile | AccessFs::WriteFile;
    let granted = walls.read.iter().map(|path| (path.as_path(), read));
    let granted = granted.chain(walls.write.iter().map(|path| (path.as_path(), write)));
    for (path, access) in granted.chain(DEVICES.map(|path| (Path::new(path), device))) {
        created = grant(created, path, access)?;
    }
    Ok(created)
}

/// What is not there needs no rule; the hub has looked for what a person wrote.
fn grant(
    created: landlock::RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<landlock::RulesetCreated, landlock::RulesetError> {
    let Ok(opened) = PathFd::new(path) else { return Ok(created) };
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(NEWEST) };
    created.add_rule(PathBeneath::new(opened, access))
}

fn target() -> Option<TargetArch> {
    std::env::consts::ARCH.try_into().ok()
}

fn filter(rules: Rules, errno: i32) -> Option<BpfProgram> {
    let mut all = rules.clone();
    if let Some(second) = SECOND_NUMBERS {
        all.extend(rules.into_iter().map(|(number, rules)| (number | second, rules)));
    }
    let refuse = SeccompAction::Errno(errno.unsigned_abs());
    let filter = SeccompFilter::new(all, SeccompAction::Allow, refuse, target()?);
    filter.and_then(BpfProgram::try_from).ok()
}

/// What nobody behind the walls may ask of the kernel. A system call without rules is refused altogether.
fn denied(network: bool) -> Rules {
    use SeccompCmpOp::{Eq, MaskedEq, Ne};
    let any = Vec::new;
    let [unix, inet, inet6, netlink] =
        [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK].map(int);
    let mut rules = Rules::from([
        // Sockets with names lead to services that do anything for their user. A pair leads nowhere, unless it is of
        // datagrams, which can be sent to any name.
        (
            libc::SYS_socket,
            if network { vec![rule(&[(0, Ne, inet), (0, Ne, inet6), (0, Ne, netlink)])] } else { any() },
        ),
        (
            libc::SYS_socketpair,
            vec![
                rule(&[(0, Ne, unix)]),
                rule(&[(1, MaskedEq(0xf), int(libc::SOCK_DGRAM))]),
                rule(&[(1, MaskedEq(0xf), int(libc::SOCK_RAW))]),
            ],
        ),
        // The keys that a person's session holds.
        (libc::SYS_add_key, any()),
        (libc::SYS_request_key, any()),
        (libc::SYS_keyctl, any()),
        // Limits and priorities of other processes.
        (libc::SYS_prlimit64, vec![rule(&[(0, Ne, 0)])]),
        (
            libc::SYS_setpriority,
            vec![rule(&[(1, Ne, 0)]), rule(&[(0, Eq, int(libc::PRIO_USER.cast_signed()))])],
        ),
        // Modes, owners, times and attributes by path, which Landlock does not ask about. Those of an open file can be
        // changed, because opening it was allowed.
        (libc::SYS_fchmodat, any()),
        (FCHMODAT2, any()),
        (libc::SYS_fchownat, any()),
        (libc::SYS_setxattr, any()),
        (libc::SYS_lsetxattr, any()),
        (SETXATTRAT, any()),
        (libc::SYS_removexattr, any()),
        (libc::SYS_lremovexattr, any()),
        (REMOVEXATTRAT, any()),
        (libc::SYS_utimensat, vec![wide_rule(1, Ne, 0)]),
    ]);
    #[cfg(target_arch = "x86_64")]
    rules.extend(
        [
            libc::SYS_chmod,
            libc::SYS_chown,
            libc::SYS_lchown,
            libc::SYS_utime,
            libc::SYS_utimes,
            libc::SYS_futimesat,
        ]
        .map(|number| (number, any())),
    );
    let knows_truncate = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::Truncate)
        .and_then(Ruleset::create);
    if knows_truncate.is_err() {
        rules.insert(libc::SYS_truncate, any());
    }
    rules
}

/// Requests in a ring are carried out by the kernel itself, past every filter.
fn rings() -> Rules {
    [libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register]
        .map(|number| (number, Vec::new()))
        .into()
}

fn rule(conditions: &[(u8, SeccompCmpOp, u64)]) -> SeccompRule {
    let condition = |(argument, operator, value): &(u8, SeccompCmpOp, u64)| {
        SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, operator.clone(), *value)
            .expect("there are six arguments")
    };
    SeccompRule::new(conditions.iter().map(condition).collect()).expect("there is a condition")
}

/// Compares an argument that is an address.
fn wide_rule(argument: u8, operator: SeccompCmpOp, value: u64) -> SeccompRule {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Qword, operator, value);
    SeccompRule::new(vec![condition.expect("there are six arguments")]).expect("there is a condition")
}

fn int(value: i32) -> u64 {
    u64::from(value.unsigned_abs())
}
