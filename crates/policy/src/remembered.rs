//! Rules that the user chose at earlier calls: which later calls run without asking.
//!
//! A rule only ever adds an approval. It answers below the frontmatter, and the checks of
//! protected files, secrets, and denied commands come after it. [`Remembered`] is the file;
//! [`offers`](offers()) are the rules that a call suggests.
//!
//! A call suggests its narrowest rule first.

mod store;

use std::path::{Path, PathBuf};

use chat::approval::{CallKey, EXECUTE_TOOL};
use chat::json::canonical;
use serde_json::Value;
use tools::FileUse;

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
        /// True if any further arguments may follow.
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
    /// True if the shell is one whose commands can be parsed.
    pub has_known_shell: bool,
    /// Which parts of a shell command need no rule if the others have one; empty if none.
    pub reading: Vec<bool>,
}

/// The part of a call that a rule compares.
enum Kind {
    /// A shell command: the words of each of its parts, and whether the part needs no rule if the
    /// others have one.
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
        if tools::with_access(FileUse::Changes).contains(name) {
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

/// Checkers and test runners, which have only one purpose.
const SINGLE: [&str; 17] = [
    "clippy-driver",
    "eslint",
    "gofmt",
    "jest",
    "luacheck",
    "mypy",
    "phpunit",
    "prettier",
    "pylint",
    "pyright",
    "pytest",
    "rspec",
    "ruff",
    "rustfmt",
    "stylua",
    "tsc",
    "vitest",
];

/// Rules that together approve a call like the one they were made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleOffer {
    /// Description for the user.
    pub name: String,
    /// The calls that each rule approves.
    pub calls: Vec<AllowedCalls>,
}

impl RuleOffer {
    fn new(mut calls: Vec<AllowedCalls>) -> Self {
        let mut known = Vec::new();
        calls.retain(|it| {
            !known.contains(it) && {
                known.push(it.clone());
                true
            }
        });
        let names: Vec<String> = calls.iter().map(AllowedCalls::name).collect();
        let name = names.join(" and ");
        Self { name, calls }
    }
}

/// The rules that an offer would add to existing ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addition {
    /// Description for the user.
    pub name: String,
    /// The new rules. Empty if earlier ones cover the offer.
    pub rules: Vec<AllowRule>,
}

impl RuleOffer {
    /// Returns what is missing for this offer in a scope, besides these rules.
    pub fn addition(&self, scope: &AllowScope, rules: &[AllowRule], facts: &CallFacts) -> Addition {
        let is_known = |calls: &&AllowedCalls| {
            let mut rules = rules.iter().filter(|it| it.scope.includes(scope, facts));
            rules.any(|it| it.runs_here(facts) && it.calls.include(calls))
        };
        let (known, missing): (Vec<_>, Vec<_>) = self.calls.iter().partition(is_known);
        let names = |calls: &[&AllowedCalls]| {
            let names: Vec<String> = calls.iter().map(|it| it.name()).collect();
            names.join(" and ")
        };
        let name = match (known.is_empty(), missing.is_empty()) {
            (true, _) | (_, true) => self.name.clone(),
            _ => format!("{} (besides {})", names(&missing), names(&known)),
        };
        let rule = |calls: &AllowedCalls| {
            let mut rule = AllowRule {
                calls: calls.clone(),
                scope: scope.clone(),
            };
            // The file says where, unless the scope does.
            if !rule.runs_here(facts)
                && let AllowedCalls::Command { folder, .. } = &mut rule.calls
            {
                *folder = Some(facts.runs_in.clone());
            }
            rule
        };
        let rules = missing.into_iter().map(rule).collect();
        Addition { name, rules }
    }
}

/// Returns the rules that would have approved this call, the narrowest first.
///
/// # Errors
///
/// No rule can approve it, because it contains this: a noun with its article.
pub fn offers(facts: &CallFacts) -> Result<Vec<RuleOffer>, &'static str> {
    let mut offers = match facts.kind() {
        Kind::Command(parts) => of_command(&parts),
        Kind::Files => of_files(facts),
        Kind::Other => of_tool(facts),
        Kind::Unclear(why) => return Err(why),
    };
    // The exact and the wide rules may be the same.
    offers.dedup();
    Ok(offers)
}

fn of_command(parts: &[(Vec<String>, bool)]) -> Vec<RuleOffer> {
    // A command that only reads and asks nevertheless needs rules like any other.
    let all_read = parts.iter().all(|(_, reads)| *reads);
    let needed = parts.iter().filter(|(_, reads)| all_read || !reads);
    let parts: Vec<&Vec<String>> = needed.map(|(words, _)| words).collect();
    let exactly = |words: &Vec<String>| AllowedCalls::Command {
        words: words.clone(),
        with_any: false,
        folder: None,
    };
    let widely = |words: &Vec<String>| match prefix(words).or_else(|| before_number(words)) {
        Some(length) => AllowedCalls::Command {
            words: words[..length].to_vec(),
            with_any: true,
            folder: None,
        },
        None => exactly(words),
    };
    let exact = RuleOffer::new(parts.iter().copied().map(exactly).collect());
    let wide = RuleOffer::new(parts.iter().copied().map(widely).collect());
    vec![exact, wide]
}

/// Returns the number of words that determine what a command does, if any arguments may follow
/// them.
fn prefix(words: &[String]) -> Option<usize> {
    let program = words[0].as_str();
    if SINGLE.contains(&program) {
        return Some(1);
    }
    let second = words.get(1)?;
    // An option or a path does not say what the command does.
    let is_name = second.starts_with(|it: char| it.is_ascii_lowercase())
        && second
            .chars()
            .all(|it| it.is_ascii_alphanumeric() || "-_:".contains(it));
    let is_clear =
        tools::run_arguments(&words[..1]).is_some() && tools::run_arguments(&words[..2]).is_none();
    (is_name && is_clear).then_some(2)
}

/// Returns the number of words before a number, if the program only reads: the next call often has
/// another number.
fn before_number(words: &[String]) -> Option<usize> {
    let is_option = |it: &String| it.len() > 1 && it.starts_with('-');
    let is_number = |it: &String| {
        let digits = it.trim_start_matches(['-', '+']);
        // `-n40` is an option and its value.
        let digits = if is_option(it) {
            digits.trim_start_matches(|c: char| c.is_ascii_alphabetic())
        } else {
            digits
        };
        !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())
    };
    let number = words.iter().position(is_number)?;
    let plain = words
        .iter()
        .take_while(|it| !is_option(it) && !is_number(it))
        .count();
    let only_options = words[plain..number].iter().all(is_option);
    let is_clear = tools::is_reader(&words[0]) && tools::run_arguments(&words[..plain]).is_none();
    (plain > 0 && only_options && is_clear).then_some(plain)
}

fn of_files(facts: &CallFacts) -> Vec<RuleOffer> {
    let files = facts.files.iter();
    let mut offers = vec![RuleOffer::new(
        files.cloned().map(AllowedCalls::File).collect(),
    )];
    // A rule for the whole project would be an option, and is one: `auto_approve`.
    let is_inside = |it: &&Path| it.starts_with(&facts.project) && **it != facts.project;
    if let Some(common) = common_folder(&facts.files).as_deref().filter(is_inside) {
        // The widest folder: the one directly below the top of the project.
        let top = common.ancestors().take_while(is_inside).last();
        let below = |it: &Path| RuleOffer::new(vec![AllowedCalls::Below(it.to_owned())]);
        offers.push(below(common));
        offers.extend(top.map(below));
    }
    offers
}

/// Returns the deepest folder that contains all files.
fn common_folder(files: &[PathBuf]) -> Option<PathBuf> {
    let (first, rest) = files.split_first()?;
    let contains_all = |folder: &&Path| {
        rest.iter()
            .all(|it| it.starts_with(folder) && it != *folder)
    };
    first
        .ancestors()
        // The first ancestor is the file itself.
        .skip(1)
        .find(contains_all)
        .map(Path::to_owned)
}

fn of_tool(facts: &CallFacts) -> Vec<RuleOffer> {
    let rule = |input| {
        let name = facts.call.name.clone();
        RuleOffer::new(vec![AllowedCalls::Tool { name, input }])
    };
    vec![rule(Some(canonical(&facts.input))), rule(None)]
}

#[cfg(test)]
mod tests;
