//! `flemma.opt` without a language: which options were set, on which line, and to what.
//!
//! Each change is validated against the option table when it is made, so that an error
//! has its line. Starts from the user's own settings on every evaluation.
//!
//! [`Given`] is a value that Lua or JSON assigns to an option, [`SetValue`] one that they read.

use std::collections::BTreeMap;

use chat::did_you_mean;
use serde_json::{Value, json};

use super::list::{List, Lists, Operation, Which};
use super::{AutoApprove, FunctionHandle, Known, Overrides};
use crate::options::{self, InvalidOption, OptionDef, Scope, at, join, lay_over, nested};

/// Spells out `sandbox = false`, which is short for `sandbox.enabled = false`.
fn spelled_out(option: &OptionDef, value: Value) -> Value {
    match option.switch() {
        Some(switch) if !value.is_object() && !value.is_array() => json!({ switch.name: value }),
        _ => value,
    }
}

/// The options of one evaluation.
#[derive(Debug)]
pub struct FrontmatterOptions {
    known: Known,
    lists: Lists,
    /// The other options, in tables as `setup()` takes them.
    values: Value,
    /// Lines of the options that are set.
    lines: BTreeMap<String, usize>,
    closed: bool,
}

impl FrontmatterOptions {
    /// Creates the options as they are before the first line.
    pub fn new(known: Known) -> Self {
        Self {
            lists: Lists::new(&known),
            values: json!({}),
            lines: BTreeMap::new(),
            closed: false,
            known,
        }
    }

    /// Returns the names that exist.
    pub fn known(&self) -> &Known {
        &self.known
    }

    /// Returns the current value of a list option.
    ///
    /// # Errors
    ///
    /// The option is a function.
    pub fn list(&self, which: Which) -> Result<&List, InvalidOption> {
        self.lists.get(which)
    }

    /// Returns the value of the option `name` below `parent`.
    ///
    /// # Errors
    ///
    /// The option does not exist, or a chat cannot set it.
    pub fn read(&self, parent: &str, name: &str) -> Result<SetValue, InvalidOption> {
        match (parent, name) {
            ("", "tools") => return Ok(SetValue::List(Which::Tools)),
            // A function of `setup()` is not handed to a document; only one that it assigned
            // itself.
            ("tools", "auto_approve") if self.has_function() => return Ok(SetValue::Function),
            ("tools", "auto_approve") => {
                let list = self.list(Which::AutoApprove)?;
                return Ok(SetValue::List(list.which()));
            }
            _ => {}
        }
        let (path, option) = find(parent, name)?;
        if option.kind.fields().is_some() {
            return Ok(SetValue::Table(join(parent, name)));
        }
        let value = at(&self.values, &path).cloned();
        Ok(value.map_or(SetValue::Nothing, SetValue::Value))
    }

    fn has_function(&self) -> bool {
        self.lists.has_function() && self.lines.contains_key(Which::AutoApprove.path())
    }

    /// Sets `name` below `parent`, for the frontmatter's line `line`.
    ///
    /// # Errors
    ///
    /// The option does not exist, a chat cannot set it, the value does not fit, or the
    /// evaluation is over. Nothing is changed then.
    pub fn assign(
        &mut self,
        parent: &str,
        name: &str,
        given: Given,
        line: usize,
    ) -> Result<(), InvalidOption> {
        self.check_open()?;
        match (parent, name) {
            ("", "tools") => self.assign_list(Which::Tools, given, line),
            ("tools", "auto_approve") => self.assign_list(Which::AutoApprove, given, line),
            _ => self.assign_option(parent, name, given, line),
        }
    }

    fn assign_option(
        &mut self,
        parent: &str,
        name: &str,
        given: Given,
        line: usize,
    ) -> Result<(), InvalidOption> {
        let (path, option) = find(parent, name)?;
        let as_written = join(parent, name);
        let Some(value) = plain(&as_written, given)? else {
            // Assigning nil takes back what earlier lines set.
            self.clear(&path);
            return Ok(());
        };
        let value = spelled_out(option, value);
        let (fitting, invalid) =
            options::check_value(option, &as_written, &value, Scope::Frontmatter);
        // The first problem ends the evaluation, so only that one is shown.
        if let Some(invalid) = invalid.into_iter().next() {
            return Err(invalid);
        }
        // Presets of models are names of the user's, so the option table does not have them.
        if path == "model" {
            self.check_model(&value)?;
        }
        let values = nested(&path, fitting.unwrap_or_default());
        // A table sets several options with one line.
        for (path, ..) in options::set_in(&values) {
            self.lines.insert(path.to_owned(), line);
        }
        lay_over(&mut self.values, values);
        Ok(())
    }

    /// Removes the option or the table at `path`.
    fn clear(&mut self, path: &str) {
        // Clearing `sandbox` clears `sandbox.enabled` too, and not an option that only begins
        // alike.
        let inside = format!("{path}.");
        self.lines
            .retain(|set, _| set != path && !set.starts_with(&inside));
        let pointer = format!("/{}", path.replace('.', "/"));
        if let Some(value) = self.values.pointer_mut(&pointer) {
            // Null is absent for all layers; removing the key would make no difference.
            *value = Value::Null;
        }
    }

    /// Reports a preset that does not exist, and a value that is not a model's name.
    fn check_model(&self, value: &Value) -> Result<(), InvalidOption> {
        let name = value.as_str().unwrap_or_default();
        let presets = &self.known.model_presets;
        if name.starts_with('$') && !presets.iter().any(|it| it == name) {
            let meant = did_you_mean(name, presets.iter().map(String::as_str));
            let all = presets.join(", ");
            let name = shown(name);
            let what = format!("model: there is no preset \"{name}\".{meant} Presets: {all}.");
            return Err(InvalidOption::new("model", what).of_word(&name));
        }
        if name.trim().is_empty() || name.len() > MAX_NAME {
            let what = format!(
                "model is \"{}\"; it must be the name of a model.",
                shown(name)
            );
            return Err(InvalidOption::new("model", what));
        }
        Ok(())
    }

    fn check_open(&self) -> Result<(), InvalidOption> {
        if self.closed {
            return Err(InvalidOption::new(
                "",
                "options are set while the frontmatter is read, and not afterwards.",
            ));
        }
        Ok(())
    }

    fn assign_list(
        &mut self,
        which: Which,
        given: Given,
        line: usize,
    ) -> Result<(), InvalidOption> {
        let path = which.path();
        let mut list = List::new(which, Vec::new());
        match given {
            Given::Nothing => {
                self.lines.remove(path);
                self.lists.reset(which, &self.known);
                return Ok(());
            }
            Given::Function if which == Which::AutoApprove => {
                self.lists.set_function();
                self.lines.insert(path.to_owned(), line);
                return Ok(());
            }
            Given::Function => {
                let what = format!("{path} cannot be a function: it is a list of names.");
                return Err(InvalidOption::new(path, what));
            }
            // A list of the same option keeps its exclusions. From the other option only names
            // are taken.
            Given::List(given) if given.which() == which => list = given,
            Given::List(given) => list.change(Operation::Set, &given.names, &self.known)?,
            Given::Value(value) => {
                list.change(Operation::Set, &name_list(path, &value)?, &self.known)?;
            }
        }
        self.lists.set(list);
        self.lines.insert(path.to_owned(), line);
        Ok(())
    }

    /// Changes a list option in place.
    ///
    /// # Errors
    ///
    /// A name does not exist, or the option is a function.
    pub fn change(
        &mut self,
        which: Which,
        operation: Operation,
        names: &[String],
        line: usize,
    ) -> Result<(), InvalidOption> {
        self.check_open()?;
        let mut list = match self.list(which) {
            Ok(list) => list.clone(),
            // A new list may take the place of the user's function.
            Err(_) if operation == Operation::Set => List::new(which, Vec::new()),
            Err(invalid) => return Err(invalid),
        };
        list.change(operation, names, &self.known)?;
        self.assign_list(which, Given::List(list), line)
    }

    /// Ends the evaluation: from then on nothing can be set.
    pub fn close(&mut self) -> Overrides {
        // The policy function runs later and could otherwise loosen what was checked here.
        self.closed = true;
        let touched = |path: &str| self.lines.get(path).copied();
        let names = |which| self.list(which).ok().cloned();
        let auto_approve =
            touched("tools.auto_approve").map(|line| match names(Which::AutoApprove) {
                None => AutoApprove::Function(FunctionHandle { line }),
                Some(List {
                    names, exclusions, ..
                }) => AutoApprove::List { names, exclusions },
            });
        let tools = names(Which::Tools).filter(|_| touched("tools").is_some());
        Overrides {
            tools: tools.map(|list| list.names),
            auto_approve,
            values: self.set_values(),
            lines: self.lines.clone(),
        }
    }

    /// Returns the options that are set; null if none is.
    fn set_values(&self) -> Value {
        let mut values = Value::Null;
        for (path, _, value) in options::set_in(&self.values) {
            lay_over(&mut values, nested(path, value.clone()));
        }
        values
    }
}

/// Returns the path in `setup()` and the row of the option `name` below `parent`.
///
/// # Errors
///
/// The option does not exist, or a chat cannot set it.
fn find(parent: &str, name: &str) -> Result<(String, &'static OptionDef), InvalidOption> {
    let as_written = join(parent, name);
    // A name with a dot would bypass the options that are handled by their tables.
    let found = options::find_in_chat(&as_written).filter(|_| !name.contains('.'));
    let Some((path, option)) = found else {
        let known = options::names_in_chat(parent);
        return Err(options::unknown(&as_written, name, &known));
    };
    match options::out_of_scope(option, &as_written, Scope::Frontmatter) {
        Some(invalid) => Err(invalid),
        None => Ok((path, option)),
    }
}

/// Maximum bytes of the name of an option, a tool, or a preset.
pub const MAX_NAME: usize = 128;

/// Shortens a text for quoting in a message.
pub fn shown(text: &str) -> String {
    // By characters: a cut inside one would panic.
    match text.char_indices().nth(MAX_NAME) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A value assigned to an option.
#[derive(Debug, Clone)]
pub enum Given {
    /// nil: the option is as if it had never been set.
    Nothing,
    /// A plain value.
    Value(Value),
    /// The value of a list option, changed or not.
    List(List),
    /// A function; the evaluator keeps it.
    Function,
}

/// The value of an option, as Lua reads it.
#[derive(Debug, Clone)]
pub enum SetValue {
    /// Nothing was set.
    Nothing,
    /// A plain value.
    Value(Value),
    /// A list option.
    List(Which),
    /// The policy function that was assigned.
    Function,
    /// A table of options with this path.
    Table(String),
}

/// Returns the names in a list.
///
/// # Errors
///
/// The value is not a list, or contains something other than names.
pub fn name_list(path: &str, value: &Value) -> Result<Vec<String>, InvalidOption> {
    let wrong = |value: &Value| {
        let what = format!(
            "{path} is {}; it must be a list of names.",
            shown(&value.to_string())
        );
        match value.as_str() {
            Some(word) => InvalidOption::new(path, what).of_word(word),
            None => InvalidOption::new(path, what),
        }
    };
    let items = value.as_array().ok_or_else(|| wrong(value))?;
    let name = |item: &Value| item.as_str().map(str::to_owned);
    let names = items
        .iter()
        .map(|item| name(item).ok_or_else(|| wrong(value)));
    names.collect()
}

/// Returns the assigned value as JSON; `None` for nil.
///
/// # Errors
///
/// The value is a function.
pub fn plain(path: &str, given: Given) -> Result<Option<Value>, InvalidOption> {
    match given {
        Given::Nothing => Ok(None),
        Given::Value(value) => Ok(Some(value)),
        Given::List(list) => Ok(Some(list.names.into())),
        Given::Function => {
            let what = format!("{path} cannot be a function.");
            Err(InvalidOption::new(path, what))
        }
    }
}
