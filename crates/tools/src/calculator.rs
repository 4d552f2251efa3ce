//! The `calculator` tools: one answers immediately, the other after a delay.
//!
//! `expression` evaluates, `functions` has functions and constants, and `number` formats the
//! result.

mod expression;
mod functions;
mod number;

use std::time::Duration;

use chat::tool::ToolUseId;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::builtin::{BuiltIn, TypedTool};
use crate::context::ToolContext;
use crate::error::ToolError;
use crate::tool::{CallResult, ToolResult};

/// The description of both tools. Precedence is that of Lua.
const DESCRIPTION: &str = "Evaluate an arithmetic expression and return the number. Operators: \
    + - * / // % ^ (** is the same as ^), parentheses. Functions: abs, sqrt, cbrt, exp, ln, \
    log (natural; log(x, base)), log2, log10, sin, cos, tan, asin, acos, atan, atan2, sinh, cosh, \
    tanh, floor, ceil, round, trunc, min, max, fmod, hypot, deg, rad. Constants: pi, e, tau. \
    Angles are in radians.";
/// Default delay of `calculator_async` in milliseconds.
const DEFAULT_DELAY: f64 = 1000.0;
/// Maximum delay, one hour. The call's time limit usually ends it earlier.
const MAX_DELAY: f64 = 3_600_000.0;

/// Evaluates an expression.
pub(crate) struct Calculator;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The expression, for example "2 * (3 + sqrt(16))".
    expression: String,
}

/// The row of `calculator`.
pub(crate) const BUILT_IN: BuiltIn = BuiltIn::new("calculator", |_| Box::new(Calculator));

impl TypedTool for Calculator {
    type Arguments = Arguments;

    const NAME: &'static str = "calculator";
    const LABEL: &'static str = "Calculator";
    const DESCRIPTION: &'static str = DESCRIPTION;
    const ENABLED: bool = true;

    fn summary(&self, asked: &Arguments) -> Option<String> {
        Some(asked.expression.clone())
    }

    async fn call(&self, arguments: Arguments, _id: &ToolUseId, _ctx: ToolContext) -> CallResult {
        calculate(&arguments.expression)
    }
}

/// Evaluates an expression after a delay; not offered by default.
pub(crate) struct CalculatorAsync;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AsyncArguments {
    /// The expression, for example "2 * (3 + sqrt(16))".
    expression: String,
    /// Milliseconds to wait before the answer. Null for 1000.
    delay: Option<f64>,
}

/// The row of `calculator_async`.
pub(crate) const BUILT_IN_ASYNC: BuiltIn =
    BuiltIn::new("calculator_async", |_| Box::new(CalculatorAsync));

impl TypedTool for CalculatorAsync {
    type Arguments = AsyncArguments;

    const NAME: &'static str = "calculator_async";
    const LABEL: &'static str = "Calculator (delayed)";
    const DESCRIPTION: &'static str = DESCRIPTION;

    fn summary(&self, asked: &AsyncArguments) -> Option<String> {
        let delay = asked.delay.map(|it| format!("  # {it}ms"));
        Some(format!("{}{}", asked.expression, delay.unwrap_or_default()))
    }

    async fn call(&self, asked: AsyncArguments, _id: &ToolUseId, ctx: ToolContext) -> CallResult {
        // `Duration::from_secs_f64` panics for a negative number.
        let delay = asked.delay.unwrap_or(DEFAULT_DELAY).clamp(0.0, MAX_DELAY);
        tokio::select! {
            () = ctx.cancel.cancelled() => Err(ToolError::Cancelled),
            () = tokio::time::sleep(Duration::from_secs_f64(delay / 1000.0)) => {
                calculate(&asked.expression)
            }
        }
    }
}

fn calculate(expression: &str) -> Result<ToolResult, ToolError> {
    let value = expression::evaluate(expression).map_err(ToolError::Failed)?;
    number::spell(value)
        .map(ToolResult::text)
        .map_err(ToolError::Failed)
}
