//! A scratch folder with traps, and runs of shells in it.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

use crate::secrets::Secrets;
use crate::shell::Machine;
use crate::shell::view::{self, State};

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
    /// System calls that changed something or left the view.
    pub problems: Vec<String>,
}

impl Observed {
    pub(super) fn add(&mut self, other: &Self) {
        self.lines += other.lines;
        self.execs += other.execs;
        self.opens += other.opens;
    }
}

pub(super) struct World {
    folder: tempfile::TempDir,
    places: Vec<PathBuf>,
}

impl World {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let project = home.join("project");
        let places = ["", "src", "clean", "hostile", "bare", "filters"];
        let world = Self {
            folder,
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
            sandbox: true,
        }
    }

    /// Everything below the home folder.
    pub(super) fn files(&self) -> BTreeMap<PathBuf, State> {
        view::files(&self.home())
    }

    /// Runs each line in a shell of its own, in the read-only view. `None` without a sandbox.
    pub(super) fn run(&self, lines: &[(usize, String)], traced: bool) -> Option<Observed> {
        let mut words = view::prefix(&self.home(), &self.home().join("project"), Some(&[]))?;
        let traced = traced && traces();
        if traced {
            let strace = ["strace", "-f", "-qq", "-s", "300", "-e", TRACED];
            words.extend(strace.map(OsString::from));
        }
        // The lines print nothing, so this is the trace.
        let trace = view::run(&words, &self.script(lines), &self.machine(0));
        assert!(!trace.contains("bwrap:"), "{trace}");
        Some(if traced {
            observe(&trace, lines.len())
        } else {
            Observed::default()
        })
    }

    /// A script that runs each line at its place.
    fn script(&self, lines: &[(usize, String)]) -> String {
        let line = |(place, line): &(usize, String)| {
            let guarded = view::guarded(line, &self.places[*place]);
            format!("{{ {guarded}}} >/dev/null 2>&1\n")
        };
        lines.iter().map(line).collect()
    }
}

/// The system calls that strace logs.
const TRACED: &str = "trace=execve,execveat,open,openat,openat2,creat,connect,unlink,unlinkat,\
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
    // The beginnings of calls that another process interrupted in the trace, by process.
    let mut begun: HashMap<&str, &str> = HashMap::new();
    let mut calls = Vec::new();
    for line in trace.lines() {
        // `[pid 12] ` precedes a call, except of the first process, and messages may precede that.
        let process = line.split_once("[pid ");
        let process = process.and_then(|(_, it)| it.split_once("] "));
        let (process, call) = process.unwrap_or(("", line));
        let call = call.trim_start();
        if let Some(start) = call.strip_suffix("<unfinished ...>") {
            begun.insert(process, start);
        } else if let Some((_, end)) = call
            .strip_prefix("<... ")
            .and_then(|it| it.split_once(" resumed>"))
        {
            let start = begun.remove(process).unwrap_or_default();
            calls.push(format!("{start}{end}"));
        } else {
            calls.push(call.to_owned());
        }
    }
    // Calls that never returned may have done their work.
    calls.extend(begun.into_values().map(str::to_owned));
    for call in calls {
        // `???(` is a call of a process that was killed before strace could decode it.
        if call.is_empty() || call.starts_with("???(") {
            continue;
        }
        // Only the end says so: arguments may contain the same words. strace pads it.
        let call = call.split_whitespace().collect::<Vec<_>>().join(" ");
        let result = call.rsplit_once(") = ").map(|(_, result)| result);
        let failed = result.is_some_and(|it| it.starts_with("-1 "));
        seen.execs += usize::from(call.starts_with("exec") && !failed);
        seen.opens += usize::from(call.starts_with("open") || call.starts_with("creat"));
        if !failed && is_problem(&call) {
            seen.problems.push(call);
        }
    }
    seen
}

/// Returns true if this system call, which succeeded, changes something outside of the view or leaves it.
fn is_problem(call: &str) -> bool {
    let target = call.split('"').nth(1).unwrap_or_default();
    // They are the view's own.
    if ["/dev/", "/proc/", "/run/"]
        .iter()
        .any(|it| target.starts_with(it))
    {
        return false;
    }
    let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"];
    match call.split('(').next().unwrap_or_default() {
        "execve" | "execveat" => false,
        "open" | "openat" | "openat2" => writes.iter().any(|it| call.contains(it)),
        // The other lines report signals, exits, and unfinished calls.
        name => TRACED.contains(name) && !name.is_empty() && !call.contains("AF_NETLINK"),
    }
}

#[test]
fn a_call_in_two_parts_counts_by_its_result() {
    let observed = |trace: &str| observe(trace, 1).problems;
    let begun = "[pid 7] openat(AT_FDCWD, \"/p/out\", O_WRONLY|O_CREAT, 0666 <unfinished ...>";
    let other = "[pid 8] openat(AT_FDCWD, \"/p/in\", O_RDONLY) = 3";
    let refused = "[pid 7] <... openat resumed>)      = -1 EROFS (Read-only file system)";
    assert_eq!(observed(&[begun, other, refused].join("\n")), [""; 0]);
    let made = "[pid 7] <... openat resumed>)      = 4";
    assert_eq!(observed(&[begun, other, made].join("\n")).len(), 1);
    // Killed before it returned.
    assert_eq!(observed(&[begun, other].join("\n")).len(), 1);
    // A file's name does not hide a call.
    let named = r#"openat(AT_FDCWD, "/p/[a] b) = -1 x", O_WRONLY|O_CREAT, 0666) = 4"#;
    assert_eq!(observed(named).len(), 1);
}
