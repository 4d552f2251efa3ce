//! A scratch folder with traps, and runs of shells in it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::OnceLock;
use std::time::Duration;

use crate::secrets::Secrets;
use crate::shell::path::Order;
use crate::shell::{Machine, environment, path};

/// How long a batch of lines may run.
const LONGEST: Duration = Duration::from_secs(300);
/// Exit code of `timeout` if it stopped the program.
const TIMED_OUT: i32 = 124;
/// Names of files that a program may misinterpret.
#[rustfmt::skip]
pub(super) const NAMES: &[&str] = &[
    "a", "b", "f", "README.md", "data.csv", "src/main.rs", "src/lib.rs", "-exec", "-delete",
    "--output=x", "-o", "-i", "-f", "w x", "1{system(\"id>pwned\")}", "a=1", "new\nline",
    "$(id>pwned)", "`id>pwned`", "é.txt", "!x", "(", "+x", "src/-x", "%n", "e;id>pwned",
    "--pre=canary", "*", "[a]", "a b",
];

/// What a traced batch of lines did.
#[derive(Debug, Default)]
pub(super) struct Observed {
    pub lines: usize,
    pub execs: usize,
    pub opens: usize,
    /// System calls that approved commands must not make.
    pub problems: Vec<String>,
}

impl Observed {
    pub(super) fn add(&mut self, other: Self) {
        self.lines += other.lines;
        self.execs += other.execs;
        self.opens += other.opens;
    }
}

pub(super) struct World {
    folder: tempfile::TempDir,
    logs: tempfile::TempDir,
    places: Vec<PathBuf>,
}

/// A file: its kind and mode, size, modification time, and text or target.
pub(super) type State = (u32, u64, i64, i64, Vec<u8>);

impl World {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let project = home.join("project");
        let places = ["", "src", "clean", "hostile", "bare", "filters"];
        let world = Self {
            folder,
            logs: tempfile::tempdir().unwrap(),
            places: places.iter().map(|it| project.join(it)).collect(),
        };
        for place in &world.places {
            fs::create_dir_all(place).unwrap();
        }
        for name in NAMES {
            let file = project.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "1 alpha beta\n2 main(x) TODO\nkey: value, 3\n").unwrap();
        }
        for secret in [".ssh/id_ed25519", ".aws/credentials", "project/conf/.env"] {
            let file = home.join(secret);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "SECRET").unwrap();
        }
        fs::create_dir_all(home.join("tmp")).unwrap();
        symlink("../.ssh", project.join("into")).unwrap();
        for name in ["canary", "ls", "cat", "git", "sh", "id", "x", "delta"] {
            world.program(&project.join(name));
        }
        world.repositories(&project);
        world
    }

    /// Creates a program that leaves a trace when it runs.
    fn program(&self, file: &Path) {
        let home = self.home();
        let text = format!("#!/bin/sh\necho \"$0 $*\" >> {}/pwned\n", home.display());
        fs::write(file, text).unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Creates a harmless repository, and repositories that name the canary in various ways.
    fn repositories(&self, project: &Path) {
        for name in ["clean", "hostile", "filters"] {
            repository(&project.join(name));
        }
        let canary = project.join("canary").display().to_string();
        let hostile = format!(
            "[core]\n\tfsmonitor = {canary}\n\tpager = {canary}\n[diff]\n\texternal = {canary}\n[gpg]\n\tprogram = {canary}\n"
        );
        append(&project.join("hostile/.git/config"), &hostile);
        let filters =
            format!("[filter \"x\"]\n\tclean = {canary}\n[diff \"x\"]\n\ttextconv = {canary}\n");
        append(&project.join("filters/.git/config"), &filters);
        fs::write(
            project.join("filters/.gitattributes"),
            "* filter=x diff=x\n",
        )
        .unwrap();
        self.program(&project.join("clean/.git/hooks/pre-commit"));
        for name in ["objects", "refs"] {
            fs::create_dir_all(project.join("bare").join(name)).unwrap();
        }
        fs::write(project.join("bare/HEAD"), "ref: refs/heads/main\n").unwrap();
        let bare = format!("[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = {canary}\n");
        fs::write(project.join("bare/config"), bare).unwrap();
    }

    fn home(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    /// Where lines run.
    pub(super) fn places(&self) -> &[PathBuf] {
        &self.places
    }

    fn variables(&self) -> Vec<(OsString, OsString)> {
        let home = self.home();
        let project = home.join("project");
        let path = format!(".:{}:src:/usr/local/bin:/usr/bin:/bin", project.display());
        let canary: OsString = project.join("canary").into();
        let mut variables: Vec<(OsString, OsString)> = vec![
            ("HOME".into(), home.clone().into()),
            ("USER".into(), "me".into()),
            ("PATH".into(), path.into()),
            ("TMPDIR".into(), home.join("tmp").into()),
        ];
        let names = "PAGER GIT_EXTERNAL_DIFF BASH_ENV ENV LESSOPEN GIT_PAGER GIT_SSH EDITOR";
        variables.extend(names.split(' ').map(|name| (name.into(), canary.clone())));
        variables
    }

    /// The machine on which a line at this place runs.
    pub(super) fn machine(&self, place: usize) -> Machine {
        Machine {
            cwd: self.places[place].clone(),
            variables: self.variables(),
            secrets: Arc::new(Secrets::in_home(&self.home())),
            sandbox: false,
        }
    }

    /// Everything below the home folder.
    pub(super) fn files(&self) -> BTreeMap<PathBuf, State> {
        let mut found = BTreeMap::new();
        let mut open = vec![self.home()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                let path = entry.path();
                let metadata = path.symlink_metadata().unwrap();
                let text = match metadata.is_symlink() {
                    true => fs::read_link(&path)
                        .unwrap()
                        .into_os_string()
                        .into_encoded_bytes(),
                    false if metadata.is_file() => fs::read(&path).unwrap(),
                    false => Vec::new(),
                };
                if metadata.is_dir() {
                    open.push(path.clone());
                }
                let name = path.strip_prefix(self.home()).unwrap().to_owned();
                // A folder's time reveals a file that was created and removed again. `sort`
                // creates such files, but only in `tmp`.
                let is_watched = metadata.is_dir() && !name.ends_with("tmp");
                let changed = match is_watched {
                    true => (metadata.mtime(), metadata.mtime_nsec()),
                    false => (0, 0),
                };
                let state = (metadata.mode(), metadata.len(), changed.0, changed.1, text);
                found.insert(name, state);
            }
        }
        found
    }

    /// Runs each line in a shell of its own, in a sandbox if there is one. The sandbox contains
    /// this machine, and permits writes below the home folder.
    pub(super) fn run(&self, lines: &[(usize, String)], traced: bool) -> Observed {
        let log = (traced && traces()).then(|| self.logs.path().join("trace"));
        let end = LONGEST.as_secs().to_string();
        let mut command = Command::new("timeout");
        command.args(["--kill-after=1", &end]);
        if holds() {
            command.args(self.sandbox());
        }
        if let Some(log) = &log {
            command.args(["strace", "-f", "-qq", "-s", "300", "-e", TRACED, "-o"]);
            command.arg(log);
        }
        command
            .args(["bash", "-c", &self.script(lines)])
            .env_clear()
            .envs(environment(
                self.variables().into_iter(),
                &[],
                Order::SystemFirst,
            ))
            .current_dir(self.home().join("project"))
            .stdin(Stdio::null());
        let ran = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&ran.stderr);
        assert!(!stderr.contains("bwrap:"), "{ran:?}");
        let trace = log.map(|it| fs::read_to_string(it).unwrap_or_default());
        let mut seen = trace.map_or_else(Observed::default, |it| observe(&it, lines.len()));
        if ran.status.code() == Some(TIMED_OUT) {
            seen.problems.push("it does not end".to_owned());
        }
        seen
    }

    /// A script that runs each line at its place.
    fn script(&self, lines: &[(usize, String)]) -> String {
        let mut script = "ulimit -t 20\n".to_owned();
        for (place, line) in lines {
            let folder = self.places[*place].display();
            let quoted = line.replace('\'', "'\\''");
            // A subshell takes half as long as a new `bash`.
            script += &format!("(cd '{folder}' && eval '{quoted}') </dev/null >/dev/null 2>&1\n");
        }
        script
    }

    /// The arguments that put a command in a sandbox.
    fn sandbox(&self) -> Vec<OsString> {
        let machine = "bwrap --ro-bind / / --dev /dev --proc /proc --unshare-all --die-with-parent";
        let mut words: Vec<OsString> = machine.split(' ').map(OsString::from).collect();
        for folder in [self.home().as_path(), self.logs.path()] {
            words.extend(["--bind".into(), folder.into(), folder.into()]);
        }
        words.push("--".into());
        words
    }
}

/// The system calls that strace logs.
const TRACED: &str = "trace=execve,execveat,open,openat,openat2,creat,connect,sendto,unlink,unlinkat,\
    rename,renameat2,mkdir,symlink,link,chmod,fchmodat,truncate";

/// Creates a repository with a commit, a tag, and a changed file.
fn repository(top: &Path) {
    fs::create_dir_all(top.join("src")).unwrap();
    fs::write(top.join("a"), "text\n").unwrap();
    fs::write(top.join("src/b.rs"), "fn main() {}\n").unwrap();
    for arguments in [
        "init -q -b main",
        "add .",
        "-c user.name=a -c user.email=a@b commit -q -m first",
        "tag v1",
    ] {
        let mut git = Command::new("git");
        git.args(arguments.split(' '))
            .current_dir(top)
            .env("HOME", "/nowhere");
        assert!(git.status().unwrap().success());
    }
    fs::write(top.join("a"), "other\n").unwrap();
}

fn append(file: &Path, text: &str) {
    let old = fs::read_to_string(file).unwrap();
    fs::write(file, old + text).unwrap();
}

fn works(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .output()
        .is_ok_and(|it| it.status.success())
}

fn holds() -> bool {
    static HOLDS: OnceLock<bool> = OnceLock::new();
    *HOLDS.get_or_init(|| works("bwrap", &["--ro-bind", "/", "/", "--unshare-all", "true"]))
}

fn traces() -> bool {
    static TRACES: OnceLock<bool> = OnceLock::new();
    *TRACES.get_or_init(|| works("strace", &["-f", "true"]))
}

/// Parses a trace: programs that ran, files opened for writing, connections, and changes.
fn observe(trace: &str, lines: usize) -> Observed {
    let mut seen = Observed {
        lines,
        ..Observed::default()
    };
    for line in trace.lines() {
        let call = line.split_once(' ').map_or("", |(_, it)| it.trim_start());
        // `???(` is a call of a process that was killed before strace could decode it.
        if call.is_empty() || call.starts_with("???(") {
            continue;
        }
        let failed = call.contains(") = -1 ") || call.contains("resumed>");
        seen.execs += usize::from(call.starts_with("exec") && !failed);
        seen.opens += usize::from(call.starts_with("open") || call.starts_with("creat"));
        if is_problem(call, failed) {
            seen.problems.push(call.to_owned());
        }
    }
    seen
}

/// Whether an approved command must not make this system call.
fn is_problem(call: &str, failed: bool) -> bool {
    let target = call.split('"').nth(1).unwrap_or_default();
    let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"];
    let is_one_of = |names: [&str; 2]| names.iter().any(|it| call.starts_with(it));
    if call.starts_with("exec") {
        !failed && !is_listed(Path::new(target))
    } else if is_one_of(["open", "creat"]) {
        let is_write = call.starts_with("creat") || writes.iter().any(|it| call.contains(it));
        is_write && target != "/dev/null" && target != "/dev/tty"
    } else if is_one_of(["connect", "sendto"]) {
        // The C library asks these for names of users, although no service answers.
        !call.contains("/nscd/") && !call.contains("AF_NETLINK")
    } else {
        // The other lines report signals, exits, and unfinished calls.
        !failed && !call.starts_with(['+', '-', '<'])
    }
}

/// Whether a program may run: a listed program, the shell, or a part of Git.
fn is_listed(program: &Path) -> bool {
    let name = program
        .file_name()
        .and_then(|it| it.to_str())
        .unwrap_or_default();
    let is_of_list = super::super::table::rule(name).is_some();
    let is_own = matches!(name, "bash" | "sh" | "dash" | "which.debianutils" | "node")
        || name.starts_with("git-");
    path::is_system_program(program) && (is_of_list || is_own)
        || program.starts_with("/usr/libexec/git-core")
        || program.starts_with("/usr/lib/git-core")
        || program.starts_with("/usr/local/libexec/git-core")
}
