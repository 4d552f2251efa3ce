//! The layers of options, and which values of a foreign layer loosen the user's options.

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
    /// Rules that the user chose at earlier calls.
    Rules,
    /// A `:Flemma` command, until Neovim ends.
    Runtime,
    /// A chat's frontmatter.
    Frontmatter,
}

impl Scope {
    /// Returns the layer's name in `:Flemma status verbose`.
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

/// The values of an option that allow more than the user's own value. Stated only for options
/// that a chat or a project can set.
#[derive(Debug, Clone, Copy)]
pub enum Loosens {
    /// No value does.
    Never,
    /// Every value but `strict` does.
    Unless {
        /// The strictest value, as JSON.
        strict: &'static str,
        /// The effect of the change, to follow "this": "would …".
        what: &'static str,
    },
    /// `true` does if the user's own value is `false`.
    WhenTurnedOn(&'static str),
    /// Every value does.
    Always(&'static str),
    /// A higher number than the user's own does; without a number there is no limit.
    WhenRaised(&'static str),
    /// No value does: a project's list is added to the user's own, and forbids something.
    Forbids,
    /// The value is compared with the user's own rules by code of its own.
    Compared,
}

impl Loosens {
    /// Returns what `value` would allow beyond the user's `own` value, to follow "this".
    pub fn what(&self, value: &Value, own: &Value) -> Option<&'static str> {
        match *self {
            Self::Never | Self::Compared | Self::Forbids => None,
            Self::WhenRaised(what) => (!is_at_most(value, own)).then_some(what),
            Self::Always(what) => Some(what),
            Self::WhenTurnedOn(what) => {
                // If the user has turned it on already, the chat gains nothing.
                let turned_on = *value == Value::Bool(true) && *own == Value::Bool(false);
                turned_on.then_some(what)
            }
            Self::Unless { strict, what } => (json(strict) != *value).then_some(what),
        }
    }

    /// Returns true if `value` cannot do more than take away what the user's `own` value
    /// allows.
    pub fn tightens(&self, value: &Value, own: &Value) -> bool {
        match *self {
            // Neither can be shown to tighten, so such an option waits for trust.
            Self::Never | Self::Compared => false,
            Self::Forbids => true,
            Self::Always(_) => is_part(value, own),
            Self::WhenTurnedOn(_) => *value == Value::Bool(false),
            Self::WhenRaised(_) => is_at_most(value, own),
            Self::Unless { strict, .. } => json(strict) == *value,
        }
    }
}

/// Returns true if a list contains nothing that `own` does not contain.
fn is_part(list: &Value, own: &Value) -> bool {
    let (Some(list), Some(own)) = (list.as_array(), own.as_array()) else {
        return false;
    };
    list.iter().all(|item| own.contains(item))
}

fn is_at_most(value: &Value, own: &Value) -> bool {
    match (value.as_f64(), own.as_f64()) {
        (Some(value), Some(own)) => value <= own,
        // The user has set no limit.
        (Some(_), None) => own.is_null(),
        _ => false,
    }
}
