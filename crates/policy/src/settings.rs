//! The values of the options, read from their layers, and what the cycle and the providers get
//! of them.
//!
//! The module `options` defines which options exist and which values fit.

pub(crate) mod grants;
pub mod judges;
mod layers;
pub(crate) mod plan;
mod policy;
mod sandbox;
mod target;

use std::ops::{Deref, DerefMut};

use chat::approval::Policy;
use serde::Deserialize;
use serde_json::Value;
use tools::{BashOptions, Registry};

use crate::options::{self, BackendChoice, ContextSettings, InvalidOption, Scope, Values};
use layers::Layers;

pub(crate) use layers::Broken;
pub use layers::OptionStatus;
pub(crate) use policy::is_module;
pub(crate) use policy::searching;
pub use sandbox::{Here, folder};
pub use target::{Target, value_of};

/// The values of all options, such as `settings.tools`, and what else decides with them.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    values: Values,
    /// Functions that also decide about calls.
    pub resolvers: Resolvers,
    /// True if `:Flemma plan` or a frontmatter put the chat into plan mode.
    pub plan: bool,
    /// The layers of the values.
    layers: Layers,
}

impl Deref for Settings {
    type Target = Values;

    fn deref(&self) -> &Values {
        &self.values
    }
}

impl DerefMut for Settings {
    fn deref_mut(&mut self) -> &mut Values {
        &mut self.values
    }
}

impl ContextSettings {
    /// Returns the share of the context, from 0 to 1, from which a summary is offered; `None` if never.
    pub fn compact_at(&self) -> Option<f64> {
        let percents = self.compact_at.as_str().and_then(options::share)?;
        Some(f64::from(percents) / 100.0)
    }
}

/// Problems of the given options.
#[derive(Debug, Default)]
pub struct Problems {
    /// Options that do not apply: unknown names, and values that do not fit.
    pub invalid: Vec<InvalidOption>,
    /// Names that no tool has but that resemble one's; valid once there is such a tool.
    pub unknown: Vec<InvalidOption>,
    /// Remarks about valid options that may be mistakes.
    pub remarks: Vec<String>,
    /// The names in `tools.auto_approve` that the remarks are about: no tool has them yet.
    pub missing: Vec<String>,
}

impl Problems {
    /// Returns a sentence for each invalid option and each unknown name.
    pub fn all(&self) -> Vec<String> {
        let all = self.invalid.iter().chain(&self.unknown);
        all.map(ToString::to_string).collect()
    }

    /// Returns true if no rule of the `tools` table can be relied on.
    pub(crate) fn breaks_rules(&self) -> bool {
        let is_rule = |it: &InvalidOption| it.path.is_empty() || it.is_about("tools");
        !self.unknown.is_empty() || self.invalid.iter().any(is_rule)
    }

    /// Returns a sentence about the consequence of the problems.
    pub fn consequence(&self) -> &'static str {
        if self.breaks_rules() {
            "Until the tools options are valid, every call needs your approval."
        } else {
            "These options keep their defaults."
        }
    }
}

impl Settings {
    /// Reads the options given to `setup()`; see [`Settings::examine`].
    pub fn read(given: &Value, registry: &Registry) -> (Self, Vec<String>) {
        let (settings, problems) = Self::examine(given, Scope::Setup, registry);
        (settings, problems.all())
    }

    /// Reads the options of `setup()` or of the configuration file, and reports their problems.
    /// An invalid option keeps its default. With a broken `tools` table nothing is approved,
    /// because a rule that failed to load must never lead to a laxer one; with a broken
    /// `sandbox` table no command runs outside a sandbox.
    pub fn examine(given: &Value, scope: Scope, registry: &Registry) -> (Self, Problems) {
        let mut problems = Problems::default();
        let (mut fitting, invalid) = options::check(given, scope);
        problems.invalid = invalid;
        if let Some(name) = given.get("provider").filter(|it| it.is_string()) {
            // With a misspelled provider nothing is sent; the default would be another provider.
            fitting["provider"] = name.clone();
        }
        let mut settings = Self::of(Layers::of_user(fitting));
        settings.check_names(registry, &mut problems);
        settings.sandbox.check(&mut problems);
        settings.take_preset(given, &mut problems);
        // An invalid value might have been a restriction.
        let broken_sandbox = problems.invalid.iter().any(|it| it.is_about("sandbox"));
        // After `take_preset`, which replaces the layers.
        settings.layers.broken = Broken {
            rules: problems.breaks_rules(),
            sandbox: broken_sandbox,
        };
        settings.restrict();
        (settings, problems)
    }

    /// Reads the values of all layers.
    fn of(mut layers: Layers) -> Self {
        layers.merge();
        let values = layers.values().clone();
        let values = serde_json::from_value(values).unwrap_or_else(|error| {
            // All values were checked, so only an error in the option table can cause this. It
            // must not approve anything.
            tracing::error!(%error, "the options do not have the form of their definitions");
            layers.broken.rules = true;
            Values::default()
        });
        let mut settings = Self {
            values,
            layers,
            ..Self::default()
        };
        settings.restrict();
        settings
    }

    /// Restricts what options that failed to load might have restricted.
    fn restrict(&mut self) {
        let broken = [self.layers.broken, self.layers.broken_project];
        if broken.iter().any(|it| it.rules) {
            self.tools.auto_approve = Value::Array(Vec::new());
            self.tools.require_approval = true;
        }
        if broken.iter().any(|it| it.sandbox) {
            self.sandbox.backend = BackendChoice::Required;
        }
    }

    /// Returns the options of `bash` for a chat at `here`.
    pub fn bash(&self, here: Here<'_>) -> BashOptions {
        let bash = &self.tools.bash;
        let named = bash.cwd.as_deref();
        // Without a folder, the caller uses the chat's own.
        let named = named.filter(|named| *named != sandbox::BUFFER);
        BashOptions {
            shell: bash.shell.clone(),
            cwd: named
                .map(|named| sandbox::folder(named, here).unwrap_or_else(|| here.cwd.join(named))),
            env: bash.env.clone().into_iter().collect(),
            lists: self.shell_lists(),
            // Invalid entries were reported when the options were read.
            trial_home: bash
                .trial_home
                .iter()
                .filter_map(|it| sandbox::in_home(it))
                .collect(),
        }
    }

    /// Returns a parameter: the provider's own, otherwise the general one.
    pub fn parameter(&self, provider: &str, name: &str) -> Option<&Value> {
        let own = self
            .parameters
            .get(provider)
            .and_then(|table| table.get(name));
        // `merge` sets null if a chat's general parameter overrides this one.
        own.filter(|value| !value.is_null())
            .or_else(|| self.parameters.get(name))
            .filter(|value| !value.is_null())
    }
}

/// The registered functions; the plugin sends them again whenever one is added or removed.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Resolvers {
    /// The functions.
    #[serde(default)]
    pub items: Vec<RegisteredResolver>,
    /// Names of built-in resolvers that the user removed.
    #[serde(default)]
    pub without: Vec<String>,
    /// Approvals of the command line.
    #[serde(skip)]
    pub command_line: CommandLineApproval,
}

/// The calls that `--approve` and `--yes` approve when no other rule decides.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CommandLineApproval {
    /// The tools and rules that `--approve` names.
    pub policy: Policy,
    /// True if `--yes` approves every other call.
    pub yes: bool,
}

/// A function that the user or a plugin registered.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RegisteredResolver {
    /// Unique.
    pub name: String,
    /// Priority; the highest is asked first.
    pub priority: i32,
    /// ID of the function in the front end.
    pub function: u64,
    /// True if it denies when it fails; otherwise it passes.
    #[serde(default)]
    pub closed: bool,
    /// True if it is a module named in `tools.auto_approve`.
    #[serde(default)]
    pub from_options: bool,
}

#[cfg(test)]
mod tests;
