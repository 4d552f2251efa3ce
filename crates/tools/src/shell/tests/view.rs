//! Runs commands in the read-only view.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use crate::sandbox::{Backend, Sandbox, SandboxLimits};
use crate::secrets::Secrets;
use crate::shell::{Machine, environment};

/// A file: its kind and mode, size, modification time, and text or target.
pub(super) type State = (u32, u64, i64, i64, Vec<u8>);

/// The words that start a command in the view of a project; `None` without a sandbox.
pub(super) fn prefix(
    home: &Path,
    project: &Path,
    named: Option<&[PathBuf]>,
) -> Option<Vec<OsString>> {
    let limits = SandboxLimits {
        writable: vec![home.to_owned()],
        work: vec![project.to_owned()],
        secrets: Some(Arc::new(Secrets::in_home(home))),
        ..SandboxLimits::default()
    };
    let sandbox = Sandbox::new(limits, Backend::default());
    sandbox.can_hold_reading().then(|| {
        let held = sandbox.reading(false, named);
        held.prefix(project, &[]).unwrap()
    })
}

/// A line that runs for a moment in a shell of its own, in this folder.
pub(super) fn guarded(line: &str, folder: &Path) -> String {
    let quoted = line.replace('\'', "'\\''");
    let folder = folder.display();
    format!("(cd '{folder}' && timeout -k 1 0.5 bash -c '{quoted}') </dev/null 2>&1\n")
}

/// Runs a script with the environment of approved commands, and returns its output.
pub(super) fn run(prefix: &[OsString], script: &str, machine: &Machine) -> String {
    let mut command = Command::new(&prefix[0]);
    command
        .args(&prefix[1..])
        .args(["bash", "-c", script])
        .env_clear()
        .envs(environment(machine.variables.iter().cloned(), &[], true))
        .stdin(Stdio::null());
    let ran = command.output().unwrap();
    String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr)
}

/// Everything below a folder.
pub(super) fn files(top: &Path) -> BTreeMap<PathBuf, State> {
    let mut found = BTreeMap::new();
    let mut open = vec![top.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            let metadata = path.symlink_metadata().unwrap();
            let text = match metadata.is_symlink() {
                true => fs::read_link(&path)
                    .unwrap()
                    .into_os_string()
                    .into_encoded_bytes(),
                false if metadata.is_file() => fs::read(&path).unwrap(),
                false => Vec::new(),
            };
            if metadata.is_dir() {
                open.push(path.clone());
            }
            // A folder's time reveals a file that was created and removed again.
            let changed = if metadata.is_dir() {
                (metadata.mtime(), metadata.mtime_nsec())
            } else {
                (0, 0)
            };
            let state = (metadata.mode(), metadata.len(), changed.0, changed.1, text);
            found.insert(path.strip_prefix(top).unwrap().to_owned(), state);
        }
    }
    found
}
