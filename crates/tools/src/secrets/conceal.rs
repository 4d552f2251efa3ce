//! Which secret files and folders there are: what a sandbox hides from commands.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::tracked::Indexes;
use super::{SecretKind, Secrets, entries, folded, names};
use crate::files::leads_to;
use crate::names::fold;

/// Most files and folders that a sandbox hides: each is a mount of its own.
const MOST: usize = 128;

/// A secret that a sandbox hides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Concealed {
    /// Its real path.
    pub path: PathBuf,
    /// Why it is secret.
    pub kind: SecretKind,
    /// Whether it is a folder, which looks empty; a file cannot be opened.
    pub is_folder: bool,
    /// What is seen in the folder all the same: what was revealed, and public files.
    pub seen: Vec<PathBuf>,
}

impl Secrets {
    /// The secrets that exist: those of the home folder and of the system, those directly
    /// in the folders of `work`, and which of `found` are secrets. A folder that holds one
    /// of `work` is not hidden, and what is secret in it is. A `.env` file whose text is in
    /// the index of Git is not hidden.
    pub fn concealed(&self, work: &[PathBuf], found: Vec<PathBuf>) -> Vec<Concealed> {
        let mut candidates = self.candidates();
        for folder in work {
            candidates.extend(suspects(folder));
        }
        candidates.extend(found);
        let mut hidden = BTreeMap::new();
        let mut indexes = Indexes::default();
        while let Some(path) = candidates.pop() {
            // Most are not there, and finding that out is cheap.
            if path.symlink_metadata().is_err() {
                continue;
            }
            let real = leads_to(&path);
            let Ok(metadata) = real.symlink_metadata() else {
                continue;
            };
            let is_folder = metadata.is_dir();
            let is_known = hidden.contains_key(&real) || self.is_revealed(&real);
            let kind = self.place(&real, is_folder);
            let kind = kind.or_else(|| self.unrevealed(&path, is_folder));
            let Some(kind) = kind.filter(|_| !is_known) else {
                continue;
            };
            if kind == SecretKind::Environment && indexes.hold(&real) {
                continue;
            }
            if is_folder && work.iter().any(|it| leads_to(it).starts_with(&real)) {
                candidates.extend(entries(&real));
                continue;
            }
            let seen = if is_folder {
                self.seen(&real)
            } else {
                Vec::new()
            };
            let one = Concealed {
                path: real.clone(),
                kind,
                is_folder,
                seen,
            };
            hidden.insert(real, one);
        }
        outermost(hidden)
    }

    /// Paths of the home folder and the system that are secret where they exist.
    fn candidates(&self) -> Vec<PathBuf> {
        let home = self.home.iter();
        let mut candidates: Vec<PathBuf> = home.clone().flat_map(|it| names::in_home(it)).collect();
        candidates.extend(names::IN_SYSTEM.iter().map(PathBuf::from));
        let moved = self.moved.iter();
        candidates.extend(moved.flat_map(|(place, usual)| names::moved(place, usual)));
        candidates.extend(self.ours.iter().flat_map(|it| entries(it)));
        candidates.extend(home.flat_map(|it| suspects(it)));
        candidates
    }

    /// The files among them, and those directly in the folders among them.
    pub(super) fn files_in_home(&self) -> Vec<PathBuf> {
        let candidates = self.candidates().into_iter();
        let files = candidates.flat_map(|path| match path.is_dir() {
            true => entries(&path),
            false => vec![path],
        });
        files.collect()
    }

    /// What is seen of a folder that is hidden.
    fn seen(&self, folder: &Path) -> Vec<PathBuf> {
        let revealed = self.revealed.iter();
        let revealed = revealed.filter(|it| it.starts_with(folder)).cloned();
        let public = entries(folder).into_iter().filter(|path| {
            let name = path.components().next_back().map(folded);
            // A link may lead to what is not public.
            name.is_some_and(|it| names::is_public(&it))
                && path.symlink_metadata().is_ok_and(|it| it.is_file())
        });
        let mut seen: Vec<PathBuf> = revealed.chain(public).collect();
        seen.sort();
        seen.dedup();
        seen
    }
}

/// The entries of a folder whose names can be those of secrets.
fn suspects(folder: &Path) -> Vec<PathBuf> {
    let mut entries = entries(folder);
    entries.retain(|path| is_suspect(path));
    entries
}

/// Whether the last name of a path can be that of a secret.
pub(crate) fn is_suspect(path: &Path) -> bool {
    let Some(name) = path.file_name() else {
        return false;
    };
    // Folding costs more than all else here, and most names are spelled so already.
    let is_folded = |name: &&str| {
        let is_plain = |it: u8| it.is_ascii_graphic() && !it.is_ascii_uppercase() && it != b':';
        !name.ends_with('.') && name.bytes().all(is_plain)
    };
    match name.to_str().filter(is_folded) {
        Some(name) => names::may_be_secret(name),
        None => names::may_be_secret(&fold(&name.to_string_lossy())),
    }
}

/// Without what is below another one, those with the shortest paths first.
fn outermost(hidden: BTreeMap<PathBuf, Concealed>) -> Vec<Concealed> {
    let mut outer: Vec<Concealed> = Vec::new();
    for (path, one) in hidden {
        let is_inside = |it: &Concealed| it.is_folder && path.starts_with(&it.path);
        if !outer.iter().any(is_inside) {
            outer.push(one);
        }
    }
    outer.sort_by_key(|it| (it.path.components().count(), it.path.clone()));
    outer.truncate(MOST);
    outer
}
