//! A folder with secrets for tests of shell commands.

use std::path::PathBuf;
use std::sync::Arc;

use crate::secrets::Secrets;
use crate::shell::{Machine, Needs, ShellLists, Unsafe, inspect};

/// The content of all secrets.
pub(super) const SECRET: &str = "hunter2 KEY\n";

/// A home folder with secrets, and a project in it.
pub(super) struct World {
    folder: tempfile::TempDir,
}

impl World {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let world = Self { folder };
        for secret in [
            ".ssh/id_ed25519",
            ".aws/credentials",
            ".netrc",
            ".docker/config.json",
            ".bash_history",
            "project/conf/.env",
        ] {
            world.write(secret, SECRET);
        }
        for file in [
            "README.md",
            "src/main.rs",
            "a",
            "b",
            "f",
            "x",
            "-exec",
            "-delete",
            "--output=x",
            "1{system(\"id\")}",
            "sums",
        ] {
            world.write(&format!("project/{file}"), "1 fn main\n");
        }
        let link = |to: &str, from: &str| {
            std::os::unix::fs::symlink(to, world.project().join(from)).unwrap()
        };
        link("../.ssh/id_ed25519", "link");
        link("../.ssh", "into");
        world
    }

    pub(super) fn home(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub(super) fn project(&self) -> PathBuf {
        self.home().join("project")
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        let file = self.home().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    pub(super) fn machine(&self) -> Machine {
        let variables = [
            ("HOME", self.home().display().to_string()),
            ("USER", "me".to_owned()),
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
        ];
        Machine {
            cwd: self.project(),
            variables: variables
                .map(|(name, value)| (name.into(), value.into()))
                .into(),
            secrets: Arc::new(Secrets::in_home(&self.home())),
            sandbox: true,
        }
    }

    pub(super) fn inspect(&self, command: &str) -> Result<Needs, Unsafe> {
        inspect(command, &ShellLists::default(), &self.machine())
    }

    #[track_caller]
    pub(super) fn refuses(&self, command: &str, machine: &Machine, with: &str) {
        let found = inspect(command, &ShellLists::default(), machine);
        let refusal = found.expect_err(command).to_string();
        assert!(refusal.contains(with), "{command}: {refusal}");
    }
}
