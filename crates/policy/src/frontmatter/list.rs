//! A list option and the operations on it.
//!
//! Pure: a change is checked against the existing names and is applied completely or not
//! at all. Does not know the content of presets.

use chat::did_you_mean;

use super::Known;
use super::options::shown;
use crate::options::InvalidOption;

/// The two options that are lists of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// `flemma.opt.tools`
    Tools,
    /// `flemma.opt.tools.auto_approve`
    AutoApprove,
}

impl Which {
    /// The option's path below `flemma.opt`.
    pub fn path(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::AutoApprove => "tools.auto_approve",
        }
    }
}

/// An operation on a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Replaces the list.
    Set,
    /// Adds names at the end; existing ones move there.
    Append,
    /// Adds names at the start; existing ones move there.
    Prepend,
    /// Removes names from the list and from the content of its presets.
    Remove,
}

/// The value of a list option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List {
    which: Which,
    /// Tools and presets, each once.
    pub names: Vec<String>,
    /// Tools that were removed and not added again: presets do not bring them back.
    pub exclusions: Vec<String>,
}

impl List {
    /// Creates a list with an initial value, which is not checked.
    pub fn new(which: Which, names: Vec<String>) -> Self {
        Self {
            which,
            names,
            exclusions: Vec::new(),
        }
    }

    /// Returns the option of which this is the value or a copy.
    pub fn which(&self) -> Which {
        self.which
    }

    /// Applies an operation with `names`.
    ///
    /// # Errors
    ///
    /// A name is neither that of a tool nor, for approval, of a preset.
    pub fn change(
        &mut self,
        operation: Operation,
        names: &[String],
        known: &Known,
    ) -> Result<(), InvalidOption> {
        for name in names {
            self.check(name, known)?;
        }
        let mut given: Vec<String> = Vec::new();
        for name in names {
            if !given.contains(name) {
                given.push(name.clone());
            }
        }
        // Removed in every case: names move to their new place instead of occurring twice.
        self.names.retain(|name| !given.contains(name));
        self.exclusions.retain(|name| !given.contains(name));
        match operation {
            Operation::Set => {
                self.names = given;
                self.exclusions.clear();
            }
            Operation::Append => self.names.extend(given),
            Operation::Prepend => {
                self.names.splice(0..0, given);
            }
            Operation::Remove => {
                // A preset is removed by its name alone. A tool may also come from a preset.
                let tools = given.into_iter().filter(|name| !name.starts_with('$'));
                self.exclusions.extend(tools);
            }
        }
        Ok(())
    }

    /// Checks that a name is known, or already in the list (which `setup()` may have filled).
    fn check(&self, name: &str, known: &Known) -> Result<(), InvalidOption> {
        let presets: &[String] = match self.which {
            // Only approval has presets of tools.
            Which::Tools => &[],
            Which::AutoApprove => &known.presets,
        };
        let exists = |list: &[String]| list.iter().any(|it| it == name);
        if exists(&known.tools) || exists(presets) || exists(&self.names) {
            return Ok(());
        }
        let invalid = |what: String| {
            let invalid = InvalidOption::new(self.which.path(), what);
            Err(invalid.of_word(name))
        };
        let quoted = shown(name);
        // `setup()` takes modules by their path, and a document must not load code.
        if name.contains('.') {
            return invalid(format!(
                "\"{quoted}\" looks like a module, and modules are never taken from a document. Name it in setup()."
            ));
        }
        let kind = if name.starts_with('$') {
            "preset"
        } else {
            "tool"
        };
        let candidates = || known.tools.iter().chain(presets).map(String::as_str);
        let meant = did_you_mean(name, candidates());
        let all = match (kind, self.which) {
            ("preset", Which::AutoApprove) => format!("Presets: {}.", presets.join(", ")),
            _ => format!("Tools: {}.", known.tools.join(", ")),
        };
        invalid(format!("no {kind} named \"{quoted}\".{meant} {all}"))
    }
}

/// The current values of the two options.
#[derive(Debug)]
pub struct Lists {
    tools: List,
    /// Absent while a function decides.
    auto_approve: Option<List>,
}

impl Lists {
    /// Returns the lists with their first values.
    pub fn new(known: &Known) -> Self {
        let mut lists = Self {
            tools: List::new(Which::Tools, Vec::new()),
            auto_approve: None,
        };
        lists.reset(Which::Tools, known);
        lists.reset(Which::AutoApprove, known);
        lists
    }

    /// Resets a list to its initial value.
    pub fn reset(&mut self, which: Which, known: &Known) {
        let first = match which {
            Which::Tools => Some(&known.default_tools),
            Which::AutoApprove => known.auto_approve.as_ref(),
        };
        match first {
            Some(names) => self.set(List::new(which, names.clone())),
            // `setup()` has a function, so there is no list to start from.
            None => self.set_function(),
        }
    }

    /// Replaces the value of the list's option.
    pub fn set(&mut self, list: List) {
        match list.which {
            Which::Tools => self.tools = list,
            Which::AutoApprove => self.auto_approve = Some(list),
        }
    }

    /// Lets a function decide about calls.
    pub fn set_function(&mut self) {
        self.auto_approve = None;
    }

    /// Returns true while a function decides about calls.
    pub fn has_function(&self) -> bool {
        self.auto_approve.is_none()
    }

    /// Returns the value of an option.
    ///
    /// # Errors
    ///
    /// It is a function.
    pub fn get(&self, which: Which) -> Result<&List, InvalidOption> {
        match which {
            Which::Tools => Ok(&self.tools),
            Which::AutoApprove => self.auto_approve.as_ref().ok_or_else(|| {
                let what = "tools.auto_approve is a function in setup(), so there is no list to read or change. Assign a list or a function instead.";
                InvalidOption::new(which.path(), what)
            }),
        }
    }
}
