//! Rules that the user chose at earlier calls: which later calls run without asking.
//!
//! A rule only ever adds an approval. It answers below the frontmatter, and the checks of
//! protected files, secrets, and denied commands come after it. [`Remembered`] is the file;
//! [`offers`](offers()) are the rules that a call suggests.

mod offers;
mod store;

use std::path::{Path, PathBuf};

use chat::approval::{CallKey, EXECUTE_TOOL};
use chat::json::canonical;
use serde_json::Value;
use tools::FileAccess;

pub use offers::{Addition, RuleOffer, offers};
pub use store::Remembered;

/// A rule: which calls it approves, and in which chats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowRule {
    /// The calls.
    pub calls: AllowedCalls,
    /// The chats.
    pub scope: AllowScope,
}

/// The calls that a rule approves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AllowedCalls {
    /// A shell command with these words.
    Command {
        /// The program and its arguments.
        words: Vec<String>,
        /// Whether any further arguments may follow.
        with_any: bool,
        /// Real path of a folder: the command must run there or below. If the program is named by a
        /// relative path, the command must run in exactly this folder. `None` is the scope's folder.
        folder: Option<PathBuf>,
    },
    /// Changes of one file, by its real path.
    File(PathBuf),
    /// Changes of all files below a folder, by its real path.
    Below(PathBuf),
    /// Calls of another tool.
    Tool {
        /// Its name.
        name: String,
        /// The arguments in canonical form; any if absent.
        input: Option<String>,
    },
}

/// The chats in which a rule applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AllowScope {
    /// All chats.
    Always,
    /// The chats of a project, by the real path of its top.
    Project(PathBuf),
    /// One chat, by its real path.
    Chat(PathBuf),
}

/// A call, and what rules compare.
#[derive(Debug, Clone)]
pub struct CallFacts {
    /// The call, with the inner one in place of `execute_tool`.
    pub call: CallKey,
    /// Its arguments.
    pub input: Value,
    /// The files that it changes: where their paths lead, with all links followed.
    pub files: Vec<PathBuf>,
    /// The top of the chat's project, without links.
    pub project: PathBuf,
    /// The chat's real path.
    pub chat: Option<PathBuf>,
    /// The real path of the folder in which commands run.
    pub runs_in: PathBuf,
    /// Whether the shell is one whose commands can be parsed.
    pub has_known_shell: bool,
    /// Which parts of a shell command need no rule beside others that have one; empty if none.
    pub reading: Vec<bool>,
}

/// The part of a call that a rule compares.
enum Kind {
    /// A shell command: the words of each of its parts, and whether the part needs no rule beside
    /// others.
    Command(Vec<(Vec<String>, bool)>),
    /// Changes of files.
    Files,
    /// Any other tool.
    Other,
    /// Never approved by a rule.
    Unclear(&'static str),
}

impl CallFacts {
    fn kind(&self) -> Kind {
        let name = self.call.name.as_str();
        if matches!(name, "bash" | "shell") {
            return match self.parts() {
                Ok(parts) => {
                    let is_known = self.reading.len() == parts.len();
                    let reading = self.reading.iter().copied().filter(|_| is_known);
                    Kind::Command(
                        parts
                            .into_iter()
                            .zip(reading.chain(std::iter::repeat(false)))
                            .collect(),
                    )
                }
                Err(why) => Kind::Unclear(why),
            };
        }
        if tools::with_access(FileAccess::Changes).contains(name) {
            return if self.files.is_empty() {
                Kind::Unclear("no file that could be read from it")
            } else {
                Kind::Files
            };
        }
        match name {
            EXECUTE_TOOL => Kind::Unclear("another call"),
            _ => Kind::Other,
        }
    }

    /// Returns the parts of a shell command, unless other arguments affect what runs.
    fn parts(&self) -> Result<Vec<Vec<String>>, &'static str> {
        // Another shell may give the same words another meaning.
        if !self.has_known_shell {
            return Err("the syntax of another shell than bash");
        }
        let fields = self.input.as_object().ok_or("arguments of another form")?;
        // None of these changes what runs.
        let others = ["command", "label", "timeout"];
        // In another folder the same words may run another program.
        if fields
            .iter()
            .any(|(name, value)| !others.contains(&name.as_str()) && !value.is_null())
        {
            return Err("another folder to run in");
        }
        let command = fields.get("command").and_then(Value::as_str);
        tools::parts(command.ok_or("arguments of another form")?)
    }
}

/// Returns the names of the rules that approve a call together, or `None` if they don't.
pub fn approving(rules: &[AllowRule], facts: &CallFacts) -> Option<String> {
    let rules = rules.iter();
    let rules = rules.filter(|it| it.scope.covers(facts) && it.runs_here(facts));
    let rules: Vec<&AllowRule> = rules.collect();
    let first = |approves: &dyn Fn(&AllowedCalls) -> bool| {
        rules.iter().copied().find(|it| approves(&it.calls))
    };
    // Every part that does more than read needs a rule, and one part without it is enough to ask.
    let used: Option<Vec<&AllowRule>> = match facts.kind() {
        Kind::Command(parts) => {
            let rules = parts.iter().map(|(words, reads)| {
                let rule = first(&|calls| calls.has_command(words));
                (rule, *reads)
            });
            let rules: Vec<_> = rules
                .filter(|(rule, reads)| rule.is_some() || !reads)
                .collect();
            rules.into_iter().map(|(rule, _)| rule).collect()
        }
        Kind::Files => {
            let files = facts.files.iter();
            files.map(|it| first(&|calls| calls.has_file(it))).collect()
        }
        Kind::Other => Some(vec![first(&|calls| calls.has_tool(facts))?]),
        Kind::Unclear(_) => None,
    };
    let mut names: Vec<String> = used?.into_iter().map(AllowRule::name).collect();
    // One rule often approves several parts in a row.
    names.dedup();
    // A command without parts needs no rule, but no rule approved it either.
    (!names.is_empty()).then(|| names.join(", "))
}

impl AllowRule {
    /// Returns true unless it is about commands in another folder, where the same words may run
    /// another program.
    fn runs_here(&self, facts: &CallFacts) -> bool {
        let AllowedCalls::Command { words, folder, .. } = &self.calls else {
            return true;
        };
        let program = Path::new(words.first().map_or("", String::as_str));
        let is_relative = program.is_relative() && program.components().count() > 1;
        let folder = folder.as_deref().or_else(|| match &self.scope {
            // A file of this name may be anywhere.
            AllowScope::Always => None,
            AllowScope::Project(top) => Some(top),
            AllowScope::Chat(chat) if is_relative => chat.parent(),
            AllowScope::Chat(_) => Some(&facts.project),
        });
        match folder {
            Some(folder) if is_relative => facts.runs_in == folder,
            Some(folder) => facts.runs_in.starts_with(folder),
            None => !is_relative,
        }
    }

    /// Describes the rule, for the log.
    pub fn name(&self) -> String {
        format!("{}{}", self.calls.name(), self.scope.suffix())
    }
}

impl AllowedCalls {
    fn has_command(&self, part: &[String]) -> bool {
        match self {
            Self::Command {
                words, with_any, ..
            } => {
                if *with_any {
                    // Also if the rule was written by hand: `env` and `git fetch` would run anything.
                    part.starts_with(words) && tools::run_arguments(words).is_none()
                } else {
                    part == words
                }
            }
            _ => false,
        }
    }

    fn has_file(&self, path: &Path) -> bool {
        match self {
            Self::File(file) => path == file,
            // By whole names, so that `src` does not cover `src2`.
            Self::Below(folder) => path != folder && path.starts_with(folder),
            _ => false,
        }
    }

    fn has_tool(&self, facts: &CallFacts) -> bool {
        match self {
            Self::Tool { name, input } => {
                let is_same = |input: &String| *input == canonical(&facts.input);
                *name == facts.call.name && input.as_ref().is_none_or(is_same)
            }
            _ => false,
        }
    }

    /// Returns true if all calls of `other` are among these, as far as they run in one folder.
    fn include(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Command {
                    words, with_any, ..
                },
                Self::Command {
                    words: others,
                    with_any: other_any,
                    ..
                },
            ) => {
                if *with_any {
                    others.starts_with(words) && tools::run_arguments(words).is_none()
                } else {
                    words == others && !other_any
                }
            }
            (Self::Below(folder), Self::File(path)) => path != folder && path.starts_with(folder),
            (Self::Below(folder), Self::Below(path)) => path.starts_with(folder),
            (Self::Tool { name, input: None }, Self::Tool { name: other, .. }) => name == other,
            _ => self == other,
        }
    }

    /// Describes the calls.
    pub fn name(&self) -> String {
        match self {
            Self::Command {
                words,
                with_any,
                folder,
            } => {
                let words: Vec<String> = words.iter().map(|it| quoted(it)).collect();
                let rest = if *with_any { " with any arguments" } else { "" };
                let folder = folder.as_ref();
                let folder = folder.map(|it| format!(" (run in {})", it.display()));
                format!("{}{rest}{}", words.join(" "), folder.unwrap_or_default())
            }
            Self::File(path) => format!("edits of {}", path.display()),
            Self::Below(path) => format!("edits below {}/", path.display()),
            Self::Tool { name, input: None } => format!("every call of {name}"),
            Self::Tool { name, .. } => format!("{name} with these arguments"),
        }
    }
}

/// Quotes a word as a shell would need it, for display.
fn quoted(word: &str) -> String {
    let is_plain = |it: char| it.is_alphanumeric() || "-_./=:,+@%".contains(it);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

impl AllowScope {
    fn covers(&self, facts: &CallFacts) -> bool {
        match self {
            Self::Always => true,
            Self::Project(top) => facts.project == *top,
            Self::Chat(path) => facts.chat.as_ref() == Some(path),
        }
    }

    /// Returns true if a rule with this scope applies wherever one with `other` does, for rules
    /// about the chat of this call.
    fn includes(&self, other: &Self, facts: &CallFacts) -> bool {
        match (self, other) {
            (Self::Always, _) => true,
            (Self::Project(top), Self::Chat(_)) => facts.project == *top,
            _ => self == other,
        }
    }

    fn suffix(&self) -> String {
        match self {
            Self::Always => String::new(),
            Self::Project(top) => format!(" in {}", top.display()),
            Self::Chat(_) => " in this chat".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
