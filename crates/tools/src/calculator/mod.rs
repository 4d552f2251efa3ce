//! The `calculator` tools: one answers immediately, the other after a delay.
//!
//! `expression` evaluates, `functions` has functions and constants, and `number` formats the
//! result.

mod expression;
mod functions;
mod number;

use std::time::Duration;

use async_trait::async_trait;
use chat::tool::ToolUseId;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::builtin::{BuiltIn, facts};
use crate::context::ToolContext;
use crate::error::ToolError;
use crate::tool::{Tool, ToolResult};
use crate::{describe, schema};

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
struct Arguments {
    /// The expression, for example "2 * (3 + sqrt(16))".
    expression: String,
}

/// The row of `calculator`.
pub(crate) const BUILT_IN: BuiltIn = BuiltIn::new("calculator", |_| Box::new(Calculator));

#[async_trait]
impl Tool for Calculator {
    facts! {
        name: "calculator",
        label: "Calculator",
        description: DESCRIPTION,
        arguments: Arguments,
        enabled: true,
    }

    fn describe(&self, input: &Value) -> Option<String> {
        let input = input.as_object()?;
        describe::text(input, "expression").map(str::to_owned)
    }

    async fn execute(
        &self,
        _id: &ToolUseId,
        input: Value,
        _ctx: ToolContext,
    ) -> Result<ToolResult, ToolError> {
        let arguments: Arguments = schema::arguments(self.name(), input)?;
        calculate(&arguments.expression)
    }
}

/// Evaluates an expression after a delay; not offered by default.
pub(crate) struct CalculatorAsync;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AsyncArguments {
    /// The expression, for example "2 * (3 + sqrt(16))".
    expression: String,
    /// Milliseconds to wait before the answer. Null for 1000.
    delay: Option<f64>,
}

/// The row of `calculator_async`.
pub(crate) const BUILT_IN_ASYNC: BuiltIn =
    BuiltIn::new("calculator_async", |_| Box::new(CalculatorAsync));

#[async_trait]
impl Tool for CalculatorAsync {
    facts! {
        name: "calculator_async",
        label: "Calculator (delayed)",
        description: DESCRIPTION,
        arguments: AsyncArguments,
        enabled: false,
    }

    fn describe(&self, input: &Value) -> Option<String> {
        let input = input.as_object()?;
        let expression = describe::text(input, "expression")?;
        let delay = describe::optional(input, "delay", Value::as_f64)?;
        let delay = delay.map_or_else(String::new, |milliseconds| format!("  # {milliseconds}ms"));
        Some(format!("{expression}{delay}"))
    }

    async fn execute(
        &self,
        _id: &ToolUseId,
        input: Value,
        ctx: ToolContext,
    ) -> Result<ToolResult, ToolError> {
        let arguments: AsyncArguments = schema::arguments(self.name(), input)?;
        let delay = arguments
            .delay
            .unwrap_or(DEFAULT_DELAY)
            .clamp(0.0, MAX_DELAY);
        tokio::select! {
            () = ctx.cancel.cancelled() => Err(ToolError::Cancelled),
            () = tokio::time::sleep(Duration::from_secs_f64(delay / 1000.0)) => {
                calculate(&arguments.expression)
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
