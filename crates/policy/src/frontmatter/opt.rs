//! `flemma.opt` as Lua sees it: tables that check each assignment, and lists with methods and
//! operators.
//!
//! Only translates. [`FrontmatterOptions`] decides which options exist and may be set.
//!
//! Errors about invalid options keep their line on the way through Lua.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mlua::{
    AnyUserData, IntoLua, Lua, MetaMethod, Table, UserData, UserDataMethods, Value as LuaValue,
    Variadic,
};

use super::convert;
use super::list::{List, Operation, Which};
use super::options::{FrontmatterOptions, Given, MAX_NAME, SetValue, name_list};
use super::vm::{CHUNK, POLICY};
use crate::options::InvalidOption;

/// The options of one evaluation, shared with the Lua values that represent them.
#[derive(Clone)]
pub struct SharedOptions(Arc<Mutex<FrontmatterOptions>>);

impl SharedOptions {
    /// Wraps options so that Lua can reach them.
    pub fn new(options: FrontmatterOptions) -> Self {
        Self(Arc::new(Mutex::new(options)))
    }

    /// Locks the options; hold this only while Lua does not run.
    pub fn lock(&self) -> MutexGuard<'_, FrontmatterOptions> {
        // A change is applied completely or not at all, so a panic leaves valid options.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates the table `flemma`.
    ///
    /// # Errors
    ///
    /// The engine's memory limit.
    pub fn table(&self, lua: &Lua) -> mlua::Result<Table> {
        let table = lua.create_table()?;
        table.raw_set("opt", self.node(""))?;
        // `flemma.opt = {}` would replace the checks with a plain table.
        table.set_readonly(true);
        Ok(table)
    }

    fn node(&self, path: &str) -> Node {
        Node {
            options: self.clone(),
            path: path.to_owned(),
        }
    }

    fn read(&self, lua: &Lua, parent: &str, name: &LuaValue) -> mlua::Result<LuaValue> {
        let name = option_name(lua, name)?;
        // Released before Lua is called again, which may come back for the same lock.
        let entry = self.lock().read(parent, &name);
        match located(lua, entry)? {
            SetValue::Nothing => Ok(LuaValue::Nil),
            SetValue::Value(value) => convert::to_lua(lua, &value),
            SetValue::Function => lua.named_registry_value(POLICY),
            SetValue::Table(path) => self.node(&path).into_lua(lua),
            SetValue::List(which) => ListNode {
                options: self.clone(),
                which,
                copy: None,
            }
            .into_lua(lua),
        }
    }

    fn assign(
        &self,
        lua: &Lua,
        parent: &str,
        name: &LuaValue,
        value: &LuaValue,
    ) -> mlua::Result<()> {
        let name = option_name(lua, name)?;
        let given = located(lua, given(&name, value))?;
        // The options record that there is a function, and the engine's registry keeps it: it
        // cannot leave the engine.
        let is_function = matches!(given, Given::Function);
        let line = line_here(lua).unwrap_or_default();
        let outcome = self.lock().assign(parent, &name, given, line);
        located(lua, outcome)?;
        if is_function {
            lua.set_named_registry_value(POLICY, value)?;
        }
        Ok(())
    }
}

/// A table of options: the root, that of a provider, or that of the sandbox.
struct Node {
    options: SharedOptions,
    path: String,
}

impl UserData for Node {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::Index, |lua, this, name: LuaValue| {
            this.options.read(lua, &this.path, &name)
        });
        methods.add_meta_method(
            MetaMethod::NewIndex,
            |lua, this, (name, value): (LuaValue, LuaValue)| {
                this.options.assign(lua, &this.path, &name, &value)
            },
        );
    }
}

/// A list option, or the copy that an operator made of one.
struct ListNode {
    options: SharedOptions,
    which: Which,
    /// Absent for the option itself.
    copy: Option<Mutex<List>>,
}

impl ListNode {
    fn value(&self) -> Result<List, InvalidOption> {
        match &self.copy {
            Some(copy) => Ok(copy.lock().unwrap_or_else(PoisonError::into_inner).clone()),
            None => self.options.lock().list(self.which).cloned(),
        }
    }

    fn change(&self, lua: &Lua, operation: Operation, names: &[LuaValue]) -> mlua::Result<()> {
        // Before locking: an argument may be a list, whose value takes the same lock.
        let names = located(lua, names_in(self.which, names))?;
        let mut options = self.options.lock();
        let outcome = match &self.copy {
            None => {
                let line = line_here(lua).unwrap_or_default();
                options.change(self.which, operation, &names, line)
            }
            Some(copy) => copy.lock().unwrap_or_else(PoisonError::into_inner).change(
                operation,
                &names,
                options.known(),
            ),
        };
        // `located` calls the engine, which must not run while the options are locked.
        drop(options);
        located(lua, outcome)
    }

    /// Returns a changed copy, for an operator; the script may assign it to an option.
    fn changed(&self, lua: &Lua, operation: Operation, names: LuaValue) -> mlua::Result<Self> {
        let copy = ListNode {
            options: self.options.clone(),
            which: self.which,
            copy: Some(Mutex::new(located(lua, self.value())?)),
        };
        copy.change(lua, operation, &[names])?;
        Ok(copy)
    }

    fn read(&self, lua: &Lua, name: &LuaValue) -> mlua::Result<LuaValue> {
        // A number is a position in the list; any other key is an option below it.
        if let Some(at) = name.as_usize() {
            let list = located(lua, self.value())?;
            let item = at.checked_sub(1).and_then(|at| list.names.get(at));
            return item.map_or(Ok(LuaValue::Nil), |name| name.as_str().into_lua(lua));
        }
        self.options.read(lua, self.which.path(), name)
    }
}

impl UserData for ListNode {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        for (name, operation) in [
            ("set", Operation::Set),
            ("append", Operation::Append),
            ("prepend", Operation::Prepend),
            ("remove", Operation::Remove),
        ] {
            methods.add_function(
                name,
                move |lua, (this, names): (AnyUserData, Variadic<LuaValue>)| {
                    // Returns the list, so that calls can be chained.
                    // A shared borrow, because the list may be among its own arguments.
                    this.borrow::<Self>()?.change(lua, operation, &names)?;
                    Ok(this)
                },
            );
        }
        add_operators(methods);
        methods.add_method("get", |lua, this, ()| Ok(located(lua, this.value())?.names));
        methods.add_meta_method(MetaMethod::Len, |lua, this, ()| {
            Ok(located(lua, this.value())?.names.len())
        });
        methods.add_meta_method(MetaMethod::Index, |lua, this, name: LuaValue| {
            this.read(lua, &name)
        });
        methods.add_meta_method(
            MetaMethod::NewIndex,
            |lua, this, (name, value): (LuaValue, LuaValue)| {
                this.options.assign(lua, this.which.path(), &name, &value)
            },
        );
    }
}

fn add_operators<M: UserDataMethods<ListNode>>(methods: &mut M) {
    for (operator, operation) in [
        (MetaMethod::Add, Operation::Append),
        (MetaMethod::Sub, Operation::Remove),
        // As `vim.opt` does with `^`.
        (MetaMethod::Pow, Operation::Prepend),
    ] {
        methods.add_meta_method(operator, move |lua, this, names: LuaValue| {
            this.changed(lua, operation, names)
        });
    }
}

fn option_name(lua: &Lua, name: &LuaValue) -> mlua::Result<String> {
    let text = match name {
        // The name is quoted in messages and kept in tables, so its length is bounded.
        LuaValue::String(name) if name.as_bytes().len() <= MAX_NAME => {
            name.to_str().ok().map(|name| name.to_owned())
        }
        _ => None,
    };
    located(
        lua,
        text.ok_or_else(|| InvalidOption::new("", "an option must have a short name.")),
    )
}

fn given(name: &str, value: &LuaValue) -> Result<Given, InvalidOption> {
    match value {
        LuaValue::Nil => Ok(Given::Nothing),
        LuaValue::Function(_) => Ok(Given::Function),
        // Not as a plain value: the list carries its exclusions with it.
        LuaValue::UserData(it) if it.is::<ListNode>() => list_of(it).map(Given::List),
        other => convert::to_json(other, convert::OPTION)
            .map(Given::Value)
            .map_err(|what| InvalidOption::new(name, format!("{name} cannot be {what}."))),
    }
}

fn list_of(value: &AnyUserData) -> Result<List, InvalidOption> {
    let list = value.borrow::<ListNode>();
    list.map_err(|error| InvalidOption::new("", error.to_string()))?
        .value()
}

/// Returns the names in the arguments of a method: each a name, a list, or a list option.
fn names_in(which: Which, arguments: &[LuaValue]) -> Result<Vec<String>, InvalidOption> {
    let path = which.path();
    let mut names = Vec::new();
    for argument in arguments {
        match given(path, argument)? {
            Given::Value(serde_json::Value::String(name)) => names.push(name),
            Given::Value(value) => names.extend(name_list(path, &value)?),
            Given::List(list) => names.extend(list.names),
            Given::Nothing | Given::Function => {
                let what = format!(
                    "{path} takes names, and this is a {}.",
                    argument.type_name()
                );
                return Err(InvalidOption::new(path, what));
            }
        }
    }
    Ok(names)
}

/// An invalid option and its line.
#[derive(Debug)]
pub struct Located {
    /// The error.
    pub invalid: InvalidOption,
    /// Line of the file, if Lua knew it.
    pub line: Option<usize>,
}

impl std::fmt::Display for Located {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.invalid.fmt(f)
    }
}

impl std::error::Error for Located {}

/// Returns the value, or an error for Lua that contains the current line.
///
/// # Errors
///
/// The option is invalid.
pub fn located<T>(lua: &Lua, outcome: Result<T, InvalidOption>) -> mlua::Result<T> {
    outcome.map_err(|invalid| {
        mlua::Error::external(Located {
            invalid,
            line: line_here(lua),
        })
    })
}

/// Returns the line of the frontmatter that is running. The chunk was loaded after as many empty
/// lines as precede it in the file.
pub fn line_here(lua: &Lua) -> Option<usize> {
    // Our functions are called through a few frames of the engine; the nearest frame of the
    // document is below them.
    (0..16)
        .map_while(|level| {
            lua.inspect_stack(level, |debug| {
                // An expression has lines of its own, which are not the file's.
                let ours = debug.source().source.as_deref() == Some(CHUNK);
                debug.current_line().filter(|_| ours)
            })
        })
        .flatten()
        .next()
}
