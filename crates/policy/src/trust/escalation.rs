//! What a frontmatter would allow beyond the user's own options. It is withheld until the
//! user has read it and agreed.
//!
//! The option table says for most options what loosens; approvals, the provider, and the model
//! are compared here. A setting that cannot be compared, such as a function, counts as looser.

use chat::approval::{Decision, Policy};

use crate::frontmatter::{AutoApprove, Overrides};
use crate::options;
use crate::settings::Settings;

/// A setting that allows more than the user's own options do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Escalation {
    /// Its path, such as `tools.auto_approve`.
    pub option: String,
    /// Line of the file where it is set, counted from 1.
    pub line: usize,
    /// The effect of the setting, to follow "this": "would run bash without asking".
    pub what: String,
}

/// Returns the settings of a frontmatter that loosen `base`, in the order of their lines.
pub fn escalations(overrides: &Overrides, base: &Settings) -> Vec<Escalation> {
    let mut found = Vec::new();
    let mut add = |option: String, what: Option<String>| {
        let line = overrides.lines.get(&option).copied().unwrap_or(1);
        found.extend(what.map(|what| Escalation { option, line, what }));
    };
    let approval = overrides.auto_approve.as_ref();
    add(
        "tools.auto_approve".to_owned(),
        approval.and_then(|wanted| approves_more(wanted, base)),
    );
    for (option, provider) in leads_to(overrides, base) {
        let elsewhere = provider != base.provider;
        let what = format!("would send this chat to {provider}");
        add(option.to_owned(), elsewhere.then_some(what));
    }
    for (path, option, value) in options::set_in(&overrides.values) {
        let what = option.loosens.what(value, base.value(path));
        add(path.to_owned(), what.map(str::to_owned));
    }
    // The user reads the list beside the text of the file.
    found.sort_by_key(|it| it.line);
    found
}

/// Returns the providers that a frontmatter names, directly or by one of the user's presets.
fn leads_to(
    overrides: &Overrides,
    base: &Settings,
) -> impl Iterator<Item = (&'static str, String)> {
    let text = |path: &str| overrides.values[path].as_str();
    // A preset that does not exist leads nowhere, and is reported when the frontmatter is read.
    let preset = text("model").and_then(|model| base.preset(model).ok());
    let named = text("provider").map(|it| ("provider", it.to_owned()));
    named
        .into_iter()
        .chain(preset.map(|it| ("model", it.provider)))
}

/// The user's function, whose denials and questions still apply.
const OWN_FUNCTION: &str = "the function in your tools.auto_approve neither denies nor asks about";

/// Returns what a list or a function would approve beyond the settings, to follow "this".
pub(crate) fn approves_more(wanted: &AutoApprove, base: &Settings) -> Option<String> {
    let AutoApprove::List { names, exclusions } = wanted else {
        return Some(if base.decides_by_code() {
            format!("would decide by a function of this chat about calls that {OWN_FUNCTION}")
        } else {
            "would decide about every call by a function of this chat".to_owned()
        });
    };
    if base.decides_by_code() {
        // The function's answer about a call is not known before there is a call.
        return Some(format!("would decide about calls that {OWN_FUNCTION}"));
    }
    let theirs = base.expand(names.iter().map(String::as_str), exclusions);
    let ours = base.policy();
    // If everything runs anyway, nothing is looser, because denials still apply.
    let free = !base.tools.require_approval;
    // A tool with any opinion of the user is not looser: it runs already, or stays denied.
    let is_looser = |tool: &&str| !free && ours.decide(tool).is_none();
    let mut looser: Vec<&str> = runs(&theirs).filter(is_looser).collect();
    // An alias adds nothing if its tool is listed too.
    for (alias, name) in tools::aliases() {
        if looser.contains(&name) {
            looser.retain(|it| *it != alias);
        }
    }
    let adds_rules = !theirs.argument_rules.is_empty() && ours.argument_rules.is_empty();
    let adds_trials = theirs.tries && !ours.tries;
    let commands = [
        (adds_rules, "shell commands that only read"),
        (adds_trials, "shell commands that change nothing in a trial"),
    ];
    let commands = commands.into_iter().filter(|it| it.0 && is_looser(&"bash"));
    let commands: Vec<&str> = commands.map(|it| it.1).collect();
    let runs = format!("would run {} without asking", listed(&looser));
    match (looser.is_empty(), commands.is_empty()) {
        (true, true) => None,
        (true, false) => Some(format!("would run {} without asking", listed(&commands))),
        (false, true) => Some(runs),
        (false, false) => Some(format!("{runs}, and {}", listed(&commands))),
    }
}

/// Returns the tools that a frontmatter approves although the user's settings deny them; they
/// stay denied.
pub fn overruled(overrides: &Overrides, base: &Settings) -> Vec<String> {
    let Some(AutoApprove::List { names, exclusions }) = &overrides.auto_approve else {
        return Vec::new();
    };
    let theirs = base.expand(names.iter().map(String::as_str), exclusions);
    let ours = base.policy();
    let denied = |tool: &&str| ours.decide(tool) == Some(Decision::Deny);
    // The tool is listed by its own name already.
    let is_alias = |tool: &&str| tools::aliases().any(|(alias, _)| alias == *tool);
    let tools = runs(&theirs).filter(denied).filter(|it| !is_alias(it));
    tools.map(str::to_owned).collect()
}

/// Returns the tools that a list approves.
fn runs(policy: &Policy) -> impl Iterator<Item = &str> {
    let tools = policy.approve.iter().map(String::as_str);
    tools.filter(|it| policy.decide(it) == Some(Decision::Approve))
}

fn listed(tools: &[&str]) -> String {
    match tools {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => tools.concat(),
    }
}

#[cfg(test)]
mod tests;
