//! The sandbox of a trial: the writable folders are seen through overlays, and there is no network.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{fs, io};

use platform::paths::{canonicalize, from_bytes, visible};

use super::{Backend, NarrowHome, Network, Sandbox, SandboxLimits, find_out, system};
use crate::git_index::git_folder;
use crate::secrets::{Secrets, common_folder, repository_above};

/// The only name server in a trial. Nothing answers at this address (RFC 5737), and nothing is sent
/// to it without a network, but a lookup counts as a refused packet.
const RESOLVER: &str = "nameserver 192.0.2.1\noptions attempts:1 timeout:1\n";

/// Folders and files that builds and interpreters read below the home folder: programs, packages,
/// and settings of Git. Secrets in them stay hidden.
const TOOLCHAINS: [&str; 24] = [
    ".asdf",
    ".bun",
    ".cabal",
    ".cargo",
    ".config/git",
    ".deno",
    ".dotnet",
    ".gem",
    ".ghcup",
    ".gitconfig",
    ".gradle",
    ".local",
    ".m2",
    ".mix",
    ".npm",
    ".nvm",
    ".opam",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".sdkman",
    ".stack",
    ".volta",
    "go",
];

/// A folder that a trial sees through an overlay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Overlay {
    /// The folder, which does not change.
    pub folder: PathBuf,
    /// Receives the changes.
    pub upper: PathBuf,
    /// A folder for the kernel, beside `upper`.
    pub work: PathBuf,
    /// Folders that are seen over the folder, the first one on top: of the scratch layer.
    pub scratch: Vec<PathBuf>,
}

/// How a trial ended, besides its exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ViewReport {
    /// It ran, and this many packets were refused because there is no network.
    Ran(u64),
    /// Nothing ran: the view could not be set up, for this reason.
    Failed(String),
}

/// How a trial is started.
pub(crate) struct TrialView<'a> {
    /// The program that sets up the view; see [`super::hold_view`].
    pub program: &'a Path,
    /// A folder of ours for everything that belongs to the trial.
    pub layer: &'a Path,
    /// The largest file that the command may write, in bytes.
    pub bytes: u64,
    /// The working directory of the command.
    pub cwd: &'a Path,
}

impl TrialView<'_> {
    /// The file with the [`ViewReport`].
    pub(crate) fn report(layer: &Path) -> PathBuf {
        layer.join("report")
    }

    /// A file that is written right before the command starts, by the clock of the file system.
    pub(crate) fn start(layer: &Path) -> PathBuf {
        layer.join("resolv.conf")
    }
}

impl Sandbox {
    /// The sandbox of a trial, also if the user turned the sandbox off. `None` if there is none. With
    /// `shown`, the home folder is hidden except for these paths in it and for what builds need.
    pub(crate) fn trial(&self, shown: Option<&[PathBuf]>) -> Option<Self> {
        let limits = self.given.as_ref().or(self.reserve.as_ref())?;
        find_out(&self.backend).ok()?;
        let (shown, secrets) = shown.map(|it| self.shown_of_home(it)).unzip();
        let home = shown.and_then(|shown| {
            let folder = canonicalize(&std::env::home_dir()?).ok()?;
            // A link can lead to the home folder itself.
            let shown = shown.into_iter().filter(|it| *it != folder);
            Some(NarrowHome {
                seen: super::each_real(&TOOLCHAINS.map(|it| folder.join(it)))
                    .chain(super::each_real(&limits.writable))
                    .chain(shown)
                    .filter(|it| it.starts_with(&folder))
                    .collect(),
                is_writable: true,
                folder,
            })
        });
        let secrets = secrets.unwrap_or_default().into_iter();
        let (hidden, masked): (Vec<_>, Vec<_>) = secrets.partition(|it| it.is_dir());
        let limits = SandboxLimits {
            network: Network::Nothing,
            privileged: false,
            home,
            hidden: [limits.hidden.clone(), hidden].concat(),
            masked: [limits.masked.clone(), masked].concat(),
            ..SandboxLimits::clone(limits)
        };
        let backend = Backend {
            required: true,
            ..self.backend.clone()
        };
        Some(Self::new(limits, backend))
    }

    /// The real paths of `listed`, and the secrets in them. Without folders that are too large to find
    /// all secrets in them.
    fn shown_of_home(&self, listed: &[PathBuf]) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let secrets = self.secrets();
        let (mut shown, mut found) = (Vec::new(), Vec::new());
        for path in super::each_real(listed) {
            let (mut suspects, is_whole) = Secrets::suspects_below(&path);
            if is_whole {
                suspects.push(path.clone());
                found.extend(suspects.into_iter().filter(|it| secrets.find(it).is_some()));
                shown.push(path);
            }
        }
        (shown, found)
    }

    /// Makes the overlays of a trial in its folder.
    ///
    /// # Errors
    ///
    /// A writable folder can't be tried, or the folders can't be made: a clause.
    pub(crate) fn overlays(&self, layer: &Path) -> Result<Vec<Overlay>, String> {
        let limits = self.limits().ok_or("the sandbox is off")?;
        if let Some(tmp) = &limits.tmp {
            system::make_tmp(&tmp.folder).map_err(|error| error.to_string())?;
        }
        let tmp = limits.tmp.iter().filter(|it| it.writable);
        let folders = limits.writable.iter().chain(tmp.map(|it| &it.folder));
        let mounts = mount_points();
        let mut overlays = Vec::new();
        for (number, folder) in folders.filter(|it| it.is_dir()).enumerate() {
            if folder == Path::new("/") {
                return Err("every folder is writable".to_owned());
            } else if layer.starts_with(folder) {
                let folder = visible(folder);
                return Err(format!("{folder} contains Flemma's state folder"));
            }
            // An overlay shows nothing of other file systems below its folder.
            let is_inside = |it: &&PathBuf| *it != folder && it.starts_with(folder);
            if let Some(mount) = mounts.iter().find(is_inside) {
                return Err(format!("{} is a mount", visible(mount)));
            }
            let own = layer.join(number.to_string());
            let overlay = Overlay {
                folder: folder.clone(),
                upper: own.join("upper"),
                work: own.join("work"),
                scratch: Vec::new(),
            };
            let made = [&own, &overlay.upper, &overlay.work].map(fs::create_dir);
            let made: io::Result<Vec<()>> = made.into_iter().collect();
            made.map_err(|error| error.to_string())?;
            overlays.push(overlay);
        }
        Ok(overlays)
    }

    /// The words that start a command in the trial view with these overlays.
    ///
    /// # Errors
    ///
    /// There is no sandbox, or a file of the view can't be written: a sentence.
    pub(crate) fn view_prefix(
        &self,
        view: &TrialView<'_>,
        overlays: &[Overlay],
    ) -> Result<Vec<OsString>, String> {
        let limits = self.limits().ok_or("The sandbox is off.")?;
        let program = find_out(&self.backend).map_err(|why| format!("{why}."))?;
        let resolver = TrialView::start(view.layer);
        fs::write(&resolver, RESOLVER).map_err(|error| format!("{error}."))?;
        let sandboxed = system::prefix(
            &program,
            &self.backend,
            limits,
            view.cwd,
            &[],
            Some(&resolver),
            None,
        )?;
        Ok(system::view_words(view, overlays, sandboxed))
    }

    /// Returns true if a path that a command changed is protected, so that only the user may change it.
    pub(crate) fn is_protected(&self, path: &Path) -> bool {
        let Some(limits) = self.limits() else {
            return false;
        };
        let mut kept = limits.kept.iter().chain(&limits.never_made);
        kept.any(|it| path.starts_with(it)) || system::is_kept(limits, path)
    }
}

/// Where file systems are mounted, as the kernel lists them; see proc_pid_mountinfo(5).
fn mount_points() -> Vec<PathBuf> {
    let text = fs::read("/proc/self/mountinfo").unwrap_or_default();
    let lines = text.split(|byte| *byte == b'\n');
    let points = lines.filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    points.map(|it| from_bytes(unescaped(it)).into()).collect()
}

/// Replaces octal escapes, such as `\040` for a space.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, more @ ..] = rest {
        let code = more.get(..3).filter(|_| *first == b'\\');
        let code = code.and_then(|it| u8::from_str_radix(str::from_utf8(it).ok()?, 8).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &more[3..] } else { more };
    }
    bytes
}

// The sandbox of read-only calls.

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

    /// Returns true if read-only calls can be sandboxed. The first call in a process blocks for about 30 ms.
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

    /// The sandbox of a read-only call, without network or with that of other calls. Of the home folder, the command sees
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
        let network = if !network {
            Network::Nothing
        } else if self.is_off() {
            Network::Everything
        } else {
            limits.network.clone()
        };
        let mut limits = limits.reading(network, named, &self.secrets());
        if self.is_off() {
            // Other commands see the machine's `/tmp` then.
            limits.tmp = None;
        }
        Self {
            outlet: self.outlet.clone(),
            ..Self::new(limits, backend)
        }
    }
}

impl SandboxLimits {
    /// These limits without writable folders and privileges, and with all secrets hidden: also those
    /// that a repository tracks, together with its contents.
    fn reading(&self, network: Network, named: Option<&[PathBuf]>, secrets: &Secrets) -> Self {
        let work = super::real(&self.work);
        let seen = super::real(named.unwrap_or_default());
        let mut found = Vec::new();
        let mut hidden = self.hidden.clone();
        for folder in &super::outermost([&*work, &seen].concat()) {
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
    let mut seen: Vec<PathBuf> = super::each_real(&seen).collect();
    seen.retain(|it| it.starts_with(&folder) && *it != folder);
    Some(NarrowHome {
        is_writable: false,
        seen: super::outermost(seen),
        folder,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::HostList;

    #[test]
    fn a_read_only_call_cannot_write_and_has_the_network_of_others_only_on_request() {
        let limits = SandboxLimits {
            writable: vec!["/w".into()],
            privileged: true,
            ..SandboxLimits::default()
        };
        let hosts = HostList::read(&["docs.rs".to_owned()]).unwrap_or_default();
        let sandbox = |network: &Network| {
            Sandbox::new(
                SandboxLimits {
                    network: network.clone(),
                    ..limits.clone()
                },
                Backend {
                    required: true,
                    ..Backend::default()
                },
            )
        };
        for (of_chat, wanted, expected) in [
            (Network::Everything, false, Network::Nothing),
            (Network::Everything, true, Network::Everything),
            (Network::Nothing, true, Network::Nothing),
            (Network::Listed(hosts.clone()), true, Network::Listed(hosts)),
        ] {
            let held = sandbox(&of_chat).reading(wanted, None);
            let given = held.given.as_ref().map(|it| SandboxLimits::clone(it));
            let given = given.unwrap_or_default();
            assert!(given.writable.is_empty() && !given.privileged);
            assert_eq!(given.network, expected);
            assert!(held.backend.required);
        }
        let off = sandbox(&Network::Nothing).turned_off();
        assert!(off.is_off() && off.limits().is_none());
        let held = off.reading(false, None);
        assert!(!held.is_off() && !held.backend.required);
        // Other commands have the network as well.
        let held = off.reading(true, None);
        let given = held.given.as_ref().map(|it| it.network.clone());
        assert_eq!(given, Some(Network::Everything));
        assert!(Sandbox::off().reading(false, None).is_off());
    }
}
