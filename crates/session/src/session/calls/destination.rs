//! Effects of a pending call on its files: it creates, overwrites, or follows a link.

use std::path::{Path, PathBuf};

use chat::approval::{self, CallKey};
use chat::preview::one_line;
use platform::paths::{self, canonicalize};
use tools::{FileState, Fingerprint};

use super::Calls;
use crate::session::ctx::Ctx;

/// The tool that changes a part of an existing file; the others replace the whole.
const EDIT: &str = "edit";

impl Calls {
    /// Returns the lines below the preview of a call that changes files, one for each file that
    /// has something to say.
    pub(crate) fn destination(&self, ctx: &Ctx, call: &CallKey, width: usize) -> Option<String> {
        let states = self.states_of(call)?;
        let asked = self.changed_files(ctx, call, None);
        let folder = ctx.place.folder();
        let real_folder = canonicalize(&folder).unwrap_or_else(|_| folder.clone());
        let input = serde_json::from_str(&call.input).ok()?;
        let (meant, _) = approval::meant(call, &input);
        let lines = asked.iter().zip(&states).filter_map(|(asked, state)| {
            let words = words(&meant.name, asked, &folder, &real_folder, state)?;
            let name = paths::below(asked, &folder);
            Some(match states.len() {
                1 => one_line(&words, width),
                // The name is needed only among several files.
                _ => one_line(&format!("{name} {words}"), width),
            })
        });
        let lines: Vec<String> = lines.collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

/// Returns what a call of `tool` does to the path `asked`. `real_folder` is the chat's
/// `folder` with its links resolved; such links are not reported.
fn words(
    tool: &str,
    asked: &Path,
    folder: &Path,
    real_folder: &Path,
    state: &FileState,
) -> Option<String> {
    let below = |path: &Path| path.strip_prefix(folder).map(PathBuf::from);
    // A link of the project's own folder would be reported for every file.
    let expected = below(asked).map_or_else(|_| asked.to_owned(), |it| real_folder.join(it));
    let is_link = state.path != expected && state.path != asked;
    let link = is_link.then(|| paths::below(&state.path, real_folder));
    let is_absent = state.holds.as_ref().map(Fingerprint::is_absent);
    let act = match is_absent {
        // An edit changes a part of an existing file, which needs no remark.
        _ if tool == EDIT => None,
        Some(true) => Some("new file"),
        Some(false) => Some("overwrites the file"),
        None => None,
    };
    match (link, act) {
        (Some(target), Some(act)) => Some(format!("→ link to {target}, {act}")),
        (Some(target), None) => Some(format!("→ link to {target}")),
        (None, act) => act.map(|act| format!("→ {act}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(tool: &str, asked: &str, real: &str, holds: Option<&[u8]>) -> Option<String> {
        let state = FileState {
            path: PathBuf::from(real),
            holds: holds.map(Fingerprint::of),
        };
        let folder = Path::new("/home/me/project");
        words(
            tool,
            Path::new(asked),
            folder,
            Path::new("/data/project"),
            &state,
        )
    }

    #[test]
    fn the_line_says_what_happens_to_the_file_and_where_a_link_leads() {
        let there = Some(b"text".as_slice());
        for (tool, asked, real, holds, expected) in [
            (
                "write",
                "/home/me/project/a",
                "/data/project/a",
                there,
                Some("→ overwrites the file"),
            ),
            ("edit", "/home/me/project/a", "/data/project/a", there, None),
            (
                "write",
                "/etc/hosts",
                "/etc/hosts",
                there,
                Some("→ overwrites the file"),
            ),
            (
                "write",
                "/home/me/project/l",
                "/data/project/src/a",
                there,
                Some("→ link to src/a, overwrites the file"),
            ),
            (
                "edit",
                "/home/me/project/l",
                "/data/project/src/a",
                there,
                Some("→ link to src/a"),
            ),
            (
                "write",
                "/home/me/project/l",
                "/home/me/.bashrc",
                there,
                Some("→ link to /home/me/.bashrc, overwrites the file"),
            ),
            (
                "write",
                "/home/me/project/dir/a",
                "/etc/cron.d/a",
                None,
                Some("→ link to /etc/cron.d/a"),
            ),
        ] {
            assert_eq!(
                shown(tool, asked, real, holds).as_deref(),
                expected,
                "{tool} {asked}"
            );
        }
    }
}
