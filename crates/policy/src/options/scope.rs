//! The layers of options, and what a layer that is not the user's loosens.

use serde_json::Value;

use super::json;

/// A layer of options. A later one wins over the earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The table given to `setup()`.
    Setup,
    /// The command line's `config.toml`.
    ConfigFile,
    /// A project's `.flemma/config.toml`.
    Project,
    /// Rules that the user had remembered.
    Rules,
    /// A `:Flemma` command, until Neovim ends.
    Runtime,
    /// A chat's frontmatter.
    Frontmatter,
}

impl Scope {
    /// The layer's name in `:Flemma status verbose`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::ConfigFile => "config.toml",
            Self::Project => "project",
            Self::Rules => "rules",
            Self::Runtime => "runtime",
            Self::Frontmatter => "frontmatter",
        }
    }
}

/// Which values of an option allow more than the user's own options do. Only stated of
/// options that a chat or a project can set: those of the user are the measure.
#[derive(Debug, Clone, Copy)]
pub enum Loosens {
    /// No value does.
    Never,
    /// Every value but `strict` does.
    Unless {
        /// The strictest value, as JSON.
        strict: &'static str,
        /// What the change does, to follow "this": "would …".
        what: &'static str,
    },
    /// `true` does where the user's own value is `false`.
    WhenTurnedOn(&'static str),
    /// Every value does.
    Always(&'static str),
    /// The value is compared with the user's own rules by code of its own.
    Compared,
}

impl Loosens {
    /// Returns what `value` would allow beyond the user's `own` value, to follow "this".
    pub fn what(&self, value: &Value, own: &Value) -> Option<&'static str> {
        match *self {
            Self::Never | Self::Compared => None,
            Self::Always(what) => Some(what),
            Self::WhenTurnedOn(what) => {
                // Where the user has turned it on already, the chat gets nothing new.
                let turned_on = *value == Value::Bool(true) && *own == Value::Bool(false);
                turned_on.then_some(what)
            }
            Self::Unless { strict, what } => (json(strict) != *value).then_some(what),
        }
    }
}
