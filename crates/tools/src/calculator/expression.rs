//! The value of an arithmetic expression, with the precedence of Lua: `^` binds
//! tightest and to the right, then unary minus, then `* / // %`, then `+ -`.
//!
//! Our own, as expression crates read `-2^2` as 4. Bounded in length and depth;
//! there is nothing in it that could run.

use super::functions::{call, constant, is_known};
use super::scanner::{Token, tokens};

/// Longest expression, in characters.
const MAX_LENGTH: usize = 10_000;
/// Deepest nesting of parentheses, signs and powers.
const MAX_DEPTH: usize = 200;

/// Evaluates `expression`.
///
/// # Errors
///
/// A sentence for the model: what is wrong, and where.
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
        tokens: tokens(expression)?,
        at: 0,
        depth: 0,
    };
    let value = parser.sum()?;
    match parser.tokens.get(parser.at) {
        None => Ok(value),
        Some(_) => Err(parser.unexpected("an operator")),
    }
}

struct Parser {
    tokens: Vec<(Token, usize)>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn sum(&mut self) -> Result<f64, String> {
        let mut value = self.product()?;
        while let Some(sign) = self.take_any(&["+", "-"]) {
            let right = self.product()?;
            value = if sign == "+" {
                value + right
            } else {
                value - right
            };
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<f64, String> {
        let mut value = self.signed()?;
        while let Some(sign) = self.take_any(&["*", "/", "//", "%"]) {
            let right = self.signed()?;
            if right == 0.0 && sign != "*" {
                return Err(format!("Division by zero in {value} {sign} 0."));
            }
            value = match sign {
                "*" => value * right,
                "/" => value / right,
                "//" => (value / right).floor(),
                // The result has the sign of the divisor, as in Lua and Python.
                _ => value - (value / right).floor() * right,
            };
        }
        Ok(value)
    }

    fn signed(&mut self) -> Result<f64, String> {
        self.deeper(|parser| match parser.take_any(&["-", "+"]) {
            Some("-") => Ok(-parser.signed()?),
            Some(_) => parser.signed(),
            None => parser.power(),
        })
    }

    fn power(&mut self) -> Result<f64, String> {
        let base = self.atom()?;
        if self.take_any(&["^"]).is_none() {
            return Ok(base);
        }
        let exponent = self.signed()?;
        if base == 0.0 && exponent < 0.0 {
            return Err(format!("Division by zero in 0 ^ {exponent}."));
        }
        let value = base.powf(exponent);
        if value.is_nan() {
            return Err(format!("{base} ^ {exponent} is not a real number."));
        }
        Ok(value)
    }

    fn atom(&mut self) -> Result<f64, String> {
        match self.tokens.get(self.at).cloned() {
            Some((Token::Number(value), _)) => {
                self.at += 1;
                Ok(value)
            }
            Some((Token::Name(name), place)) => {
                self.at += 1;
                self.named(&name, place)
            }
            Some((Token::Sign("("), _)) => {
                self.at += 1;
                let value = self.sum()?;
                self.expect(")")?;
                Ok(value)
            }
            _ => Err(self.unexpected("a number")),
        }
    }

    fn named(&mut self, name: &str, place: usize) -> Result<f64, String> {
        if self.take_any(&["("]).is_some() {
            let arguments = self.arguments()?;
            return call(name, &arguments);
        }
        constant(name).ok_or_else(|| {
            if is_known(name) {
                format!("{name} at character {place} is a function and needs parentheses.")
            } else {
                format!("\"{name}\" at character {place} is not known.")
            }
        })
    }

    fn arguments(&mut self) -> Result<Vec<f64>, String> {
        if self.take_any(&[")"]).is_some() {
            return Ok(Vec::new());
        }
        let mut arguments = vec![self.sum()?];
        while self.take_any(&[","]).is_some() {
            arguments.push(self.sum()?);
        }
        self.expect(")")?;
        Ok(arguments)
    }

    fn deeper(&mut self, go: impl FnOnce(&mut Self) -> Result<f64, String>) -> Result<f64, String> {
        if self.depth >= MAX_DEPTH {
            return Err(format!(
                "The expression is nested more than {MAX_DEPTH} deep."
            ));
        }
        self.depth += 1;
        let value = go(self);
        self.depth -= 1;
        value
    }

    fn take_any(&mut self, signs: &[&'static str]) -> Option<&'static str> {
        match self.tokens.get(self.at) {
            Some(&(Token::Sign(sign), _)) if signs.contains(&sign) => {
                self.at += 1;
                Some(sign)
            }
            _ => None,
        }
    }

    fn expect(&mut self, sign: &'static str) -> Result<(), String> {
        let taken = self.take_any(&[sign]);
        taken
            .map(|_| ())
            .ok_or_else(|| self.unexpected(&format!("\"{sign}\"")))
    }

    fn unexpected(&self, wanted: &str) -> String {
        match self.tokens.get(self.at) {
            None => format!("The expression ends where {wanted} should be."),
            Some((token, place)) => {
                let found = match token {
                    Token::Number(value) => value.to_string(),
                    Token::Name(name) => name.clone(),
                    Token::Sign(sign) => (*sign).to_owned(),
                };
                format!("\"{found}\" at character {place} stands where {wanted} should be.")
            }
        }
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
            ("foo + 1", "\"foo\" at character 1 is not known."),
            ("1 + os.exit()", "There is no function \"os.exit\"."),
            (
                "sqrt + 1",
                "sqrt at character 1 is a function and needs parentheses.",
            ),
            ("sqrt(-1)", "sqrt(-1) is not a real number."),
            ("sqrt(1, 2, 3)", "sqrt does not take 3 arguments."),
            ("1 +", "The expression ends where a number should be."),
            ("(1", "The expression ends where \")\" should be."),
            (
                "1 2",
                "\"2\" at character 3 stands where an operator should be.",
            ),
            (
                "2 $ 3",
                "The expression has a \"$\" at character 3, which is not arithmetic.",
            ),
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
