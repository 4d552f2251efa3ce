//! What the next request of a chat contains, and what it costs: `:Flemma context` and
//! `flemma context`.
//!
//! Pure. Only the provider knows how many tokens a text has. Parts are estimated from their bytes, and
//! scaled to what the provider has counted.

use chat::context::{ContextKind, ContextPart};
use chat::document::{Document, Role};
use provider::Usage;
use serde::Serialize;

use crate::usage::{Tariff, count, dollars};

/// How much an estimate may be scaled. A larger factor has other reasons than the tokenizer.
const SCALES: std::ops::RangeInclusive<f64> = 0.25..=4.0;

/// Divisor of a request's tokens that gives the least to be saved by shortening old results.
const LEAST_SAVED: u64 = 5;

/// What is known about the next request.
#[derive(Debug, Default)]
pub(crate) struct ContextFacts {
    /// Its parts.
    pub(crate) parts: Vec<ContextPart>,
    /// Tokens of the last request and its answer, as the provider has counted them.
    pub(crate) answered: Option<u64>,
    /// The line below what was sent with the last request and has not changed since; `None` if
    /// nothing was sent.
    pub(crate) sent: Option<usize>,
    /// Its model and prices; `None` if it goes to no provider.
    pub(crate) tariff: Option<Tariff>,
    /// Why it cannot be sent.
    pub(crate) unreachable: Option<String>,
    /// True if the provider keeps what was sent.
    pub(crate) is_cached: bool,
    /// Old results that could be sent shortened: how many, and about how many tokens that saves.
    pub(crate) shortenable: (usize, f64),
}

/// A request that would be sent now, by its parts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContextReport {
    /// The provider's name in the configuration; empty if there is none.
    pub provider: String,
    /// The model's name at the provider.
    pub model: String,
    /// Tokens of the request.
    pub tokens: u64,
    /// True if the provider counted them, false if they are estimated. Those of parts always are.
    pub counted: bool,
    /// Maximum tokens of a request and its answer, if known.
    pub limit: Option<u64>,
    /// Tokens that were sent before and have not changed, which the provider's cache may still have.
    pub cached: u64,
    /// The line, from 1, with the first message that is not among these; `None` if all are.
    pub new_from: Option<usize>,
    /// Dollars for the request without its answer, if the cache still has these tokens and the
    /// prices are known.
    pub cost: Option<f64>,
    /// Old results that could be sent shortened, if that saves a fifth of the tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shortenable: Option<Shortenable>,
    /// Why it cannot be sent; `None` if nothing is known to be in the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreachable: Option<String>,
    /// The parts, in the order of the request.
    pub parts: Vec<ReportedPart>,
}

/// Old results that could be sent shortened.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shortenable {
    /// Number of results.
    pub results: usize,
    /// About how many tokens that saves.
    pub saves: u64,
}

/// A part of a request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReportedPart {
    /// Its kind.
    pub kind: ContextKind,
    /// The line of its message, from 1; `None` for the tools that are offered from the start.
    pub line: Option<usize>,
    /// The name of a tool or of what is referred to, the number of tools, or the provider that signed
    /// thinking; empty for text.
    pub name: String,
    /// About how many tokens it has.
    pub tokens: u64,
}

impl ContextReport {
    /// Returns the report about the next request of `document`, whose tokens the provider may have
    /// counted.
    pub(crate) fn new(document: &Document<'_>, facts: &ContextFacts, counted: Option<u64>) -> Self {
        let scale = scale(document, facts, counted);
        let sent = facts.sent.map(|line| below_blank_lines(document, line));
        let is_sent = |part: &ContextPart| {
            let end = part.message.map_or(0, |at| document.messages[at].lines.end);
            sent.is_some_and(|sent| end <= sent)
        };
        let sum = |parts: &mut dyn Iterator<Item = &ContextPart>| {
            parts.map(|it| it.tokens * scale).sum::<f64>().round() as u64
        };
        let tokens = sum(&mut facts.parts.iter());
        let cached = sum(&mut facts.parts.iter().filter(|it| is_sent(it)));
        let cached = if facts.is_cached { cached } else { 0 };
        let line = |message: usize| document.messages[message].lines.start + 1;
        let new = facts
            .parts
            .iter()
            .find(|it| it.message.is_some() && !is_sent(it));
        let new_from = new.and_then(|it| it.message).map(line);
        let parts = facts.parts.iter().map(|part| ReportedPart {
            kind: part.kind,
            line: part.message.map(line),
            name: part.name.clone(),
            tokens: ((part.tokens * scale).round() as u64).max(1),
        });
        let tariff = facts.tariff.clone().unwrap_or_default();
        Self {
            tokens,
            counted: counted.is_some(),
            limit: tariff.context,
            cached,
            new_from,
            cost: cost(&tariff, cached, tokens - cached),
            parts: parts.collect(),
            shortenable: shortenable(facts, scale, tokens),
            unreachable: facts.unreachable.clone(),
            provider: tariff.provider,
            model: tariff.model,
        }
    }

    /// Returns the report as lines of at most 80 columns, unless names are long.
    pub fn lines(&self) -> Vec<String> {
        self.lines_and_places().0
    }

    /// Returns the lines, and for some of them a line of the chat; both numbers count from 0.
    pub(crate) fn lines_and_places(&self) -> (Vec<String>, Vec<(usize, usize)>) {
        let about = if self.counted { "" } else { "about " };
        let share = self
            .percent()
            .map(|(percent, limit)| format!(", {percent} % of {}", count(limit)));
        let cost = self.cost.map(|it| format!(", about {}", dollars(it)));
        let [share, cost] = [share, cost].map(Option::unwrap_or_default);
        let to = format!("{} {}", self.provider, self.model);
        let mut lines = vec![
            format!(
                "next request  {about}{} tokens{share}{cost}",
                count(self.tokens)
            ),
            format!("to            {}", to.trim()),
        ];
        lines.extend(
            self.unreachable
                .iter()
                .map(|why| format!("              {why}")),
        );
        if self.cached > 0 {
            let cached = count(self.cached);
            lines.push(format!(
                "sent before   about {cached}, which the provider's cache may still have"
            ));
            let new = count(self.tokens - self.cached);
            let from = self.new_from.map(|line| format!(", from line {line} on"));
            lines.push(format!(
                "new           about {new}{}",
                from.unwrap_or_default()
            ));
        }
        lines.extend(self.shortenable.iter().map(|it| {
            let saves = count(it.saves);
            let results = if it.results == 1 { "result" } else { "results" };
            format!("old results   :Flemma shorten sends {} {results} shortened and saves about {saves}", it.results)
        }));
        lines.push(String::new());
        lines.push("  line  tokens".to_owned());
        let mut places = Vec::new();
        for (line, row) in self.rows() {
            let place = line.and_then(|it| it.checked_sub(1));
            places.extend(place.map(|it| (lines.len(), it)));
            lines.push(row);
        }
        (lines, places)
    }

    /// Returns the share of the limit, in percent, and the limit.
    fn percent(&self) -> Option<(u64, u64)> {
        let limit = self.limit.filter(|it| *it > 0)?;
        Some((self.tokens.saturating_mul(100) / limit, limit))
    }

    /// Returns a row for each message with the sum of its parts, and one for each part that is more
    /// than its text. With the line of the message, from 1.
    fn rows(&self) -> Vec<(Option<usize>, String)> {
        let mut rows = Vec::new();
        for parts in self.parts.chunk_by(|a, b| a.line == b.line) {
            let line = parts[0].line;
            let number = line.map(|it| it.to_string()).unwrap_or_default();
            let row = |number: &str, tokens: u64, what: &str| {
                (line, format!("{number:>6}  {:>6}  {what}", count(tokens)))
            };
            if let (Some(message), true) = (message_name(parts), line.is_some()) {
                let sum = parts.iter().map(|it| it.tokens).sum();
                rows.push(row(&number, sum, message));
            }
            let named = parts.iter().filter_map(|it| Some((it, part_name(it)?)));
            rows.extend(named.map(|(part, name)| {
                let name = if line.is_some() {
                    format!("  {name}")
                } else {
                    name
                };
                row("", part.tokens, &name)
            }));
        }
        rows
    }
}

/// Returns the old results that could be sent shortened, if that saves enough to be worth the tokens
/// that are no longer read from the cache.
fn shortenable(facts: &ContextFacts, scale: f64, tokens: u64) -> Option<Shortenable> {
    let (results, saves) = facts.shortenable;
    let saves = (saves * scale).round() as u64;
    (saves > 0 && saves * LEAST_SAVED >= tokens).then_some(Shortenable { results, saves })
}

/// Returns the marker of the message that has these parts.
fn message_name(parts: &[ReportedPart]) -> Option<&'static str> {
    let names = parts.iter().find_map(|part| match part.kind {
        ContextKind::System => Some("@System"),
        ContextKind::User | ContextKind::Reference | ContextKind::Result => Some("@You"),
        ContextKind::Assistant | ContextKind::Thinking | ContextKind::Call => Some("@Assistant"),
        ContextKind::Tools => None,
    });
    names.or(Some("@You"))
}

/// Returns the words for a part that is more than the text of its message.
fn part_name(part: &ReportedPart) -> Option<String> {
    let name = &part.name;
    match part.kind {
        ContextKind::System | ContextKind::User | ContextKind::Assistant => None,
        ContextKind::Tools if name == "1" => Some("1 tool".to_owned()),
        ContextKind::Tools => Some(format!("{name} tools")),
        ContextKind::Thinking => Some("thinking".to_owned()),
        ContextKind::Call => Some(format!("call of {name}")),
        ContextKind::Result => Some(format!("result of {name}")),
        ContextKind::Reference => Some(name.clone()),
    }
}

/// Returns the factor by which the provider's tokens differ from the estimate.
fn scale(document: &Document<'_>, facts: &ContextFacts, counted: Option<u64>) -> f64 {
    let sum = |below: usize| {
        let parts = facts.parts.iter();
        let parts = parts.filter(|it| it.message.is_none_or(|at| at < below));
        parts.map(|it| it.tokens).sum::<f64>()
    };
    let all = document.messages.len();
    let (known, estimated) = match (counted, facts.answered) {
        // It is exact, so it need not be plausible.
        (Some(counted), _) => return counted as f64 / sum(all).max(1.0),
        (None, Some(answered)) => {
            let mut messages = document.messages.iter();
            let last = messages.rposition(|it| it.role == Role::Assistant);
            (answered as f64, sum(last.map_or(0, |it| it + 1)))
        }
        (None, None) => return 1.0,
    };
    let factor = known / estimated.max(1.0);
    factor.clamp(*SCALES.start(), *SCALES.end())
}

/// Returns the first line at or below `line` that is not blank, since blank lines are not sent.
fn below_blank_lines(document: &Document<'_>, line: usize) -> usize {
    let count = document.text().line_count();
    let mut lines = line..count;
    let first = lines.find(|at| !document.is_blank(*at..at + 1));
    first.unwrap_or(count)
}

/// Returns dollars for a prompt with `cached` tokens from the cache and `new` ones.
fn cost(tariff: &Tariff, cached: u64, new: u64) -> Option<f64> {
    let price = tariff.price?;
    let mut usage = Usage {
        cache_read: Some(cached),
        ..Usage::default()
    };
    // Where writing has a price, everything new is written.
    match price.cache_write {
        Some(_) => usage.cache_creation = Some(new),
        None => usage.input = Some(new),
    }
    Some(price.cost(&usage, tariff.long_cache).input)
}
