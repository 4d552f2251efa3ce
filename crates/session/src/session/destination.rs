//! What a waiting call would do to its file: make it, overwrite it, or follow a link.

use std::path::{Path, PathBuf};

use chat::approval::{self, CallKey};
use tools::{FileState, Fingerprint};

use super::Session;

/// The tool that changes a part of a file that is there; the others replace the whole.
const EDIT: &str = "edit";

impl Session {
    /// The line below the preview of a call that changes a file.
    pub(super) fn destination(&self, call: &CallKey, width: usize) -> Option<String> {
        let standing = self.standing(call)?;
        let asked = self.changed_file(call, None)?;
        let folder = self.folder();
        let folder = folder.canonicalize().unwrap_or(folder);
        let input = serde_json::from_str(&call.input).ok()?;
        let (meant, _) = approval::meant(call, &input);
        let words = words(&meant.name, &asked, &self.folder(), &folder, &standing)?;
        Some(chat::preview::one_line(&words, width))
    }
}

/// What a call of `tool` on the path `asked` does where that leads. `real_folder` is the
/// chat's `folder` without links in its own path, which are no news.
fn words(
    tool: &str,
    asked: &Path,
    folder: &Path,
    real_folder: &Path,
    standing: &FileState,
) -> Option<String> {
    let below = |path: &Path| path.strip_prefix(folder).map(PathBuf::from);
    let expected = below(asked).map_or_else(|_| asked.to_owned(), |it| real_folder.join(it));
    let link = (standing.path != expected && standing.path != asked).then(|| {
        let target = standing.path.strip_prefix(real_folder);
        target.unwrap_or(&standing.path).display().to_string()
    });
    let is_absent = standing.holds.as_ref().map(Fingerprint::is_absent);
    let act = match is_absent {
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

    fn said(tool: &str, asked: &str, real: &str, holds: Option<&[u8]>) -> Option<String> {
        let standing = FileState {
            path: PathBuf::from(real),
            holds: holds.map(Fingerprint::of),
        };
        let folder = Path::new("/home/me/project");
        words(
            tool,
            Path::new(asked),
            folder,
            Path::new("/data/project"),
            &standing,
        )
    }

    #[test]
    fn a_call_says_what_becomes_of_the_file_and_where_a_link_leads() {
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
                said(tool, asked, real, holds).as_deref(),
                expected,
                "{tool} {asked}"
            );
        }
    }
}
