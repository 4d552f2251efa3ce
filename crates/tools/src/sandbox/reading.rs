//! The sandbox of read-only calls.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use platform::paths::canonicalize;

use super::limits::NarrowHome;
use super::{Backend, Sandbox, SandboxLimits, find_out, paths, system};
use crate::git_index::git_folder;
use crate::secrets::{Secrets, common_folder, repository_above};

/// Git's settings in the home folder.
const GIT_SETTINGS: [&str; 2] = [".gitconfig", ".config/git"];

impl Sandbox {
    /// The sandbox, turned off except for read-only calls.
    pub fn turned_off(self) -> Self {
        Self {
            reserve: self.given,
            given: None,
            limits: OnceLock::new(),
            ..self
        }
    }

    /// Whether read-only calls can be sandboxed. The first call in a process blocks for about 30 ms.
    pub fn can_hold_reading(&self) -> bool {
        let limits = self.given.as_ref().or(self.reserve.as_ref());
        limits.is_some() && find_out(&self.backend).is_ok()
    }

    /// The name of the sandbox of read-only calls for the log, or `none`; see
    /// [`Sandbox::can_hold_reading`].
    pub fn reading_held_by(&self) -> &'static str {
        if self.can_hold_reading() {
            system::NAME
        } else {
            "none"
        }
    }

    /// The sandbox of a read-only call, with or without network. Of the home folder, the command sees
    /// the working folders and `named`, or all of it if that is `None`. It also applies if the user
    /// turned the sandbox off. Without a working bubblewrap, the call runs like all others. Blocking,
    /// because it searches for secrets.
    pub fn reading(&self, network: bool, named: Option<&[PathBuf]>) -> Self {
        let Some(limits) = self.given.as_ref().or(self.reserve.as_ref()) else {
            return self.clone();
        };
        let backend = Backend {
            // A sandbox that is turned off is not required.
            required: self.backend.required && self.given.is_some(),
            ..self.backend.clone()
        };
        let mut limits = limits.reading(network, named, &self.secrets());
        if self.is_off() {
            // Other commands see the machine's `/tmp` then.
            limits.tmp = None;
        }
        Self::new(limits, backend)
    }
}

impl SandboxLimits {
    /// These limits without writable folders and privileges, and with all secrets hidden: also those
    /// that a repository tracks, together with its contents.
    fn reading(&self, network: bool, named: Option<&[PathBuf]>, secrets: &Secrets) -> Self {
        let work = paths::real(&self.work);
        let seen = paths::real(named.unwrap_or_default());
        let mut found = Vec::new();
        let mut hidden = self.hidden.clone();
        for folder in &paths::outermost([&*work, &seen].concat()) {
            found.extend(Secrets::suspects_below(folder).0);
            for repository in secrets.tracked(folder) {
                found.extend(repository.files);
                hidden.push(repository.objects);
            }
        }
        let home = named.and_then(|_| narrow_home(secrets.home(), &work, &seen));
        let is_unseen = |path: &Path| home.as_ref().is_some_and(|it| it.hides(path));
        Self {
            writable: Vec::new(),
            // Nothing is writable.
            kept: Vec::new(),
            hidden,
            concealed: Some(secrets.all_concealed(&self.work, found, is_unseen)),
            home: home.clone(),
            network,
            privileged: false,
            ..self.clone()
        }
    }
}

/// The home folder of a read-only call: other projects of the user are not seen, because their secrets
/// are not known. `None` if all of it is seen.
fn narrow_home(home: Option<&Path>, work: &[PathBuf], named: &[PathBuf]) -> Option<NarrowHome> {
    let folder = canonicalize(home?).ok()?;
    let holds_home = |it: &Path| folder.starts_with(it);
    if folder.parent().is_none() || work.iter().any(|it| holds_home(it)) {
        return None;
    }
    let mut seen = [work, named].concat();
    for folder in work.iter().chain(named) {
        let Some(top) = repository_above(folder) else {
            continue;
        };
        let git = git_folder(top).unwrap_or_default();
        seen.extend([top.to_owned(), common_folder(&git), git]);
    }
    let path = crate::variable_os("PATH").unwrap_or_default();
    seen.extend(std::env::split_paths(&path).filter(|it| it.is_absolute()));
    seen.extend(GIT_SETTINGS.iter().map(|it| folder.join(it)));
    let mut seen: Vec<PathBuf> = paths::each_real(&seen).collect();
    seen.retain(|it| it.starts_with(&folder) && *it != folder);
    Some(NarrowHome {
        is_writable: false,
        seen: paths::outermost(seen),
        folder,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_only_call_cannot_write_and_has_a_network_only_on_request() {
        let limits = SandboxLimits {
            writable: vec!["/w".into()],
            network: true,
            privileged: true,
            ..SandboxLimits::default()
        };
        let sandbox = Sandbox::new(
            limits,
            Backend {
                required: true,
                ..Backend::default()
            },
        );
        for network in [false, true] {
            let held = sandbox.reading(network, None);
            let given = held.given.as_ref().map(|it| SandboxLimits::clone(it));
            let given = given.unwrap_or_default();
            assert!(given.writable.is_empty() && !given.privileged);
            assert_eq!(given.network, network);
            assert!(held.backend.required);
        }
        let off = sandbox.turned_off();
        assert!(off.is_off() && off.limits().is_none());
        let held = off.reading(false, None);
        assert!(!held.is_off() && !held.backend.required);
        assert!(Sandbox::off().reading(false, None).is_off());
    }
}
