//! Reads token usage wherever a server reports it and whatever it calls the figures.
//!
//! Figures are cumulative, so a later one replaces an earlier one. A later zero does not:
//! some servers send a last event in which all figures are zero or absent.

use serde_json_borrow::Value;

use crate::{StreamEvent, Usage};

/// The kind of tokens that a figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Figure {
    /// The prompt, including what was read from or written to the cache.
    Prompt,
    /// The prompt without what was read from the cache.
    Fresh,
    /// The answer.
    Output,
    /// The answer without the thinking.
    OutputApart,
    Thoughts,
    CacheRead,
    CacheWrite,
    /// All tokens, which shows whether the answer includes the thinking.
    Total,
    /// Results of the provider's own tools, in addition to the prompt.
    ToolPrompt,
    /// Searches of the provider's own tool.
    Searches,
}

/// Names of figures, as paths in a usage object, and who uses them (collected in November 2026).
const NAMES: &[(&str, Figure, &str)] = &[
    ("prompt_tokens", Figure::Prompt, "OpenAI's Chat Completions"),
    ("promptTokenCount", Figure::Prompt, "Google"),
    ("prompt_eval_count", Figure::Prompt, "Ollama"),
    ("prompt_n", Figure::Fresh, "llama.cpp's timings"),
    (
        "completion_tokens",
        Figure::Output,
        "OpenAI's Chat Completions",
    ),
    (
        "output_tokens",
        Figure::Output,
        "Anthropic, OpenAI's Responses",
    ),
    ("candidatesTokenCount", Figure::OutputApart, "Google"),
    ("eval_count", Figure::Output, "Ollama"),
    ("predicted_n", Figure::Output, "llama.cpp's timings"),
    ("reasoning_tokens", Figure::Thoughts, "Perplexity, Together"),
    (
        "completion_tokens_details.reasoning_tokens",
        Figure::Thoughts,
        "OpenAI's Chat Completions",
    ),
    (
        "output_tokens_details.reasoning_tokens",
        Figure::Thoughts,
        "OpenAI's Responses",
    ),
    (
        "output_tokens_details.thinking_tokens",
        Figure::Thoughts,
        "Anthropic",
    ),
    ("thoughtsTokenCount", Figure::Thoughts, "Google"),
    ("cached_tokens", Figure::CacheRead, "Moonshot, Together"),
    ("cache_n", Figure::CacheRead, "llama.cpp's timings"),
    ("prompt_cache_hit_tokens", Figure::CacheRead, "DeepSeek"),
    (
        "prompt_tokens_details.cached_tokens",
        Figure::CacheRead,
        "OpenAI's Chat Completions",
    ),
    (
        "input_tokens_details.cached_tokens",
        Figure::CacheRead,
        "OpenAI's Responses",
    ),
    ("cache_read_input_tokens", Figure::CacheRead, "Anthropic"),
    ("cachedContentTokenCount", Figure::CacheRead, "Google"),
    (
        "prompt_tokens_details.cache_write_tokens",
        Figure::CacheWrite,
        "OpenRouter",
    ),
    (
        "input_tokens_details.cache_write_tokens",
        Figure::CacheWrite,
        "OpenAI's Responses",
    ),
    (
        "cache_creation_input_tokens",
        Figure::CacheWrite,
        "Anthropic",
    ),
    ("total_tokens", Figure::Total, "OpenAI"),
    ("toolUsePromptTokenCount", Figure::ToolPrompt, "Google"),
    (
        "server_tool_use.web_search_requests",
        Figure::Searches,
        "Anthropic",
    ),
];

/// Figures that Anthropic reports in addition to `input_tokens`. Everywhere else,
/// `input_tokens` includes them.
const ANTHROPIC_CACHE: [&str; 2] = ["cache_read_input_tokens", "cache_creation_input_tokens"];

/// Number of figures.
const FIGURES: usize = Figure::Searches as usize + 1;

/// The usage of one answer so far.
#[derive(Debug, Default)]
pub(crate) struct UsageReader {
    figures: [Option<u64>; FIGURES],
    /// Figures of the event that is being read.
    said: [bool; FIGURES],
    /// As it was before this event.
    before: Usage,
    /// True if `input_tokens` excludes the cache even if no cache is reported.
    is_anthropic: bool,
}

impl UsageReader {
    /// Creates a reader for Anthropic's Messages API, whose input excludes the cache.
    pub(crate) fn of_anthropic() -> Self {
        Self {
            is_anthropic: true,
            ..Self::default()
        }
    }

    /// Reads the usage in an event and adds the figures that it reports to `events`, before
    /// the end of the answer.
    pub(crate) fn read(&mut self, event: &Value<'_>, events: &mut Vec<StreamEvent>) {
        self.said = [false; FIGURES];
        each_usage(event, &mut |usage| self.add(usage));
        let usage = self.reported();
        if usage != Usage::default() {
            let has_ended = events.last().is_some_and(StreamEvent::is_terminal);
            events.insert(
                events.len() - usize::from(has_ended),
                StreamEvent::Usage(usage),
            );
        }
    }

    fn add(&mut self, usage: &Value<'_>) {
        for (path, figure, _) in NAMES {
            let mut value = usage;
            for name in path.split('.') {
                value = value.get(name);
            }
            self.set(*figure, count(value));
        }
        let excludes = self.is_anthropic
            || ANTHROPIC_CACHE
                .iter()
                .any(|name| !usage.get(*name).is_null());
        let figure = if excludes {
            Figure::Fresh
        } else {
            Figure::Prompt
        };
        self.set(figure, count(usage.get("input_tokens")));
        // A request for a summary has no answer, so Anthropic counts only there. Source:
        // platform.claude.com, "Compaction on demand", September 2026.
        let parts = usage.get("iterations").as_array().into_iter().flatten();
        for part in parts.filter(|it| it.get("type").as_str() == Some("compaction")) {
            self.add(part);
        }
    }

    fn set(&mut self, figure: Figure, count: Option<u64>) {
        let known = &mut self.figures[figure as usize];
        if count.is_some_and(|count| count > 0 || known.is_none()) {
            *known = count;
            self.said[figure as usize] = true;
        }
    }

    /// Returns the figures that the event reports, and those that they change.
    fn reported(&mut self) -> Usage {
        let now = self.usage();
        let before = std::mem::replace(&mut self.before, now);
        let of = |figures: &[Figure], now: Option<u64>, before: Option<u64>| {
            let is_said = figures.iter().any(|figure| self.said[*figure as usize]);
            now.filter(|_| is_said || now != before)
        };
        Usage {
            input: of(&[Figure::Prompt, Figure::Fresh], now.input, before.input),
            output: of(
                &[Figure::Output, Figure::OutputApart],
                now.output,
                before.output,
            ),
            thoughts: of(&[Figure::Thoughts], now.thoughts, before.thoughts),
            cache_read: of(&[Figure::CacheRead], now.cache_read, before.cache_read),
            cache_creation: of(
                &[Figure::CacheWrite],
                now.cache_creation,
                before.cache_creation,
            ),
            searches: of(&[Figure::Searches], now.searches, before.searches),
        }
    }

    fn usage(&self) -> Usage {
        let figure = |figure: Figure| self.figures[figure as usize];
        let thoughts = figure(Figure::Thoughts);
        let cached = figure(Figure::CacheRead).unwrap_or(0);
        let in_cache = cached.saturating_add(figure(Figure::CacheWrite).unwrap_or(0));
        let fresh = figure(Figure::Prompt).map(|all| all.saturating_sub(in_cache));
        let input = fresh.or(figure(Figure::Fresh));
        let apart = match (figure(Figure::OutputApart), thoughts) {
            (None, _) if figure(Figure::Output).is_some() || thoughts.is_none() => None,
            (written, thoughts) => Some(written.unwrap_or(0).saturating_add(thoughts.unwrap_or(0))),
        };
        Usage {
            input: input.map(|it| it.saturating_add(figure(Figure::ToolPrompt).unwrap_or(0))),
            output: figure(Figure::Output)
                .map(|it| self.with_thoughts(it))
                .or(apart),
            thoughts,
            cache_read: figure(Figure::CacheRead),
            cache_creation: figure(Figure::CacheWrite),
            // Most answers report that they have none.
            searches: figure(Figure::Searches).filter(|it| *it > 0),
        }
    }

    /// Adds the thinking to an answer that does not include it, as xAI reports it.
    fn with_thoughts(&self, output: u64) -> u64 {
        let figure = |figure: Figure| self.figures[figure as usize].unwrap_or(0);
        let apart = output.saturating_add(figure(Figure::Thoughts));
        let total = figure(Figure::Prompt).saturating_add(apart);
        if total == figure(Figure::Total) {
            apart
        } else {
            output
        }
    }
}

/// Calls `found` for each object with usage in an event, the least precise first.
fn each_usage<'a>(event: &'a Value<'a>, found: &mut dyn FnMut(&'a Value<'a>)) {
    // Ollama's own figures are fields of the event.
    if !event.get("eval_count").is_null() {
        found(event);
    }
    let choice = event.get("choices").get(0);
    let candidate = event.get("candidates").get(0);
    let response = event.get("response");
    let holders = [
        event,
        choice,
        choice.get("delta"),
        choice.get("message"),
        candidate,
        event.get("message"),
        event.get("delta"),
        event.get("x_groq"),
        response,
    ];
    let names = ["timings", "usage", "usageMetadata", "usage_metadata"];
    for name in names {
        let held = holders.iter().map(|holder| holder.get(name));
        held.filter(|usage| usage.is_object()).for_each(&mut *found);
    }
}

/// Reads a count; some servers write it as a fraction or as text.
fn count(value: &Value<'_>) -> Option<u64> {
    let number = value.as_u64();
    let text = || value.as_str()?.trim().parse().ok();
    let fraction = || {
        let fraction = value.as_f64().filter(|it| (0.0..9e15).contains(it))?;
        Some(fraction as u64)
    };
    number.or_else(text).or_else(fraction)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Reads these events and returns input, cache reads, output, and thoughts.
    fn read(mut reader: UsageReader, events: &[&str]) -> [u64; 4] {
        let mut usage = Usage::default();
        for event in events {
            let mut found = Vec::new();
            reader.read(&serde_json::from_str(event).unwrap(), &mut found);
            for event in found {
                let StreamEvent::Usage(newer) = event else {
                    panic!("{event:?}");
                };
                usage.replace(newer);
            }
        }
        [usage.input, usage.cache_read, usage.output, usage.thoughts].map(Option::unwrap_or_default)
    }

    #[track_caller]
    fn check(events: &[&str], expected: [u64; 4]) {
        assert_eq!(read(UsageReader::default(), events), expected, "{events:?}");
    }

    #[test]
    fn usage_is_found_in_every_place() {
        let usage = r#"{"prompt_tokens":40,"completion_tokens":3,"cached_tokens":35}"#;
        for event in [
            format!(r#"{{"usage":{usage}}}"#),
            format!(r#"{{"choices":[{{"delta":{{}},"usage":{usage}}}]}}"#),
            format!(r#"{{"choices":[{{"delta":{{"usage":{usage}}}}}]}}"#),
            format!(r#"{{"x_groq":{{"id":"r","usage":{usage}}}}}"#),
            format!(r#"{{"response":{{"usage":{usage}}}}}"#),
            format!(r#"{{"message":{{"usage":{usage}}}}}"#),
        ] {
            check(&[&event], [5, 35, 3, 0]);
        }
        check(
            &[r#"{"timings":{"cache_n":35,"prompt_n":5,"predicted_n":3}}"#],
            [5, 35, 3, 0],
        );
        check(
            &[r#"{"done":true,"prompt_eval_count":5,"eval_count":3}"#],
            [5, 0, 3, 0],
        );
    }

    #[test]
    fn a_later_zero_or_null_erases_nothing_and_a_later_figure_counts() {
        check(
            &[
                r#"{"usage":{"prompt_tokens":40,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":30}}}"#,
                r#"{"usage":{"prompt_tokens":40,"completion_tokens":3}}"#,
                r#"{"usage":{"prompt_tokens":0,"completion_tokens":0,"prompt_tokens_details":null}}"#,
                r#"{"usage":null}"#,
            ],
            [10, 30, 3, 0],
        );
        let anthropic = [
            r#"{"message":{"usage":{"input_tokens":123,"cache_read_input_tokens":50,"output_tokens":1}}}"#,
            r#"{"usage":{"input_tokens":0,"cache_read_input_tokens":0,"output_tokens":9}}"#,
        ];
        assert_eq!(
            read(UsageReader::of_anthropic(), &anthropic),
            [123, 50, 9, 0]
        );
    }

    #[test]
    fn input_includes_the_cache_except_at_anthropic() {
        let details = r#"{"usage":{"input_tokens":40,"output_tokens":3,"input_tokens_details":{"cached_tokens":35}}}"#;
        check(&[details], [5, 35, 3, 0]);
        let anthropic =
            r#"{"usage":{"input_tokens":40,"output_tokens":3,"cache_read_input_tokens":35}}"#;
        check(&[anthropic], [40, 35, 3, 0]);
        let alone = [r#"{"usage":{"input_tokens":40,"output_tokens":3}}"#];
        assert_eq!(read(UsageReader::of_anthropic(), &alone), [40, 0, 3, 0]);
    }

    #[test]
    fn thinking_counts_as_output_once() {
        // Included, as at OpenAI; the total says so.
        check(
            &[
                r#"{"usage":{"prompt_tokens":10,"completion_tokens":9,"total_tokens":19,"completion_tokens_details":{"reasoning_tokens":4}}}"#,
            ],
            [10, 0, 9, 4],
        );
        // Not included, as at xAI.
        check(
            &[
                r#"{"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":19,"completion_tokens_details":{"reasoning_tokens":4}}}"#,
            ],
            [10, 0, 9, 4],
        );
        check(
            &[
                r#"{"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5,"thoughtsTokenCount":4}}"#,
            ],
            [10, 0, 9, 4],
        );
    }

    #[test]
    fn counts_may_be_fractions_or_text() {
        check(
            &[r#"{"usage":{"prompt_tokens":"40","completion_tokens":3.0}}"#],
            [40, 0, 3, 0],
        );
        check(
            &[r#"{"usage":{"prompt_tokens":-1,"completion_tokens":"many"}}"#],
            [0; 4],
        );
    }
}
