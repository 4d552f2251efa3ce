//! The reports `:Flemma status` and `:Flemma tool:list`, and the tutor's folder.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use chat::approval::{CallKey, Decision, Verdict, decide_in_general};
use chat::tool::ToolUseId;
use policy::options::{BackendChoice, SandboxSettings};
use policy::rules::Rules;
use policy::settings::judges::exceptions;
use policy::settings::{OptionStatus, Settings};
use provider::Endpoint;
use serde_json::Value;
use tools::{Registry, state_dir};

use crate::endpoint::{self, Destination};
use crate::protocol::{KnownTool, Report};
use crate::tutor;

/// Maximum columns of a tool's description in a list.
const ABOUT: usize = 60;

/// Creates the tutor's folder and the file that it reads. Returns the path of a new chat in it.
///
/// # Errors
///
/// They cannot be written.
pub fn new_tutor_chat() -> io::Result<String> {
    let folder = state_dir::of_tutor();
    state_dir::make_folder(&folder)?;
    // Each time, because the user may have changed or deleted the file that the tutor reads.
    std::fs::write(
        folder.join(tutor::NOTES),
        include_str!("../../../examples/notes.txt"),
    )?;
    Ok(free_name(&folder, "tutor"))
}

/// Returns the path of a chat in a folder, with a number if a file has the name.
pub(crate) fn free_name(folder: &Path, stem: &str) -> String {
    let mut names = (1_u32..).map(|count| match count {
        1 => folder.join(format!("{stem}.chat")),
        _ => folder.join(format!("{stem}-{count}.chat")),
    });
    // A broken link is a file too, which writing would replace.
    let path = names.find(|it| it.symlink_metadata().is_err());
    path.unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns true for a chat that `:Flemma tutor` opened.
pub fn is_tutor_chat(path: Option<&Path>) -> bool {
    // The path counts, not the content: a copy of the chat elsewhere goes to a model.
    path.and_then(Path::parent) == Some(&*state_dir::of_tutor())
}

/// Returns the `:Flemma status` report of a chat with these rules.
pub fn report(rules: &Rules, is_tutor: bool, doing: &str) -> Report {
    let mut lines = vec![
        format!("Flemma {} — {doing}", env!("CARGO_PKG_VERSION")),
        String::new(),
    ];
    lines.extend(destination_lines(rules, is_tutor));
    let options = &rules.options;
    let state = if options.autopilot { "on" } else { "off" };
    lines.push(format!(
        "autopilot  {state}, at most {} requests in a row",
        options.max_turns
    ));
    lines.push(format!("at once    {} calls", options.max_concurrent));
    if rules.settings.is_planning() {
        lines.push(
            "plan       only reads, searches, and trials of commands run; :Flemma plan toggles it"
                .to_owned(),
        );
    }
    if !rules.addressed.is_empty() {
        let names: Vec<String> = rules.addressed.iter().map(|it| format!("@{it}")).collect();
        lines.push(format!("addressed  {}", names.join(" ")));
    }
    lines.push(format!("sandbox    {}", held(&rules.settings.sandbox)));
    lines.extend(frontmatter_lines(rules));
    // With a broken frontmatter nothing runs, so there is no policy to show.
    if !matches!(options.frontmatter, Some(Err(_))) {
        lines.push(String::new());
        lines.push("A call of    by the policy now".to_owned());
        // An alias has the policy of its tool.
        let is_alias = |name: &&String| tools::aliases().any(|(alias, _)| alias == name.as_str());
        let tools = options.tools.keys().filter(|name| !is_alias(name));
        lines.extend(tools.map(|name| format!("{name:<12} {}", policy_of(rules, name))));
    }
    Report {
        title: "status",
        lines,
        ..Report::default()
    }
}

/// Describes the sandbox of commands.
pub fn held(settings: &SandboxSettings) -> String {
    if !settings.enabled {
        return "off: commands run with all of your rights".to_owned();
    }
    // The first test takes some 30 ms; later reports use its result.
    match tools::find_out(&settings.backend()) {
        Ok(program) => format!(
            "{} confines commands; they have {}, and write files below {}",
            program.display(),
            settings.policy.network.words(),
            settings.policy.rw_paths.join(", ")
        ),
        Err(why) if settings.backend == BackendChoice::Auto => {
            format!(
                "UNSANDBOXED: {why}; commands run with all of your rights, also on files that write and edit ask about"
            )
        }
        Err(why) => format!("required, and there is none: {why}; no command runs"),
    }
}

/// Returns the lines about the chat's frontmatter, if it has one.
fn frontmatter_lines(rules: &Rules) -> Vec<String> {
    let mut lines = Vec::new();
    match &rules.options.frontmatter {
        None => {}
        Some(Err(problem)) => {
            lines.push(problem.clone());
            lines.push("Nothing runs and nothing is sent until that is corrected.".to_owned());
        }
        Some(Ok(_)) if rules.withheld.is_empty() => {
            lines.push("frontmatter  applies".to_owned());
        }
        Some(Ok(_)) => {
            lines.push("frontmatter  applies, except for this until :Flemma trust:".to_owned());
            let withheld = rules.withheld.iter();
            lines.extend(withheld.map(|it| format!("             line {}: {}", it.line, it.what)));
        }
    }
    lines
}

/// Returns the lines that `:Flemma status verbose` adds: every option, its value, and the
/// layer that set it. `chosen` contains, by path, values that the chat chose instead of its
/// layer's.
pub fn option_lines(settings: &Settings, chosen: &BTreeMap<String, Value>) -> Vec<String> {
    let rows = settings.rows(chosen);
    let width =
        |of: fn(&OptionStatus) -> &str| rows.iter().map(|row| of(row).chars().count()).max();
    let name = width(|row| &row.name).unwrap_or_default();
    // A long value moves only its own layer to the right.
    let value = width(|row| &row.value).unwrap_or_default().min(24);
    let heading = format!("{:<name$}  {:<value$}  set by", "option", "value");
    let lines = rows.iter().map(|row| {
        let layer = row.layer_name();
        format!("{:<name$}  {:<value$}  {layer}", row.name, row.value)
    });
    [String::new(), heading].into_iter().chain(lines).collect()
}

/// Returns the lines about where the chat's requests go.
fn destination_lines(rules: &Rules, is_tutor: bool) -> Vec<String> {
    let (settings, line_of_model) = (&rules.settings, rules.line_of_model());
    let tutor = || vec!["provider   tutor (built in, no model)".to_owned()];
    if is_tutor {
        return tutor();
    }
    let variables = |name: &str| tools::variable(name);
    if settings.provider == "auto" {
        let found = endpoint::from_environment(&variables)
            .unwrap_or("a local server if one answers, else the tutor");
        return vec![format!("provider   auto: {found}")];
    }
    // A key store may take time and ask for a password, so only a request asks it.
    let wanted = endpoint::wanted_key(settings, &variables);
    let is_wanted = |name: &str| wanted.as_ref().is_some_and(|it| it.variable == name);
    let at = |name: &str| match name {
        // Only whether there is a value matters here.
        endpoint::LOCAL => Some("http://127.0.0.1".to_owned()),
        name if is_wanted(name) => Some("looked for later".to_owned()),
        name => variables(name),
    };
    match endpoint::destination(settings, &at) {
        Ok(Destination::Tutor) => tutor(),
        Ok(Destination::Server(endpoint, parameters)) => {
            let layer = model_layer(settings, line_of_model);
            vec![
                format!("provider   {}{layer}", endpoint.provider),
                format!("model      {}", model_name(&parameters.model)),
                key_line(&endpoint, wanted.is_some()),
            ]
        }
        Err(problem) => vec![format!("provider   {}: {problem}", settings.provider)],
    }
}

fn model_name(model: &str) -> &str {
    if model.is_empty() {
        "the server's first"
    } else {
        model
    }
}

/// Returns what chose the chat's model, if that was not an option.
fn model_layer(settings: &Settings, line_of_model: Option<usize>) -> String {
    match line_of_model {
        Some(line) => format!("  (by line {line} of the chat)"),
        None if settings.is_switched() => "  (by :Flemma switch)".to_owned(),
        None => String::new(),
    }
}

/// Returns the line about a provider's key. `is_wanted` is true if a request looks for it.
fn key_line(endpoint: &Endpoint, is_wanted: bool) -> String {
    if endpoint.provider == endpoint::LOCAL {
        return "server     llama-server, started when you send".to_owned();
    }
    let key = match &endpoint.api_key {
        // First, because such a key has a placeholder here and would count as set.
        _ if is_wanted => "not set; it is looked for when you send",
        Some(_) => "set",
        None => "not set",
    };
    format!("key        {} is {key}", endpoint.key_source)
}

/// Returns all tools, with a short description each.
pub fn known_tools(registry: &Registry) -> impl Iterator<Item = KnownTool> {
    registry.iter().map(|tool| {
        let name = tool.name().to_owned();
        let about = tool.description().lines().next().unwrap_or_default();
        KnownTool {
            source: registry.source_of(&name).unwrap_or_default().to_owned(),
            about: chat::preview::one_line(about, ABOUT),
            name,
        }
    })
}

/// Returns a line per tool for `:Flemma tool:list`: name, whether it is offered, source, and use.
pub fn tool_lines(rules: &Rules, registry: &Registry) -> Vec<String> {
    let is_offered = |name: &str| rules.offered.iter().any(|it| it.name == name);
    let known: Vec<KnownTool> = known_tools(registry).collect();
    let width = known
        .iter()
        .map(|it| it.name.len())
        .max()
        .unwrap_or_default();
    let line = |tool: KnownTool| {
        let offered = if is_offered(&tool.name) {
            "offered"
        } else {
            "-"
        };
        let (name, source, about) = (tool.name, tool.source, tool.about);
        format!("{name:<width$}  {offered:<7}  {source:<10}  {about}")
    };
    known.into_iter().map(line).collect()
}

fn policy_of(rules: &Rules, name: &str) -> String {
    // Only the tool's name matters here.
    let call = CallKey {
        id: ToolUseId::new("status"),
        name: name.to_owned(),
        input: "{}".to_owned(),
    };
    match decide_in_general(&rules.options.chain, &call) {
        Verdict::Ask(function) if function.id.is_editor() => "asks your function".to_owned(),
        Verdict::Ask(_) => "asks the function of this chat".to_owned(),
        Verdict::Decided(decision, by) => {
            let word = match decision {
                Decision::Approve if rules.options.guarded.contains(name) => {
                    "runs; asks if the file is protected or secret"
                }
                Decision::Approve if rules.options.reading.contains(name) => {
                    "runs; asks if the file is secret"
                }
                Decision::Approve => "runs",
                Decision::RequireApproval => "needs approval",
                Decision::Deny => "is denied",
            };
            // Rules may treat some commands differently, so one word for all would mislead.
            let exceptions = (name == "bash").then(|| exceptions(&rules.options.chain));
            let exceptions = exceptions.flatten();
            let but = exceptions.map(|it| format!("; {it}")).unwrap_or_default();
            if by.is_empty() {
                format!("{word}{but}")
            } else {
                format!("{word} ({by}){but}")
            }
        }
    }
}
