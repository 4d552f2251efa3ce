//! Parses a `tool.toml`: the name, description, parameters, and script of a tool.
//!
//! Pure. `timeout` extends the specification of script tools. Unknown fields are ignored, because
//! they may belong to other programs, unless they look like a misspelled field of ours.

use std::time::Duration;

use super::parameters::{self, Parameter};
use super::reader::{Table, Wrong};

/// Maximum length of a description in bytes. It is part of every request.
const LONGEST: usize = 8 * 1024;
/// Maximum number of keywords.
const MOST_KEYWORDS: usize = 100;
/// Maximum length of a name: the limit of OpenAI.
const LONGEST_NAME: usize = 64;
/// Minimum and maximum time limit, in seconds.
const TIMEOUT_RANGE: (f64, f64) = (0.1, 86_400.0);
/// The known fields.
const FIELDS: [&str; 7] = [
    "name",
    "description",
    "keywords",
    "script",
    "parameters",
    "timeout",
    "visibility",
];

/// A valid `tool.toml`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Manifest {
    /// The name that the model uses.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// Further words by which the tool can be found.
    pub keywords: Vec<String>,
    /// The script's path below the tool's folder.
    pub script: String,
    /// The parameters, in the order of the file.
    pub parameters: Vec<Parameter>,
    /// The time limit of a call, if the file has one.
    pub timeout: Option<Duration>,
    /// Whether it is part of requests. If not, `tool_search` finds it.
    pub offered: bool,
}

/// Parses the `tool.toml` of the folder with this name.
///
/// # Errors
///
/// The first problem: its line, what is wrong, and what to do.
pub(crate) fn parse(text: &str, folder: &str) -> Result<Manifest, Wrong> {
    let file = Table::parse(text)?;
    file.no_slips(&FIELDS)?;
    let name = match file.text("name")? {
        Some(name) => name,
        None => folder.to_owned(),
    };
    check_name(&name, &file)?;
    let description = file.required("description", "say what the tool does, for the model")?;
    parameters::check_text(&description, LONGEST)
        .map_err(|why| file.wrong("description", format!("The description {why}")))?;
    Ok(Manifest {
        keywords: keywords(&file)?,
        script: script(&file)?,
        parameters: parameters::read(&file)?,
        timeout: timeout(&file)?,
        offered: offered(&file)?,
        name,
        description,
    })
}

fn check_name(name: &str, file: &Table<'_>) -> Result<(), Wrong> {
    // Providers accept no other characters.
    let of_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if begins && name.chars().all(of_name) && name.len() <= LONGEST_NAME {
        return Ok(());
    }
    let shown: String = name.escape_debug().take(80).collect();
    // The name may be long and contain control characters.
    Err(file.wrong(
        "name",
        format!(
            "\"{shown}\" cannot be a tool's name. Use a letter, then letters, digits, _ and -, {LONGEST_NAME} at the most"
        ),
    ))
}

fn keywords(file: &Table<'_>) -> Result<Vec<String>, Wrong> {
    let keywords = file.texts("keywords")?;
    if keywords.len() > MOST_KEYWORDS {
        let why = format!("There are more than {MOST_KEYWORDS} keywords. Leave some out");
        return Err(file.wrong("keywords", why));
    }
    for keyword in &keywords {
        parameters::check_text(keyword, 200)
            .map_err(|why| file.wrong("keywords", format!("A keyword {why}")))?;
    }
    Ok(keywords)
}

/// The script's path. It must stay in the tool's folder, because trust applies to that folder.
fn script(file: &Table<'_>) -> Result<String, Wrong> {
    use std::path::{Component, Path};
    let script = file.required("script", "name the file that is run, such as \"script.py\"")?;
    // Neither `..` nor an absolute path.
    let inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if !script.is_empty() && Path::new(&script).components().all(inside) {
        return Ok(script);
    }
    let why = "The script must be a file in the tool's own folder. Name it relative to tool.toml";
    Err(file.wrong("script", why.to_owned()))
}

fn timeout(file: &Table<'_>) -> Result<Option<Duration>, Wrong> {
    let Some(seconds) = file.number("timeout")? else {
        return Ok(None);
    };
    let (least, most) = TIMEOUT_RANGE;
    if (least..=most).contains(&seconds) {
        return Ok(Some(Duration::from_secs_f64(seconds)));
    }
    let why = format!("The timeout is {seconds}. It must be seconds, from {least} to {most}");
    Err(file.wrong("timeout", why))
}

fn offered(file: &Table<'_>) -> Result<bool, Wrong> {
    match file.text("visibility")?.as_deref() {
        None | Some("native") => Ok(true),
        Some("ondemand") => Ok(false),
        Some(other) => {
            let shown: String = other.escape_debug().take(80).collect();
            let why = format!(
                "The visibility is \"{shown}\". Write \"native\" (requests carry the tool) or \"ondemand\" (tool_search finds it)"
            );
            Err(file.wrong("visibility", why))
        }
    }
}

#[cfg(test)]
mod tests;
