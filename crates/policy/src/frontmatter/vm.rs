//! The engine of an evaluation, with limits that untrusted code cannot lift.
//!
//! Runs a frontmatter, then its policy function and template expressions. Knows no option by
//! name.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mlua::chunk::ChunkMode;
use mlua::{Function, Lua, Table, Value as LuaValue, VmState};
use serde_json::Value;

use super::budget::Budget;
use super::environment::{self, IncludeValue};
use super::located::line_here;
use super::opt::SharedOptions;
use super::options::FrontmatterOptions;
use super::{Evaluated, Expansion, FrontmatterError, Known, MAX_SOURCE, Source, convert};

mod explain;

/// Time limit of an evaluation.
const EVALUATION: Duration = Duration::from_millis(100);
/// Time limit of an expression or a call of the policy function.
const CALL: Duration = Duration::from_millis(50);
/// Memory limit of an engine, in bytes.
const MEMORY: usize = 64 * 1024 * 1024;

/// The name of the frontmatter's chunk, in positions of errors.
pub const CHUNK: &str = "=frontmatter";
const EXPRESSION: &str = "=expression";
/// Registry key of the policy function, which Lua code cannot reach.
pub const POLICY: &str = "flemma.policy";

/// An engine with the variables of a frontmatter.
pub struct Vm {
    lua: Lua,
    /// The variables, which read through to everything untrusted code can reach.
    variables: Table,
    budget: Arc<Budget>,
    /// Held while code runs, because there is one budget.
    turn: Mutex<()>,
}

impl fmt::Debug for Vm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vm").finish_non_exhaustive()
    }
}

/// Evaluates a frontmatter in Lua.
///
/// # Errors
///
/// See [`super::evaluate`].
pub fn evaluate(source: &Source, known: &Known) -> Result<Evaluated, FrontmatterError> {
    let options = SharedOptions::new(FrontmatterOptions::new(known.clone()));
    let vm = Vm::new(source)?;
    let outcome = vm.run(source, &options);
    let overrides = options.lock().close();
    match outcome {
        Ok(()) => Ok(Evaluated::new(overrides, vm)),
        Err(error) => Err(explain::failure(&error, &vm.budget, source, EVALUATION)),
    }
}

impl Vm {
    /// Creates an engine that has run nothing.
    ///
    /// # Errors
    ///
    /// There is not enough memory to start it.
    pub fn new(source: &Source) -> Result<Self, FrontmatterError> {
        Self::build(source).map_err(|error| {
            let what = format!("the engine does not start ({error}).");
            FrontmatterError::new(source.first_line, None, what)
        })
    }

    fn build(source: &Source) -> mlua::Result<Self> {
        let lua = Lua::new();
        lua.set_memory_limit(MEMORY)?;
        let environment = environment::build(&lua, source.file.as_deref())?;
        let budget = Arc::new(Budget::new());
        let limit = Arc::clone(&budget);
        lua.set_interrupt(move |lua| {
            // Raised at every interrupt from then on, so that `pcall` cannot swallow it.
            if limit.is_over(|| line_here(lua)) {
                return Err(mlua::Error::runtime("time limit"));
            }
            Ok(VmState::Continue)
        });
        let variables = environment::layer(&lua, &environment)?;
        Ok(Self {
            lua,
            variables,
            budget,
            turn: Mutex::new(()),
        })
    }

    /// Runs the frontmatter, which sets `options`.
    fn run(&self, source: &Source, options: &SharedOptions) -> mlua::Result<()> {
        self.variables
            .raw_set("flemma", options.table(&self.lua)?)?;
        // Positions in errors are then lines of the file. Limited, because a `first_line` out of
        // range would allocate too much.
        let before = "\n".repeat(source.first_line.saturating_sub(1).min(MAX_SOURCE));
        let chunk = self
            .lua
            // Only as text below: crafted bytecode can break out of the engine.
            .load(before + &source.text)
            .set_name(CHUNK)
            .set_mode(ChunkMode::Text)
            .set_environment(self.variables.clone());
        self.limited(EVALUATION, || chunk.exec())
    }

    /// Runs code of the engine within `limit`.
    fn limited<T>(
        &self,
        limit: Duration,
        run: impl FnOnce() -> mlua::Result<T>,
    ) -> mlua::Result<T> {
        // Held during the run, because interrupts check the one budget.
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.budget.start(limit);
        let outcome = run();
        // Code that catches the error with `pcall` would otherwise return a value.
        if self.budget.was_reached() {
            return Err(mlua::Error::runtime("time limit"));
        }
        outcome
    }

    /// Sets a variable.
    ///
    /// # Errors
    ///
    /// The memory limit.
    pub fn set_variable(&self, name: &str, value: &Value) -> mlua::Result<()> {
        let value = convert::to_lua(&self.lua, value)?;
        self.variables.raw_set(name, value)
    }

    /// See [`Evaluated::call_policy`].
    pub fn call_policy(&self, tool: &str, input: &Value, ctx: &Value) -> Result<Value, String> {
        let explain = |error| explain::sentence(&error, &self.budget, CALL);
        let function: Option<Function> = self.lua.named_registry_value(POLICY).map_err(explain)?;
        let function = function.ok_or("auto_approve is not a function here.")?;
        let answer = self.limited(CALL, || {
            let input = convert::to_lua(&self.lua, input)?;
            let ctx = convert::to_lua(&self.lua, ctx)?;
            function.call::<LuaValue>((tool, input, ctx))
        });
        // The copy of the result is outside of the time limit; `ANSWER` limits its size.
        let answer = answer.map_err(explain)?;
        convert::to_json(&answer, convert::ANSWER).map_err(|what| {
            format!(
                "auto_approve returned {what}; valid values are true, false, \"deny\", and nil."
            )
        })
    }

    /// See [`Evaluated::expression`].
    pub fn expression(&self, code: &str) -> Result<Expansion, String> {
        if code.len() > MAX_SOURCE {
            return Err("it is too long.".to_owned());
        }
        let value = self.limited(CALL, || {
            // Assignments go to a layer that is dropped, so expressions do not depend on their
            // order.
            let own = environment::layer(&self.lua, &self.variables)?;
            self.lua
                // The line end closes a comment at the end of the expression.
                .load(format!("return {code}\n"))
                .set_name(EXPRESSION)
                .set_mode(ChunkMode::Text)
                .set_environment(own)
                .eval::<LuaValue>()
        });
        let value = value.map_err(|error| explain::sentence(&error, &self.budget, CALL))?;
        // A slip in a name would be sent as nothing at all.
        if value.is_nil() && is_name(code.trim()) {
            let name = code.trim();
            return Err(format!("nothing is named \"{name}\" here."));
        }
        expand(&value)
    }

    /// See [`Evaluated::variable_names`].
    #[cfg(test)]
    pub fn variable_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .variables
            .pairs::<LuaValue, LuaValue>()
            .flatten()
            .filter_map(|(name, _)| name.as_string()?.to_str().ok().map(|it| it.to_owned()))
            .filter(|name| name != "flemma")
            .collect();
        names.sort();
        names
    }
}

/// Returns true if an expression is only a variable or a field of one.
fn is_name(code: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    // `{{ nil }}` says that nothing is meant.
    !matches!(code, "" | "nil") && code.chars().all(is_part)
}

fn expand(value: &LuaValue) -> Result<Expansion, String> {
    let text = match value {
        LuaValue::Nil => String::new(),
        LuaValue::String(text) => text.to_string_lossy(),
        LuaValue::Table(_) => convert::to_json(value, convert::ANSWER)
            .map_err(|what| format!("it is {what}, which has no text."))?
            .to_string(),
        LuaValue::UserData(it) => {
            let include = it.borrow::<IncludeValue>();
            let include = include.map_err(|_| "it is an option, which has no text.")?;
            return Ok(Expansion::Include(include.0.clone()));
        }
        LuaValue::Boolean(_) | LuaValue::Integer(_) | LuaValue::Number(_) => {
            value.to_string().map_err(|error| error.to_string())?
        }
        other => return Err(format!("it is a {}, which has no text.", other.type_name())),
    };
    Ok(Expansion::Text(text))
}
