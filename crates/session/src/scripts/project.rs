//! The tools of a project: where they are, and whether the user trusts them.

use std::path::{Path, PathBuf};

use platform::paths::canonicalize;
use policy::trust::Trust;
use tools::{ScriptFolder, ScriptRoot, digest, state_dir};

use crate::projects::kept_no_trust;

/// Folder of a project's tools.
const FOLDER: &str = ".flemma/tools";

/// The user's trust in the tools of a project, with the folder's digest.
#[derive(Debug, PartialEq, Eq)]
pub enum Standing {
    /// The user trusts the folder as it is.
    Trusted(String),
    /// The user trusted the folder before it changed.
    Changed(String),
    /// The user never trusted it.
    New(String),
}

/// Returns the tool folder of the project that contains `folder`: the nearest one upwards,
/// below the home folder.
pub fn project_of(folder: &Path) -> Option<PathBuf> {
    let home = std::env::home_dir();
    // The home folder and the root are not projects.
    let inside = |it: &&Path| home.as_deref() != Some(*it) && it.parent().is_some();
    let mut folders = folder.ancestors().take_while(inside);
    let found = folders.find_map(|it| Some(it.join(FOLDER)).filter(|it| it.is_dir()))?;
    canonicalize(&found).ok()
}

/// Returns whether the user trusts a folder of tools. Blocking.
///
/// # Errors
///
/// The folder cannot be read.
pub fn standing(root: &Path, trust: &Trust) -> Result<Standing, String> {
    let digest = digest_of(root)?;
    Ok(match trust.trusted_digest(root) {
        Some(agreed) if agreed == digest => Standing::Trusted(digest),
        Some(_) => Standing::Changed(digest),
        None => Standing::New(digest),
    })
}

/// Returns the digest of a folder's content, so that any change needs a new agreement.
fn digest_of(root: &Path) -> Result<String, String> {
    digest(root).map_err(|error| {
        format!(
            "The tools in {} cannot be used: {error}. Correct that, then trust them.",
            root.display()
        )
    })
}

/// Scans a folder of tools.
fn looked_at(root: &Path) -> ScriptFolder {
    let mut folder = ScriptFolder::new(ScriptRoot {
        root: root.to_owned(),
        libraries: Vec::new(),
        agreed: None,
    });
    folder.scan();
    folder
}

/// The tools of a project as the user was shown them, to trust exactly these.
#[derive(Debug)]
pub struct ListedTools {
    root: PathBuf,
    digest: String,
    /// The tools and what is wrong with them, one line each.
    pub lines: Vec<String>,
}

impl ListedTools {
    /// Reads the tools in a folder. Runs none of them. Blocking.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub fn read(root: &Path) -> Result<Self, String> {
        // The digest first: what changes while the tools are listed must not be trusted.
        let digest = digest_of(root)?;
        let folder = looked_at(root);
        let tools = folder.tools();
        let mut lines: Vec<String> = tools
            .iter()
            .map(|it| format!("{:<18} {}", it.name(), it.description().replace('\n', " ")))
            .collect();
        lines.extend(folder.problems().iter().map(|it| format!("{it}.")));
        Ok(Self {
            root: root.to_owned(),
            digest,
            lines,
        })
    }

    /// Stores that the user trusts these tools. Returns the message that says what follows.
    ///
    /// # Errors
    ///
    /// The folder has changed since it was read, it cannot be read, or the trust store cannot
    /// be written.
    pub fn trust(&self) -> Result<String, String> {
        let root = &self.root;
        if digest_of(root)? != self.digest {
            return Err(format!(
                "The tools in {} have changed since they were listed, so nothing was trusted. Read them again.",
                root.display()
            ));
        }
        let trust = Trust::open(&state_dir::path());
        trust
            .trust_folder(root, &self.digest)
            .map_err(|error| kept_no_trust(&error))?;
        let folder = looked_at(root);
        let tools = folder.tools();
        let names: Vec<&str> = tools.iter().map(|it| it.name()).collect();
        Ok(format!(
            "The tools in {} can be called as they are now: {}. Your rules still apply to each call. If anything \
             there changes, you are asked again; :Flemma trust! tools revokes this.",
            root.display(),
            names.join(", ")
        ))
    }
}

/// Returns a message about tools that the user does not trust.
pub fn remark(root: &Path, standing: &Standing) -> String {
    let what = match standing {
        Standing::Changed(_) => "has changed since you trusted its tools",
        _ => "has tools that came with this project",
    };
    format!(
        "{} {what}. They do not run until you have read them and trust them with :Flemma trust tools, or \
         `flemma trust` in a shell.",
        root.display()
    )
}

/// Stores that the user no longer trusts the folder. Returns the message that says so.
///
/// # Errors
///
/// The trust store cannot be written.
pub fn revoke(root: &Path) -> Result<String, String> {
    let trust = Trust::open(&state_dir::path());
    let was = trust
        .revoke_folder(root)
        .map_err(|error| kept_no_trust(&error))?;
    let what = if was { "are no longer" } else { "were not" };
    Ok(format!(
        "The tools in {} {what} trusted, and do not run.",
        root.display()
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn tools_that_changed_after_they_were_listed_are_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("hello.lua"), "return {}").unwrap();
        let offered = ListedTools::read(folder.path()).unwrap();
        fs::write(folder.path().join("hello.lua"), "os.exit()").unwrap();
        let why = offered.trust().unwrap_err();
        assert!(why.contains("have changed since they were listed"), "{why}");
    }
}
