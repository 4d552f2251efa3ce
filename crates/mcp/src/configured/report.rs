//! What is said about servers, to people: how each is, what it says of its tools, and
//! what of that is new. Pure.

use super::project::Project;
use crate::{Definition, Spec, State, Status};

/// Why a server waits for a review although its pin says nothing of it.
const LOST: &str = "The record of the tools that you agreed to can't be read (mcp.json in the \
                    state folder), so all count as new.";

/// All servers, a line each.
pub fn all<'a>(servers: impl Iterator<Item = (&'a Spec, Status)>) -> Vec<String> {
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
        lines.push(
            "There are no MCP servers; :help flemma-mcp-servers says how to name one.".to_owned(),
        );
    }
    lines
}

/// One server, in full.
pub fn one(spec: &Spec, status: &Status) -> Vec<String> {
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
        lines.push("Since you agreed:".to_owned());
        lines.extend(changes.lines().into_iter().map(|it| format!("  {it}")));
        if changes.need_review() {
            let name = &spec.name;
            lines.push(format!(
                "`:Flemma mcp:accept {name}` or `flemma mcp accept {name}` agrees to that."
            ));
        }
        lines.push(String::new());
    }
    match &status.agreed {
        None => lines.push("It was not started yet, so its tools are not known.".to_owned()),
        Some(agreed) => lines.extend(agreed.iter().flat_map(|it| tool(spec, it))),
    }
    lines.extend(status.left_out.iter().cloned());
    lines
}

fn tool(spec: &Spec, definition: &Definition) -> Vec<String> {
    let mut lines = vec![definition.public_name(&spec.name)];
    let said = definition.description.lines();
    lines.extend(said.map(|it| format!("    {it}")));
    let properties = definition.input_schema["properties"].as_object();
    for (name, property) in properties.into_iter().flatten() {
        let said = property["description"].as_str().unwrap_or_default();
        let said = crate::clean(&said.replace('\n', " "), 500);
        lines.push(format!("    {name}: {said}"));
    }
    lines
}

/// A project that waits for the user.
pub fn waiting(project: &Project) -> String {
    format!(
        "{} names MCP servers: {}. They are not used until you agree with `:Flemma mcp:trust` \
         or `flemma mcp trust`.",
        project.path.display(),
        project.would()
    )
}

/// A server that says something else than was agreed.
pub fn differs(name: &str, status: &Status) -> String {
    let why = if status.is_lost {
        format!("The tools of the MCP server \"{name}\" wait for you. {LOST}")
    } else {
        format!(
            "The MCP server \"{name}\" describes its tools differently than when you agreed to them."
        )
    };
    let lines = status.changes().lines().join("\n");
    format!("{why} These do nothing until `:Flemma mcp:accept {name}`:\n{lines}")
}

fn word(state: &State) -> &'static str {
    match state {
        State::Resting => "not running",
        State::Starting => "starting",
        State::Running => "running",
        State::Failed(_) => "failed",
    }
}

fn count(status: &Status) -> String {
    match status.agreed.as_ref().map(Vec::len) {
        None => "not met".to_owned(),
        Some(1) => "1 tool".to_owned(),
        Some(count) => format!("{count} tools"),
    }
}
