//! Sorts what a command changed in a trial: what can be applied with a checkpoint, what Git ignores,
//! and what stands in the way.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use platform::paths::below;

use super::ignored::IgnoreRules;
use super::layer::{LayerChange, LayerChanges, Obstacle};
use crate::checkpoints::{Image, changed_since, is_project};
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
    /// What the project has.
    pub before: Image,
    /// What the command made of it.
    pub after: Image,
}

/// What a command changed.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// Files and links of projects, by path.
    pub files: Vec<FileEffect>,
    /// What needs no checkpoint: ignored files, new empty folders, and removed folders.
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
    // What `/tmp` and ignored folders get beside files is dropped.
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
            effects.file(change, shown, started);
        }
    }
    effects
}

fn is_chat(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == CHAT)
}

impl Effects {
    /// Adds a changed file of a project, unless it is as before.
    fn file(&mut self, change: LayerChange, shown: String, started: i64) {
        let Some((before, after)) = change.images() else {
            return;
        };
        if changed_since(&change.path, started) {
            self.obstacle(format!("{shown} was changed meanwhile"));
        }
        for image in [&before, &after] {
            if let Image::NotCovered(why) = image {
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

    /// Whether nothing of a project changed, apart from ignored files.
    pub(crate) fn is_none(&self) -> bool {
        self.files.is_empty() && self.folders.is_empty() && self.obstacle.is_none()
    }
}

/// The nearest folder that exists outside of the trial.
fn nearest(folder: &Path) -> PathBuf {
    let there = folder.ancestors().find(|it| it.is_dir());
    there.unwrap_or(folder).to_owned()
}
