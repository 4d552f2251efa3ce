//! The meaning of a word in the frontmatter: an option, or a model.

use std::ops::Range;

use chat::document::Document;
use policy::settings::Settings;

use crate::endpoint;
use crate::protocol::{Hover, Lookup};
use provider::catalogue::{self, Model};

/// The table of a chat's options in Lua.
const OPTIONS: &str = "flemma.opt.";

/// Returns what the word at a place of the frontmatter means.
pub fn hover(document: &Document<'_>, settings: &Settings, lookup: &Lookup) -> Option<Hover> {
    let frontmatter = document.frontmatter.as_ref()?;
    if !frontmatter.lines.contains(&lookup.line) {
        return None;
    }
    let line = document.lossy(lookup.line..lookup.line + 1);
    let text = quoted_at(&line, lookup.column)
        .and_then(|name| about_model(settings, name))
        .or_else(|| policy::options::about(path_at(&line, lookup.column)?))?;
    Some(Hover {
        text,
        lines: lookup.line..lookup.line + 1,
    })
}

/// Returns the path of an option up to the word at a byte column, without `flemma.opt`.
fn path_at(line: &str, column: usize) -> Option<&str> {
    let is_part = |it: char| it.is_ascii_alphanumeric() || it == '_';
    let word = run_at(line, column, is_part)?;
    let before = &line[..word.start];
    let path = before.rfind(|it: char| !is_part(it) && it != '.');
    let start = path.map_or(0, |at| at + 1);
    // `get`, because the character before may have several bytes.
    let path = line.get(start..word.end)?;
    let path = path.strip_prefix(OPTIONS).unwrap_or(path);
    Some(path).filter(|it| !it.is_empty())
}

/// Returns the text between the quotes around a byte column.
fn quoted_at(line: &str, column: usize) -> Option<&str> {
    let is_inside = |it: char| it != '"' && it != '\'';
    let range = run_at(line, column, is_inside)?;
    let quote = line[..range.start].chars().next_back()?;
    line[range.end..].starts_with(quote).then_some(&line[range])
}

/// Returns the longest run of such characters around a byte column.
fn run_at(line: &str, column: usize, is_part: impl Fn(char) -> bool) -> Option<Range<usize>> {
    let (left, right) = (line.get(..column)?, &line[column..]);
    let start = left.trim_end_matches(&is_part).len();
    let end = line.len() - right.trim_start_matches(&is_part).len();
    (start < end).then_some(start..end)
}

/// Returns the limits and prices of a model that a provider of the catalogue has.
fn about_model(settings: &Settings, name: &str) -> Option<String> {
    let own = settings.models.get(name);
    let providers = endpoint::provider_names().into_iter();
    let known: Vec<String> = providers
        .filter(|provider| catalogue::names(provider).contains(&name))
        .collect();
    let provider = known.first().map(String::as_str);
    if provider.is_none() && own.is_none() {
        return None;
    }
    let model = catalogue::model(provider.unwrap_or_default(), name, own);
    Some(facts(name, &known, &model))
}

fn facts(name: &str, providers: &[String], model: &Model) -> String {
    let mut lines = vec![name.to_owned()];
    if !providers.is_empty() {
        lines.push(format!("Providers: {}", providers.join(", ")));
    }
    lines.extend(model.context.map(|it| format!("Context: {it} tokens")));
    lines.extend(
        model
            .output
            .map(|it| format!("Longest answer: {it} tokens")),
    );
    lines.extend(model.price.map(|it| {
        format!(
            "Dollars per million tokens: {} sent, {} answered",
            it.input, it.output
        )
    }));
    lines.join("\n")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_an_option_with_the_tables_before_it() {
        let line = "flemma.opt.tools.autopilot = false";
        assert_eq!(path_at(line, 12), Some("tools"));
        assert_eq!(path_at(line, 20), Some("tools.autopilot"));
        assert_eq!(path_at(line, 27), None);
        assert_eq!(path_at("  \"thinking\": \"low\"", 5), Some("thinking"));
        assert_eq!(path_at("x", 9), None);
        assert_eq!(path_at("é", 1), None);
    }

    #[test]
    fn a_name_is_what_is_between_quotes() {
        let line = "flemma.opt.model = 'some-model' -- \"x";
        assert_eq!(quoted_at(line, 24), Some("some-model"));
        assert_eq!(quoted_at(line, 3), None);
        assert_eq!(quoted_at(line, 36), None);
    }

    #[test]
    fn a_model_has_limits_and_prices() {
        let settings = Settings::default();
        let about = about_model(&settings, "claude-haiku-4-5").unwrap();
        assert!(
            about.starts_with("claude-haiku-4-5\nProviders: anthropic"),
            "{about}"
        );
        assert!(about.contains("Dollars per million tokens: "), "{about}");
        assert_eq!(about_model(&settings, "no-such-model"), None);
    }
}
