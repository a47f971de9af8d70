//! What a program needs to run at all: the system's programs and libraries, its own, its interpreter's.
//!
//! Nothing of a person's home is among it except where the program itself lies there. What is found is what the
//! command and its arguments name; no program is asked.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::process::Launch;

/// Programs, libraries and what they read to find one another, to resolve names and to check certificates.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/crypto-policies",
    "/etc/fonts",
    "/etc/gai.conf",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/cert.pem",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
    // Of the processes only its own; how much of the machine there is.
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys/kernel",
    "/proc/sys/vm",
    "/proc/uptime",
    "/proc/version",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
];
/// What an installation has beside its folder of programs. What people keep there, such as `share`, is not in it.
const BESIDE_PROGRAMS: [&str; 4] = ["bin", "lib", "lib64", "pyvenv.cfg"];
/// Files at the top of a package.
const MANIFESTS: [&str; 2] = ["package.json", "pyproject.toml"];
/// A script may name an interpreter that is a script again, but not for ever.
const MOST_INTERPRETERS: usize = 4;
/// Bytes of a script's first line that the system looks at.
const FIRST_LINE: u64 = 256;

/// Returns files and folders that a program may read so that it runs.
pub(super) fn of_program(launch: &Launch<'_>) -> Vec<PathBuf> {
    let path = search_path(launch);
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let finding = Finding { path: &path, home: home.as_deref() };
    let system = SYSTEM.iter().map(PathBuf::from).filter(|path| !finding.holds_home(path));
    let mut granted: Vec<PathBuf> = system.collect();
    let mut program = finding.program(launch.command);
    for _ in 0..MOST_INTERPRETERS {
        let Some(file) = program else { break };
        granted.extend(finding.around_program(&file));
        program = finding.interpreter(&file);
    }
    let here = launch.cwd.map(Path::to_owned).or_else(|| std::env::current_dir().ok()).unwrap_or_default();
    let files = launch.args.iter().map(|arg| here.join(arg)).filter(|path| path.is_file());
    for (number, file) in files.enumerate() {
        // The first may be the program, for an interpreter; the others are files and no more.
        let package = (number == 0).then(|| finding.around_script(&file));
        granted.extend(package.unwrap_or_else(|| vec![file]));
    }
    granted
}

/// Finds the program that a command would start.
pub(super) fn program(launch: &Launch<'_>) -> Option<PathBuf> {
    Finding { path: &search_path(launch), home: None }.program(launch.command)
}

fn search_path(launch: &Launch<'_>) -> OsString {
    let own = launch.env.get("PATH").map(OsString::from);
    own.or_else(|| std::env::var_os("PATH")).unwrap_or_default()
}

struct Finding<'a> {
    path: &'a OsStr,
    home: Option<&'a Path>,
}

impl Finding<'_> {
    fn program(&self, command: &str) -> Option<PathBuf> {
        if command.contains('/') {
            return Some(PathBuf::from(command));
        }
        std::env::split_paths(self.path).map(|folder| folder.join(command)).find(|file| file.is_file())
    }

    /// What lies around a program, by the name that it is called and by what that leads to.
    fn around_program(&self, file: &Path) -> Vec<PathBuf> {
        let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
        let mut granted = Vec::new();
        for file in [file, &real] {
            let folder = file.parent().unwrap_or(Path::new("/"));
            if folder.file_name().is_some_and(|name| name == "bin" || name == "sbin") {
                let prefix = folder.parent().unwrap_or(Path::new("/"));
                granted.extend(BESIDE_PROGRAMS.iter().map(|name| prefix.join(name)));
                granted.push(file.to_owned());
            } else {
                granted.extend(self.around_script(file));
            }
        }
        granted
    }

    /// What lies around a script: the packages that it is among, its own package, or its folder.
    fn around_script(&self, file: &Path) -> Vec<PathBuf> {
        let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
        [file, &real].iter().flat_map(|file| [self.package(file), file.to_path_buf()]).collect()
    }

    fn package(&self, file: &Path) -> PathBuf {
        let folders: Vec<&Path> =
            file.ancestors().skip(1).take_while(|folder| !self.holds_home(folder)).collect();
        let modules =
            folders.iter().rev().find(|folder| folder.file_name().is_some_and(|it| it == "node_modules"));
        let is_top = |folder: &&&Path| MANIFESTS.iter().any(|name| folder.join(name).is_file());
        let package = modules.or_else(|| folders.iter().find(is_top)).or(folders.first());
        package.map_or(file, |package| package).to_owned()
    }

    /// Whether a folder is the home, or has it somewhere within.
    fn holds_home(&self, folder: &Path) -> bool {
        folder.parent().is_none() || self.home.is_some_and(|home| home.starts_with(folder))
    }

    /// The program that runs a script, as its first line says.
    fn interpreter(&self, file: &Path) -> Option<PathBuf> {
        let mut line = Vec::new();
        std::fs::File::open(file).ok()?.take(FIRST_LINE).read_to_end(&mut line).ok()?;
        let line = line.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
        let mut words = std::str::from_utf8(line).ok()?.split_whitespace();
        let first = words.next()?;
        if Path::new(first).file_name()? != "env" {
            return Some(PathBuf::from(first));
        }
        self.program(words.find(|word| !word.starts_with('-') && !word.contains('='))?)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn granted(command: &Path, args: &[&Path]) -> Vec<PathBuf> {
        let args: Vec<String> = args.iter().map(|arg| arg.display().to_string()).collect();
        let env = BTreeMap::new();
        let command = command.to_str().unwrap();
        of_program(&Launch { command, args: &args, env: &env, cwd: None, confinement: None })
    }

    fn touch(path: PathBuf, text: &str) -> PathBuf {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn t27_a_program_may_read_its_installation_its_interpreter_and_its_packages_and_nothing_beside() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let python = touch(at("pythons/3/bin/python3"), "");
        std::fs::create_dir_all(at("home/tools/git/bin")).unwrap();
        std::os::unix::fs::symlink(&python, at("home/tools/git/bin/python")).unwrap();
        let script = format!("#!{}\nprint()", at("home/tools/git/bin/python").display());
        let server = touch(at("home/tools/git/bin/mcp-server-git"), &script);
        let seen = granted(&server, &[]);
        for name in ["home/tools/git/lib", "home/tools/git/pyvenv.cfg", "pythons/3/lib"] {
            assert!(seen.contains(&at(name)), "{name}");
        }
        assert!(!seen.iter().any(|path| at("home/tools/git/share").starts_with(path)), "{seen:?}");

        let node = touch(at("node/bin/node"), "");
        let main = touch(at("home/app/node_modules/@scope/server/dist/index.js"), "");
        let notes = touch(at("home/notes/one.txt"), "");
        let seen = granted(&node, &[&main, &notes, &at("home")]);
        assert!(seen.contains(&at("home/app/node_modules")) && seen.contains(&notes));
        for name in ["home/app/secret", "home/notes/two.txt", "home/x"] {
            assert!(!seen.iter().any(|path| at(name).starts_with(path)), "{name}: {seen:?}");
        }
    }

    #[test]
    fn t27_a_script_in_the_home_does_not_open_the_home() {
        let home = std::env::var_os("HOME").map(PathBuf::from).expect("tests have a home");
        let finding = Finding { path: OsStr::new(""), home: Some(&home) };
        assert_eq!(finding.package(&home.join("server.py")), home.join("server.py"));
        assert_eq!(finding.package(Path::new("/server.py")), Path::new("/server.py"));
    }
}
