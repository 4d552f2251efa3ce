//! The scratch layer: what trials of a chat wrote to ignored folders, such as `target`, for its later
//! trials. It is neither in the project nor seen by a real command.
//!
//! `scratch/CHAT/FOLDER/GENERATION` in the state folder holds one ignored folder. A generation is
//! mounted by trials and changes only while none has it mounted; otherwise the next one is made from
//! hard links to it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use platform::files::make_private_folder;
use serde::{Deserialize, Serialize};

use super::LayerChange;
use super::effects::IgnoreRules;
use crate::private::remove;
use crate::sandbox::{Overlay, Sandbox};
use crate::state_dir::{self, Lock};

/// The folder of all chats, in the state folder.
const FOLDER: &str = "scratch";
/// Most bytes in all chats: 10 GiB.
const MOST_BYTES: u64 = 10 << 30;
/// The lock of a chat's layer, while generations are found or made.
const LOCK: &str = "lock";
/// The file of a generation with its [`Record`].
const RECORD: &str = "record.json";
/// The folder of a generation that is mounted.
const ROOT: &str = "root";

/// The scratch layer of a chat.
#[derive(Debug, Clone)]
pub(crate) struct Scratch {
    folder: PathBuf,
}

/// An ignored folder of the layer that a trial sees. It stays as it is until this is dropped.
#[derive(Debug)]
pub(crate) struct Mounted {
    /// A folder to see through: the ignored folder at its place in the project.
    pub root: PathBuf,
    _lock: Lock,
}

/// A generation as its file describes it.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    /// The writable folder that its root is laid over.
    top: PathBuf,
    /// The ignored folder.
    place: PathBuf,
    /// When the project's own folder was last changed; see [`newest`].
    changed: Option<SystemTime>,
    /// Bytes that the generation takes on disk.
    bytes: u64,
}

/// One state of an ignored folder.
struct Generation {
    /// The folder of all of its states.
    parent: PathBuf,
    number: u64,
}

impl Scratch {
    /// Returns the layer of the chat whose commands have this sandbox. `None` if they share the
    /// machine's `/tmp`, so that they belong to no chat.
    pub(crate) fn of(sandbox: &Sandbox) -> Option<Self> {
        let key = sandbox.limits()?.tmp.as_ref()?.folder.file_name()?;
        Some(Self {
            folder: state_dir::path().join(FOLDER).join(key),
        })
    }

    /// Returns what a trial sees over the writable folder `top`. Removes what is out of date. Blocking.
    pub(crate) fn mount(&self, top: &Path) -> Vec<Mounted> {
        if !self.folder.is_dir() {
            return Vec::new();
        }
        let Ok(_lock) = state_dir::lock(&self.folder, LOCK) else {
            return Vec::new();
        };
        self.mark_used();
        let mut rules = IgnoreRules::default();
        let mounted = self.places().filter_map(|place| {
            let (generation, record) = Generation::newest_in(&place)?;
            if record.top != top {
                return None;
            }
            let is_current = rules.ignored(&record.place, true).as_ref() == Some(&record.place)
                && newest(&record.place) == record.changed;
            if !is_current {
                generation.remove();
                return None;
            }
            Some(Mounted {
                root: generation.path().join(ROOT),
                _lock: generation.share().ok()?,
            })
        });
        mounted.collect()
    }

    /// Takes over what a trial wrote to the ignored folder `place`: the files are moved. Blocking.
    ///
    /// # Errors
    ///
    /// It is a file, the state that the trial saw has gone, or the layer can't be written. It has nothing
    /// of the folder then.
    pub(crate) fn keep(
        &self,
        overlay: &Overlay,
        place: &Path,
        changes: &[&LayerChange],
    ) -> io::Result<()> {
        let top = &*overlay.folder;
        if changes.iter().any(|it| it.path == place && !it.is_folder) {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        make_chats_folder()?;
        let _lock = state_dir::lock(&self.folder, LOCK)?;
        self.mark_used();
        let mut hasher = DefaultHasher::new();
        (top, place).hash(&mut hasher);
        let parent = self.folder.join(format!("{:016x}", hasher.finish()));
        state_dir::make_folder(&parent)?;
        let saw_one = overlay.scratch.iter().any(|it| it.starts_with(&parent));
        let generation = Generation::next_in(&parent, saw_one)?;
        let made = generation.fill(top, place, changes);
        if made.is_err() {
            generation.remove();
        }
        made?;
        remove_large(&self.folder);
        Ok(())
    }

    /// Returns the files of the layer in the ignored folder `place`, as changes of the project. Blocking.
    pub(crate) fn files(&self, place: &Path) -> Vec<LayerChange> {
        let mut files = Vec::new();
        let found = self.places().filter_map(|it| Generation::newest_in(&it));
        for (generation, record) in found.filter(|it| it.1.place == place) {
            let root = generation.path().join(ROOT);
            visit(&root, &mut |path, status| {
                if let (Ok(rest), false) = (path.strip_prefix(&root), status.is_dir()) {
                    files.push(LayerChange {
                        path: record.top.join(rest),
                        source: Some(path.to_owned()),
                        overlay: 0,
                        is_folder: false,
                        is_shared: true,
                    });
                }
            });
        }
        files
    }

    /// Removes the layer, except for what a trial has mounted. Returns the ignored folders that it had.
    /// Blocking.
    ///
    /// # Errors
    ///
    /// Another process uses the layer.
    pub(crate) fn clear(&self) -> io::Result<BTreeSet<PathBuf>> {
        let mut cleared = BTreeSet::new();
        if !self.folder.is_dir() {
            return Ok(cleared);
        }
        let _lock = state_dir::lock(&self.folder, LOCK)?;
        for place in self.places() {
            if let Some((generation, record)) = Generation::newest_in(&place)
                && generation.remove()
            {
                cleared.insert(record.place);
            }
        }
        Ok(cleared)
    }

    /// The folders of the ignored folders.
    fn places(&self) -> impl Iterator<Item = PathBuf> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.map(|it| it.path()).filter(|it| it.is_dir())
    }

    /// Keeps the layer from being swept as unused.
    fn mark_used(&self) {
        let folder = File::open(&self.folder);
        // Then it is swept earlier, and the next trial builds again.
        let _ = folder.and_then(|it| it.set_modified(SystemTime::now()));
    }
}

/// Creates the folder of all chats. The first call in a process removes what was not used for long.
fn make_chats_folder() -> io::Result<()> {
    static SWEPT: std::sync::Once = std::sync::Once::new();
    let all = state_dir::path().join(FOLDER);
    state_dir::make_folder(&all)?;
    SWEPT.call_once(|| state_dir::sweep_chats(&all));
    Ok(())
}

/// Removes the layers of other chats, beginning with the one that was not used for longest, until all
/// are small enough.
fn remove_large(own: &Path) {
    let all = own.parent().unwrap_or(own);
    let entries = fs::read_dir(all).into_iter().flatten().flatten();
    let mut chats: Vec<(SystemTime, PathBuf)> = entries
        .filter_map(|it| Some((it.metadata().ok()?.modified().ok()?, it.path())))
        .collect();
    chats.sort();
    let size = |chat: &Path| {
        let scratch = Scratch {
            folder: chat.to_owned(),
        };
        let records = scratch.places().filter_map(|it| Generation::newest_in(&it));
        records.map(|it| it.1.bytes).sum::<u64>()
    };
    let mut total: u64 = chats.iter().map(|it| size(&it.1)).sum();
    for (_, folder) in chats.into_iter().filter(|it| it.1 != own) {
        if total <= MOST_BYTES {
            return;
        }
        let bytes = size(&folder);
        let scratch = Scratch { folder };
        if scratch.clear().is_ok() {
            total = total.saturating_sub(bytes);
        }
    }
}

impl Generation {
    /// The latest state of an ignored folder.
    fn newest_in(parent: &Path) -> Option<(Self, Record)> {
        let generation = Self {
            parent: parent.to_owned(),
            number: numbers(parent).max()?,
        };
        let text = fs::read(generation.path().join(RECORD)).ok()?;
        Some((generation, serde_json::from_slice(&text).ok()?))
    }

    /// Makes the state after the latest one, from that one if it is complete and current, which it must
    /// be if the trial saw one.
    fn next_in(parent: &Path, saw_one: bool) -> io::Result<Self> {
        let next = Self {
            parent: parent.to_owned(),
            number: numbers(parent).max().unwrap_or_default() + 1,
        };
        let (path, root) = (next.path(), next.path().join(ROOT));
        let found = Self::newest_in(parent).filter(|it| newest(&it.1.place) == it.1.changed);
        if let Some((last, _)) = found {
            if last.is_free()? {
                fs::rename(last.path(), &path)?;
                // Until the new record is there, the generation is not complete.
                fs::remove_file(path.join(RECORD))?;
            } else {
                make_private_folder(&path)?;
                link_all(&last.path().join(ROOT), &root)?;
            }
        } else if saw_one {
            return Err(io::ErrorKind::NotFound.into());
        } else {
            make_private_folder(&path)?;
            make_private_folder(&root)?;
        }
        for number in numbers(parent).filter(|it| *it != next.number) {
            let parent = parent.to_owned();
            Self { parent, number }.remove();
        }
        Ok(next)
    }

    /// Makes changes, and records what is known of the result.
    fn fill(&self, top: &Path, place: &Path, changes: &[&LayerChange]) -> io::Result<()> {
        let root = self.path().join(ROOT);
        // Folders come before what is in them, and are removed after it.
        let removed = changes.iter().rev().filter(|it| it.source.is_none());
        let made = changes.iter().filter(|it| it.source.is_some());
        for change in removed.chain(made) {
            let Ok(inside) = change.path.strip_prefix(top) else {
                continue;
            };
            let target = root.join(inside);
            let Some(source) = &change.source else {
                remove(&target);
                continue;
            };
            if change.is_folder {
                make_folders(&target, source, inside)?;
                continue;
            }
            if let (Some(folder), Some(from), Some(below)) =
                (target.parent(), source.parent(), inside.parent())
            {
                make_folders(folder, from, below)?;
            }
            if leaves(source, &change.path, place) {
                continue;
            }
            if target.symlink_metadata().is_ok_and(|it| it.is_dir()) {
                remove(&target);
            }
            fs::rename(source, &target)?;
        }
        let mut bytes = 0;
        visit(&root, &mut |_, status| bytes += status.len());
        let record = Record {
            top: top.to_owned(),
            place: place.to_owned(),
            changed: newest(place),
            bytes,
        };
        fs::write(self.path().join(RECORD), serde_json::to_vec(&record)?)
    }

    fn path(&self) -> PathBuf {
        self.parent.join(self.number.to_string())
    }

    fn lock_name(&self) -> String {
        format!("{}.lock", self.number)
    }

    /// Keeps the generation as it is until the lock is dropped.
    fn share(&self) -> io::Result<Lock> {
        state_dir::lock_shared(&self.parent, &self.lock_name())
    }

    /// Returns true if no trial has it mounted. None can while the layer is locked.
    fn is_free(&self) -> io::Result<bool> {
        let lock = state_dir::try_lock(&self.parent, &self.lock_name())?;
        Ok(lock.is_some())
    }

    /// Removes it, unless a trial has it mounted. Returns true if it is gone.
    fn remove(&self) -> bool {
        let is_free = self.is_free().unwrap_or_default();
        if is_free {
            remove(&self.path());
            // Empty, and made anew with the next lock.
            let _ = fs::remove_file(self.parent.join(self.lock_name()));
        }
        is_free
    }
}

/// The numbers of the generations in a folder.
fn numbers(parent: &Path) -> impl Iterator<Item = u64> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    entries.filter_map(|it| it.file_name().to_str()?.parse().ok())
}

/// Makes a folder of a generation with its parents. Their modes are those of `like`, a folder with the
/// same last components as `target`: as many as `inside` has.
fn make_folders(target: &Path, like: &Path, inside: &Path) -> io::Result<()> {
    let levels = inside.components().count();
    let pairs = target.ancestors().zip(like.ancestors()).take(levels);
    let missing: Vec<(&Path, &Path)> = pairs.take_while(|it| !it.0.is_dir()).collect();
    for (target, like) in missing.into_iter().rev() {
        if target.symlink_metadata().is_ok() {
            // A file that the trial replaced by a folder.
            remove(target);
        }
        fs::create_dir(target)?;
        fs::set_permissions(target, like.metadata()?.permissions())?;
    }
    Ok(())
}

/// Returns true if `source`, which stands at `path`, is a link that leads out of `place`.
fn leaves(source: &Path, path: &Path, place: &Path) -> bool {
    let Ok(target) = fs::read_link(source) else {
        return false;
    };
    let mut at = path.parent().unwrap_or(place).to_owned();
    for part in target.components() {
        match part {
            std::path::Component::ParentDir => drop(at.pop()),
            std::path::Component::CurDir => {}
            part => at.push(part),
        }
        if !at.starts_with(place) {
            return true;
        }
    }
    false
}

/// When a folder of the project was last changed, two levels deep. `None` if it does not exist.
fn newest(place: &Path) -> Option<SystemTime> {
    let time = |path: &Path| path.symlink_metadata().ok()?.modified().ok();
    let entries = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|it| it.path()).collect::<Vec<_>>()
    };
    let below = entries(place).into_iter().flat_map(|it| {
        let deeper = entries(&it).into_iter().filter_map(|it| time(&it)).max();
        time(&it).max(deeper)
    });
    time(place).map(|it| below.fold(it, SystemTime::max))
}

/// Makes a copy of a folder whose files are hard links.
fn link_all(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            link_all(&entry.path(), &target)?
        } else {
            fs::hard_link(entry.path(), target)?
        }
    }
    fs::set_permissions(to, from.metadata()?.permissions())
}

/// Calls `take` for everything in a folder, without following links.
fn visit(folder: &Path, take: &mut dyn FnMut(&Path, &fs::Metadata)) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(status) = entry.metadata() else {
            continue;
        };
        take(&entry.path(), &status);
        if status.is_dir() {
            visit(&entry.path(), take);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use super::*;

    /// A project that ignores `target`, a chat's scratch layer, and the upper folder of a trial.
    struct World {
        _folder: tempfile::TempDir,
        project: PathBuf,
        scratch: Scratch,
        uppers: PathBuf,
        trials: usize,
    }

    impl World {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().canonicalize().unwrap();
            let [project, chat, uppers] = ["project", "all/chat", "uppers"].map(|it| root.join(it));
            for folder in [&project.join("sub"), &chat, &uppers] {
                fs::create_dir_all(folder).unwrap();
            }
            let mut git = Command::new("git");
            let made = git.args(["init", "-q"]).arg(&project).status().unwrap();
            assert!(made.success());
            fs::write(project.join(".gitignore"), "target/\n").unwrap();
            Self {
                _folder: folder,
                project,
                scratch: Scratch { folder: chat },
                uppers,
                trials: 0,
            }
        }

        /// Keeps what a trial that saw `mounted` did: texts of files, and `None` for removed ones.
        fn keep(
            &mut self,
            place: &str,
            mounted: &[Mounted],
            files: &[(&str, Option<&str>)],
        ) -> io::Result<()> {
            self.trials += 1;
            let upper = self.uppers.join(self.trials.to_string());
            let changes = files.iter().map(|(name, text)| {
                let source = text.map(|text| {
                    let source = upper.join(name);
                    fs::create_dir_all(source.parent().unwrap()).unwrap();
                    match text.strip_prefix("-> ") {
                        Some(target) => symlink(target, &source).unwrap(),
                        None => fs::write(&source, text).unwrap(),
                    }
                    source
                });
                LayerChange {
                    path: self.project.join(name),
                    source,
                    overlay: 0,
                    is_folder: false,
                    is_shared: false,
                }
            });
            let changes: Vec<LayerChange> = changes.collect();
            let overlay = Overlay {
                folder: self.project.clone(),
                upper: upper.clone(),
                work: upper.clone(),
                scratch: mounted.iter().map(|it| it.root.clone()).collect(),
            };
            let changes: Vec<&LayerChange> = changes.iter().collect();
            self.scratch
                .keep(&overlay, &self.project.join(place), &changes)
        }

        fn mount(&self) -> Vec<Mounted> {
            self.scratch.mount(&self.project)
        }
    }

    /// The files in what a trial sees over the project.
    fn seen(mounted: &[Mounted]) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        for Mounted { root, .. } in mounted {
            visit(root, &mut |path, status| {
                if !status.is_dir() {
                    let name = path
                        .strip_prefix(root)
                        .unwrap()
                        .to_str()
                        .unwrap()
                        .to_owned();
                    files.insert(name, fs::read_to_string(path).unwrap_or_default());
                }
            });
        }
        files
    }

    fn texts(files: &[(&str, &str)]) -> BTreeMap<String, String> {
        let owned = files
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        owned.collect()
    }

    #[test]
    fn later_trials_find_what_earlier_ones_kept() {
        let mut world = World::new();
        assert!(world.mount().is_empty());
        let first = [("target/debug/a", Some("1")), ("target/b", Some("1"))];
        world.keep("target", &[], &first).unwrap();
        world
            .keep("sub/target", &[], &[("sub/target/c", Some("1"))])
            .unwrap();
        let mounted = world.mount();
        assert_eq!(mounted.len(), 2);
        let all = texts(&[
            ("sub/target/c", "1"),
            ("target/b", "1"),
            ("target/debug/a", "1"),
        ]);
        assert_eq!(seen(&mounted), all);
        let second = [
            ("target/debug/a", Some("2")),
            ("target/b", None),
            ("target/d", Some("2")),
        ];
        world.keep("target", &mounted, &second).unwrap();
        // It still sees what it saw at its start.
        assert_eq!(seen(&mounted), all);
        drop(mounted);
        let expected = texts(&[
            ("sub/target/c", "1"),
            ("target/d", "2"),
            ("target/debug/a", "2"),
        ]);
        assert_eq!(seen(&world.mount()), expected);
        // Nothing else has it mounted, so it changes in place.
        world
            .keep("target", &[], &[("target/e", Some("3"))])
            .unwrap();
        assert_eq!(seen(&world.mount()).len(), 4);
        let target = world.scratch.files(&world.project.join("target"));
        assert!(target.iter().all(|it| it.is_shared) && target.len() == 3);
    }

    #[test]
    fn a_folder_that_changes_in_the_project_is_dropped_as_a_whole() {
        let mut world = World::new();
        world
            .keep("target", &[], &[("target/debug/a", Some("1"))])
            .unwrap();
        let mounted = world.mount();
        fs::create_dir_all(world.project.join("target/debug")).unwrap();
        // What a trial made of it lacks its base.
        assert!(
            world
                .keep("target", &mounted, &[("target/b", Some("1"))])
                .is_err()
        );
        drop(mounted);
        assert!(world.mount().is_empty());
        world
            .keep("target", &[], &[("target/b", Some("2"))])
            .unwrap();
        assert_eq!(seen(&world.mount()), texts(&[("target/b", "2")]));
        // No longer ignored, so the command would see files of the project that are not there.
        fs::write(world.project.join(".gitignore"), "").unwrap();
        assert!(world.mount().is_empty());
    }

    #[test]
    fn links_that_lead_out_and_single_files_are_not_kept() {
        let mut world = World::new();
        let links = [
            ("target/in", Some("-> debug/a")),
            ("target/debug/up", Some("-> ../in")),
            ("target/out", Some("-> ../sub")),
            ("target/debug/far", Some("-> ../../../x")),
            ("target/absolute", Some("-> /etc/passwd")),
        ];
        world.keep("target", &[], &links).unwrap();
        let names: Vec<String> = seen(&world.mount()).into_keys().collect();
        assert_eq!(names, ["target/debug/up", "target/in"]);
        assert!(world.keep("a.log", &[], &[("a.log", Some("x"))]).is_err());
    }

    #[test]
    fn a_cleared_layer_is_empty_except_for_what_runs() {
        let mut world = World::new();
        assert!(world.scratch.clear().unwrap().is_empty());
        world
            .keep("target", &[], &[("target/a", Some("1"))])
            .unwrap();
        let mounted = world.mount();
        assert!(world.scratch.clear().unwrap().is_empty());
        drop(mounted);
        let cleared = world.scratch.clear().unwrap();
        assert_eq!(cleared, [world.project.join("target")].into());
        assert!(world.mount().is_empty());
    }
}
