//! Skills: instructions in `SKILL.md` files, which a new chat lists and the model reads when
//! it needs one. The user's own, and those of a project that the user trusts.
//!
//! A skill is text for the model. It changes no option and approves no call.

use std::fs;
use std::path::{Path, PathBuf};

use chat::preview::one_line;
use policy::project::{self, ProjectFolder};
use policy::trust::Trust;
use serde::{Deserialize, Serialize};

use crate::config_dir;

/// The folder of skills, in the user's configuration and in `.flemma`.
pub const FOLDER: &str = "skills";
/// The file of a skill.
const FILE: &str = "SKILL.md";
/// Maximum characters of a name.
const MAX_NAME: usize = 64;
/// Maximum characters of a description.
const MAX_DESCRIPTION: usize = 1024;
/// Maximum skills that are listed of one folder.
const MAX_SKILLS: usize = 100;

/// A skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skill {
    /// Its name, which is that of its folder.
    pub name: String,
    /// Its purpose, on one line.
    pub description: String,
    /// The path of its `SKILL.md`.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
}

/// Serializes a path as text. JSON has no bytes that are not UTF-8, so these are replaced.
fn lossy<S: serde::Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// The skills of a project and of the user.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Skills {
    /// The skills by name. A project's skill never replaces one of the user's.
    pub found: Vec<Skill>,
    /// Files that are not skills, and folders that are not trusted: a message each.
    pub problems: Vec<String>,
}

/// The YAML at the top of a `SKILL.md`. Other fields are ignored.
#[derive(Debug, Deserialize)]
struct Header {
    name: String,
    description: String,
}

/// Returns the user's skills and those of the project that contains a folder. Blocking.
pub fn around(folder: &Path, trust: &Trust) -> Skills {
    let mut skills = Skills::default();
    // The user's folder is added first, because the first skill of a name is kept.
    if let Some(own) = config_dir::path() {
        skills.add(&own.join(FOLDER));
    }
    match ProjectFolder::around(folder, FOLDER, trust) {
        // An unread skill could tell the model anything, so only those of a trusted project are
        // listed.
        Some(Ok(project)) if project.trusted => skills.add(&project.path),
        Some(Ok(project)) => skills.problems.push(format!(
            "{} has skills that came with this project. They are not listed until you have read them and confirm with \
             :Flemma trust project.",
            project.path.display()
        )),
        Some(Err(problem)) => skills.problems.push(problem),
        None => {}
    }
    skills.found.sort_by(|a, b| a.name.cmp(&b.name));
    skills
}

/// Returns the names of the skills in a folder, trusted or not.
pub fn names(root: &Path) -> Vec<String> {
    let mut skills = Skills::default();
    skills.add(root);
    skills.found.into_iter().map(|it| it.name).collect()
}

impl Skills {
    /// Adds the skills in a folder, which need not exist.
    fn add(&mut self, root: &Path) {
        let entries = fs::read_dir(root).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> = entries.map(|it| it.path().join(FILE)).collect();
        // Sorted, so that the same skills are listed each time if there are too many.
        files.sort();
        // Without following links, so that a link is not left out silently: `read_text` refuses
        // it and says so.
        files.retain(|it| it.symlink_metadata().is_ok());
        if files.len() > MAX_SKILLS {
            let shown = root.display();
            self.problems.push(format!(
                "{shown}: only the first {MAX_SKILLS} skills are listed."
            ));
        }
        for path in files.into_iter().take(MAX_SKILLS) {
            let text = project::read_text(&path)
                .map_err(|error| (1, format!("it cannot be read: {error}")));
            match text.and_then(|text| read(&text, &path)) {
                // A project must not replace a skill that the user wrote.
                Ok(skill) if self.found.iter().any(|it| it.name == skill.name) => {}
                Ok(skill) => self.found.push(skill),
                Err((line, why)) => {
                    let shown = path.display();
                    let problem = format!("{shown}, line {line}: {why}. The skill is not listed.");
                    self.problems.push(problem);
                }
            }
        }
    }
}

/// Reads a `SKILL.md`. Returns the line and the reason if it is none.
fn read(text: &str, path: &Path) -> Result<Skill, (usize, String)> {
    // Editors on Windows may write a byte order mark and CRLF, which would hide the line `---`.
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let Some(yaml) = header_lines(&text) else {
        let why = "it must begin with YAML between two lines `---`";
        return Err((1, why.to_owned()));
    };
    let header: Header = serde_saphyr::from_str(&yaml.join("\n")).map_err(|error| {
        // The first line is `---`.
        let line = error.location().map_or(1, |it| it.line() as usize + 1);
        (line, one_line(&error.without_snippet().to_string(), 200))
    })?;
    let line_of = |field: &str| {
        let found = yaml.iter().position(|it| it.starts_with(field));
        // The position counts from 0, and the line `---` precedes it.
        found.map_or(1, |at| at + 2)
    };
    check_name(&header.name, path).map_err(|why| (line_of("name"), why))?;
    let description = header
        .description
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    if description.is_empty() || description.chars().count() > MAX_DESCRIPTION {
        // The chat lists descriptions in its system prompt, which every request contains.
        let why = format!("description must have 1 to {MAX_DESCRIPTION} characters");
        return Err((line_of("description"), why));
    }
    Ok(Skill {
        name: header.name,
        // Control characters and those that hide text are spelled out.
        description: one_line(&description, usize::MAX),
        path: path.to_owned(),
    })
}

/// Returns the lines between the two lines `---` at the start of a text.
fn header_lines(text: &str) -> Option<Vec<&str>> {
    let rest = text.strip_prefix("---\n")?;
    let is_end = |line: &str| matches!(line.trim_end(), "---" | "...");
    let end = rest.split('\n').position(is_end)?;
    Some(rest.split('\n').take(end).collect())
}

/// Checks the name of a skill in the file at `path`.
fn check_name(name: &str, path: &Path) -> Result<(), String> {
    // ASCII only: the name is listed for the model, and letters that look alike could deceive.
    let is_allowed = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '-';
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_allowed) {
        return Err(format!(
            "name must be 1 to {MAX_NAME} lower-case letters, digits, and hyphens"
        ));
    }
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
    if folder == name {
        Ok(())
    } else {
        Err(format!("name is \"{name}\"; it must be that of the folder"))
    }
}

#[cfg(test)]
mod tests;
