//! `flemma tool` and `flemma tools`: a call by name, and the list of tools.
//!
//! Arguments are validated and calls are approved as in every chat.

use std::process::ExitCode;
use std::sync::Arc;

use chat::approval::{CallKey, Decision, ResolverChain, Verdict};
use chat::tool::ToolUseId;
use policy::settings::judges::exceptions;
use tools::{Registry, Tool};

use crate::config::Config;
use crate::exit_code::Code;
use crate::stdout;

/// Parses the arguments of a call.
///
/// # Errors
///
/// There is no such tool, or the text is not a JSON object.
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
        .map_err(|why| format!("The arguments are not a JSON object: {why}."))?;
    Ok(input.to_string())
}

/// Prints a line for each tool: its name, whether it runs, asks, or is denied, and its
/// description. Lists all by name, or those that match `words`, the best match first.
pub fn list(config: &Config, registry: &Registry, words: Option<&str>) -> ExitCode {
    let tools: Vec<&Arc<dyn Tool>> = match words {
        Some(words) => registry.search(words).into_iter().map(|it| it.1).collect(),
        None => registry.iter().collect(),
    };
    if tools.is_empty() {
        let words = words.unwrap_or_default();
        let problem = format!("No tool matches {words:?}. `flemma tools` lists all of them.");
        return Code::Error.report(&problem);
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
        // Without arguments, so that rules about arguments decide nothing here. They are listed
        // below.
        input: "{}".to_owned(),
    };
    let decision = match chat::approval::decide_in_general(chain, &call) {
        Verdict::Decided(Decision::Approve, _) => "runs",
        Verdict::Decided(Decision::Deny, _) => "denied",
        _ => "asks",
    };
    // Descriptions are written for models and have many lines.
    let sentence = tool.description().split_inclusive(". ").next();
    let sentence = sentence.unwrap_or_default().trim();
    format!("{:<18} {decision:<7} {sentence}", tool.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_name_and_arguments_that_are_no_object_are_reported() {
        let registry = Registry::builtin();
        assert_eq!(
            input(&registry, "bsah", "{}"),
            Err("There is no tool \"bsah\". Did you mean \"bash\"?".to_owned())
        );
        assert!(input(&registry, "bash", "[]").is_err_and(|it| it.contains("not a JSON object")));
    }
}
