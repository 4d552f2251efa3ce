//! The engine of an evaluation, with limits that untrusted code cannot lift.
//!
//! Runs a frontmatter, then its policy function and template expressions. Knows no option by
//! name.
//!
//! Errors of the engine become sentences with a position in the file. They have no field for a
//! line: it is in their text, in an error that we raised, or where the limit was noticed.
//!
//! [`Budget`] limits the running time by the thread's processor time, so that a busy machine does
//! not fail a valid file (but see [`thread_time`]).

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mlua::chunk::ChunkMode;
use mlua::{Error, Function, Lua, Table, Value as LuaValue, VmState};
use platform::machine::thread_time;
use serde_json::Value;

use super::environment::{self, IncludeValue};
use super::opt::{Located, SharedOptions, line_here};
use super::options::FrontmatterOptions;
use super::{Evaluated, Expansion, FrontmatterError, Known, MAX_SOURCE, Source, convert, json};

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
    evaluate_within(EVALUATION, source, known)
}

/// Evaluates a frontmatter in Lua within `limit`.
///
/// # Errors
///
/// See [`super::evaluate`].
pub(super) fn evaluate_within(
    limit: Duration,
    source: &Source,
    known: &Known,
) -> Result<Evaluated, FrontmatterError> {
    let options = SharedOptions::new(FrontmatterOptions::new(known.clone()));
    let vm = Vm::new(source)?;
    let outcome = vm.run(limit, source, &options);
    let overrides = options.lock().close();
    match outcome {
        Ok(()) => Ok(Evaluated::new(overrides, vm)),
        Err(error) => Err(explained(&error, &vm.budget, source, limit)),
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

    /// Runs the frontmatter, which sets `options`, within `limit`.
    fn run(&self, limit: Duration, source: &Source, options: &SharedOptions) -> mlua::Result<()> {
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
        self.limited(limit, || chunk.exec())
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
        let explain = |error| error_sentence(&error, &self.budget, CALL);
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
        let value = value.map_err(|error| error_sentence(&error, &self.budget, CALL))?;
        // A slip in a name would be sent as nothing at all.
        if value.is_nil() && is_name(code.trim()) {
            let name = code.trim();
            return Err(format!("unknown name \"{name}\"."));
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

/// Maximum characters of a message, whose text the document may choose.
const MAX_MESSAGE: usize = 500;

/// The cause of an error, and its line, if known.
struct Cause {
    line: Option<usize>,
    /// The word that caused it, used to find its column.
    word: Option<String>,
    what: String,
}

/// Explains why a frontmatter was not evaluated.
fn explained(error: &Error, budget: &Budget, source: &Source, limit: Duration) -> FrontmatterError {
    let cause = cause(error, budget, limit);
    let line = cause.line.unwrap_or(source.first_line);
    let place = cause
        .word
        .and_then(|word| json::of_word(&source.text, &word, line, source.first_line));
    let (line, column) = place.map_or((line, None), |(line, column)| (line, Some(column)));
    FrontmatterError::new(line, column, cause.what)
}

/// Explains an error of a function or an expression, whose caller knows the position.
fn error_sentence(error: &Error, budget: &Budget, limit: Duration) -> String {
    let cause = cause(error, budget, limit);
    match cause.line {
        Some(line) => format!("frontmatter line {line}: {}", cause.what),
        None => cause.what,
    }
}

fn cause(error: &Error, budget: &Budget, limit: Duration) -> Cause {
    // First, because code that caught the interrupt may have raised an error of its own.
    if budget.was_reached() {
        return out_of_time(budget, limit);
    }
    let inner = innermost(error);
    // Our own errors know their line; the text of the engine would only repeat it.
    if let Some(located) = inner.downcast_ref::<Located>() {
        return Cause {
            line: located.line,
            word: located.invalid.word.clone(),
            what: located.invalid.message.clone(),
        };
    }
    let text = match inner {
        Error::MemoryError(_) => return out_of_memory(budget),
        Error::SyntaxError { message, .. } | Error::RuntimeError(message) => message.clone(),
        other => other.to_string(),
    };
    // A memory error that Lua code raised again arrives as text.
    if text.contains("not enough memory") {
        return out_of_memory(budget);
    }
    // The traceback names functions of the engine, which mean nothing to the user.
    let said = text.split("\nstack traceback:").next().unwrap_or_default();
    let (line, what) = split_position(said);
    Cause {
        // A message without a position may have one in its traceback.
        line: line.or_else(|| line_in(&error.to_string())),
        word: None,
        what: as_sentence(what),
    }
}

fn out_of_time(budget: &Budget, limit: Duration) -> Cause {
    Cause {
        line: budget.last_line(),
        word: None,
        what: format!(
            "still running after {} ms, so it was stopped. Look for a loop without an end.",
            limit.as_millis()
        ),
    }
}

fn out_of_memory(budget: &Budget) -> Cause {
    Cause {
        line: budget.last_line(),
        word: None,
        what: format!(
            "it needs more than {} MB of memory, so it was stopped.",
            MEMORY / 1024 / 1024
        ),
    }
}

fn innermost(error: &Error) -> &Error {
    match error {
        // The engine wraps an error once for each function of ours that it passes through.
        Error::CallbackError { cause, .. } | Error::BadArgument { cause, .. } => innermost(cause),
        other => other,
    }
}

/// Splits `frontmatter:3: ` or `expression:1: ` from a message.
fn split_position(text: &str) -> (Option<usize>, &str) {
    for name in ["frontmatter", "expression"] {
        let rest = text
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix(':'));
        if let Some((line, what)) = rest.and_then(|rest| rest.split_once(": ")) {
            // An expression is one line of a message, and the caller knows which.
            let line = line.parse().ok().filter(|_| name == "frontmatter");
            return (line, what);
        }
    }
    (None, text)
}

/// Returns the line of the first position in a traceback.
fn line_in(traceback: &str) -> Option<usize> {
    let (_, rest) = traceback.split_once("frontmatter:")?;
    let digits = rest.split(|it: char| !it.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// Shortens the engine's message, which may be the document's own text, to a sentence.
fn as_sentence(what: &str) -> String {
    let end = what.char_indices().nth(MAX_MESSAGE);
    let what = end.map_or(what, |(end, _)| &what[..end]).trim();
    let what = what.strip_prefix("runtime error: ").unwrap_or(what);
    if what.ends_with(['.', '!', '?']) {
        what.to_owned()
    } else {
        format!("{what}.")
    }
}

/// Multiple of the limit, in real time, after which a run ends even if it gets no processor.
const STARVED: u32 = 20;

/// A time limit for one run at a time.
#[derive(Debug)]
pub struct Budget(Mutex<Run>);

#[derive(Debug)]
struct Run {
    limit: Duration,
    started: Instant,
    /// Processor time of the thread at the start.
    processor: Duration,
    /// Interrupts so far.
    count: u64,
    /// Line of the last check.
    line: Option<usize>,
    over: bool,
}

impl Budget {
    /// Creates a budget that was not started.
    pub fn new() -> Self {
        Self(Mutex::new(Run {
            limit: Duration::MAX,
            started: Instant::now(),
            processor: Duration::ZERO,
            count: 0,
            line: None,
            over: false,
        }))
    }

    /// Starts a run on this thread.
    pub fn start(&self, limit: Duration) {
        *self.lock() = Run {
            limit,
            started: Instant::now(),
            processor: thread_time(),
            count: 0,
            line: None,
            over: false,
        };
    }

    /// Called by the engine at each interrupt. Returns true once the run must end, and always
    /// from then on. `line` returns the current line and is called only now and then.
    pub fn is_over(&self, line: impl FnOnce() -> Option<usize>) -> bool {
        let mut run = self.lock();
        run.count += 1;
        let was_over = run.over;
        let waited = run.started.elapsed();
        // Reading the clock of the thread is a system call, and a run cannot use more processor
        // time than has passed. So it is read only once the time has passed.
        if !run.over && waited > run.limit {
            let used = thread_time().saturating_sub(run.processor);
            run.over = is_exceeded(run.limit, used, waited);
        }
        // Finding the line walks the stack, so it is done at the end, for the first interrupts,
        // and then rarely.
        if !was_over && (run.over || run.count < 256 || run.count.is_multiple_of(64)) {
            run.line = line().or(run.line);
        }
        run.over
    }

    /// Returns true if the run reached its limit.
    pub fn was_reached(&self) -> bool {
        self.lock().over
    }

    /// Returns the line of the last check.
    pub fn last_line(&self) -> Option<usize> {
        self.lock().line
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Run> {
        // A run is plain numbers, so it is usable whatever a panic interrupted.
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Returns true if a run must end that used this much of the processor in this time.
fn is_exceeded(limit: Duration, used: Duration, waited: Duration) -> bool {
    // A run that gets no processor would otherwise hold its thread, and the caller that waits for
    // it.
    used > limit || waited > limit.saturating_mul(STARVED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_ends_by_its_own_work_and_when_it_gets_no_processor_for_long() {
        let ms = Duration::from_millis;
        for (used, waited, expected) in [
            (0, 0, false),
            (100, 100, false),
            (101, 101, true),
            (0, 101, false),
            (0, 2000, false),
            (0, 2001, true),
        ] {
            let is_over = is_exceeded(ms(100), ms(used), ms(waited));
            assert_eq!(is_over, expected, "{used} ms of {waited} ms");
        }
    }

    #[test]
    fn the_line_is_asked_at_first_and_then_now_and_then() {
        let budget = Budget::new();
        budget.start(Duration::MAX);
        let mut asked = Vec::new();
        for at in 1..=400 {
            let is_over = budget.is_over(|| {
                asked.push(at);
                (at != 384).then_some(at)
            });
            assert!(!is_over);
        }
        let expected: Vec<usize> = (1..256).chain([256, 320, 384]).collect();
        assert_eq!(asked, expected);
        assert_eq!(budget.last_line(), Some(320), "the last that was known");
    }

    #[test]
    fn what_reached_its_limit_stays_over_until_the_next_start() {
        let budget = Budget::new();
        budget.start(Duration::ZERO);
        while !budget.is_over(|| Some(7)) {}
        assert!(budget.is_over(|| Some(8)) && budget.was_reached());
        assert_eq!(budget.last_line(), Some(7));
        budget.start(Duration::MAX);
        assert!(!budget.is_over(|| None) && !budget.was_reached());
        assert_eq!(budget.last_line(), None);
    }

    #[test]
    fn the_processor_time_is_that_of_the_thread() {
        assert!(thread_time() > Duration::ZERO);
    }
}
