//! Sorts what a command changed in a trial: what can be applied with a checkpoint, what Git ignores,
//! and what stands in the way.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use platform::paths::below;

use super::layer::{LayerChange, LayerChanges, Obstacle};
use crate::checkpoints::{FileState, changed_since, is_project};
use crate::git_index::GitIndex;
use crate::sandbox::{Overlay, Sandbox};

/// Ending of chats, which are never ignored.
const CHAT: &str = "chat";
/// The folder, or the file, of a repository in a project.
const GIT: &str = ".git";

/// A changed file or link of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileEffect {
    /// Its path in the project.
    pub path: PathBuf,
    /// Where the layer has it. `None` if the command removed it.
    pub source: Option<PathBuf>,
    /// The state in the project.
    pub before: FileState,
    /// The state after the command.
    pub after: FileState,
}

/// A command's changes.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// Files and links of projects, by path.
    pub files: Vec<FileEffect>,
    /// Changes without a checkpoint: of ignored files, new empty folders, and removed folders.
    pub others: Vec<LayerChange>,
    /// Files in the chat's own `/tmp`.
    pub tmp: Vec<LayerChange>,
    /// Ignored files and folders, with the number of changed files in each.
    pub ignored: BTreeMap<PathBuf, usize>,
    /// Folders of projects that the command made without files, or removed.
    pub folders: Vec<PathBuf>,
    /// Why the changes can't be applied: a clause about the command.
    pub obstacle: Option<String>,
}

/// Sorts changes. Files that were changed outside of the trial since `started`, in nanoseconds since
/// 1970, stand in the way. Blocking.
pub(crate) fn sort(
    found: LayerChanges,
    overlays: &[Overlay],
    sandbox: &Sandbox,
    started: i64,
) -> Effects {
    let tmp = sandbox.limits().and_then(|it| it.tmp.as_ref());
    let is_tmp = |number: usize| {
        let folder = overlays.get(number).map(|it| &it.folder);
        folder.is_some() && folder == tmp.map(|it| &it.folder)
    };
    let mut effects = Effects::default();
    let (mut rules, secrets) = (IgnoreRules::default(), sandbox.secrets());
    let mut place_of = |path: &Path, is_folder| {
        let place = rules.ignored(path, is_folder);
        place.filter(|_| !is_chat(path))
    };
    // What `/tmp` and ignored folders get besides files is dropped.
    let mut obstacles = found.obstacles.into_iter();
    let counts =
        |it: &Obstacle| !is_tmp(it.at.overlay) && place_of(&it.at.path, it.at.is_folder).is_none();
    effects.obstacle = obstacles.find(counts).map(|it| it.why);
    let mut projects = HashMap::new();
    for (path, change) in found.changes {
        if is_tmp(change.overlay) {
            effects.tmp.push(change);
            continue;
        }
        let top = overlays.get(change.overlay).map(|it| it.folder.clone());
        let top = top.unwrap_or_default();
        let shown = below(&path, &top);
        if path.components().any(|it| it.as_os_str() == GIT) {
            effects.obstacle("it changes Git's own files".to_owned());
        } else if sandbox.is_protected(&path) {
            effects.obstacle(format!("it changes {shown}, which is protected"));
        } else if secrets.find(&path).is_some() {
            effects.obstacle(format!("it changes {shown}, which is secret"));
        } else if let Some(place) = place_of(&path, change.is_folder) {
            *effects.ignored.entry(place).or_default() += usize::from(!change.is_folder);
            effects.others.push(change);
        } else if change.is_folder {
            effects.folders.push(path);
            effects.others.push(change);
        } else {
            let folder = path.parent().unwrap_or(&path).to_owned();
            // Found once per folder: that takes dozens of system calls.
            let has_checkpoints = projects.entry(folder);
            let has_checkpoints =
                *has_checkpoints.or_insert_with_key(|folder| is_project(&nearest(folder)));
            if !has_checkpoints {
                effects.obstacle(format!("{shown} is in no project that has checkpoints"));
            }
            effects.file(change, &shown, started);
        }
    }
    effects
}

fn is_chat(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == CHAT)
}

impl Effects {
    /// Adds a changed file of a project, unless it is as before.
    fn file(&mut self, change: LayerChange, shown: &str, started: i64) {
        let Some((before, after)) = change.file_states() else {
            return;
        };
        if changed_since(&change.path, started) {
            self.obstacle(format!("{shown} was changed meanwhile"));
        }
        for file_state in [&before, &after] {
            if let FileState::NotCovered(why) = file_state {
                self.obstacle(format!("of {shown}, {why}"));
            }
        }
        self.files.push(FileEffect {
            path: change.path,
            source: change.source,
            before,
            after,
        });
    }

    fn obstacle(&mut self, why: String) {
        self.obstacle.get_or_insert(why);
    }

    /// Returns true if nothing of a project changed, apart from ignored files.
    pub(crate) fn is_none(&self) -> bool {
        self.files.is_empty() && self.folders.is_empty() && self.obstacle.is_none()
    }
}

/// The nearest folder that exists outside of the trial.
fn nearest(folder: &Path) -> PathBuf {
    let there = folder.ancestors().find(|it| it.is_dir());
    there.unwrap_or(folder).to_owned()
}

// What a trial showed, in one of a few classes, and in words.

/// The outcome of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing changed, apart from ignored files.
    NoEffect,
    /// Files would change, as shown.
    Changes,
    /// It failed, and tried to reach the network.
    Network,
    /// It failed because of the view; the sign of that in its output.
    Hindered(&'static str),
    /// Its changes can't be applied: a clause about the command.
    CannotBeApplied(String),
    /// It was stopped at its time limit, or at the limit of what a trial may write: a clause.
    Stopped(String),
}

/// Signs in the output of a command that failed because of its view, and what is said of such a one
/// in the read-only view, to follow "asks:".
pub(crate) const SIGNS: [(&str, &str); 4] = [
    (
        "Read-only file system",
        "failed in the read-only view (Read-only file system)",
    ),
    // Also of a hidden secret, or of what is not shown of the home folder.
    (
        "Permission denied",
        "failed in the read-only view (Permission denied)",
    ),
    (
        "Operation not permitted",
        "failed in the read-only view (Operation not permitted)",
    ),
    (
        "Value too large for defined data type",
        "failed in the read-only view (Value too large)",
    ),
];

/// Facts about a trial that has ended.
#[derive(Debug)]
pub(super) struct Facts<'a> {
    /// The exit code. `None` if it was stopped, or killed by a signal.
    pub code: Option<i32>,
    /// Its output.
    pub output: &'a str,
    /// Packets that were refused.
    pub refused: u64,
    /// True if nothing of a project changed, apart from ignored files.
    pub is_without_effect: bool,
    /// Why its changes can't be applied.
    pub obstacle: Option<String>,
    /// Why it was stopped: a clause.
    pub stopped: Option<String>,
}

impl Outcome {
    /// Classifies a trial.
    pub(super) fn of(facts: Facts<'_>) -> Self {
        let failed = facts.code != Some(0);
        let mut signs = SIGNS.into_iter().map(|(sign, _)| sign);
        let sign = signs.find(|it| facts.output.contains(it));
        if let Some(why) = facts.stopped {
            Self::Stopped(why)
        } else if failed && facts.refused > 0 {
            Self::Network
        } else if let Some(sign) = sign.filter(|_| failed) {
            Self::Hindered(sign)
        } else if let Some(why) = facts.obstacle {
            Self::CannotBeApplied(why)
        } else if facts.is_without_effect {
            Self::NoEffect
        } else {
            Self::Changes
        }
    }

    /// Returns true if an approval takes the outcome instead of running the command.
    pub fn can_be_taken(&self) -> bool {
        matches!(self, Self::NoEffect | Self::Changes)
    }

    /// Why approving runs the command instead of taking the outcome: a clause. `None` if it takes it.
    pub fn reason(&self) -> Option<String> {
        Some(match self {
            Self::NoEffect | Self::Changes => return None,
            Self::Network => "it needs the network".to_owned(),
            Self::Hindered(sign) => format!("the trial did not allow it ({sign})"),
            Self::CannotBeApplied(why) | Self::Stopped(why) => why.clone(),
        })
    }
}

/// The clause about a time limit.
pub(super) fn time_limit(limit: Duration) -> String {
    format!("it took more than {} seconds", limit.as_secs_f64())
}

// Which files of a project Git ignores, by the rules as they are outside of a trial.
//
// Sources: gitignore(5), gitrepository-layout(5).

/// The rules of the repositories that paths are in.
#[derive(Default)]
pub(super) struct IgnoreRules {
    /// The `.gitignore` of each folder.
    of_folders: HashMap<PathBuf, Gitignore>,
    repositories: HashMap<PathBuf, Repository>,
}

/// The ignore rules and the tracked files of a repository.
struct Repository {
    exclude: Gitignore,
    user: Gitignore,
    /// The files in Git's index, which are never ignored. `None` if it can't be read.
    tracked: Option<HashSet<PathBuf>>,
}

impl IgnoreRules {
    /// The outermost ignored file or folder that `path` is, or is in. `None` if it is not ignored: also
    /// without a repository, and if Git's index can't be read.
    pub(super) fn ignored(&mut self, path: &Path, is_folder: bool) -> Option<PathBuf> {
        let root = path
            .ancestors()
            .skip(1)
            .find(|it| it.join(".git").exists())?;
        let root = root.to_owned();
        self.repositories
            .entry(root.clone())
            .or_insert_with(|| Repository::of(&root));
        let inside = path.strip_prefix(&root).ok()?;
        let mut at = root.clone();
        let mut parts = inside.components().peekable();
        let mut ignored = None;
        while let Some(part) = parts.next() {
            at.push(part);
            if self.match_rules(&at, is_folder || parts.peek().is_some(), &root) {
                ignored = Some(at.clone());
                break;
            }
        }
        let ignored = ignored?;
        let tracked = self.repositories.get(&root)?.tracked.as_ref()?;
        (!tracked.contains(inside)).then_some(ignored)
    }

    /// Returns true if a rule matches a path itself.
    fn match_rules(&mut self, path: &Path, is_folder: bool, root: &Path) -> bool {
        let folders = path.ancestors().skip(1);
        let folders: Vec<&Path> = folders.take_while(|it| it.starts_with(root)).collect();
        for folder in folders {
            let rules = self
                .of_folders
                .entry(folder.to_owned())
                // Rules with a mistake are left out, as Git does.
                .or_insert_with(|| Gitignore::new(folder.join(".gitignore")).0);
            match rules.matched(path, is_folder) {
                Match::None => {}
                found => return found.is_ignore(),
            }
        }
        self.repositories.get(root).is_some_and(|repository| {
            let mut rules = [&repository.exclude, &repository.user].into_iter();
            let found = rules.find_map(|it| match it.matched(path, is_folder) {
                Match::None => None,
                found => Some(found.is_ignore()),
            });
            found.unwrap_or_default()
        })
    }
}

impl Repository {
    fn of(root: &Path) -> Self {
        let mut builder = GitignoreBuilder::new(root);
        // Missing in a linked worktree, whose `.git` is a file.
        let _ = builder.add(root.join(".git/info/exclude"));
        Self {
            exclude: builder.build().unwrap_or_else(|_| Gitignore::empty()),
            user: GitignoreBuilder::new(root).build_global().0,
            tracked: GitIndex::of(root).map(|it| it.files.into_iter().collect()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    fn facts(code: i32, output: &str) -> Facts<'_> {
        Facts {
            code: Some(code),
            output,
            refused: 0,
            is_without_effect: true,
            obstacle: None,
            stopped: None,
        }
    }

    #[test]
    fn each_trial_has_one_outcome() {
        assert_eq!(Outcome::of(facts(0, "")), Outcome::NoEffect);
        assert_eq!(Outcome::of(facts(1, "no match")), Outcome::NoEffect);
        let changes = Facts {
            is_without_effect: false,
            ..facts(0, "Permission denied is only mentioned")
        };
        assert_eq!(Outcome::of(changes), Outcome::Changes);
        let offline = |code| Facts {
            refused: 3,
            ..facts(code, "")
        };
        assert_eq!(Outcome::of(offline(6)), Outcome::Network);
        assert_eq!(Outcome::of(offline(0)), Outcome::NoEffect);
        assert_eq!(
            Outcome::of(facts(1, "touch: /etc/x: Read-only file system")),
            Outcome::Hindered("Read-only file system")
        );
        let git = Facts {
            obstacle: Some("it changes Git's own files".to_owned()),
            is_without_effect: false,
            ..facts(0, "")
        };
        assert_eq!(
            Outcome::of(git).reason().as_deref(),
            Some("it changes Git's own files")
        );
        let stopped = Facts {
            code: None,
            stopped: Some(time_limit(Duration::from_millis(1500))),
            refused: 1,
            ..facts(0, "Permission denied")
        };
        let stopped = Outcome::of(stopped);
        assert!(!stopped.can_be_taken());
        assert_eq!(
            stopped.reason().as_deref(),
            Some("it took more than 1.5 seconds")
        );
    }

    #[test]
    fn files_are_ignored_as_git_ignores_them() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let git = |words: &[&str]| {
            let mut git = Command::new("git");
            assert!(
                git.arg("-C")
                    .arg(&root)
                    .args(words)
                    .output()
                    .unwrap()
                    .status
                    .success()
            );
        };
        git(&["init", "-q"]);
        write(".gitignore", "target/\n*.log\n!keep.log\n/build\n");
        write("sub/.gitignore", "local\n!a.log\n");
        write(".git/info/exclude", "mine\n");
        write("target/tracked", "x");
        git(&["add", "-f", "target/tracked"]);
        let mut rules = IgnoreRules::default();
        for (path, expected) in [
            ("target/debug/x", Some("target")),
            ("sub/target/x", Some("sub/target")),
            ("target/tracked", None),
            ("a.log", Some("a.log")),
            ("keep.log", None),
            ("sub/a.log", None),
            ("sub/b.log", Some("sub/b.log")),
            ("sub/local/deep/x", Some("sub/local")),
            ("local", None),
            ("build/x", Some("build")),
            ("sub/build/x", None),
            ("mine", Some("mine")),
            ("src/new.rs", None),
        ] {
            let found = rules.ignored(&root.join(path), false);
            assert_eq!(found, expected.map(|it| root.join(it)), "{path}");
        }
        assert_eq!(
            rules.ignored(&root.join("target"), true),
            Some(root.join("target"))
        );
        assert_eq!(rules.ignored(&root.join("target"), false), None);
        let plain = tempfile::tempdir().unwrap();
        fs::write(plain.path().join(".gitignore"), "x\n").unwrap();
        assert_eq!(rules.ignored(&plain.path().join("x"), false), None);
    }
}
