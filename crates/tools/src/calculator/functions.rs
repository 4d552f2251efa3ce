//! Functions and constants of expressions, by name.

use std::f64::consts;

/// The value of a constant.
pub(super) fn constant(name: &str) -> Option<f64> {
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
pub(super) fn call(name: &str, arguments: &[f64]) -> Result<f64, String> {
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

/// Whether `name` is a function.
pub(super) fn is_known(name: &str) -> bool {
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
