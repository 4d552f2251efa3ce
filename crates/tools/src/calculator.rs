//! The `calculator` tools: one answers immediately, the other after a delay.

use std::f64::consts;
use std::time::Duration;

use chat::tool::ToolUseId;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use crate::builtin::{BuiltIn, TypedTool};
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
    type Needs = ();

    const NAME: &'static str = "calculator";
    const LABEL: &'static str = "Calculator";
    const DESCRIPTION: &'static str = DESCRIPTION;
    const ENABLED: bool = true;

    fn summary(&self, asked: &Arguments) -> Option<String> {
        Some(asked.expression.clone())
    }

    async fn call(&self, arguments: Arguments, _id: &ToolUseId, (): ()) -> CallResult {
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
    type Needs = CancellationToken;

    const NAME: &'static str = "calculator_async";
    const LABEL: &'static str = "Calculator (delayed)";
    const DESCRIPTION: &'static str = DESCRIPTION;

    fn summary(&self, asked: &AsyncArguments) -> Option<String> {
        let delay = asked.delay.map(|it| format!("  # {it}ms"));
        Some(format!("{}{}", asked.expression, delay.unwrap_or_default()))
    }

    async fn call(
        &self,
        asked: AsyncArguments,
        _id: &ToolUseId,
        cancel: CancellationToken,
    ) -> CallResult {
        // `Duration::from_secs_f64` panics for a negative number.
        let delay = asked.delay.unwrap_or(DEFAULT_DELAY).clamp(0.0, MAX_DELAY);
        tokio::select! {
            () = cancel.cancelled() => Err(ToolError::Cancelled),
            () = tokio::time::sleep(Duration::from_secs_f64(delay / 1000.0)) => {
                calculate(&asked.expression)
            }
        }
    }
}

fn calculate(expression: &str) -> Result<ToolResult, ToolError> {
    let value = evaluate(expression).map_err(ToolError::Failed)?;
    spell(value)
        .map(ToolResult::text)
        .map_err(ToolError::Failed)
}

// Formats a result.

/// The largest number below which all integers are exact, 2^53.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Formats `value` with at most 15 significant digits, and integers without `.0`.
///
/// # Errors
///
/// The value is not finite; a sentence.
fn spell(value: f64) -> Result<String, String> {
    if value.is_nan() {
        return Err("The result is not a number.".to_owned());
    }
    if value.is_infinite() {
        return Err("The result is too large to be a number.".to_owned());
    }
    if value.fract() == 0.0 && value.abs() <= EXACT {
        // Adding zero turns -0 into 0.
        return Ok(format!("{}", value + 0.0));
    }
    // Rounded to 15 digits, so that 0.1 + 0.2 is 0.3.
    let rounded: f64 = format!("{value:.14e}").parse().unwrap_or(value);
    let is_plain = (1e-5..1e15).contains(&rounded.abs());
    Ok(if is_plain {
        format!("{rounded}")
    } else {
        format!("{rounded:e}")
    })
}

// The value of an arithmetic expression, with Lua's precedence: `^` binds
// tightest and to the right, then signs, then `* / // %`, then `+ -`.
//
// Expression crates read `-2^2` as 4. Luau refuses a sum of more than 1,000 terms,
// evaluates `1/(1/0)` to 0, and ignores surplus arguments. Length and depth are
// bounded, and an expression contains nothing that could loop.

/// Maximum length of an expression in characters.
const MAX_LENGTH: usize = 10_000;
/// Maximum nesting of parentheses, signs, and powers.
const MAX_DEPTH: usize = 200;

/// Evaluates `expression`.
///
/// # Errors
///
/// The problem and its position, as a sentence for the model.
fn evaluate(expression: &str) -> Result<f64, String> {
    if expression.trim().is_empty() {
        return Err("The expression is empty.".to_owned());
    }
    if expression.chars().count() > MAX_LENGTH {
        return Err(format!(
            "The expression is longer than {MAX_LENGTH} characters."
        ));
    }
    let mut parser = Parser {
        text: expression,
        at: 0,
        depth: 0,
    };
    let value = parser.sum()?;
    if parser.rest().is_empty() {
        Ok(value)
    } else {
        Err(parser.expected("an operator"))
    }
}

/// A recursive descent parser with one method per level of precedence.
struct Parser<'e> {
    text: &'e str,
    /// The byte at which the next token starts.
    at: usize,
    depth: usize,
}

impl<'e> Parser<'e> {
    fn sum(&mut self) -> Result<f64, String> {
        self.chain(&["+", "-"], Self::product)
    }

    fn product(&mut self) -> Result<f64, String> {
        // `//` precedes `/`, which it starts with.
        self.chain(&["*", "//", "/", "%"], Self::signed)
    }

    /// Parses operands joined by left-associative operators of one precedence.
    fn chain(
        &mut self,
        operators: &[&'static str],
        operand: fn(&mut Self) -> Result<f64, String>,
    ) -> Result<f64, String> {
        let mut value = operand(self)?;
        while let Some(operator) = self.take(operators) {
            value = apply(value, operator, operand(self)?)?;
        }
        Ok(value)
    }

    fn signed(&mut self) -> Result<f64, String> {
        // All nesting passes through here, so this bounds the stack.
        if self.depth >= MAX_DEPTH {
            return Err(format!(
                "The expression is nested more than {MAX_DEPTH} deep."
            ));
        }
        self.depth += 1;
        let value = match self.take(&["-", "+"]) {
            Some("-") => self.signed().map(|value| -value),
            Some(_) => self.signed(),
            None => self.power(),
        };
        self.depth -= 1;
        value
    }

    fn power(&mut self) -> Result<f64, String> {
        let base = self.atom()?;
        // `**` is Python's operator, which models use as well.
        match self.take(&["^", "**"]) {
            // By recursion: an exponent may have a sign, and powers bind to the right.
            Some(_) => apply(base, "^", self.signed()?),
            None => Ok(base),
        }
    }

    fn atom(&mut self) -> Result<f64, String> {
        if self.take(&["("]).is_some() {
            let value = self.sum()?;
            self.close()?;
            return Ok(value);
        }
        let place = self.place();
        let piece = piece(self.rest());
        if piece.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            self.at += piece.len();
            number(piece)
                .ok_or_else(|| format!("\"{piece}\" at character {place} is not a number."))
        } else if piece.starts_with(is_name) {
            self.at += piece.len();
            self.named(piece, place)
        } else {
            Err(self.expected("a number"))
        }
    }

    fn named(&mut self, spelled: &str, place: usize) -> Result<f64, String> {
        // Models also write JavaScript's `Math.PI`.
        let lower = spelled.to_ascii_lowercase();
        let name = lower.strip_prefix("math.").unwrap_or(&lower);
        if self.take(&["("]).is_some() {
            return call(name, &self.arguments()?);
        }
        constant(name).ok_or_else(|| {
            if is_known(name) {
                format!("{name} at character {place} is a function and needs parentheses.")
            } else {
                format!("Unknown name \"{name}\" at character {place}.")
            }
        })
    }

    fn arguments(&mut self) -> Result<Vec<f64>, String> {
        if self.take(&[")"]).is_some() {
            return Ok(Vec::new());
        }
        let mut arguments = vec![self.sum()?];
        while self.take(&[","]).is_some() {
            arguments.push(self.sum()?);
        }
        self.close()?;
        Ok(arguments)
    }

    fn close(&mut self) -> Result<(), String> {
        let closed = self.take(&[")"]);
        closed.map(drop).ok_or_else(|| self.expected("\")\""))
    }

    /// Consumes the first of these operators that comes next.
    fn take(&mut self, signs: &[&'static str]) -> Option<&'static str> {
        let rest = self.rest();
        let sign = signs.iter().find(|sign| rest.starts_with(**sign))?;
        self.at += sign.len();
        Some(sign)
    }

    /// The remaining text without leading white space.
    fn rest(&mut self) -> &'e str {
        let rest = self.text[self.at..].trim_start();
        self.at = self.text.len() - rest.len();
        rest
    }

    /// The position of the next character, from 1.
    fn place(&mut self) -> usize {
        self.rest();
        self.text[..self.at].chars().count() + 1
    }

    fn expected(&mut self, wanted: &str) -> String {
        match piece(self.rest()) {
            "" => format!("Expected {wanted} at the end of the expression."),
            found => {
                let place = self.place();
                format!(
                    "Expected {wanted} at character {place}, found \"{}\".",
                    found.escape_debug()
                )
            }
        }
    }
}

fn apply(left: f64, operator: &str, right: f64) -> Result<f64, String> {
    // Floating point would return infinity, which hides the mistake.
    let divides_by_zero = match operator {
        "/" | "//" | "%" => right == 0.0,
        "^" => left == 0.0 && right < 0.0,
        _ => false,
    };
    if divides_by_zero {
        return Err(format!("Division by zero in {left} {operator} {right}."));
    }
    let value = match operator {
        "+" => left + right,
        "-" => left - right,
        "*" => left * right,
        "/" => left / right,
        "//" => (left / right).floor(),
        // The result has the sign of the divisor, as in Lua and Python.
        "%" => left - (left / right).floor() * right,
        _ => left.powf(right),
    };
    if value.is_nan() {
        return Err(format!("{left} {operator} {right} is not a real number."));
    }
    Ok(value)
}

/// The number, name, or single character at the start of `text`.
fn piece(text: &str) -> &str {
    let is_hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    let end = match text.chars().next() {
        Some('0') if is_hexadecimal => text.find(|c: char| !c.is_ascii_alphanumeric()),
        Some(first) if first.is_ascii_digit() || first == '.' => Some(decimal_length(text)),
        Some(first) if is_name(first) => {
            text.find(|c: char| !(is_name(c) || c.is_ascii_digit() || matches!(c, '_' | '.')))
        }
        first => first.map(char::len_utf8),
    };
    &text[..end.unwrap_or(text.len())]
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == 'π'
}

fn decimal_length(text: &str) -> usize {
    let digits = |from: usize| {
        let count = text[from..].bytes().take_while(u8::is_ascii_digit).count();
        from + count
    };
    let mut end = digits(0);
    if text[end..].starts_with('.') {
        end = digits(end + 1);
    }
    if text[end..].starts_with(['e', 'E']) {
        let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
        let exponent = digits(end + 1 + sign);
        // Without digits, the "e" is the constant.
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    end
}

#[expect(clippy::cast_precision_loss, reason = "all numbers here are floats")]
fn number(text: &str) -> Option<f64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => Some(u64::from_str_radix(digits, 16).ok()? as f64),
        None => text.parse().ok(),
    }
}

// Functions and constants of expressions, by name.

/// The value of a constant.
fn constant(name: &str) -> Option<f64> {
    match name {
        "pi" | "π" => Some(consts::PI),
        "tau" => Some(consts::TAU),
        "e" => Some(consts::E),
        _ => None,
    }
}

/// The value of `name(arguments…)`.
///
/// # Errors
///
/// The function is unknown, the number of arguments is wrong, or the result is not a real
/// number; a sentence.
fn call(name: &str, arguments: &[f64]) -> Result<f64, String> {
    let value = match (name, arguments) {
        // By the number of arguments, because `log` and `atan` take one or two.
        (_, &[x]) if one(name).is_some() => one(name).map(|function| function(x)),
        (_, &[x, y]) if two(name).is_some() => two(name).map(|function| function(x, y)),
        ("min", [first, rest @ ..]) => Some(rest.iter().copied().fold(*first, f64::min)),
        ("max", [first, rest @ ..]) => Some(rest.iter().copied().fold(*first, f64::max)),
        _ => None,
    };
    match value {
        None if is_known(name) => Err(format!(
            "{name} does not take {} {}.",
            arguments.len(),
            if arguments.len() == 1 {
                "argument"
            } else {
                "arguments"
            }
        )),
        None => Err(format!("There is no function \"{name}\".")),
        // Such as `sqrt(-1)`.
        Some(value) if value.is_nan() => {
            let shown: Vec<String> = arguments.iter().map(f64::to_string).collect();
            Err(format!(
                "{name}({}) is not a real number.",
                shown.join(", ")
            ))
        }
        Some(value) => Ok(value),
    }
}

/// Returns true if `name` is a function.
fn is_known(name: &str) -> bool {
    one(name).is_some() || two(name).is_some() || matches!(name, "min" | "max")
}

fn one(name: &str) -> Option<fn(f64) -> f64> {
    Some(match name {
        "abs" => f64::abs,
        "sqrt" => f64::sqrt,
        "cbrt" => f64::cbrt,
        "exp" => f64::exp,
        "ln" | "log" => f64::ln,
        "log2" => f64::log2,
        "log10" => f64::log10,
        "sin" => f64::sin,
        "cos" => f64::cos,
        "tan" => f64::tan,
        "asin" => f64::asin,
        "acos" => f64::acos,
        "atan" => f64::atan,
        "sinh" => f64::sinh,
        "cosh" => f64::cosh,
        "tanh" => f64::tanh,
        "floor" => f64::floor,
        "ceil" => f64::ceil,
        "round" => f64::round,
        "trunc" => f64::trunc,
        "deg" => f64::to_degrees,
        "rad" => f64::to_radians,
        _ => return None,
    })
}

fn two(name: &str) -> Option<fn(f64, f64) -> f64> {
    Some(match name {
        // The base is the second argument, as in Python.
        "log" => |x, base| x.ln() / base.ln(),
        "atan" | "atan2" => f64::atan2,
        "pow" => f64::powf,
        "fmod" => |x, y| x % y,
        "hypot" => f64::hypot,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn results_are_short_and_exact() {
        let spelled = [4.0, -0.0, 0.1 + 0.2, 1.0 / 3.0, EXACT, 1e20, 1.5e-9].map(spell);

        let expected = [
            "4",
            "0",
            "0.3",
            "0.333333333333333",
            "9007199254740992",
            "1e20",
            "1.5e-9",
        ];
        assert_eq!(spelled, expected.map(|text| Ok(text.to_owned())));
    }

    #[test]
    fn what_is_no_number_is_said_in_words() {
        assert!(spell(f64::NAN).is_err());
        assert!(spell(f64::INFINITY).is_err());
    }

    #[track_caller]
    fn check(expression: &str, expected: f64) {
        let value = evaluate(expression);
        assert!(
            value
                .as_ref()
                .is_ok_and(|value| (value - expected).abs() < 1e-12),
            "{expression} is {value:?}, not {expected}"
        );
    }

    #[test]
    fn precedence_is_that_of_lua() {
        check("2 + 2 * 3", 8.0);
        check("-2^2", -4.0);
        check("2^3^2", 512.0);
        check("2^-1", 0.5);
        check("10 - 2 - 3", 5.0);
        check("7 // 2 * 2", 6.0);
        check("-7 % 3", 2.0);
        check("(1 + 2) * (3 + 4)", 21.0);
        check("- - 3", 3.0);
    }

    #[test]
    fn names_come_with_and_without_math() {
        check("sqrt(16)", 4.0);
        check("math.sqrt(16) + Math.PI - pi", 4.0);
        check("max(1, 5, 3) + min(2, 1)", 6.0);
        check("log(8, 2) + log(e) + log10(100)", 6.0);
        check("2**3", 8.0);
        check("1e3 + .5 + 0xff + 2.", 1257.5);
    }

    #[test]
    fn what_is_wrong_is_said_in_words() {
        let problems = [
            ("1/0", "Division by zero in 1 / 0."),
            ("5 % 0", "Division by zero in 5 % 0."),
            ("0^-1", "Division by zero in 0 ^ -1."),
            ("foo + 1", "Unknown name \"foo\" at character 1."),
            ("1 + os.exit()", "There is no function \"os.exit\"."),
            (
                "sqrt + 1",
                "sqrt at character 1 is a function and needs parentheses.",
            ),
            ("sqrt(-1)", "sqrt(-1) is not a real number."),
            ("sqrt(1, 2, 3)", "sqrt does not take 3 arguments."),
            ("1 +", "Expected a number at the end of the expression."),
            ("(1", "Expected \")\" at the end of the expression."),
            ("1 2", "Expected an operator at character 3, found \"2\"."),
            ("2 $ 3", "Expected an operator at character 3, found \"$\"."),
            (" ", "The expression is empty."),
        ];
        for (expression, problem) in problems {
            assert_eq!(evaluate(expression), Err(problem.to_owned()));
        }
    }

    #[test]
    fn depth_and_length_are_bounded() {
        let deep = format!("{}1{}", "(".repeat(4000), ")".repeat(4000));
        assert_eq!(
            evaluate(&deep),
            Err("The expression is nested more than 200 deep.".to_owned())
        );
        assert!(evaluate(&"-".repeat(9000)).is_err());
        assert!(evaluate(&format!("1{}", "^1".repeat(4000))).is_err());
        assert!(evaluate(&"1".repeat(10_001)).is_err());
        check(&format!("0{}", "+1".repeat(4000)), 4000.0);
    }

    proptest! {
        #[test]
        fn any_text_has_a_value_or_a_sentence(text in "\\PC{0,30}|[0-9+*/^(),. e%-]{0,40}") {
            if let Err(problem) = evaluate(&text) {
                prop_assert!(problem.ends_with('.'));
            }
        }
    }
}
