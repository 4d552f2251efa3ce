//! What a command in the sandbox can reach: a real command of a real chat tries each
//! probe of the table, as root and as an ordinary user, with the results that the manual
//! states. Without a working bubblewrap, the tests only say so.

mod table;

use std::fmt::Write;
use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{PermissionsExt, lchown};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use harness::{Answer, Provider};
use serde_json::json;
use tempfile::TempDir;

use crate::shell::{Shell, end};
use crate::stage::QUESTION;
use table::{PROBES, Probe, Verdict, WITHOUT_NETWORK};

/// The user id of `nobody` on Linux.
const NOBODY: u32 = 65_534;
/// Minimum number of probes, to notice if the table gets lost.
const FEWEST: usize = 95;
/// Time limit of all probes together, in seconds.
const LIMIT: u32 = 300;

/// Everything that a command must not reach. It exists for one run only.
struct World {
    shell: Shell,
    in_tmp: TempDir,
    in_shm: tempfile::NamedTempFile,
    victim: Child,
    abstract_name: String,
    tcp: std::net::TcpListener,
    _sockets: Vec<UnixListener>,
    _datagrams: UnixDatagram,
    user: u32,
}

impl World {
    fn new(user: u32, provider: &Provider, network: &str) -> Self {
        let shell = Shell::new(provider);
        shell.configure(&format!("[sandbox.policy]\nnetwork = {network}\n"));
        let in_tmp = tempfile::Builder::new()
            .prefix("flemma-probe-")
            .tempdir_in("/tmp")
            .unwrap();
        let abstract_name = format!("flemma-probe-{}", provider.address().port());
        let mut world = Self {
            in_shm: tempfile::NamedTempFile::new_in("/dev/shm").unwrap(),
            victim: sleeper(),
            tcp: std::net::TcpListener::bind("127.0.0.1:0").unwrap(),
            _sockets: Vec::new(),
            _datagrams: UnixDatagram::unbound().unwrap(),
            shell,
            in_tmp,
            abstract_name,
            user,
        };
        world.files();
        world.sockets();
        for folder in [world.shell.home(), world.in_tmp.path()] {
            give(folder, user);
        }
        world
    }

    fn files(&self) {
        let home = self.shell.home();
        for (path, text) in [
            ("outside/old", "old"),
            (".bashrc", ""),
            (".profile", ""),
            (".gitconfig", ""),
            (".ssh/id_work", "key"),
            (".ssh/known_hosts", "host"),
            (".aws/credentials", "key"),
            (".bash_history", "export KEY=1"),
            ("work/.env", "KEY=1"),
            ("work/deep/er/.env", "KEY=1"),
            ("work/a.chat", QUESTION),
            ("work/other.chat", QUESTION),
            ("work/.envrc", ""),
            ("work/.mcp.json", "{}"),
            ("work/.vscode/settings.json", "{}"),
            ("work/.git/config", "[core]\n"),
            ("work/.git/HEAD", "ref: refs/heads/main\n"),
            ("work/.git/hooks/post-commit.sample", ""),
            ("work/.git/objects/x", ""),
            ("work/.git/refs/x", ""),
            ("state/nvim/flemma/old", ""),
            ("config/autostart/old", ""),
        ] {
            let path = home.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::hard_link(home.join("work/.env"), home.join("work/another-name")).unwrap();
        let chats = home.join("state/nvim/flemma/chat-tmp");
        fs::create_dir_all(chats.join("other")).unwrap();
        fs::set_permissions(&chats, fs::Permissions::from_mode(0o700)).unwrap();
        fs::write(chats.join("other/secret"), "").unwrap();
        fs::write(self.in_tmp.path().join("secret"), "").unwrap();
    }

    fn sockets(&mut self) {
        let (home, tmp) = (self.shell.home().to_owned(), self.in_tmp.path().to_owned());
        let at_home = [
            "agent",
            ".ssh/agent/s",
            ".gnupg/S.gpg-agent",
            "run/bus",
            "run/gnupg/S.gpg-agent",
            "run/docker.sock",
            "run/wayland-0",
            "work/nvim.sock",
            "work/db/s.5432",
            "outside/s",
            "outside/a socket",
        ];
        let paths = at_home.map(|name| home.join(name)).into_iter();
        for path in paths.chain(["tmux", "X0", "nvim.sock"].map(|name| tmp.join(name))) {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            self._sockets.push(UnixListener::bind(path).unwrap());
        }
        let address = SocketAddr::from_abstract_name(&self.abstract_name).unwrap();
        self._sockets
            .push(UnixListener::bind_addr(&address).unwrap());
        self._datagrams = UnixDatagram::bind(home.join("outside/d")).unwrap();
    }

    /// A script with all probes. Each prints its number and whether it succeeded.
    fn script(&self, probes: &[&Probe]) -> String {
        let home = self.shell.home().display();
        let mut script = include_str!("probes/prelude.sh").to_owned();
        for (name, value) in [
            ("IN_TMP", self.in_tmp.path().display().to_string()),
            (
                "OTHER_CHAT",
                format!("{home}/state/nvim/flemma/chat-tmp/other"),
            ),
            ("RUNTIME", format!("{home}/run")),
            ("SSH_AGENT", format!("{home}/agent")),
            ("XDG_CONFIG_HOME", format!("{home}/config")),
            ("XDG_STATE_HOME", format!("{home}/state")),
            ("ABSTRACT", self.abstract_name.clone()),
            (
                "IN_SHM",
                self.in_shm
                    .path()
                    .file_name()
                    .unwrap()
                    .display()
                    .to_string(),
            ),
            ("VICTIM", self.victim.id().to_string()),
            ("PORT", self.tcp.local_addr().unwrap().port().to_string()),
        ] {
            writeln!(script, "{name}={value}").unwrap();
        }
        for (number, Probe { line, .. }) in probes.iter().enumerate() {
            writeln!(
                script,
                "( {line} ) >> said 2>&1 < /dev/null && echo {number} yes >> results || echo {number} no >> results"
            )
            .unwrap();
        }
        script
    }

    /// Runs the probes in a command of a chat, or in its trial. Returns which of them succeeded.
    fn run(&self, probes: &[&Probe], is_tried: bool) -> Vec<bool> {
        // What is written in a trial is not in the project, so its last lines say it too.
        let shown =
            "awk '{ printf \"%s\", $2 == \"yes\" ? \"+\" : \"-\" }' results | fold -w 60; echo\n";
        self.shell
            .write("probes.sh", &(self.script(probes) + shown));
        give(self.shell.home(), self.user);
        let mut command = self.shell.command(if is_tried {
            &["send", "--trial", "a.chat"]
        } else {
            &["send", "--approve", "bash", "a.chat"]
        });
        for (name, value) in self.environment() {
            command.env(name, value);
        }
        if self.user == NOBODY {
            command.uid(NOBODY).gid(NOBODY);
        }
        let mut child = command.spawn().unwrap();
        let mut late = None;
        // On a busy machine, the probes take longer than the usual patience of tests.
        while child.try_wait().unwrap().is_none() {
            if late.is_none() && self.shell.path("listen").exists() {
                let path = self.shell.home().join("outside/late");
                late = Some(UnixListener::bind(&path).unwrap());
                give(&path, self.user);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let ran = end(child);
        if is_tried {
            assert!(!self.shell.path("results").exists());
            let shown = ran
                .err
                .lines()
                .filter_map(|it| it.strip_prefix("[flemma]   "));
            let shown: String = shown.filter(|it| it.starts_with(['+', '-'])).collect();
            assert_eq!(shown.len(), probes.len(), "{ran:?}");
            return shown.chars().map(|it| it == '+').collect();
        }
        assert_eq!(ran.code, Some(0), "{ran:?}\n{}", self.shell.read("a.chat"));
        let results = self.shell.read("results");
        assert_eq!(results.lines().count(), probes.len(), "{results}");
        results.lines().map(|line| line.ends_with("yes")).collect()
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        let home = self.shell.home().display();
        vec![
            ("XDG_RUNTIME_DIR", format!("{home}/run")),
            ("SSH_AUTH_SOCK", format!("{home}/agent")),
            (
                "DBUS_SESSION_BUS_ADDRESS",
                format!("unix:path={home}/run/bus"),
            ),
            ("NVIM", format!("{home}/work/nvim.sock")),
            ("TMUX", format!("{}/tmux,1,0", self.in_tmp.path().display())),
            ("CARGO_HOME", format!("{home}/.cargo")),
            ("ANTHROPIC_API_KEY", "secret".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "secret".to_owned()),
            ("GITHUB_TOKEN", "secret".to_owned()),
            ("MY_SECRET", "secret".to_owned()),
            ("DATABASE_URL", "postgres://me:secret@db/".to_owned()),
            ("HTTPS_PROXY", "http://me:secret@127.0.0.1:9".to_owned()),
            ("NO_PROXY", "127.0.0.1".to_owned()),
        ]
    }

    fn is_untouched(&self) -> bool {
        let outside = self.shell.home().join("outside");
        fs::read_to_string(outside.join("old")).is_ok_and(|it| it == "old")
            && !outside.join("new").exists()
            && !Path::new("/etc/flemma-probe").exists()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
    }
}

/// A process that a command must neither see nor reach.
fn sleeper() -> Child {
    let mut sleeper = Command::new("sh");
    sleeper
        .args(["-c", "read line", "flemma-victim"])
        .stdin(Stdio::piped());
    sleeper.spawn().unwrap()
}

/// Makes a user the owner of a file, or of a folder and its content.
fn give(path: &Path, user: u32) {
    if user != NOBODY {
        return;
    }
    lchown(path, Some(user), Some(user)).unwrap();
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path).unwrap().flatten() {
            give(&entry.path(), user);
        }
    }
}

/// The users whose commands are tested: root and an ordinary user, as far as possible.
fn users() -> Vec<u32> {
    match rustix::process::getuid().as_raw() {
        0 if is_for_all(Path::new(env!("CARGO_BIN_EXE_flemma"))) => vec![0, NOBODY],
        0 => {
            eprintln!("skipped as nobody: other users cannot start the program where it was built");
            vec![0]
        }
        own => vec![own],
    }
}

fn is_for_all(file: &Path) -> bool {
    let is_open = |path: &Path| {
        path.metadata()
            .is_ok_and(|it| it.permissions().mode() & 0o001 != 0)
    };
    file.ancestors().all(is_open)
}

/// Fails if the result of a probe differs from the table.
#[track_caller]
fn try_all(probes: &[&Probe], network: &str, is_tried: bool) {
    for user in users() {
        let call = json!({"label": "", "command": "bash ./probes.sh", "timeout": LIMIT});
        let provider = Provider::anthropic([
            Answer::new().tool_use("t_1", "bash", &call),
            Answer::says("Well."),
        ]);
        let world = World::new(user, &provider, network);
        let passed = world.run(probes, is_tried);
        let wrong: Vec<&str> = probes
            .iter()
            .zip(passed)
            .filter(|(probe, passed)| *passed != matches!(probe.verdict, Verdict::Allowed(_)))
            .map(|(probe, _)| probe.what)
            .collect();
        assert_eq!(
            wrong,
            [""; 0],
            "as user {user}:\n{}",
            fs::read_to_string(world.shell.path("said")).unwrap_or_default()
        );
        assert!(world.is_untouched());
    }
}

#[test]
fn a_command_reaches_only_what_the_manual_says() {
    let name = "a_command_reaches_only_what_the_manual_says";
    if !crate::sandbox::holds(name) {
        return;
    }
    let all: Vec<&Probe> = PROBES.iter().flat_map(|(_, probes)| *probes).collect();
    let count = all.len() + WITHOUT_NETWORK.len();
    assert!(count >= FEWEST, "{count}");
    try_all(&all, "true", false);
}

#[test]
fn a_command_without_the_network_reaches_none() {
    let name = "a_command_without_the_network_reaches_none";
    if crate::sandbox::holds(name) {
        try_all(&WITHOUT_NETWORK.iter().collect::<Vec<_>>(), "false", false);
    }
}

#[test]
fn a_command_with_listed_hosts_reaches_no_others() {
    let name = "a_command_with_listed_hosts_reaches_no_others";
    if crate::sandbox::holds(name) {
        let hosts = "{ allow = ['*.example.org', '127.0.0.1:1'] }";
        try_all(&WITHOUT_NETWORK.iter().collect::<Vec<_>>(), hosts, false);
    }
}

#[test]
fn a_trial_reaches_no_more_than_a_command_without_the_network() {
    if crate::sandbox::overlays("a_trial_reaches_no_more_than_a_command_without_the_network") {
        let others = PROBES.iter().filter(|it| it.0 != "Network");
        let all = others.flat_map(|(_, probes)| *probes);
        // That socket is made when the command asks for it in the project.
        let asks = |it: &&Probe| it.line.contains("listen");
        let all = all.chain(WITHOUT_NETWORK).filter(|it| !asks(it));
        let all: Vec<&Probe> = all.collect();
        try_all(&all, "true", true);
    }
}

/// The width of the manual.
const WIDTH: usize = 78;

/// Formats a list of probes like the manual.
fn list(probes: &[Probe], text: &mut String) {
    for Probe { what, verdict, .. } in probes {
        let (word, why) = match verdict {
            Verdict::Denied => ("denied ", ""),
            Verdict::Allowed(why) => ("allowed", *why),
        };
        let mut line = format!("    {word}  {what}");
        if !why.is_empty() {
            line.push(':');
        }
        for part in why.split_whitespace() {
            if line.lines().next_back().map_or(0, |it| it.chars().count()) + part.len() >= WIDTH {
                line.push_str("\n            ");
            }
            line.push(' ');
            line.push_str(part);
        }
        writeln!(text, "{line}").unwrap();
    }
}

#[test]
fn the_manual_lists_the_probes() {
    let mut expected = String::new();
    for (title, probes) in PROBES {
        writeln!(expected, "\n{title} ~").unwrap();
        list(probes, &mut expected);
    }
    expected.push_str("\nWith `network = false`, or with a list of other hosts ~\n");
    list(WITHOUT_NETWORK, &mut expected);
    expected.push('\n');
    let path: PathBuf = harness::repository().join("doc/flemma.txt");
    let manual = fs::read_to_string(&path).unwrap();
    let begin = "*flemma-sandbox-probes*\n";
    let start = manual.find(begin).unwrap() + begin.len();
    let start = start + manual[start..].find("\n\n").unwrap() + 1;
    let stop = start + manual[start..].find("======").unwrap();
    if manual[start..stop] == expected {
        return;
    }
    if std::env::var_os("UPDATE_DOC").is_some() {
        let updated = format!("{}{expected}{}", &manual[..start], &manual[stop..]);
        return fs::write(path, updated).unwrap();
    }
    panic!("doc/flemma.txt does not list the probes; run the tests with UPDATE_DOC=1");
}
