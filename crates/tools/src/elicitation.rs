//! Questions to the user while a call runs (elicitation, in MCP's terms).
//!
//! This module defines forms and checks typed answers. The front end shows them. No answer is
//! ever made up for the user.

use async_trait::async_trait;
use serde_json::{Map, Value, json};

/// A question to the user.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// Who asks, as part of a sentence: `The MCP server "docs"`.
    pub by: String,
    /// The message, in the words of the one who asks.
    pub message: String,
    /// The fields to fill in, or the address to visit.
    pub wanted: FormContent,
}

/// The contents of a form.
#[derive(Debug, Clone, PartialEq)]
pub enum FormContent {
    /// Values for these fields, in this order. Without fields, a confirmation.
    Fields(Vec<Field>),
    /// A visit to this address. Flemma never opens it.
    Visit(String),
}

/// The user's reply to a form.
#[derive(Debug, Clone, PartialEq)]
pub enum FormReply {
    /// The user answered, with a value for each field filled in.
    Accepted(Map<String, Value>),
    /// The user declined to answer.
    Declined,
    /// The user dismissed the question.
    Cancelled,
    /// There is no user to ask.
    Unavailable,
}

/// Asks the user questions during a call.
#[async_trait]
pub trait Elicitation: Send + Sync {
    /// Asks and waits for the reply. Dropping the future withdraws the question.
    async fn ask(&self, form: Form) -> FormReply;
}

/// An environment without a user.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoElicitation;

#[async_trait]
impl Elicitation for NoElicitation {
    async fn ask(&self, _form: Form) -> FormReply {
        FormReply::Unavailable
    }
}

// Fields of a form, and parsing of typed values.

/// A field of a form.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The name in the reply.
    pub name: String,
    /// The title shown to the user; the name if empty.
    pub title: String,
    /// A description, or an empty string.
    pub about: String,
    /// The type of the value.
    pub kind: FieldKind,
    /// True if a value is required.
    pub required: bool,
    /// The default value.
    pub default: Option<Value>,
}

/// The type of a value.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldKind {
    /// A string. `format` is JSON Schema's name for its form, such as `email`.
    Text {
        /// Minimum length in characters.
        least: u64,
        /// Maximum length in characters.
        most: Option<u64>,
        /// The form.
        format: Option<String>,
    },
    /// A number.
    Number {
        /// True if it must be an integer.
        whole: bool,
        /// The minimum.
        least: Option<f64>,
        /// The maximum.
        most: Option<f64>,
    },
    /// A boolean.
    YesNo,
    /// One of these choices.
    One(Vec<Choice>),
    /// Several of these choices.
    Some {
        /// The choices.
        choices: Vec<Choice>,
        /// Minimum number of choices.
        least: u64,
        /// Maximum number of choices.
        most: Option<u64>,
    },
}

/// A choice of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The value in the reply.
    pub value: String,
    /// The title shown to the user.
    pub title: String,
}

impl Field {
    /// The title shown to the user.
    pub fn label(&self) -> &str {
        match self.title.trim() {
            "" => &self.name,
            title => title,
        }
    }

    /// Parses a typed value. Empty text is `None`.
    ///
    /// # Errors
    ///
    /// The value is invalid; a sentence for the user.
    pub fn read(&self, typed: &str) -> Result<Option<Value>, String> {
        let typed = typed.trim();
        if typed.is_empty() {
            return if self.required {
                Err(format!("{} is needed.", self.label()))
            } else {
                Ok(None)
            };
        }
        match &self.kind {
            FieldKind::Text {
                least,
                most,
                format,
            } => {
                // JSON Schema counts characters, not bytes.
                let length = typed.chars().count() as u64;
                between(length as f64, Some(*least as f64), most.map(|it| it as f64))
                    .map_err(|bounds| format!("{length} characters are not {bounds}."))?;
                fits(typed, format.as_deref())?;
                Ok(Some(json!(typed)))
            }
            FieldKind::Number { whole, least, most } => {
                let number = number(typed, *whole)?;
                between(number.as_f64().unwrap_or_default(), *least, *most)
                    .map_err(|bounds| format!("{typed} is not {bounds}."))?;
                Ok(Some(number))
            }
            // These are chosen from a list, not typed.
            FieldKind::YesNo | FieldKind::One(_) | FieldKind::Some { .. } => Ok(None),
        }
    }

    /// A short description of the valid values.
    pub fn form(&self) -> String {
        let form = match &self.kind {
            FieldKind::Text { format, .. } => match format.as_deref() {
                Some("email") => "a mail address".to_owned(),
                Some("uri") => "an address with its scheme".to_owned(),
                Some("date") => "a date as 2026-07-28".to_owned(),
                Some("date-time") => "a time as 2026-07-28T12:00:00Z".to_owned(),
                _ => "text".to_owned(),
            },
            FieldKind::Number { whole, least, most } => {
                let number = if *whole { "a whole number" } else { "a number" };
                match bounds(*least, *most) {
                    Some(bounds) => format!("{number} {bounds}"),
                    None => number.to_owned(),
                }
            }
            FieldKind::YesNo => "yes or no".to_owned(),
            FieldKind::One(choices) => format!("one of {}", titles(choices)),
            FieldKind::Some { choices, .. } => format!("some of {}", titles(choices)),
        };
        if self.required {
            form
        } else {
            format!("{form}, or nothing")
        }
    }
}

/// Checks the number of choices.
///
/// # Errors
///
/// There are too few or too many; a sentence.
pub fn enough(count: usize, least: u64, most: Option<u64>) -> Result<(), String> {
    between(count as f64, Some(least as f64), most.map(|it| it as f64))
        .map_err(|bounds| format!("{count} chosen is not {bounds}."))
}

fn titles(choices: &[Choice]) -> String {
    let titles: Vec<&str> = choices.iter().map(|it| it.title.as_str()).collect();
    titles.join(", ")
}

fn number(typed: &str, whole: bool) -> Result<Value, String> {
    // First as an integer, so that 5 is not sent as 5.0.
    if let Ok(number) = typed.parse::<i64>() {
        return Ok(json!(number));
    }
    if whole {
        return Err(format!("{typed:?} is not a whole number."));
    }
    // JSON can't represent infinity.
    let number = typed.parse::<f64>().ok().filter(|it| it.is_finite());
    number
        .map(|it| json!(it))
        .ok_or_else(|| format!("{typed:?} is not a number."))
}

fn between(value: f64, least: Option<f64>, most: Option<f64>) -> Result<(), String> {
    let fits = least.is_none_or(|it| value >= it) && most.is_none_or(|it| value <= it);
    match bounds(least, most) {
        Some(bounds) if !fits => Err(bounds),
        _ => Ok(()),
    }
}

fn bounds(least: Option<f64>, most: Option<f64>) -> Option<String> {
    match (least, most) {
        (None, None) => None,
        (Some(least), None) => Some(format!("at least {least}")),
        (None, Some(most)) => Some(format!("at most {most}")),
        (Some(least), Some(most)) => Some(format!("from {least} to {most}")),
    }
}

/// A rough check of the format. The program that asked checks the value exactly.
fn fits(typed: &str, format: Option<&str>) -> Result<(), String> {
    let digits = |text: &str, form: &str| {
        text.len() == form.len()
            && text.chars().zip(form.chars()).all(|(c, form)| match form {
                '0' => c.is_ascii_digit(),
                form => c == form,
            })
    };
    let is_so = match format {
        Some("email") => typed
            .split_once('@')
            .is_some_and(|(user, host)| !user.is_empty() && host.contains('.')),
        Some("uri") => url::Url::parse(typed).is_ok(),
        Some("date") => digits(typed, "0000-00-00"),
        Some("date-time") => typed
            .split_once('T')
            .is_some_and(|(date, time)| digits(date, "0000-00-00") && time.len() > 5),
        // Other formats are left to the program that asked.
        _ => true,
    };
    match (is_so, format) {
        (false, Some("email")) => Err(format!("{typed:?} is not a mail address.")),
        (false, Some("uri")) => Err(format!("{typed:?} is not an address with a scheme.")),
        (false, _) => Err(format!(
            "{typed:?} is not written as 2026-07-28 or 2026-07-28T12:00:00Z."
        )),
        (true, _) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(kind: FieldKind, required: bool) -> Field {
        Field {
            name: "it".to_owned(),
            title: String::new(),
            about: String::new(),
            kind,
            required,
            default: None,
        }
    }

    fn text(format: &str) -> FieldKind {
        FieldKind::Text {
            least: 2,
            most: Some(20),
            format: Some(format.to_owned()).filter(|it| !it.is_empty()),
        }
    }

    #[test]
    fn what_is_typed_becomes_a_value_of_the_right_kind() {
        let whole = |whole| FieldKind::Number {
            whole,
            least: Some(1.0),
            most: Some(9.0),
        };
        for (kind, typed, value) in [
            (text(""), " Ann ", json!("Ann")),
            (text("email"), "ann@example.org", json!("ann@example.org")),
            (text("date"), "2026-07-28", json!("2026-07-28")),
            (whole(true), "7", json!(7)),
            (whole(false), "2.5", json!(2.5)),
        ] {
            assert_eq!(field(kind, true).read(typed), Ok(Some(value)), "{typed}");
        }
    }

    #[test]
    fn what_does_not_fit_is_told_and_nothing_is_bent() {
        let number = |whole| FieldKind::Number {
            whole,
            least: Some(1.0),
            most: Some(9.0),
        };
        for (kind, typed, message) in [
            (text(""), "A", "1 characters are not from 2 to 20."),
            (text("email"), "ann", "\"ann\" is not a mail address."),
            (
                text("uri"),
                "ann",
                "\"ann\" is not an address with a scheme.",
            ),
            (
                text("date"),
                "28.7.2026",
                "\"28.7.2026\" is not written as 2026-07-28 or 2026-07-28T12:00:00Z.",
            ),
            (number(true), "2.5", "\"2.5\" is not a whole number."),
            (number(false), "many", "\"many\" is not a number."),
            (number(false), "NaN", "\"NaN\" is not a number."),
            (number(true), "10", "10 is not from 1 to 9."),
            (number(true), " ", "it is needed."),
        ] {
            assert_eq!(
                field(kind, true).read(typed),
                Err(message.to_owned()),
                "{typed}"
            );
        }
        assert_eq!(field(text(""), false).read("  "), Ok(None));
    }
}
