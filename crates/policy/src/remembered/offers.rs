//! The rules that a call suggests, the narrowest first.

use std::path::{Path, PathBuf};

use chat::json::canonical;

use super::{AllowRule, AllowScope, AllowedCalls, CallFacts, Kind};

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
