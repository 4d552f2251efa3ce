//! A project's folder `.flemma`: where it is, and its `config.toml`, which applies as far
//! as the user trusts it.
//!
//! [`ProjectFolder`] is a folder in `.flemma` whose files are used only as the user trusted
//! them. A project's options are laid over those of the user: options that tighten apply at
//! once, all others once the user trusts the file.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use chat::preview::one_line;
use platform::files::open_no_link;
use platform::paths;
use serde_json::Value;
use tools::Registry;

use crate::frontmatter::AutoApprove;
use crate::options::as_lua;
use crate::options::{self, InvalidOption, OptionDef, Scope, TomlError, TomlOptions};
use crate::settings::{Broken, Problems, Settings, Target, is_module};
use crate::trust::{Escalation, Trust, approves_more};

/// The folder in a project.
pub const FOLDER: &str = ".flemma";

/// Name of the file with a project's options.
const CONFIG: &str = "config.toml";

/// Maximum bytes of a file that a project brings along (256 KB).
const MAX_BYTES: u64 = 256 * 1024;

/// A project's `config.toml`.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectConfig {
    /// Its path.
    pub path: PathBuf,
    /// Its text; empty if it cannot be read.
    pub text: String,
    /// True if the user trusts this text.
    pub trusted: bool,
    /// Its options, or why there are none.
    options: Result<TomlOptions, ConfigFault>,
}

/// Why a file has no options.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ConfigFault {
    /// It cannot be read.
    Unreadable(String),
    /// It is not TOML.
    Syntax(TomlError),
}

/// Returns `.flemma/NAME` of the nearest folder that has it, from `folder` upwards. The home
/// folder has a project only if it is `folder`; no folder above it and no root has one.
pub fn nearest(folder: &Path, name: &str) -> Option<PathBuf> {
    nearest_below(folder, std::env::home_dir().as_deref(), name)
}

fn nearest_below(folder: &Path, home: Option<&Path>, name: &str) -> Option<PathBuf> {
    // Neovim names the working directory without links, and $HOME may be one.
    let real_home = home.and_then(|it| paths::canonicalize(it).ok());
    let is_home = |it: &Path| home == Some(it) || real_home.as_deref() == Some(it);
    for ancestor in folder.ancestors() {
        let is_above = ancestor != folder;
        if ancestor.parent().is_none() || is_above && is_home(ancestor) {
            return None;
        }
        let path = ancestor.join(FOLDER).join(name);
        // Not `exists`: a broken link is reported and not skipped.
        if path.symlink_metadata().is_ok() {
            return Some(path);
        }
        if is_home(ancestor) {
            return None;
        }
    }
    None
}

/// Returns the path of the `config.toml` of the project that contains a folder.
pub fn config_path(folder: &Path) -> Option<PathBuf> {
    nearest(folder, CONFIG)
}

impl ProjectConfig {
    /// Reads the `config.toml` of the project that contains a folder. Blocking.
    pub fn around(folder: &Path, trust: &Trust) -> Option<Self> {
        Some(Self::read(config_path(folder)?, trust))
    }

    fn read(path: PathBuf, trust: &Trust) -> Self {
        let (text, options) = match read_text(&path) {
            Ok(text) => {
                let options = TomlOptions::read(&text).map_err(ConfigFault::Syntax);
                (text, options)
            }
            Err(error) => (
                String::new(),
                Err(ConfigFault::Unreadable(error.to_string())),
            ),
        };
        Self {
            // Compares the text that was read, so the file cannot change in between.
            trusted: trust.is_trusted(&path, &text),
            path,
            text,
            options,
        }
    }

    /// Applies the file's options to the settings. Checks names of tools only if the tools are
    /// known.
    pub fn apply(&self, settings: &Settings, registry: Option<&Registry>) -> ProjectReading {
        let fault = match &self.options {
            Ok(options) => return settings.with_project(options, self.trusted, registry),
            Err(fault) => fault,
        };
        let (line, why) = match fault {
            ConfigFault::Unreadable(why) => (1, format!("It cannot be read: {why}.")),
            ConfigFault::Syntax(error) => (error.line, format!("{}.", error.why)),
        };
        ProjectReading {
            settings: settings.with_unreadable_project(),
            // Nothing of the file applies, so nothing is withheld.
            withheld: Vec::new(),
            problems: vec![ProjectProblem { line, message: why }],
            consequence: "Until that is corrected, every call needs your approval.",
        }
    }

    /// Returns what the user should know about the file, a message each.
    pub fn messages(&self, reading: &ProjectReading) -> Vec<String> {
        let shown = self.path.display();
        let problems: Vec<String> = reading
            .problems
            .iter()
            .map(|it| format!("line {}: {}", it.line, it.message))
            .collect();
        let mut messages = Vec::new();
        if !problems.is_empty() {
            let consequence = reading.consequence;
            messages.push(
                format!("{shown}, {} {consequence}", problems.join(" "))
                    .trim_end()
                    .to_owned(),
            );
        }
        if !reading.withheld.is_empty() {
            let lines = reading.withheld.iter();
            let lines: Vec<String> = lines
                .map(|it| format!("Line {} {}.", it.line, it.what))
                .collect();
            messages.push(format!(
                "{shown} has settings that do not apply until you have read it and confirm with \
                 :Flemma trust project. {}",
                lines.join(" ")
            ));
        }
        messages
    }

    /// Stores that the user trusts this text.
    ///
    /// # Errors
    ///
    /// The file could not be read, or the store cannot be written.
    pub fn trust(&self, trust: &Trust) -> io::Result<()> {
        if let Err(ConfigFault::Unreadable(why)) = &self.options {
            return Err(io::Error::other(why.clone()));
        }
        trust.trust(&self.path, &self.text)
    }
}

/// Reads a file that a project brought along. Only a regular file of limited size: a link could lead
/// to any of the user's files.
///
/// # Errors
///
/// It is another file, is larger than 256 KB, is not UTF-8, or cannot be read.
pub fn read_text(path: &Path) -> io::Result<String> {
    // The system may report a loop for a link, which would not explain this.
    let file = open_no_link(path).map_err(|error| {
        if path.is_symlink() {
            io::Error::other("it is a symbolic link")
        } else {
            error
        }
    })?;
    // Checked on the open file, because the path may lead to another one meanwhile.
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    // One byte more than allowed shows that the file is larger.
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::other("it is larger than 256 KB"));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8"))
}

/// A folder of a project, such as `.flemma/skills`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFolder {
    /// Its path.
    pub path: PathBuf,
    /// True if the user trusts its current content.
    pub trusted: bool,
    /// Digest of its content.
    digest: String,
}

impl ProjectFolder {
    /// Returns `.flemma/NAME` of the project that contains a folder. Blocking.
    ///
    /// # Errors
    ///
    /// The folder contains links or too much, or cannot be read: a message for the user.
    pub fn around(folder: &Path, name: &str, trust: &Trust) -> Option<Result<Self, String>> {
        let path = nearest(folder, name).filter(|it| it.is_dir())?;
        let digest = match tools::digest(&path) {
            Ok(digest) => digest,
            Err(error) => {
                let shown = path.display();
                return Some(Err(format!("{shown} cannot be used: {error}.")));
            }
        };
        Some(Ok(Self {
            trusted: trust.trusted_digest(&path).as_deref() == Some(&digest),
            path,
            digest,
        }))
    }

    /// Stores that the user trusts the content as it was read.
    ///
    /// # Errors
    ///
    /// The store cannot be written.
    pub fn trust(&self, trust: &Trust) -> io::Result<()> {
        trust.trust_folder(&self.path, &self.digest)
    }
}

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
            return Some("a project can list tools and presets, but no modules.");
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
        // The user reads the list next to the text of the file.
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
