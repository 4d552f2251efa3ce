//! How an editor is started: files, options, environment, and size. Of the machine, Neovim only sees
//! `$PATH`: home, configuration, state, and temporary files are in a folder that is removed with it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::{Editor, PATIENCE, Provider};

/// The root of the repository, which is also the plugin.
pub fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

/// The tested Neovim: `$FLEMMA_NVIM`, whose path may start from the repository, or else the one that
/// `make test` installs, or else the one in `$PATH`.
pub fn neovim() -> PathBuf {
    if let Some(named) = std::env::var_os("FLEMMA_NVIM").filter(|named| !named.is_empty()) {
        let file = repository().join(named);
        assert!(
            file.is_file(),
            "$FLEMMA_NVIM is {}, which is not a file.",
            file.display()
        );
        return file;
    }
    let installed = repository().join(".tools/bin/nvim");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join("nvim"));
    std::iter::once(installed)
        .chain(on_path)
        .find(|file| file.is_file())
        .unwrap_or_else(|| panic!("There is no Neovim to test with. Run `make test`."))
}

/// How to start an [`Editor`]. By default, an empty Neovim of 100 by 30 cells with the plugin's
/// default options.
#[derive(Default)]
pub struct Setup {
    files: Vec<(String, Vec<u8>)>,
    opened: Option<String>,
    commands: Vec<String>,
    options: Option<Json>,
    init: Option<String>,
    environment: Vec<(String, OsString)>,
    size: Option<(u64, u64)>,
    patience: Option<Duration>,
    base: Option<PathBuf>,
    small_disk: Option<(&'static str, u64)>,
}

impl Setup {
    /// A Neovim with the plugin and no files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes a file to the editor's folder and opens it.
    pub fn file(mut self, name: &str, text: &str) -> Self {
        self.opened = Some(name.to_owned());
        self.with(name, text)
    }

    /// Writes a file to the editor's folder, which is its working directory.
    pub fn with(mut self, name: &str, content: impl AsRef<[u8]>) -> Self {
        let content = content.as_ref().to_vec();
        self.files.push((name.to_owned(), content));
        self
    }

    /// The options of `require("flemma").setup()`, without functions. The sandbox is off unless they
    /// configure it.
    pub fn options(mut self, options: Json) -> Self {
        self.options = Some(options);
        self
    }

    /// Lua that runs instead of `setup()`: for options that contain functions, or empty for a Neovim
    /// in which the plugin is not set up.
    pub fn init(mut self, lua: &str) -> Self {
        self.init = Some(lua.to_owned());
        self
    }

    /// An environment variable of Neovim and everything it starts.
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.push((name.to_owned(), value.into()));
        self
    }

    /// The host binary, as in `.host(env!("CARGO_BIN_EXE_flemma"))`.
    pub fn host(self, binary: impl AsRef<Path>) -> Self {
        self.env("FLEMMA_HOST", binary.as_ref())
    }

    /// Sets the environment variables that direct programs to `provider`.
    pub fn provider(mut self, provider: &Provider) -> Self {
        for (name, value) in provider.environment() {
            self = self.env(name, value);
        }
        self
    }

    /// The columns and rows of the screen.
    pub fn size(mut self, columns: u64, rows: u64) -> Self {
        self.size = Some((columns, rows));
        self
    }

    /// An Ex command that Neovim runs before `VimEnter`, as with `nvim -c`.
    pub fn command(mut self, command: &str) -> Self {
        self.commands.push(command.to_owned());
        self
    }

    /// Creates all of its files in this folder instead of that for temporary files.
    pub fn base(mut self, folder: PathBuf) -> Self {
        self.base = Some(folder);
        self
    }

    /// Gives a folder of the editor (`work`, `state`) a file system of its own of this size in bytes.
    /// Only Neovim and what it starts see it: [`Editor::dir`] shows the folder as it was before.
    pub fn small_disk(mut self, folder: &'static str, size: u64) -> Self {
        self.small_disk = Some((folder, size));
        self
    }

    /// How long waits may take; [`PATIENCE`] by default.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = Some(patience);
        self
    }

    /// Starts Neovim, attaches a screen, and waits until it has started.
    #[track_caller]
    pub fn start(self) -> Editor {
        Editor::start(self)
    }

    pub(crate) fn screen_size(&self) -> (u64, u64) {
        self.size.unwrap_or((100, 30))
    }

    pub(crate) fn chosen_patience(&self) -> Duration {
        self.patience.unwrap_or(PATIENCE)
    }

    /// Starts the process in a new folder. It waits for a screen.
    pub(crate) fn spawn(self) -> (Child, TempDir) {
        let base = self.base.clone().unwrap_or_else(std::env::temp_dir);
        let home = tempfile::Builder::new()
            .prefix("flemma-test-")
            .tempdir_in(base)
            .unwrap_or_else(|error| panic!("no temporary folder: {error}"));
        let work = home.path().join("work");
        for folder in ["work", "run", "tmp", "state/nvim"] {
            create(&home.path().join(folder));
        }
        for (name, content) in &self.files {
            let path = work.join(name);
            create(path.parent().unwrap_or(&work));
            fs::write(&path, content).unwrap_or_else(|error| panic!("write {name}: {error}"));
        }
        let mut command = match self.small_disk {
            Some((folder, size)) => on_small_disk(&home.path().join(folder), size),
            None => Command::new(neovim()),
        };
        command
            .args(["--embed", "--clean", "-u"])
            .arg(repository().join("tests/init.lua"))
            .args(self.opened.iter())
            .args(self.commands.iter().flat_map(|it| ["-c", it]))
            .current_dir(&work)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        self.set_environment(&mut command, home.path());
        let child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{} does not start: {error}", neovim().display()));
        (child, home)
    }

    fn set_environment(&self, command: &mut Command, home: &Path) {
        command.env_clear();
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        for (name, value) in [
            ("LANG", "C.UTF-8"),
            // As at users: without it, each bash reads the user database.
            ("SHELL", "/bin/sh"),
            ("TERM", "xterm-256color"),
        ] {
            command.env(name, value);
        }
        for (name, folder) in [
            ("HOME", ""),
            ("TMPDIR", "tmp"),
            ("XDG_CACHE_HOME", "cache"),
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_DATA_HOME", "data"),
            ("XDG_RUNTIME_DIR", "run"),
            ("XDG_STATE_HOME", "state"),
        ] {
            command.env(name, home.join(folder));
        }
        if self.init.is_none() {
            let mut options = self.options.clone().unwrap_or_else(|| json!({}));
            // So that a test does the same on a machine without a sandbox.
            if options.get("sandbox").is_none() {
                options["sandbox"] = json!({"enabled": false});
            }
            command.env("FLEMMA_TEST_OPTIONS", options.to_string());
        }
        if let Some(init) = &self.init {
            command.env("FLEMMA_TEST_INIT", init);
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
    }
}

/// The start of Neovim's command line, in a namespace in which a folder is a small disk with the
/// files of the folder.
fn on_small_disk(folder: &Path, size: u64) -> Command {
    let script = "set -e
        mount -t tmpfs -o size=$2 small /mnt
        cp -a \"$1/.\" /mnt
        mount --move /mnt \"$1\"
        cd \"$PWD\"
        shift 2
        exec \"$@\"";
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
        .arg("sh")
        .arg(folder)
        .arg(size.to_string())
        .arg(neovim());
    command
}

fn create(folder: &Path) {
    fs::create_dir_all(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
}
