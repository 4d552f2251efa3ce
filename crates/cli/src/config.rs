//! The options of the command line: a file with the names that `setup()` takes, and
//! what was said on the command line laid over it.
//!
//! Which options there are and what fits them is the business of `settings`.

use std::path::{Path, PathBuf};

use chat::approval::Policy;
use serde_json::{Value, json};
use tools::Registry;

use crate::config_dir;
use crate::options::{InvalidOption, Scope};
use crate::settings::Settings;

/// What runs without asking where nobody may be looking: what changes nothing.
/// Neovim's own default lets `write` and `edit` run as well.
const APPROVED: [&str; 8] = [
    "$readonly",
    "$shell-safe",
    "calculator",
    "calculator_async",
    "find",
    "grep",
    "ls",
    "tool_search",
];

/// What runs in a restricted run beside that, as in the agent specification: listed
/// commands, and pages of others.
const RESTRICTED: [&str; 2] = ["$shell-safe", "http_get"];

/// What was said on the command line.
#[derive(Debug, Default)]
pub struct Given {
    /// `--config`
    pub file: Option<PathBuf>,
    /// `--provider`
    pub provider: Option<String>,
    /// `--model`
    pub model: Option<String>,
    /// `--max-turns`
    pub max_turns: Option<u32>,
    /// `--approve`
    pub approve: Vec<String>,
    /// `--tools-dir`
    pub tools_dir: Vec<PathBuf>,
    /// `--restricted`
    pub restricted: bool,
    /// Whether a result is followed by a request.
    pub autopilot: Option<bool>,
}

/// The options, with nothing wrong in them.
#[derive(Debug)]
pub struct Config {
    /// As `setup()` would get them.
    pub options: Value,
    /// The file they are from, with what was said laid over it.
    pub file: Option<PathBuf>,
    /// The same, read.
    pub settings: Settings,
    /// What `--approve` lists.
    pub approve: Policy,
    /// What is to be said about the file that stops nothing, a sentence each.
    pub warnings: Vec<String>,
}

/// What is wrong, a sentence each.
#[derive(Debug)]
pub enum Wrong {
    /// On the command line.
    Usage(Vec<String>),
    /// In the file.
    File(Vec<String>),
}

/// The tools that there are, by the options and in the folder we are in, and what is to
/// be said about those that cannot be used. What is wrong with the options is not told.
pub fn registry(given: &Given) -> (Registry, Vec<String>) {
    let mut options = read_options(given).unwrap_or_else(|_| json!({}));
    add_tools(&mut options, given);
    let folder = std::env::current_dir().unwrap_or_default();
    let (mut registry, problems) = crate::scripts::registry(&options, &folder);
    crate::mcp_servers::add_known(&mut registry, &options, file(given).as_deref(), &folder);
    (registry, problems)
}

/// The configuration file: that of `--config`, or the usual one, which need not exist.
pub fn file(given: &Given) -> Option<PathBuf> {
    match &given.file {
        // The same file, whatever folder it is named from.
        Some(file) => Some(std::path::absolute(file).unwrap_or_else(|_| file.clone())),
        None => Some(config_dir::path()?.join("config.toml")),
    }
}

fn read_options(given: &Given) -> Result<Value, Wrong> {
    match (&given.file, config_dir::path()) {
        (Some(file), _) => read_file(file, true),
        (None, Some(folder)) => read_file(&folder.join("config.toml"), false),
        (None, None) => Ok(json!({})),
    }
}

/// Adds the folders of `--tools-dir`.
fn add_tools(options: &mut Value, given: &Given) {
    let more = given.tools_dir.iter().map(|it| json!(it.to_string_lossy()));
    let listed = options.pointer("/tools/script_paths");
    let listed = listed.and_then(Value::as_array).cloned();
    let all: Vec<Value> = listed.into_iter().flatten().chain(more).collect();
    if !given.tools_dir.is_empty() {
        set(options, &["tools", "script_paths"], json!(all));
    }
}

/// Reads the file and lays over it what was said.
///
/// # Errors
///
/// Something is wrong with either.
pub fn read(given: &Given, registry: &Registry) -> Result<Config, Wrong> {
    let mut options = read_options(given)?;
    let shown = file(given).unwrap_or_default().display().to_string();
    let in_file = |problems: &[String]| -> Vec<String> {
        problems.iter().map(|it| format!("{shown}: {it}")).collect()
    };
    let mut warnings = leave_out_unknown(&mut options, registry);
    let (own, problems) = Settings::examine(&options, Scope::ConfigFile, registry);
    let texts = |invalid: &[InvalidOption]| invalid.iter().map(ToString::to_string).collect();
    let wrong: Vec<String> = texts(&problems.invalid);
    if !wrong.is_empty() {
        return Err(Wrong::File(in_file(&wrong)));
    }
    warnings.extend(texts(&problems.unknown));
    let warnings = in_file(&warnings);
    let presets = options.pointer("/tools/presets").cloned();
    lay_over(&mut options, &own.provider, given);
    let (settings, problems) = Settings::examine(&options, Scope::ConfigFile, registry);
    let wrong: Vec<String> = texts(&problems.invalid);
    if !wrong.is_empty() {
        return Err(Wrong::Usage(wrong));
    }
    let bash = options.pointer("/tools/bash").cloned();
    let folder = std::env::current_dir().unwrap_or_default();
    let servers = crate::mcp_servers::server_names(&options, file(given).as_deref(), &folder);
    let approve = approved(given, presets, bash, registry, &servers)?;
    Ok(Config {
        options,
        file: file(given),
        settings,
        approve,
        warnings,
    })
}

/// Takes names that no tool has out of the list of what is approved, and says so.
///
/// A tool whose folder is gone must not stop every command, and a name that is left out
/// approves less.
fn leave_out_unknown(options: &mut Value, registry: &Registry) -> Vec<String> {
    let presets = options.pointer("/tools/presets").cloned();
    let listed = options.pointer_mut("/tools/auto_approve");
    let Some(list) = listed.and_then(Value::as_array_mut) else {
        return Vec::new();
    };
    let mut warnings = Vec::new();
    list.retain(|name| {
        let alone = json!({"tools": {"auto_approve": [name], "presets": presets}});
        let (_, problems) = Settings::examine(&alone, Scope::ConfigFile, registry);
        let about = |it: &&InvalidOption| it.path == "tools.auto_approve";
        let unknown = problems.unknown.iter().find(about);
        warnings.extend(unknown.map(|it| format!("{it} It is left out.")));
        unknown.is_none()
    });
    warnings
}

fn read_file(file: &Path, required: bool) -> Result<Value, Wrong> {
    let shown = file.display();
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !required => {
            return Ok(json!({}));
        }
        Err(error) => {
            return Err(Wrong::File(vec![format!(
                "{shown} cannot be read: {error}."
            )]));
        }
    };
    let table: toml::Table = toml::from_str(&text).map_err(|error| {
        let line = error
            .span()
            .map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        let why = error.message().trim();
        Wrong::File(vec![format!(
            "{shown}, line {line}: {why}. Nothing was done."
        )])
    })?;
    // In JSON it would be as if the option were not there.
    if let Some((name, number)) = table.iter().find_map(|(name, it)| endless(name, it)) {
        return Err(Wrong::File(vec![format!(
            "{shown}: {name} is {number} and must be a number with an end. Nothing was done."
        )]));
    }
    serde_json::to_value(table).map_err(|error| Wrong::File(vec![format!("{shown}: {error}.")]))
}

/// The first option below `name` that is infinite or no number, with its value.
fn endless(name: &str, value: &toml::Value) -> Option<(String, f64)> {
    match value {
        toml::Value::Float(number) if !number.is_finite() => Some((name.to_owned(), *number)),
        toml::Value::Array(items) => items.iter().find_map(|it| endless(name, it)),
        toml::Value::Table(table) => table
            .iter()
            .find_map(|(inner, it)| endless(&format!("{name}.{inner}"), it)),
        _ => None,
    }
}

fn lay_over(options: &mut Value, own_provider: &str, given: &Given) {
    add_tools(options, given);
    if options.pointer("/tools/auto_approve").is_none() {
        set(options, &["tools", "auto_approve"], json!(APPROVED));
    }
    if given.restricted {
        set(options, &["tools", "bash", "unlisted"], json!("deny"));
    }
    if let Some(provider) = &given.provider {
        // The file's model is one of the file's provider.
        if own_provider != provider
            && let Some(options) = options.as_object_mut()
        {
            options.remove("model");
        }
        set(options, &["provider"], json!(provider));
    }
    if let Some(model) = &given.model {
        // A preset says whom to send to, and beats what the file says of that.
        if model.starts_with('$')
            && given.provider.is_none()
            && let Some(options) = options.as_object_mut()
        {
            options.remove("provider");
        }
        set(options, &["model"], json!(model));
    }
    if let Some(max_turns) = given.max_turns {
        set(
            options,
            &["tools", "autopilot", "max_turns"],
            json!(max_turns),
        );
    }
    if let Some(autopilot) = given.autopilot {
        set(
            options,
            &["tools", "autopilot", "enabled"],
            json!(autopilot),
        );
    }
}

/// The tools and presets that the names of `--approve` mean. A tool of one of `servers` is known only once
/// that was started.
fn approved(
    given: &Given,
    presets: Option<Value>,
    bash: Option<Value>,
    registry: &Registry,
    servers: &[String],
) -> Result<Policy, Wrong> {
    let mut names = given.approve.clone();
    if given.restricted {
        names.extend(RESTRICTED.map(str::to_owned));
    }
    if names.is_empty() {
        return Ok(Policy::default());
    }
    let mut options = json!({"tools": {"auto_approve": names}});
    if let Some(presets) = presets {
        set(&mut options, &["tools", "presets"], presets);
    }
    if let Some(bash) = bash {
        set(&mut options, &["tools", "bash"], bash);
    }
    let (settings, found) = Settings::examine(&options, Scope::ConfigFile, registry);
    let named = found.all();
    let named = named
        .iter()
        .filter_map(|it| it.strip_prefix("tools.auto_approve: "));
    let missing = found
        .missing
        .iter()
        .filter_map(|name| missing(name, servers));
    let problems: Vec<String> = named
        .map(str::to_owned)
        .chain(missing)
        .map(|it| format!("--approve: {it}"))
        .collect();
    if problems.is_empty() {
        return Ok(settings.policy());
    }
    Err(Wrong::Usage(problems))
}

/// What is wrong with a name that no tool has.
fn missing(name: &str, servers: &[String]) -> Option<String> {
    let Some((server, _)) = name.split_once("__") else {
        return Some(format!(
            "there is no tool named \"{name}\". `flemma tools` lists them."
        ));
    };
    let known = servers.iter().any(|it| {
        name.strip_prefix(it.as_str())
            .is_some_and(|rest| rest.starts_with("__"))
    });
    (!known).then(|| {
        format!(
            "there is no MCP server \"{server}\" for the tool \"{name}\". `flemma mcp list` lists them."
        )
    })
}

fn set(options: &mut Value, path: &[&str], value: Value) {
    let mut at = options;
    for name in path {
        at = &mut at[*name];
    }
    *at = value;
}

#[cfg(test)]
mod tests;
