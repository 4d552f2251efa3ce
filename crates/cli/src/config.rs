//! The options of the command line: those of the configuration file, overridden by flags.
//!
//! [`Settings`] defines the options and validates their values.

use std::path::{Path, PathBuf};

use chat::approval::Policy;
use policy::options::{InvalidOption, Scope, TomlError, TomlOptions};
use policy::project::ProjectConfig;
use policy::settings::Settings;
use policy::trust::Trust;
use serde_json::{Value, json};
use session::config_dir;
use tools::{Registry, state_dir};

use crate::problems;
use crate::terminal::Code;

/// Approved without `tools.auto_approve` in the file: tools that change nothing. The
/// default in Neovim also approves `write` and `edit`, which a user there can undo.
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

/// Also approved by `--restricted`, as in the agent specification.
const RESTRICTED: [&str; 2] = ["$shell-safe", "http_get"];

/// The flags that override options.
#[derive(Debug, Default)]
pub struct Flags {
    /// `--config`
    pub file: Option<PathBuf>,
    /// `--provider`
    pub provider: Option<String>,
    /// `--model`
    pub model: Option<String>,
    /// `--max-turns`
    pub max_turns: Option<u32>,
    /// `--compact-at`
    pub compact_at: Option<String>,
    /// `--web`
    pub web: Option<String>,
    /// `--approve`
    pub approve: Vec<String>,
    /// `--tools-dir`
    pub tools_dir: Vec<PathBuf>,
    /// `--restricted`
    pub restricted: bool,
    /// Overrides `tools.autopilot.enabled`; set by commands that run one tool.
    pub autopilot: Option<bool>,
}

impl Flags {
    /// Returns the options that the flags set.
    fn fixed(&self) -> Vec<&'static str> {
        // A model belongs to its provider, so a flag for one decides about both.
        let names_model = self.provider.is_some() || self.model.is_some();
        let flags = [
            (names_model, "provider"),
            (names_model, "model"),
            (self.max_turns.is_some(), "tools.autopilot.max_turns"),
            (self.compact_at.is_some(), "context.compact_at"),
            (self.compact_at.is_some(), "context.auto_compact"),
            (self.web.is_some(), "tools.web"),
            (self.restricted, "tools.bash.unlisted"),
            (self.autopilot.is_some(), "tools.autopilot.enabled"),
        ];
        let set = flags.into_iter().filter(|(is_set, _)| *is_set);
        set.map(|(_, path)| path).collect()
    }
}

/// Validated options.
#[derive(Debug)]
pub struct Config {
    /// The options in the form that `setup()` takes.
    pub options: Value,
    /// The configuration file.
    pub file: Option<PathBuf>,
    /// Options that the flags set, which a project does not change.
    pub fixed: Vec<&'static str>,
    /// The options as settings.
    pub settings: Settings,
    /// The calls that `--approve` approves.
    pub approve: Policy,
    /// Problems that stop nothing, a sentence each.
    pub warnings: Vec<String>,
}

/// Invalid options, a sentence each.
#[derive(Debug)]
pub enum ConfigError {
    /// Invalid flags.
    Usage(Vec<String>),
    /// Invalid options in the file.
    File(Vec<String>),
}

/// Reads the options, and reports errors and warnings.
///
/// # Errors
///
/// Returns the exit code if an option is invalid.
pub fn load(flags: &Flags) -> Result<Config, std::process::ExitCode> {
    let (registry, _) = registry(flags);
    let config = read(flags, &registry).map_err(|error| match error {
        ConfigError::Usage(problems) => problems::fail(Code::Usage, &problems),
        ConfigError::File(problems) => problems::fail(Code::Error, &problems),
    })?;
    problems::warn(&config.warnings);
    Ok(Config {
        settings: in_project(&config.settings, flags, &registry),
        ..config
    })
}

/// Returns the options of the configuration file, in the form that `setup()` takes.
///
/// # Errors
///
/// The file cannot be read: a sentence.
pub fn of_file() -> Result<Value, String> {
    read_file(&Flags::default()).map_err(|error| match error {
        ConfigError::Usage(problems) | ConfigError::File(problems) => problems.join(" "),
    })
}

/// Returns the settings in the project that contains the current folder. A session reports
/// what does not apply.
fn in_project(settings: &Settings, flags: &Flags, registry: &Registry) -> Settings {
    let folder = std::env::current_dir().unwrap_or_default();
    let settings = settings.with_fixed(flags.fixed());
    match ProjectConfig::around(&folder, &Trust::open(&state_dir::path())) {
        Some(project) => project.apply(&settings, Some(registry)).settings,
        None => settings,
    }
}

/// Returns the tools of the options and of the current folder, and the problems of tools
/// that cannot be used. Ignores invalid options, which [`load`] reports.
pub fn registry(flags: &Flags) -> (Registry, Vec<String>) {
    // An error of the file is reported by `load`, which reads it too.
    let mut options = read_file(flags).unwrap_or_else(|_| json!({}));
    add_tools(&mut options, flags);
    let folder = std::env::current_dir().unwrap_or_default();
    let (mut registry, problems) = session::scripts::registry(&options, &folder);
    session::mcp_servers::add_known(&mut registry, &options, path(flags).as_deref(), &folder);
    (registry, problems)
}

/// Reads the file and applies the flags.
fn read(flags: &Flags, registry: &Registry) -> Result<Config, ConfigError> {
    let mut options = read_file(flags)?;
    let file = path(flags);
    let shown = file.clone().unwrap_or_default().display().to_string();
    let in_file = |problems: Vec<String>| -> Vec<String> {
        problems.iter().map(|it| format!("{shown}: {it}")).collect()
    };
    // A tool that is missing on this machine must not make the file useless.
    let mut warnings = remove_unknown_names(&mut options, registry);
    let (own, problems) = Settings::examine(&options, Scope::ConfigFile, registry);
    if !problems.invalid.is_empty() {
        return Err(ConfigError::File(in_file(texts(&problems.invalid))));
    }
    warnings.extend(texts(&problems.unknown));
    let presets = options.pointer("/tools/presets").cloned();
    apply_flags(&mut options, &own.provider, flags);
    // Examined again, so that an invalid flag is not reported as an error of the file.
    let (settings, problems) = Settings::examine(&options, Scope::ConfigFile, registry);
    if !problems.invalid.is_empty() {
        return Err(ConfigError::Usage(texts(&problems.invalid)));
    }
    let bash = options.pointer("/tools/bash").cloned();
    let folder = std::env::current_dir().unwrap_or_default();
    let servers = session::mcp_servers::server_names(&options, file.as_deref(), &folder);
    let tables = json!({"presets": presets, "bash": bash});
    Ok(Config {
        options,
        fixed: flags.fixed(),
        settings,
        approve: approval_policy(flags, tables, registry, &servers)?,
        warnings: in_file(warnings),
        file,
    })
}

fn texts(problems: &[InvalidOption]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

/// Removes names without a tool from `tools.auto_approve` and returns a warning for each.
///
/// A tool whose folder was deleted must not stop every command, and without the name less
/// is approved, not more.
fn remove_unknown_names(options: &mut Value, registry: &Registry) -> Vec<String> {
    let presets = options.pointer("/tools/presets").cloned();
    let listed = options.pointer_mut("/tools/auto_approve");
    let Some(list) = listed.and_then(Value::as_array_mut) else {
        return Vec::new();
    };
    let mut warnings = Vec::new();
    // Examined one by one, because a message does not say which entry it is about.
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

/// Appends the folders of `--tools-dir` to `tools.script_paths`.
fn add_tools(options: &mut Value, flags: &Flags) {
    if flags.tools_dir.is_empty() {
        return;
    }
    let more = flags.tools_dir.iter().map(|it| json!(it.to_string_lossy()));
    let listed = options.pointer("/tools/script_paths");
    let listed = listed.and_then(Value::as_array).cloned();
    let all: Vec<Value> = listed.into_iter().flatten().chain(more).collect();
    set(options, &["tools", "script_paths"], json!(all));
}

/// Overrides the options of the file, whose provider is `own_provider`.
fn apply_flags(options: &mut Value, own_provider: &str, flags: &Flags) {
    add_tools(options, flags);
    // The defaults are for users who have no list; a list of the user's own is not extended.
    if options.pointer("/tools/auto_approve").is_none() {
        set(options, &["tools", "auto_approve"], json!(APPROVED));
    }
    // Commands that no list names are denied instead of asked about.
    if flags.restricted {
        set(options, &["tools", "bash", "unlisted"], json!("deny"));
    }
    apply_model(options, own_provider, flags);
    let autopilot = |name| ["tools", "autopilot", name];
    if let Some(max_turns) = flags.max_turns {
        set(options, &autopilot("max_turns"), json!(max_turns));
    }
    if let Some(share) = &flags.compact_at {
        set(options, &["context", "compact_at"], json!(share));
        set(options, &["context", "auto_compact"], json!(true));
    }
    match flags.web.as_deref() {
        None => {}
        Some("all") => set(options, &["tools", "web"], json!(true)),
        Some("off") => set(options, &["tools", "web"], json!(false)),
        Some(one) => set(options, &["tools", "web"], json!(one)),
    }
    if let Some(enabled) = flags.autopilot {
        set(options, &autopilot("enabled"), json!(enabled));
    }
}

/// Overrides provider and model.
fn apply_model(options: &mut Value, own_provider: &str, flags: &Flags) {
    let remove = |options: &mut Value, name: &str| {
        if let Some(options) = options.as_object_mut() {
            options.remove(name);
        }
    };
    if let Some(provider) = &flags.provider {
        // The file's model belongs to the file's provider.
        if own_provider != provider {
            remove(options, "model");
        }
        set(options, &["provider"], json!(provider));
    }
    if let Some(model) = &flags.model {
        // A preset includes a provider, which overrides the file's.
        if model.starts_with('$') && flags.provider.is_none() {
            remove(options, "provider");
        }
        set(options, &["model"], json!(model));
    }
}

/// Expands the names of `--approve` and `--restricted`. `tables` has the options
/// `tools.presets` and `tools.bash`, which define presets. A tool of one of `servers` may be
/// unknown, because tools are known only after the server has started.
fn approval_policy(
    flags: &Flags,
    tables: Value,
    registry: &Registry,
    servers: &[String],
) -> Result<Policy, ConfigError> {
    let mut names = flags.approve.clone();
    if flags.restricted {
        names.extend(RESTRICTED.map(str::to_owned));
    }
    if names.is_empty() {
        return Ok(Policy::default());
    }
    let mut tools = tables;
    // A missing option is null here, which would be an invalid table.
    if let Some(tools) = tools.as_object_mut() {
        tools.retain(|_, table| !table.is_null());
    }
    set(&mut tools, &["auto_approve"], json!(names));
    let (settings, found) =
        Settings::examine(&json!({ "tools": tools }), Scope::ConfigFile, registry);
    // Other problems come from the tables of the file, which `read` has examined.
    let mut problems: Vec<String> = found
        .all()
        .iter()
        .filter_map(|it| it.strip_prefix("tools.auto_approve: "))
        .map(|it| format!("--approve: {it}"))
        .collect();
    // In a file such a name may be that of a later tool. On the command line it is a mistake.
    let unknown = found.missing.iter();
    problems.extend(unknown.filter_map(|name| unknown_tool(name, servers)));
    if problems.is_empty() {
        Ok(settings.policy())
    } else {
        Err(ConfigError::Usage(problems))
    }
}

/// Returns the problem of a name without a tool, unless it belongs to a known server.
fn unknown_tool(name: &str, servers: &[String]) -> Option<String> {
    let Some((server, _)) = name.split_once("__") else {
        return Some(format!(
            "--approve: there is no tool named \"{name}\". `flemma tools` lists them."
        ));
    };
    let is_prefix = |server: &String| {
        let rest = name.strip_prefix(server.as_str());
        rest.is_some_and(|rest| rest.starts_with("__"))
    };
    // A server that was never started has no known tools, so its name must do.
    (!servers.iter().any(is_prefix)).then(|| {
        format!(
            "--approve: there is no MCP server \"{server}\" for the tool \"{name}\". `flemma mcp list` lists them."
        )
    })
}

fn set(options: &mut Value, path: &[&str], value: Value) {
    let mut at = options;
    for name in path {
        // `registry` sets options that have not been examined, so a number may be where a
        // table belongs.
        if !at.is_object() {
            *at = json!({});
        }
        at = &mut at[*name];
    }
    *at = value;
}

/// Returns the path of `--config`, or of the default file, which need not exist.
pub fn path(flags: &Flags) -> Option<PathBuf> {
    match &flags.file {
        // Absolute, so that trust in it does not depend on the current folder.
        Some(file) => Some(std::path::absolute(file).unwrap_or_else(|_| file.clone())),
        None => Some(config_dir::path()?.join("config.toml")),
    }
}

/// Reads the options of the file, without those of the command line.
fn read_file(flags: &Flags) -> Result<Value, ConfigError> {
    match (&flags.file, config_dir::path()) {
        (Some(file), _) => parse(file, true),
        (None, Some(folder)) => parse(&folder.join("config.toml"), false),
        (None, None) => Ok(json!({})),
    }
}

/// Reads a file. A missing one has no options, unless it is `required`.
fn parse(file: &Path, required: bool) -> Result<Value, ConfigError> {
    let shown = file.display();
    let problem = |text: String| ConfigError::File(vec![text]);
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        // Only a file that the user named has to exist.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !required => {
            return Ok(json!({}));
        }
        Err(error) => return Err(problem(format!("{shown} cannot be read: {error}."))),
    };
    let options = TomlOptions::read(&text).map_err(|TomlError { line, why }| {
        problem(format!("{shown}, line {line}: {why}. Nothing was done."))
    })?;
    Ok(options.values)
}

#[cfg(test)]
mod tests;
