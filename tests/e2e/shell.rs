//! The command line: the real program in its own folder, which sees nothing of the machine except
//! `$PATH`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use harness::{PATIENCE, Provider};
use tempfile::TempDir;

/// A working folder and an environment.
pub struct Shell {
    home: TempDir,
    environment: Vec<(&'static str, String)>,
}

/// The output and exit code of a command.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Shell {
    /// A shell that is directed to `provider`.
    pub fn new(provider: &Provider) -> Self {
        let mut shell = Self::offline();
        shell.environment = provider.environment();
        shell
    }

    /// A shell without a provider.
    pub fn offline() -> Self {
        let home = tempfile::Builder::new()
            .prefix("flemma-test-")
            .tempdir()
            .unwrap();
        for folder in ["work", "config/flemma", "tmp"] {
            fs::create_dir_all(home.path().join(folder)).unwrap();
        }
        let shell = Self {
            home,
            environment: Vec::new(),
        };
        shell.configure("");
        shell
    }

    /// Sets an environment variable.
    pub fn set(&mut self, name: &'static str, value: &str) {
        self.environment.push((name, value.to_owned()));
    }

    /// The home directory, which contains everything, including the working directory.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// The working directory.
    pub fn dir(&self) -> PathBuf {
        self.home.path().join("work")
    }

    /// The path of a file in the working directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir().join(name)
    }

    /// Writes a file in the working directory.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes the configuration file. The sandbox is off unless the file configures it, so that a test
    /// does the same on a machine without one.
    pub fn configure(&self, toml: &str) {
        let mut toml = toml.to_owned();
        if !toml.contains("sandbox") {
            toml.push_str("\n[sandbox]\nenabled = false\n");
        }
        fs::write(self.home.path().join("config/flemma/config.toml"), toml).unwrap();
    }

    /// The text of a file in the working directory.
    #[track_caller]
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// A command that runs `flemma` with these arguments.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flemma"));
        let home = self.home.path();
        command
            .args(arguments)
            .current_dir(self.dir())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home)
            .env("TMPDIR", home.join("tmp"))
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("XDG_STATE_HOME", home.join("state"))
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs `flemma` without standard input.
    #[track_caller]
    pub fn run(&self, arguments: &[&str]) -> Ran {
        read(&self.command(arguments).output().unwrap())
    }

    /// Runs `flemma` with this standard input.
    #[track_caller]
    pub fn run_with(&self, arguments: &[&str], input: &str) -> Ran {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // Fails if the program ends without reading.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        read(&child.wait_with_output().unwrap())
    }

    /// Runs `flemma` in a terminal in which these lines are typed.
    #[track_caller]
    pub fn at_terminal(&self, arguments: &[&str], lines: &[&str]) -> Ran {
        const SPAWN: &str = "import os, pty, sys\n\
            sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
        let flemma = self.command(arguments);
        let environment = flemma.get_envs();
        let mut child = Command::new("python3")
            .args(["-c", SPAWN])
            .arg(flemma.get_program())
            .args(flemma.get_args())
            .current_dir(self.dir())
            .env_clear()
            .envs(environment.filter_map(|(key, value)| Some((key, value?))))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        for line in lines {
            writeln!(stdin, "{line}").unwrap();
        }
        let ran = child.wait_with_output().unwrap();
        drop(stdin);
        read(&ran)
    }

    /// Starts `flemma` in the background.
    #[track_caller]
    pub fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).spawn().unwrap()
    }

    /// Waits until a file contains a text.
    #[track_caller]
    pub fn wait_file(&self, name: &str, text: &str) {
        wait(&format!("{text:?} in {name}"), || {
            fs::read_to_string(self.path(name)).is_ok_and(|it| it.contains(text))
        });
    }
}

/// Waits for a condition.
#[track_caller]
pub fn wait(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "timed out waiting for: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits for a program to end, and returns its output.
#[track_caller]
pub fn end(child: Child) -> Ran {
    read(&child.wait_with_output().unwrap())
}

fn read(output: &Output) -> Ran {
    Ran {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The worker process of a command, given its watcher.
#[track_caller]
pub fn worker(child: &Child) -> u32 {
    let mut found = None;
    wait("the process that works", || {
        found = crate::processes::children(child.id()).first().copied();
        found.is_some()
    });
    found.unwrap()
}

/// The sorted names in a folder.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The same for a folder that may not exist.
pub fn names_in(folder: &Path) -> Vec<String> {
    if folder.is_dir() {
        names(folder)
    } else {
        Vec::new()
    }
}
