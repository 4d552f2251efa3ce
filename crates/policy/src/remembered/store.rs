//! The file of the rules, `allow.toml` in the user's configuration folder. The user may edit it,
//! so it is read for each question, and Flemma only appends to it.

use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use platform::files::open_no_link;
use serde::Deserialize;
use tools::state_dir;

use super::{AllowRule, AllowScope, AllowedCalls};

/// Name of the file.
const FILE: &str = "allow.toml";
/// Lock file in the state folder that prevents two hosts from writing at once.
const LOCK: &str = "allow.lock";
/// Maximum bytes of the file (256 KB).
const MAX_BYTES: u64 = 256 * 1024;
/// First lines of a new file.
const HEADER: &str = "\
# Calls that run without being asked about, chosen with :Flemma allow. Edit or delete them as you
# like; changes apply at once. :help flemma-allow explains the fields.
";

/// The rules that the user chose, in a file that is read anew each time.
#[derive(Debug, Clone)]
pub struct Remembered {
    path: PathBuf,
    /// The problem that was reported last.
    reported: Arc<Mutex<Option<String>>>,
}

/// A rule as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    command: Option<Vec<String>>,
    arguments: Option<String>,
    folder: Option<PathBuf>,
    edit: Option<String>,
    tool: Option<String>,
    input: Option<String>,
    project: Option<PathBuf>,
    chat: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entries {
    #[serde(default)]
    allow: Vec<Entry>,
}

impl Remembered {
    /// Returns the store in this configuration folder. Neither need exist.
    pub fn open(folder: &Path) -> Self {
        Self {
            path: folder.join(FILE),
            reported: Arc::default(),
        }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the rules. Without a file there are none.
    ///
    /// # Errors
    ///
    /// The file cannot be used, so none of its rules applies: a message for the user.
    pub fn rules(&self) -> Result<Vec<AllowRule>, String> {
        let text = self
            .text()
            .map_err(|error| self.problem(&error.to_string()))?;
        parse(&text).map_err(|why| self.problem(&why))
    }

    /// Reads the rules, and returns why they do not apply unless that was reported already.
    pub fn rules_and_news(&self) -> (Vec<AllowRule>, Option<String>) {
        let (rules, problem) = match self.rules() {
            Ok(rules) => (rules, None),
            Err(problem) => (Vec::new(), Some(problem)),
        };
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        // Reported once, until the problem changes.
        let is_new = *reported != problem;
        reported.clone_from(&problem);
        (rules, problem.filter(|_| is_new))
    }

    /// Appends rules, without those that are in the file already.
    ///
    /// # Errors
    ///
    /// The file cannot be used or written: a message for the user.
    pub fn add(&self, rules: &[AllowRule]) -> Result<(), String> {
        let failed =
            |error: io::Error| format!("{} cannot be written: {error}.", self.path.display());
        // Held from reading to writing, so that no rule of another host is lost.
        let _lock = state_dir::lock(&state_dir::path(), LOCK).map_err(failed)?;
        let known = self.rules()?;
        let mut text = self.text().map_err(failed)?;
        if text.is_empty() {
            text.push_str(HEADER);
        } else if !text.ends_with('\n') {
            // The user may have saved the file without a final line end.
            text.push('\n');
        }
        let new: Vec<AllowRule> = rules
            .iter()
            .filter(|it| !known.contains(it))
            .cloned()
            .collect();
        if new.is_empty() {
            return Ok(());
        }
        new.iter().for_each(|it| text.push_str(&written(it)));
        // A rule that would be read back as another one must not get into the file.
        let expected: Vec<AllowRule> = known.into_iter().chain(new).collect();
        if parse(&text).as_ref() != Ok(&expected) {
            return Err(
                "This rule cannot be written, because a path in it is not UTF-8.".to_owned(),
            );
        }
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder).map_err(failed)?;
        state_dir::replace(&self.path, text.as_bytes()).map_err(failed)
    }

    fn problem(&self, why: &str) -> String {
        format!(
            "The rules in {} do not apply: {why}. Correct the file; until then you are asked.",
            self.path.display()
        )
    }

    fn text(&self) -> io::Result<String> {
        let refused = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        // A link's target need not be protected from tools as this folder is, and opening a
        // pipe would wait for its other end.
        let mut file = match open_no_link(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
            Err(_) if self.path.is_symlink() => {
                return Err(refused("it is a link, or not a file"));
            }
            opened => opened?,
        };
        // Ask the open file, because the path may lead elsewhere in the meantime.
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(refused("it is a link, or not a file"));
        }
        // Another user of the machine could otherwise approve calls here.
        if !platform::user::wrote_alone(&metadata) {
            return Err(refused("others than you may have written it"));
        }
        let mut text = String::new();
        file.by_ref()
            .take(MAX_BYTES + 1)
            .read_to_string(&mut text)?;
        if text.len() as u64 > MAX_BYTES {
            Err(refused("it is larger than 256 KB"))
        } else {
            Ok(text)
        }
    }
}

fn parse(text: &str) -> Result<Vec<AllowRule>, String> {
    let entries: Entries = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |it| it.start);
        let before = text.as_bytes().get(..at).unwrap_or_default();
        let line = 1 + before.iter().filter(|it| **it == b'\n').count();
        let message = error.message().lines().next().unwrap_or_default();
        format!("line {line}: {}", message.trim_end_matches('.'))
    })?;
    let numbered = (1..).zip(entries.allow);
    numbered
        .map(|(number, entry)| entry.rule().map_err(|why| format!("rule {number} {why}")))
        .collect()
}

impl Entry {
    /// Converts the entry to a rule.
    ///
    /// # Errors
    ///
    /// The error, to follow the number of the rule.
    fn rule(self) -> Result<AllowRule, String> {
        let scope = match (self.project, self.chat) {
            (Some(_), Some(_)) => return Err("names both a project and a chat".to_owned()),
            (Some(path), None) => AllowScope::Project(absolute(path)?),
            (None, Some(path)) => AllowScope::Chat(absolute(path)?),
            (None, None) => AllowScope::Always,
        };
        let of_command = self.arguments.is_some() || self.folder.is_some();
        let calls = match (self.command, self.edit, self.tool) {
            (Some(words), None, None) if self.input.is_none() => {
                command(words, self.arguments.as_deref(), self.folder)?
            }
            (None, Some(path), None) if !of_command && self.input.is_none() => edit(&path)?,
            (None, None, Some(name)) if !of_command => tool(name, self.input)?,
            _ => {
                return Err(
                    "needs one of command, edit, and tool; only a command takes \
                            arguments and a folder, and only a tool takes input"
                        .to_owned(),
                );
            }
        };
        Ok(AllowRule { calls, scope })
    }
}

fn command(
    words: Vec<String>,
    arguments: Option<&str>,
    folder: Option<PathBuf>,
) -> Result<AllowedCalls, String> {
    let with_any = match arguments {
        None => false,
        Some("any") => true,
        Some(_) => return Err("has arguments other than \"any\"".to_owned()),
    };
    if words.is_empty() {
        return Err("has an empty command".to_owned());
    }
    match tools::run_arguments(&words).filter(|_| with_any) {
        Some(how) => Err(format!(
            "allows any arguments for {:?}, which could run any program ({how})",
            words.join(" ")
        )),
        None => Ok(AllowedCalls::Command {
            words,
            with_any,
            folder: folder.map(absolute).transpose()?,
        }),
    }
}

fn edit(path: &str) -> Result<AllowedCalls, String> {
    let folder = path.strip_suffix('/');
    let absolute = absolute(PathBuf::from(folder.unwrap_or(path)))?;
    Ok(match folder {
        Some(_) => AllowedCalls::Below(absolute),
        None => AllowedCalls::File(absolute),
    })
}

fn tool(name: String, input: Option<String>) -> Result<AllowedCalls, String> {
    // Such a rule would approve every command or every change of a file.
    let changes = tools::with_access(tools::FileUse::Changes);
    if matches!(name.as_str(), "bash" | "shell") || changes.contains(&name) {
        return Err(format!(
            "allows all of {name:?}; use command or edit instead"
        ));
    }
    Ok(AllowedCalls::Tool { name, input })
}

/// Rejects a path that could name another file than it seems to.
fn absolute(path: PathBuf) -> Result<PathBuf, String> {
    let is_plain = |it: Component<'_>| !matches!(it, Component::CurDir | Component::ParentDir);
    if path.is_absolute() && path.components().all(is_plain) && path.parent().is_some() {
        Ok(path)
    } else {
        Err(format!("has the path {path:?}, which is not absolute"))
    }
}

/// Returns a rule in the form of the file.
fn written(rule: &AllowRule) -> String {
    let mut lines = vec![String::new(), "[[allow]]".to_owned()];
    match &rule.calls {
        AllowedCalls::Command {
            words,
            with_any,
            folder,
        } => {
            let words: Vec<String> = words.iter().map(|it| string(it)).collect();
            lines.push(format!("command = [{}]", words.join(", ")));
            lines.extend(with_any.then(|| "arguments = \"any\"".to_owned()));
            let folder = folder.iter().map(|it| string(&it.to_string_lossy()));
            lines.extend(folder.map(|it| format!("folder = {it}")));
        }
        AllowedCalls::File(path) => {
            lines.push(format!("edit = {}", string(&path.to_string_lossy())))
        }
        AllowedCalls::Below(path) => {
            let path = format!("{}/", path.to_string_lossy());
            lines.push(format!("edit = {}", string(&path)));
        }
        AllowedCalls::Tool { name, input } => {
            lines.push(format!("tool = {}", string(name)));
            lines.extend(input.as_ref().map(|it| format!("input = {}", string(it))));
        }
    }
    match &rule.scope {
        AllowScope::Always => {}
        AllowScope::Project(path) => {
            lines.push(format!("project = {}", string(&path.to_string_lossy())))
        }
        AllowScope::Chat(path) => lines.push(format!("chat = {}", string(&path.to_string_lossy()))),
    }
    lines.join("\n") + "\n"
}

/// Returns a basic string of TOML, which has the same escapes as JSON.
fn string(text: &str) -> String {
    // JSON does not escape this control character.
    serde_json::Value::from(text)
        .to_string()
        .replace('\u{7f}', "\\u007f")
}
