//! Names that a document may give, and what a user is told about one it may not.
//!
//! Knows which names exist and which never come from a document. Knows neither
//! values nor Lua.

use std::fmt;

/// Options that apply to every provider, from "Per-buffer parameter overrides" in
/// the tools specification.
pub const GENERAL: [&str; 6] = [
    "thinking",
    "cache_retention",
    "max_tokens",
    "temperature",
    "timeout",
    "connect_timeout",
];

/// Words below a provider, `tools` or `sandbox` that name a program, a module, an
/// address or a secret. A document never sets them, trusted or not.
const NEVER: [&str; 23] = [
    "api_key",
    "api_key_command",
    "args",
    "backends",
    "base_url",
    "bwrap",
    "ca_file",
    "cmd",
    "command",
    "cwd",
    "endpoint",
    "env",
    "extra_args",
    "headers",
    "host",
    "mcp",
    "model_path",
    "module",
    "path",
    "proxy",
    "server",
    "shell",
    "url",
];

/// Options of `setup()` that a chat cannot change, at the top and below `tools`.
const SETUP_ONLY: [&str; 15] = [
    "cursor_after_result",
    "default_timeout",
    "editing",
    "highlights",
    "http_get",
    "keymaps",
    "lock_buffer",
    "max_concurrent",
    "review_delay",
    "parameters",
    "presets",
    "require_approval",
    "show_spinner",
    "trust",
    "ui",
];

/// Likewise below `sandbox`.
const SETUP_ONLY_OF_SANDBOX: [&str; 2] = ["reveal", "sockets"];

/// Longest name of an option, a tool or a preset, in bytes.
pub const MAX_NAME: usize = 128;

/// Why an option was not taken: a sentence, and the word it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What is wrong and what to write instead.
    pub what: String,
    /// The word in the source that the sentence is about, to find its column.
    pub word: Option<String>,
}

impl Refusal {
    /// A refusal that no single word is to blame for.
    pub fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            word: None,
        }
    }

    /// A refusal of `word`.
    pub fn of(word: &str, what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            word: Some(word.to_owned()),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Refusal {}

/// Refuses the option `name` below `parent` (empty at the top), of which only
/// `known` exist.
pub fn unknown_option(parent: &str, name: &str, known: &[&str]) -> Refusal {
    let path = join(parent, name);
    if let Err(refusal) = never(parent, name) {
        return refusal;
    }
    let is_setups = match parent {
        "sandbox" => SETUP_ONLY_OF_SANDBOX.contains(&name),
        _ => SETUP_ONLY.contains(&name),
    };
    let what = if is_setups {
        format!("\"{path}\" is an option of setup(), and a chat cannot set it.")
    } else {
        let meant = nearest(name, known.iter().copied());
        format!(
            "no option named \"{path}\".{meant} Options: {}.",
            known.join(", ")
        )
    };
    Refusal::of(name, what)
}

/// Refuses `name` below `parent` when a document may never set it.
pub fn never(parent: &str, name: &str) -> Result<(), Refusal> {
    if !NEVER.contains(&name) {
        return Ok(());
    }
    let path = join(parent, name);
    let what = format!(
        "\"{path}\" names a program, a module, an address or a secret, so it is never taken from a document. Set it in setup()."
    );
    Err(Refusal::of(name, what))
}

/// A sentence that names what was probably meant, with a blank before it, or nothing.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    if name.len() > MAX_NAME {
        return String::new();
    }
    let best = known
        .map(|it| (strsim::osa_distance(it, name), it))
        .min()
        .filter(|(distance, _)| *distance <= 3 && distance * 2 <= name.chars().count());
    best.map_or_else(String::new, |(_, it)| format!(" Did you mean \"{it}\"?"))
}

/// A value as it is quoted to the user: not longer than a line.
pub fn shown(text: &str) -> String {
    match text.char_indices().nth(MAX_NAME) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The option path of `name` below `parent`.
pub fn join(parent: &str, name: &str) -> String {
    if parent.is_empty() {
        name.to_owned()
    } else {
        format!("{parent}.{name}")
    }
}
