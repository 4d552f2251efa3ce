//! Formats a result.

/// The largest number below which all integers are exact, 2^53.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Formats `value` with at most 15 significant digits, and integers without `.0`.
///
/// # Errors
///
/// The value is not finite; a sentence.
pub(super) fn spell(value: f64) -> Result<String, String> {
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

#[cfg(test)]
mod tests {
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
}
