//! Checks the names in the rules: of tools, presets, and modules.

use std::collections::BTreeSet;

use chat::did_you_mean;
use serde_json::Value;
use tools::{HttpAllow, Registry};

use super::judges::{SHELL_SAFE, TRIAL};
use super::plan::PLAN_PRESET;
use super::sandbox::in_home;
use super::{Problems, Settings};
use crate::options::InvalidOption;

/// Returns true if an entry of `tools.auto_approve` is the path of a module.
pub(crate) fn is_module(name: &str) -> bool {
    // Names of our own resolvers are not modules.
    name.contains('.') && !name.starts_with("urn:flemma:")
}

/// Reports a name that is not in `known`. One that resembles none of them may belong to a tool
/// that is registered later.
fn check_name(path: &str, name: &str, known: &BTreeSet<String>, problems: &mut Problems) {
    if known.contains(name) {
        return;
    }
    // Tools register later, so only a name that looks like a typing error counts as one.
    let meant = did_you_mean(name, known.iter().map(String::as_str));
    if meant.is_empty() && !name.starts_with('$') {
        problems.remarks.push(format!(
            "{path}: there is no tool named \"{name}\" so far. What is said of it counts once there is one."
        ));
        return;
    }
    let message = format!("{path}: nothing is named \"{name}\".{meant}");
    let invalid = InvalidOption::new(path, message);
    if name.starts_with('$') {
        // Presets cannot be registered, so a preset that is missing now will stay missing.
        problems.invalid.push(invalid)
    } else {
        problems.unknown.push(invalid)
    }
}

impl Settings {
    /// Reports problems of the names in `tools.auto_approve` and `tools.presets`, of hosts, and of
    /// folders for trials. A name that resembles none may belong to a tool that is registered later.
    pub(crate) fn check_names(&self, registry: &Registry, problems: &mut Problems) {
        let tools = registry.iter().chain(registry.aliases());
        let tools: BTreeSet<String> = tools.map(|it| it.name().to_owned()).collect();
        let presets = self.preset_names();
        for name in &self.tools.offer {
            check_name("tools.offer", name, &tools, problems);
        }
        for name in self.approved_names() {
            let known = if name.starts_with('$') {
                &presets
            } else {
                &tools
            };
            let remarks = problems.remarks.len();
            check_name("tools.auto_approve", name, known, problems);
            // The tool may be registered later, so such a name is looked up again.
            if problems.remarks.len() > remarks {
                problems.missing.push(name.to_owned());
            }
        }
        self.check_presets(&tools, problems);
        if let Err(problem) = HttpAllow::read(&self.tools.http_get.allow) {
            let path = "tools.http_get.allow";
            let invalid = InvalidOption::new(path, format!("{path}: {problem}"));
            problems.invalid.push(invalid);
        }
        for entry in &self.tools.bash.trial_home {
            if in_home(entry).is_none() {
                let path = "tools.bash.trial_home";
                let message = format!(
                    "{path}: \"{entry}\" must be a path below your home folder, such as \"~/.config/foo\"."
                );
                problems.invalid.push(InvalidOption::new(path, message));
            }
        }
    }

    fn check_presets(&self, tools: &BTreeSet<String>, problems: &mut Problems) {
        for (preset, lists) in &self.tools.presets {
            if !preset.starts_with('$') {
                let message =
                    format!("tools.presets: the name \"{preset}\" must start with \"$\".");
                let invalid = InvalidOption::new("tools.presets", message);
                problems.invalid.push(invalid);
            }
            for (list, names) in [("approve", &lists.approve), ("deny", &lists.deny)] {
                let path = format!("tools.presets.{preset}.{list}");
                for name in names {
                    check_name(&path, name, tools, problems);
                }
            }
        }
    }

    /// Returns the names of all presets, with their `$`.
    pub(crate) fn preset_names(&self) -> BTreeSet<String> {
        let built_in = tools::PRESETS.iter().map(|name| (*name).to_owned());
        let built_in = built_in.chain([SHELL_SAFE, TRIAL, PLAN_PRESET].map(str::to_owned));
        built_in.chain(self.tools.presets.keys().cloned()).collect()
    }

    /// Returns the policy function, if `auto_approve` is one.
    pub(super) fn function(&self) -> Option<u64> {
        self.tools
            .auto_approve
            .get("function")
            .and_then(Value::as_u64)
    }

    /// Returns true if the user's own rules are code: a function, or modules by their paths.
    pub(crate) fn decides_by_code(&self) -> bool {
        self.function().is_some() || self.entries().any(is_module)
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &str> {
        entries_of(&self.tools.auto_approve)
    }

    /// Returns the user's own list, if a project's list replaces it.
    pub(super) fn names_below_project(&self) -> impl Iterator<Item = &str> {
        const PATH: &str = "tools.auto_approve";
        let own = self.own_value(PATH).filter(|_| self.is_of_project(PATH));
        entries_of(own.unwrap_or(&Value::Null)).filter(|name| !is_module(name))
    }

    /// Returns the tools and presets that `tools.auto_approve` lists.
    pub(crate) fn approved_names(&self) -> impl Iterator<Item = &str> {
        self.entries().filter(|name| !is_module(name))
    }
}

/// Returns the names in a value of `tools.auto_approve`.
fn entries_of(value: &Value) -> impl Iterator<Item = &str> {
    let (list, single) = match value {
        Value::Array(list) => (list.as_slice(), None),
        Value::String(name) => (&[][..], Some(name.as_str())),
        _ => (&[][..], None),
    };
    list.iter().filter_map(Value::as_str).chain(single)
}

#[cfg(test)]
mod tests;
