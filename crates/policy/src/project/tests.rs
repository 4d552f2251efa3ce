//! Which file is a project's, and when it is trusted.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;
use tempfile::TempDir;

use super::*;

/// A home folder with a project `home/p` and a folder `home/p/src/deep` in it.
struct Stage {
    folder: TempDir,
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("home/p/src/deep")).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn found(&self, folder: &str) -> Option<PathBuf> {
        nearest_below(&self.path(folder), Some(&self.path("home")), CONFIG)
    }

    fn trust(&self) -> Trust {
        Trust::open(&self.path("state"))
    }

    fn read(&self) -> ProjectConfig {
        ProjectConfig::read(self.path("home/p/.flemma/config.toml"), &self.trust())
    }
}

fn settings() -> Settings {
    Settings::read(&json!({}), &Registry::builtin()).0
}

#[test]
fn the_nearest_folder_counts() {
    let stage = Stage::new();
    assert_eq!(stage.found("home/p/src/deep"), None);
    stage.write("home/p/.flemma/config.toml", "");
    let outer = stage.path("home/p/.flemma/config.toml");
    assert_eq!(stage.found("home/p/src/deep"), Some(outer.clone()));
    assert_eq!(stage.found("home/p"), Some(outer.clone()));
    stage.write("home/p/src/.flemma/config.toml", "");
    let inner = stage.path("home/p/src/.flemma/config.toml");
    assert_eq!(stage.found("home/p/src/deep"), Some(inner));
    assert_eq!(stage.found("home/p"), Some(outer));
}

#[test]
fn the_home_folder_is_a_project_only_for_itself_and_nothing_above_it_is_one() {
    let stage = Stage::new();
    stage.write(".flemma/config.toml", "");
    assert_eq!(stage.found("home/p"), None);
    assert_eq!(stage.found("home"), None);
    stage.write("home/.flemma/config.toml", "");
    assert_eq!(stage.found("home/p"), None);
    let own = stage.path("home/.flemma/config.toml");
    assert_eq!(stage.found("home"), Some(own));
    // Also where $HOME is a link to it.
    symlink(stage.path("home"), stage.path("link")).unwrap();
    let folder = stage.path("home/p");
    assert_eq!(
        nearest_below(&folder, Some(&stage.path("link")), CONFIG),
        None
    );
    // Elsewhere, all folders above count.
    fs::create_dir(stage.path("other")).unwrap();
    assert_eq!(
        stage.found("other"),
        Some(stage.path(".flemma/config.toml"))
    );
}

#[test]
fn trust_is_for_exactly_this_text_in_this_file() {
    let stage = Stage::new();
    stage.write("home/p/.flemma/config.toml", "model = \"x\"\n");
    let config = stage.read();
    assert!(!config.trusted);
    let reading = config.apply(&settings(), None);
    assert_eq!(reading.settings.model, None);
    assert!(config.messages(&reading)[0].contains(
        "config.toml has settings that do not apply until you have read it and agree with \
         :Flemma trust project. Line 1 would set model to \"x\"."
    ));

    config.trust(&stage.trust()).unwrap();
    let config = stage.read();
    let reading = config.apply(&settings(), None);
    assert_eq!(reading.settings.model.as_deref(), Some("x"));
    assert_eq!(config.messages(&reading), [""; 0]);

    stage.write("home/p/.flemma/config.toml", "model = \"y\"\n");
    assert!(!stage.read().trusted);
    stage.write("home/p/.flemma/config.toml", "model = \"x\"\n");
    assert!(stage.read().trusted, "it was agreed to");
}

#[test]
fn a_file_that_cannot_be_read_is_reported_and_makes_calls_ask() {
    let stage = Stage::new();
    let path = stage.path("home/p/.flemma/config.toml");
    let said = |why: &str, line: usize| {
        let config = stage.read();
        let reading = config.apply(&settings(), None);
        assert_eq!(reading.settings.policy().approve.len(), 0, "{why}");
        let messages = config.messages(&reading);
        assert_eq!(messages.len(), 1);
        assert!(messages[0].contains(why), "{messages:?}");
        assert!(
            messages[0].contains(&format!(", line {line}: ")),
            "{messages:?}"
        );
    };
    stage.write("home/p/.flemma/config.toml", "a = 1\nb = [\n");
    said(
        "Until that is corrected, every call needs your approval.",
        2,
    );
    fs::write(&path, "#".repeat(300_000)).unwrap();
    said("It cannot be read: it is larger than 256 KB.", 1);
    fs::write(&path, b"\xff").unwrap();
    said("it is not UTF-8", 1);
    fs::remove_file(&path).unwrap();
    symlink("/etc/passwd", &path).unwrap();
    said("it is a symbolic link", 1);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    said("it is not a regular file", 1);
    fs::remove_dir(&path).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    said("it is not a regular file", 1);
    assert!(stage.read().trust(&stage.trust()).is_err());
}
