//! The value of an arithmetic expression, with Lua's precedence: `^` binds
//! tightest and to the right, then signs, then `* / // %`, then `+ -`.
//!
//! Expression crates read `-2^2` as 4. Luau refuses a sum of more than 1,000 terms,
//! evaluates `1/(1/0)` to 0, and ignores surplus arguments. Length and depth are
//! bounded, and an expression contains nothing that could loop.

use super::functions::{call, constant, is_known};

/// Maximum length of an expression in characters.
const MAX_LENGTH: usize = 10_000;
/// Maximum nesting of parentheses, signs, and powers.
const MAX_DEPTH: usize = 200;

/// Evaluates `expression`.
///
/// # Errors
///
/// The problem and its position, as a sentence for the model.
pub(super) fn evaluate(expression: &str) -> Result<f64, String> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
