//! Finds commands: in the user's folder, in the project's, or by a path.

use std::path::{Path, PathBuf};

use super::CommandSpec;

/// A command and its file.
#[derive(Debug)]
pub struct CommandFile {
    /// Its file.
    pub path: PathBuf,
    /// The command, or why it cannot be read.
    pub spec: Result<CommandSpec, String>,
}

impl CommandFile {
    fn read(path: PathBuf) -> Self {
        let text = std::fs::read_to_string(&path).map_err(|error| error.to_string());
        let spec = text.and_then(|text| CommandSpec::parse(&text));
        Self { path, spec }
    }
}

/// Returns the folders of commands; the first one takes precedence.
pub fn folders(project: &Path) -> Vec<PathBuf> {
    let own = crate::config_dir::path().map(|folder| folder.join("commands"));
    let projects = project.join(".flemma/commands");
    own.into_iter().chain([projects]).collect()
}

/// Finds a command by its name or, if the word looks like a path, by its file.
///
/// # Errors
///
/// There is no such command, or it is invalid.
pub fn find(word: &str, project: &Path) -> Result<CommandSpec, String> {
    let word = without_slash(word);
    let is_path = word.contains('/') || word.ends_with(".yaml") || word.ends_with(".yml");
    let path = if is_path {
        Some(project.join(word))
    } else {
        let files = folders(project)
            .into_iter()
            .flat_map(|folder| ["yaml", "yml"].map(|end| folder.join(format!("{word}.{end}"))));
        files.into_iter().find(|path| path.is_file())
    };
    let Some(path) = path else {
        return Err(unknown(word, project));
    };
    let found = CommandFile::read(path);
    found
        .spec
        .map_err(|error| format!("{}: {error}. Nothing was run.", found.path.display()))
}

/// Returns the name in `/name`, as the specification writes commands, unless such a file exists.
fn without_slash(word: &str) -> &str {
    let name = word.strip_prefix('/').unwrap_or(word);
    let is_name = !name.contains('/') && !Path::new(word).exists();
    if is_name { name } else { word }
}

fn unknown(word: &str, project: &Path) -> String {
    // Files that cannot be read have no name to suggest.
    let names: Vec<String> = all(project)
        .into_iter()
        .filter_map(|found| Some(found.spec.ok()?.name))
        .collect();
    let meant = chat::did_you_mean(word, names.iter().map(String::as_str));
    let folders = folders(project);
    let places: Vec<String> = folders.iter().map(|it| it.display().to_string()).collect();
    format!(
        "There is no command \"{word}\".{meant} Commands are {word}.yaml in {}.",
        places.join(" or ")
    )
}

/// Returns all commands, sorted by file name.
pub fn all(project: &Path) -> Vec<CommandFile> {
    // Commands of a project need no trust: they ask something, and can loosen no rule.
    let mut found: Vec<CommandFile> = Vec::new();
    for folder in folders(project) {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let files = entries.map(|entry| entry.path()).filter(|path| {
            path.extension()
                .is_some_and(|end| end == "yaml" || end == "yml")
        });
        for path in files {
            // A command of the user hides the project's command of the same name.
            if !found
                .iter()
                .any(|it| it.path.file_stem() == path.file_stem())
            {
                found.push(CommandFile::read(path));
            }
        }
    }
    found.sort_by(|a, b| a.path.file_name().cmp(&b.path.file_name()));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_before_a_name_does_not_make_it_a_path() {
        for (word, name) in [
            ("/explain", "explain"),
            ("explain", "explain"),
            ("/tmp", "/tmp"),
            ("/a/b", "/a/b"),
            ("./explain", "./explain"),
        ] {
            assert_eq!(without_slash(word), name);
        }
    }
}
