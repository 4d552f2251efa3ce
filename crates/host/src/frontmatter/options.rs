//! `flemma.opt` without a language: what is set, from which line, and to what.
//!
//! Each change is checked when it is made, so that an error has its line. Starts
//! from the user's own settings on every evaluation.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::check::{self, is_general, mismatch};
use super::given::{Entry, Given, below, name_list, plain};
use super::list::{List, Operation, Which};
use super::names::{self, GENERAL, Refusal, join};
use super::{AutoApprove, FunctionHandle, Known, Overrides};

/// Most entries of a provider's table.
const MAX_ENTRIES: usize = 64;

/// The options of one evaluation.
#[derive(Debug)]
pub struct Options {
    known: Known,
    tools: List,
    /// Absent while a function decides.
    auto_approve: Option<List>,
    autopilot: Option<bool>,
    provider: Option<String>,
    model: Option<String>,
    sandbox: Map<String, Value>,
    parameters: Map<String, Value>,
    provider_parameters: BTreeMap<String, Map<String, Value>>,
    /// Also says which options were touched.
    lines: BTreeMap<String, usize>,
    closed: bool,
}

impl Options {
    /// Options before the first line.
    pub fn new(known: Known) -> Self {
        let mut options = Self {
            tools: List::new(Which::Tools, known.default_tools.clone()),
            auto_approve: None,
            autopilot: None,
            provider: None,
            model: None,
            sandbox: Map::new(),
            parameters: Map::new(),
            provider_parameters: BTreeMap::new(),
            lines: BTreeMap::new(),
            closed: false,
            known,
        };
        options.seed_auto_approve();
        options
    }

    fn seed_auto_approve(&mut self) {
        let names = self.known.auto_approve.clone();
        self.auto_approve = names.map(|names| List::new(Which::AutoApprove, names));
    }

    /// What may be named.
    pub fn known(&self) -> &Known {
        &self.known
    }

    /// The value of a list option as it stands.
    ///
    /// # Errors
    ///
    /// A function stands there.
    pub fn list(&self, which: Which) -> Result<&List, Refusal> {
        match (which, &self.auto_approve) {
            (Which::Tools, _) => Ok(&self.tools),
            (Which::AutoApprove, Some(list)) => Ok(list),
            (Which::AutoApprove, None) => Err(Refusal::new(
                "tools.auto_approve is a function in setup(), so there is no list to read or change. Assign a list or a function instead.",
            )),
        }
    }

    /// What stands at `name` below `parent`.
    ///
    /// # Errors
    ///
    /// An option that does not exist, or that is never in a document.
    pub fn read(&self, parent: &str, name: &str) -> Result<Entry, Refusal> {
        let entry = |value: Option<&Value>| {
            value.map_or(Entry::Nothing, |value| Entry::Value(value.clone()))
        };
        match (parent, name) {
            ("", "tools") => Ok(Entry::List(Which::Tools)),
            ("", "sandbox") => Ok(Entry::Table(name.to_owned())),
            ("", "provider") => Ok(entry(self.provider.clone().map(Value::String).as_ref())),
            ("", "model") => Ok(entry(self.model.clone().map(Value::String).as_ref())),
            ("", _) if is_general(name) => Ok(entry(self.parameters.get(name))),
            ("", _) if self.is_provider(name) => Ok(Entry::Table(name.to_owned())),
            ("tools", "auto_approve") if self.has_function() => Ok(Entry::Function),
            ("tools", "auto_approve") => self
                .list(Which::AutoApprove)
                .map(|list| Entry::List(list.which())),
            ("tools", "autopilot") => Ok(entry(self.autopilot.map(Value::Bool).as_ref())),
            ("sandbox", "policy") => Ok(Entry::Table("sandbox.policy".to_owned())),
            ("sandbox", "enabled" | "backend") => Ok(entry(self.sandbox.get(name))),
            ("sandbox.policy", "rw_paths" | "network" | "allow_privileged") => {
                let policy = self.sandbox.get("policy");
                Ok(entry(policy.and_then(|policy| policy.get(name))))
            }
            (provider, _) if self.is_provider(provider) => {
                names::never(provider, name)?;
                let table = self.provider_parameters.get(provider);
                Ok(entry(table.and_then(|table| table.get(name))))
            }
            _ => Err(self.unknown(parent, name)),
        }
    }

    fn has_function(&self) -> bool {
        self.auto_approve.is_none() && self.lines.contains_key(Which::AutoApprove.path())
    }

    fn is_provider(&self, name: &str) -> bool {
        self.known.providers.iter().any(|it| it == name)
    }

    fn unknown(&self, parent: &str, name: &str) -> Refusal {
        let own: Vec<&str> = match parent {
            "" => GENERAL
                .into_iter()
                .chain(["model", "provider", "tools", "sandbox"])
                .chain(self.known.providers.iter().map(String::as_str))
                .collect(),
            "tools" => vec!["auto_approve", "autopilot"],
            "sandbox" => vec!["enabled", "backend", "policy"],
            _ => vec!["rw_paths", "network", "allow_privileged"],
        };
        if parent == "tools" && self.known.tools.iter().any(|it| it == name) {
            return Refusal::of(
                name,
                format!(
                    "\"tools.{name}\" says how a tool runs, which is never taken from a document. Set it in setup()."
                ),
            );
        }
        names::unknown_option(parent, name, &own)
    }

    /// Sets `name` below `parent`, as a line of the file says.
    ///
    /// # Errors
    ///
    /// An option that does not exist, one that is never in a document, a wrong
    /// value; or the evaluation is over. Nothing is changed then.
    pub fn assign(
        &mut self,
        parent: &str,
        name: &str,
        given: Given,
        line: usize,
    ) -> Result<(), Refusal> {
        self.check_open()?;
        let path = join(parent, name);
        let cleared = matches!(given, Given::Nothing);
        match (parent, name) {
            ("", "tools") => self.assign_list(Which::Tools, given)?,
            ("", "sandbox") => self.assign_sandbox(given)?,
            ("", "provider") => {
                let value = plain(&path, given)?;
                let named = value.map(|value| check::one_of(&path, &value, &self.known.providers));
                self.provider = named.transpose()?;
            }
            ("", "model") => {
                let value = plain(&path, given)?;
                let named = value.map(|value| check::model(&path, &value, &self.known));
                self.model = named.transpose()?;
            }
            ("", _) if is_general(name) => assign_to(&mut self.parameters, &path, name, given)?,
            ("", _) if self.is_provider(name) => self.assign_provider(name, given)?,
            ("tools", "auto_approve") => self.assign_list(Which::AutoApprove, given)?,
            ("tools", "autopilot") => {
                let value = plain(&path, given)?;
                let value = value.map(|value| check::boolean(&path, &value));
                self.autopilot = value.transpose()?;
            }
            ("sandbox", _) => self.assign_sandbox(below(name, given)?)?,
            ("sandbox.policy", _) => self.assign_sandbox(below("policy", below(name, given)?)?)?,
            (provider, _) if self.is_provider(provider) => {
                names::never(provider, name)?;
                let table = self.provider_parameters.entry(provider.to_owned());
                assign_to(table.or_default(), &path, name, given)?;
            }
            _ => return Err(self.unknown(parent, name)),
        }
        self.note(&path, cleared, line);
        Ok(())
    }

    fn check_open(&self) -> Result<(), Refusal> {
        if self.closed {
            return Err(Refusal::new(
                "options are set while the frontmatter is read, and not afterwards.",
            ));
        }
        Ok(())
    }

    fn note(&mut self, path: &str, cleared: bool, line: usize) {
        if path.starts_with("sandbox.") {
            self.lines.insert("sandbox".to_owned(), line);
        }
        if cleared {
            self.lines.remove(path);
        } else {
            self.lines.insert(path.to_owned(), line);
        }
    }

    fn assign_list(&mut self, which: Which, given: Given) -> Result<(), Refusal> {
        let path = which.path();
        let list = match given {
            Given::Nothing if which == Which::AutoApprove => {
                self.seed_auto_approve();
                return Ok(());
            }
            Given::Nothing => List::new(which, self.known.default_tools.clone()),
            Given::List(list) if list.which() == which => list,
            Given::List(list) => {
                let mut own = List::new(which, Vec::new());
                own.change(Operation::Set, &list.names, &self.known)?;
                own
            }
            Given::Function if which == Which::AutoApprove => {
                self.auto_approve = None;
                return Ok(());
            }
            Given::Function => {
                return Err(Refusal::new(format!(
                    "{path} cannot be a function: it is a list of names."
                )));
            }
            Given::Value(value) => {
                let mut list = List::new(which, Vec::new());
                list.change(Operation::Set, &name_list(path, &value)?, &self.known)?;
                list
            }
        };
        match which {
            Which::Tools => self.tools = list,
            Which::AutoApprove => self.auto_approve = Some(list),
        }
        Ok(())
    }

    fn assign_sandbox(&mut self, given: Given) -> Result<(), Refusal> {
        match plain("sandbox", given)? {
            None => self.sandbox.clear(),
            Some(value) => merge(&mut self.sandbox, check::sandbox(&value)?),
        }
        Ok(())
    }

    fn assign_provider(&mut self, name: &str, given: Given) -> Result<(), Refusal> {
        let table = match plain(name, given)? {
            None => Map::new(),
            Some(Value::Array(items)) if items.is_empty() => Map::new(),
            Some(Value::Object(table)) => table,
            Some(other) => {
                let expected = "it is a table of parameters";
                return Err(mismatch(name, &other, expected, &[]));
            }
        };
        check::provider(name, &table)?;
        for key in table.keys() {
            self.lines.remove(&join(name, key));
        }
        self.provider_parameters.insert(name.to_owned(), table);
        Ok(())
    }

    /// Changes a list option in its place.
    ///
    /// # Errors
    ///
    /// A name that does not exist, or a function stands there.
    pub fn change(
        &mut self,
        which: Which,
        operation: Operation,
        names: &[String],
        line: usize,
    ) -> Result<(), Refusal> {
        self.check_open()?;
        if which == Which::AutoApprove && operation == Operation::Set && self.auto_approve.is_none()
        {
            self.auto_approve = Some(List::new(which, Vec::new()));
        }
        let mut list = self.list(which)?.clone();
        list.change(operation, names, &self.known)?;
        self.assign_list(which, Given::List(list))?;
        self.note(which.path(), false, line);
        Ok(())
    }

    /// Ends the evaluation: nothing can be set any more.
    pub fn close(&mut self) -> Overrides {
        self.closed = true;
        let touched = |path: &str| self.lines.get(path).copied();
        let list = self.auto_approve.clone();
        let auto_approve = touched("tools.auto_approve").map(|line| match list {
            None => AutoApprove::Function(FunctionHandle { line }),
            Some(List {
                names, exclusions, ..
            }) => AutoApprove::List { names, exclusions },
        });
        self.provider_parameters
            .retain(|_, table| !table.is_empty());
        Overrides {
            tools: touched("tools").map(|_| self.tools.names.clone()),
            auto_approve,
            autopilot: self.autopilot,
            provider: self.provider.clone(),
            model: self.model.clone(),
            sandbox: touched("sandbox").map(|_| Value::Object(self.sandbox.clone())),
            parameters: self.parameters.clone(),
            provider_parameters: self.provider_parameters.clone(),
            lines: self.lines.clone(),
        }
    }
}

fn assign_to(
    table: &mut Map<String, Value>,
    path: &str,
    name: &str,
    given: Given,
) -> Result<(), Refusal> {
    let Some(value) = plain(path, given)? else {
        table.shift_remove(name);
        return Ok(());
    };
    check::parameter(path, name, &value)?;
    if let Value::Object(inner) = &value {
        check::provider(path, inner)?;
    }
    if table.len() >= MAX_ENTRIES && !table.contains_key(name) {
        return Err(Refusal::new(format!(
            "{path} is one too many: a provider takes at most {MAX_ENTRIES} parameters."
        )));
    }
    table.insert(name.to_owned(), value);
    Ok(())
}

fn merge(target: &mut Map<String, Value>, given: Map<String, Value>) {
    for (name, value) in given {
        match (target.get_mut(&name), value) {
            (Some(Value::Object(old)), Value::Object(new)) => merge(old, new),
            (_, value) => {
                target.insert(name, value);
            }
        }
    }
}
