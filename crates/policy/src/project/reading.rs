//! A project's options, laid over those of the user: options that tighten apply at once, all
//! others once the user trusts the file.
//!
//! Reads no file; the module above does.

use chat::preview::one_line;
use serde_json::Value;
use tools::Registry;

use crate::frontmatter::AutoApprove;
use crate::lua_value::as_lua;
use crate::options::{self, InvalidOption, OptionDef, Scope, TomlOptions};
use crate::settings::{Broken, Problems, Settings, Target, is_module};
use crate::trust::{Escalation, approves_more};

/// The option that is compared with the user's own rules.
const AUTO_APPROVE: &str = "tools.auto_approve";

/// The user's settings in a project.
#[derive(Debug, Clone)]
pub struct ProjectReading {
    /// The settings, with the project's options as far as they apply.
    pub settings: Settings,
    /// Options that do not apply until the user trusts the file, in the order of their lines.
    pub withheld: Vec<Escalation>,
    /// Problems of the options, with their lines.
    pub problems: Vec<ProjectProblem>,
    /// The consequence of the problems, in a sentence; empty without problems.
    pub consequence: &'static str,
}

/// A problem of a project's options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectProblem {
    /// The line of the file, counted from 1.
    pub line: usize,
    /// The problem and a correct value, in sentences.
    pub message: String,
}

impl Settings {
    /// Returns these settings outside of any project.
    pub fn without_project(&self) -> Self {
        self.with_project_layer(Value::Null, Broken::default())
    }

    /// Returns these settings in a project whose options cannot be read. They might have
    /// restricted something.
    pub fn with_unreadable_project(&self) -> Self {
        let broken = Broken {
            rules: true,
            sandbox: true,
        };
        self.with_project_layer(Value::Null, broken)
    }

    /// Returns these settings in a project with these options. Names of tools are checked only
    /// if the tools are known.
    pub fn with_project(
        &self,
        given: &TomlOptions,
        trusted: bool,
        registry: Option<&Registry>,
    ) -> ProjectReading {
        let base = self.without_project();
        let mut problems = Problems::default();
        let mut values = base.fitting(given, &mut problems);
        let withheld = if trusted {
            Vec::new()
        } else {
            base.withheld(&values, given)
        };
        for it in &withheld {
            remove(&mut values, &it.option);
        }
        base.choose_model(&mut values, &mut problems);
        // Names are checked in the merged settings. Which options are broken is known only then.
        let mut settings = base.with_project_layer(values.clone(), Broken::default());
        if let Some(registry) = registry {
            settings.check_project_names(&base, registry, &mut problems);
        }
        let broken = Broken {
            rules: problems.breaks_rules(),
            sandbox: problems.invalid.iter().any(|it| it.is_about("sandbox")),
        };
        settings = settings.with_project_layer(values, broken);
        ProjectReading {
            settings,
            withheld,
            consequence: match (problems.all().is_empty(), problems.breaks_rules()) {
                (true, _) => "",
                (false, true) => problems.consequence(),
                (false, false) => "Your own options apply instead.",
            },
            problems: located(&problems, given),
        }
    }

    /// Returns the part of a project's options that can apply at all.
    fn fitting(&self, given: &TomlOptions, problems: &mut Problems) -> Value {
        let (mut values, invalid) = options::check(&given.values, Scope::Project);
        problems.invalid = invalid;
        // Options of the command line take precedence over those of a project.
        for path in self.fixed() {
            remove(&mut values, path);
        }
        if let Some(list) = options::at(&values, AUTO_APPROVE) {
            let why = self.refused_list(list);
            if let Some(why) = why {
                let message = format!("{AUTO_APPROVE}: {why}");
                let invalid = InvalidOption::new(AUTO_APPROVE, message);
                problems.invalid.push(invalid);
                remove(&mut values, AUTO_APPROVE);
            }
        }
        values
    }

    /// Returns why a project's `tools.auto_approve` cannot apply, trusted or not.
    fn refused_list(&self, list: &Value) -> Option<&'static str> {
        let names = || list.as_array().into_iter().flatten();
        let is_module = |it: &Value| it.as_str().is_some_and(is_module);
        if !list.is_array() || names().any(is_module) {
            // A module is code, which would run in Neovim.
            return Some("a project can list tools and presets, and name no module.");
        }
        self.decides_by_code()
            .then_some("yours is a function or names a module, and a project cannot replace that.")
    }

    /// Returns the options that do more than tighten these settings.
    fn withheld(&self, values: &Value, given: &TomlOptions) -> Vec<Escalation> {
        let mut found = Vec::new();
        for (path, option, value) in options::set_in(values) {
            found.extend(self.more(path, option, value).map(|what| Escalation {
                option: path.to_owned(),
                line: given.line(path),
                what,
            }));
        }
        // The user reads the list beside the text of the file.
        found.sort_by_key(|it| it.line);
        found
    }

    /// Returns what an option does beyond tightening these settings, to follow "this".
    fn more(&self, path: &str, option: &OptionDef, value: &Value) -> Option<String> {
        let own = self.value(path);
        if path == AUTO_APPROVE {
            let names = value.as_array().into_iter().flatten();
            let names = names.filter_map(Value::as_str).map(str::to_owned).collect();
            let exclusions = Vec::new();
            return approves_more(&AutoApprove::List { names, exclusions }, self);
        }
        if value == own || option.loosens.tightens(value, own) {
            return None;
        }
        let loosens = option.loosens.what(value, own).map(str::to_owned);
        loosens.or_else(|| {
            let value = one_line(&as_lua(value), 60);
            Some(format!("would set {path} to {value}"))
        })
    }

    /// Replaces a preset by its content, and drops a model that belongs to another provider.
    fn choose_model(&self, values: &mut Value, problems: &mut Problems) {
        let text = |name: &str| options::at(values, name).and_then(Value::as_str);
        let (provider, model) = (text("provider"), text("model"));
        if model.is_some_and(|it| it.starts_with('$')) {
            let target = Target::of_chat(provider, model, self);
            let chosen = target.and_then(|it| it.options().map_err(|all| all.join(" ")));
            match chosen {
                Ok(chosen) => options::lay_over(values, chosen),
                Err(why) => {
                    let invalid = InvalidOption::new("model", format!("model: {why}"));
                    problems.invalid.push(invalid);
                    // Otherwise the preset's name would be sent as a model.
                    remove(values, "model");
                }
            }
        } else if provider.is_some_and(|it| it != self.provider) && model.is_none() {
            // The user's model belongs to the user's provider.
            values["model"] = Value::Null;
        }
    }

    /// Checks the names in a project's lists. `base` are the settings without it, whose own
    /// problems were reported.
    fn check_project_names(&self, base: &Self, registry: &Registry, problems: &mut Problems) {
        let (mut own, mut all) = (Problems::default(), Problems::default());
        base.check_names(registry, &mut own);
        self.check_names(registry, &mut all);
        // The user's own problems are reported elsewhere.
        let new = |all: Vec<InvalidOption>, own: &[InvalidOption]| {
            all.into_iter()
                .filter(|it| !own.contains(it))
                .collect::<Vec<_>>()
        };
        problems.invalid.extend(new(all.invalid, &own.invalid));
        problems.unknown.extend(new(all.unknown, &own.unknown));
        let remarks = all.remarks.into_iter();
        let remarks = remarks.filter(|it| !own.remarks.contains(it));
        problems.remarks.extend(remarks);
    }
}

/// Returns all problems with their lines.
fn located(problems: &Problems, given: &TomlOptions) -> Vec<ProjectProblem> {
    let invalid = problems.invalid.iter().chain(&problems.unknown);
    let invalid = invalid.map(|it| (given.line(&it.path), it.to_string()));
    // A remark begins with its option.
    let remarks = problems.remarks.iter().map(|it| {
        let path = it.split(':').next().unwrap_or_default();
        (given.line(path), it.clone())
    });
    let mut all: Vec<ProjectProblem> = invalid
        .chain(remarks)
        .map(|(line, message)| ProjectProblem { line, message })
        .collect();
    all.sort_by_key(|it| it.line);
    all
}

/// Removes an option.
fn remove(values: &mut Value, path: &str) {
    let (table, name) = path.rsplit_once('.').unwrap_or(("", path));
    let pointer = match table {
        "" => String::new(),
        table => format!("/{}", table.replace('.', "/")),
    };
    if let Some(table) = values.pointer_mut(&pointer).and_then(Value::as_object_mut) {
        table.remove(name);
    }
}

#[cfg(test)]
mod tests;
