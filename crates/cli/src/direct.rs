//! One tool asked for by name on the command line: `flemma tool` and `flemma tools`.
//!
//! Whether the arguments fit and the call may run is decided where it is for every call.

use std::process::ExitCode;
use std::sync::Arc;

use chat::approval::{Answers, CallKey, Decision, ResolverChain, Verdict};
use chat::tool::ToolUseId;
use tools::{Registry, Tool};

use crate::config::Config;
use crate::exit_code::Code;
use crate::settings::judges::exceptions;
use crate::stdout;
use crate::terminal;

/// The arguments of a call as they are checked and run.
///
/// # Errors
///
/// There is no such tool, or the text is no JSON object.
pub fn input(registry: &Registry, name: &str, text: &str) -> Result<String, String> {
    if registry.get(name).is_none() {
        let names: Vec<String> = registry.iter().map(|it| it.name().to_owned()).collect();
        let meant = chat::did_you_mean(name, names.iter().map(String::as_str));
        let meant = if meant.is_empty() {
            format!(" Tools: {}.", names.join(", "))
        } else {
            meant
        };
        return Err(format!("There is no tool \"{name}\".{meant}"));
    }
    let input = chat::json::parse_object(text)
        .map_err(|why| format!("The arguments are no JSON object: {why}."))?;
    Ok(input.to_string())
}

/// Prints the tools, what becomes of a call of each, and what each is for: all by
/// name, or those that fit some words, the best first.
pub fn list(config: &Config, registry: &Registry, words: Option<&str>) -> ExitCode {
    let tools: Vec<&Arc<dyn Tool>> = match words {
        Some(words) => registry.search(words).into_iter().map(|it| it.1).collect(),
        None => registry.iter().collect(),
    };
    if tools.is_empty() {
        let words = words.unwrap_or_default();
        terminal::tell(&format!(
            "No tool fits {words:?}. `flemma tools` lists all of them."
        ));
        return Code::Error.into();
    }
    let chain = config.settings.options(registry).chain;
    let lines: Vec<String> = tools
        .iter()
        .map(|tool| line(&chain, tool.as_ref()))
        .chain(exceptions(&chain).map(|it| format!("bash: {it}.")))
        .collect();
    stdout::print(&lines.join("\n")).into()
}

fn line(chain: &ResolverChain, tool: &dyn Tool) -> String {
    let call = CallKey {
        id: ToolUseId::new("list"),
        name: tool.name().to_owned(),
        input: "{}".to_owned(),
    };
    let word = match chat::approval::decide(chain, &call, &Answers::new()) {
        Verdict::Decided(Decision::Approve, _) => "runs",
        Verdict::Decided(Decision::Deny, _) => "denied",
        _ => "asks",
    };
    let first = tool.description().split_inclusive(". ").next();
    let first = first.unwrap_or_default().trim();
    format!("{:<18} {word:<7} {first}", tool.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_name_and_arguments_that_are_none_are_told() {
        let registry = Registry::builtin();
        assert_eq!(
            input(&registry, "bsah", "{}"),
            Err("There is no tool \"bsah\". Did you mean \"bash\"?".to_owned())
        );
        assert!(input(&registry, "bash", "[]").is_err_and(|it| it.contains("no JSON object")));
    }
}
