//! Describes servers to the user: their state, tools, and changes. Pure.

use super::project::Project;
use crate::{Definition, ServerSpec, ServerStatus, State};

/// Why a server without a pin needs a review.
const LOST: &str = "The record of the tools that you agreed to can't be read (mcp.json in the \
                    state folder), so all of them count as new.";

/// Lists all servers, one line each.
pub fn all<'a>(servers: impl Iterator<Item = (&'a ServerSpec, ServerStatus)>) -> Vec<String> {
    let lines = servers.map(|(spec, status)| {
        let review = if status.changes().need_review() {
            "  (its tools have changed)"
        } else {
            ""
        };
        let state = word(&status.state);
        format!(
            "{:<16} {state:<11} {:<9} {}{review}",
            spec.name,
            count(&status),
            spec.shown()
        )
    });
    let mut lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        lines.push("No MCP servers are configured. See :help flemma-mcp-servers.".to_owned());
    }
    lines
}

/// Describes one server.
pub fn one(spec: &ServerSpec, status: &ServerStatus) -> Vec<String> {
    let mut lines = vec![
        format!("{}  {}  {}", spec.name, word(&status.state), spec.shown()),
        String::new(),
    ];
    if let State::Failed(why) = &status.state {
        lines.push(format!("It cannot be used: {why}."));
        lines.push(String::new());
    }
    let changes = status.changes();
    if status.is_lost {
        lines.push(LOST.to_owned());
        lines.push(String::new());
    }
    if !changes.lines().is_empty() {
        lines.push("Changes since you agreed:".to_owned());
        lines.extend(changes.lines().into_iter().map(|it| format!("  {it}")));
        if changes.need_review() {
            let name = &spec.name;
            lines.push(format!(
                "`:Flemma mcp:accept {name}` or `flemma mcp accept {name}` accepts these changes."
            ));
        }
        lines.push(String::new());
    }
    match &status.agreed {
        None => lines.push("It has not been started yet, so its tools are unknown.".to_owned()),
        Some(agreed) => lines.extend(agreed.iter().flat_map(|it| tool(spec, it))),
    }
    lines.extend(status.left_out.iter().cloned());
    lines
}

fn tool(spec: &ServerSpec, definition: &Definition) -> Vec<String> {
    let mut lines = vec![definition.public_name(&spec.name)];
    let said = definition.description.lines();
    lines.extend(said.map(|it| format!("    {it}")));
    let properties = definition.input_schema["properties"].as_object();
    for (name, property) in properties.into_iter().flatten() {
        let said = property["description"].as_str().unwrap_or_default();
        // A line break in the text could imitate another argument.
        let said = crate::clean(&said.replace('\n', " "), 500);
        lines.push(format!("    {name}: {said}"));
    }
    lines
}

/// Describes a project that needs the user's consent.
pub fn waiting(project: &Project) -> String {
    format!(
        "{} names MCP servers: {}. They are not used until you agree with `:Flemma mcp:trust` \
         or `flemma mcp trust`.",
        project.path.display(),
        project.would()
    )
}

/// Describes changed definitions, or lost ones.
pub fn differs(name: &str, status: &ServerStatus) -> String {
    let why = if status.is_lost {
        format!("The tools of the MCP server \"{name}\" need your review. {LOST}")
    } else {
        format!(
            "The MCP server \"{name}\" describes its tools differently than when you agreed to them."
        )
    };
    let lines = status.changes().lines().join("\n");
    format!("{why} These tools are disabled until `:Flemma mcp:accept {name}`:\n{lines}")
}

fn word(state: &State) -> &'static str {
    match state {
        State::Resting => "not running",
        State::Starting => "starting",
        State::Running => "running",
        State::Failed(_) => "failed",
    }
}

fn count(status: &ServerStatus) -> String {
    match status.agreed.as_ref().map(Vec::len) {
        None => "not met".to_owned(),
        Some(1) => "1 tool".to_owned(),
        Some(count) => format!("{count} tools"),
    }
}
