//! Usage and cost of requests since this process started: sums, and how they are shown.
//!
//! Knows no buffer's text and no provider: the figures come from the provider, the prices from
//! the catalogue. [`crate::usage::log`] keeps them on disk.

pub mod log;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use provider::catalogue::{Cost, Price};
use provider::{CacheRetention, Endpoint, Parameters, Usage};
use serde::{Deserialize, Serialize};

use self::log::UsageLog;
use crate::ids::BufferId;

/// The prices of a request, known when it is sent.
#[derive(Debug, Clone, Default)]
pub struct Tariff {
    /// The provider's name in the configuration.
    pub provider: String,
    /// The model's name at the provider.
    pub model: String,
    /// Prices of its tokens, if known.
    pub price: Option<Price>,
    /// True if the cache keeps the prompt for an hour, which costs more.
    pub long_cache: bool,
    /// Maximum tokens of a prompt and its answer, if known.
    pub context: Option<u64>,
    /// Dollars for one search of the provider's own tool, if known.
    pub search: Option<f64>,
}

/// One answer that has ended, and the requests that it took.
#[derive(Debug, Clone)]
pub struct RequestUsage {
    /// The chat's buffer.
    pub buffer: BufferId,
    /// The chat's file, if it has one.
    pub path: Option<PathBuf>,
    /// The folder of the chat, or of Neovim.
    pub folder: PathBuf,
    /// Its prices.
    pub tariff: Tariff,
    /// Token usage of each request: more than one if the answer was paused and continued.
    pub usages: Vec<Usage>,
    /// When it was sent and when it ended, in milliseconds since 1970.
    pub time: (u64, u64),
}

/// The requests of all chats since this process started.
#[derive(Debug, Clone, Default)]
pub struct UsageHistory {
    entries: Arc<Mutex<Vec<RequestUsage>>>,
    /// Where they are kept for later; `None` in tests.
    log: Option<UsageLog>,
}

/// Sums of some requests, as Lua and the usage log have them.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Sums {
    /// Number of requests.
    pub requests: u64,
    /// Tokens read, without those from or into a cache.
    pub input: u64,
    /// Tokens written, thinking included.
    pub output: u64,
    /// Tokens of thinking, which `output` includes.
    pub thoughts: u64,
    /// Tokens read from a cache.
    pub cache_read: u64,
    /// Tokens written into a cache.
    pub cache_creation: u64,
    /// Searches of the provider's own tools.
    pub searches: u64,
    /// Dollars for input, caches and searches included, as far as prices are known.
    pub input_cost: f64,
    /// Dollars for output, as far as prices are known.
    pub output_cost: f64,
    /// Number of requests without a known price.
    pub unpriced: u64,
}

impl Tariff {
    /// Returns the prices of a request to `endpoint`.
    pub fn of(endpoint: &Endpoint, parameters: &Parameters) -> Self {
        Self {
            provider: endpoint.provider.clone(),
            model: parameters.model.clone(),
            price: parameters.about.price,
            long_cache: parameters.cache == CacheRetention::Long,
            context: parameters.about.context,
            search: provider::search_price(&endpoint.provider),
        }
    }

    /// Returns the figures of one request.
    fn sums(&self, usage: &Usage) -> Sums {
        let cost = self.cost(usage);
        Sums {
            requests: 1,
            input: usage.input.unwrap_or_default(),
            output: usage.output.unwrap_or_default(),
            thoughts: usage.thoughts.unwrap_or_default(),
            cache_read: usage.cache_read.unwrap_or_default(),
            cache_creation: usage.cache_creation.unwrap_or_default(),
            searches: usage.searches.unwrap_or_default(),
            input_cost: cost.map_or(0.0, |cost| cost.input),
            output_cost: cost.map_or(0.0, |cost| cost.output),
            // Counted, so that a sum without these requests is not taken for the whole cost.
            unpriced: u64::from(cost.is_none()),
        }
    }

    /// Returns the cost of one request, if its prices are known.
    fn cost(&self, usage: &Usage) -> Option<Cost> {
        let mut cost = self.price?.cost(usage, self.long_cache);
        // The count is exact up to 2^53.
        let searches = usage.searches.unwrap_or_default() as f64;
        if searches > 0.0 {
            // Without the price of a search, the cost of the request is not known.
            cost.input += searches * self.search?;
        }
        Some(cost)
    }
}

impl UsageHistory {
    /// Returns a history whose requests are also added to a log.
    pub fn logged(log: UsageLog) -> Self {
        Self {
            log: Some(log),
            ..Self::default()
        }
    }

    /// Adds a request.
    pub fn add(&self, entry: RequestUsage) {
        // Here and not on another thread, so that the last request of a command line is logged.
        if let Some(Err(error)) = self.log.as_ref().map(|log| log.add(&entry)) {
            // The answer counts, not its statistics: a full disk has other messages.
            tracing::warn!(%error, "a request is missing in the usage log");
        }
        self.entries().push(entry);
    }

    fn entries(&self) -> MutexGuard<'_, Vec<RequestUsage>> {
        // A panic elsewhere leaves whole entries, so the list can still be used.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the sums of one buffer's requests, or of all.
    pub fn sums(&self, buffer: Option<BufferId>) -> Sums {
        let entries = self.entries();
        let wanted = entries
            .iter()
            .filter(|it| buffer.is_none_or(|buffer| it.buffer == buffer));
        wanted.fold(Sums::default(), |mut sums, entry| {
            sums.add(&entry.sums());
            sums
        })
    }

    /// Returns the last request of a buffer.
    pub fn latest(&self, buffer: BufferId) -> Option<RequestUsage> {
        let entries = self.entries();
        entries.iter().rfind(|it| it.buffer == buffer).cloned()
    }
}

impl RequestUsage {
    /// Returns its figures.
    pub fn sums(&self) -> Sums {
        // Each request has its own price, which depends on the length of its prompt.
        let each = self.usages.iter().map(|it| self.tariff.sums(it));
        each.fold(Sums::default(), |mut sums, it| {
            sums.add(&it);
            sums
        })
    }
}

impl Sums {
    /// Adds other sums to these.
    pub fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.input += other.input;
        self.output += other.output;
        self.thoughts += other.thoughts;
        self.cache_read += other.cache_read;
        self.cache_creation += other.cache_creation;
        self.searches += other.searches;
        self.input_cost += other.input_cost;
        self.output_cost += other.output_cost;
        self.unpriced += other.unpriced;
    }

    /// Returns one line: tokens read and written, and the cost.
    pub fn line(&self) -> String {
        let cached = match self.cache_read {
            0 => String::new(),
            cached => format!(" + {} cached", count(cached)),
        };
        // Tokens written into the cache were read as well.
        let (read, written) = (count(self.input + self.cache_creation), count(self.output));
        let cost = self.cost().map(|cost| format!(", {cost}"));
        let searches = match self.searches {
            0 => String::new(),
            1 => ", 1 search".to_owned(),
            more => format!(", {more} searches"),
        };
        format!(
            "{read}{cached} in, {written} out{searches}{}",
            cost.unwrap_or_default()
        )
    }

    /// Returns the tokens of all prompts and of all answers; empty without requests.
    pub fn tokens(&self) -> String {
        let read = self.input + self.cache_read + self.cache_creation;
        match self.requests {
            0 => String::new(),
            _ => format!("{} in, {} out", count(read), count(self.output)),
        }
    }

    /// Returns the cost, if any of it is known.
    pub fn cost(&self) -> Option<String> {
        self.dollars().map(dollars)
    }

    /// Returns the cost in dollars, if any of it is known.
    pub fn dollars(&self) -> Option<f64> {
        let known = self.requests > self.unpriced;
        // Rounded, because sums of binary fractions are a little off: 0.006 + 0.0075.
        known.then(|| ((self.input_cost + self.output_cost) * 1e9).round() / 1e9)
    }

    /// Returns the rows of `:Flemma usage` about some requests.
    pub fn table(&self) -> Vec<String> {
        let all = self.input + self.cache_read + self.cache_creation;
        // Without any tokens there is no share; a division by 0 would panic.
        let share = (self.cache_read * 100).checked_div(all).unwrap_or_default();
        let cached = format!("{} ({share} % of the prompts)", count(self.cache_read));
        let thoughts = count(self.thoughts);
        let written = format!("{} (thinking: {thoughts})", count(self.output));
        let cost = self.cost().unwrap_or_else(|| "not known".to_owned());
        let mut rows = vec![
            ("requests", self.requests.to_string()),
            ("read", count(self.input)),
            ("from cache", cached),
            ("into cache", count(self.cache_creation)),
            ("written", written),
        ];
        if self.searches > 0 {
            rows.push(("searches", self.searches.to_string()));
        }
        rows.push(("cost", cost));
        if self.unpriced > 0 && self.requests > self.unpriced {
            let unpriced = self.unpriced;
            let note = format!("without {unpriced} requests whose prices are not known");
            rows.push(("", note));
        }
        let rows = rows.into_iter();
        rows.map(|(name, value)| format!("  {name:<14} {value}"))
            .collect()
    }
}

/// Formats a number of tokens, in thousands or millions if it has many digits.
pub fn count(tokens: u64) -> String {
    match tokens {
        0..10_000 => tokens.to_string(),
        10_000..1_000_000 => format!("{:.1}k", tokens as f64 / 1e3),
        _ => format!("{:.2}M", tokens as f64 / 1e6),
    }
}

/// Formats dollars: whole cents, rounded up, and below ten cents with more digits.
pub fn dollars(cost: f64) -> String {
    match cost {
        _ if cost <= 0.0 => "$0".to_owned(),
        _ if cost < 0.1 => format!("${cost:.4}"),
        _ => {
            // Rounded to a millionth first: in binary 1.10 × 100 is a little above 110.
            let cents = (cost * 1e6).round() / 1e4;
            // Up, so that no cost is shown as less than it is.
            format!("${:.2}", cents.ceil() / 100.0)
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn entry(buffer: BufferId, price: Option<Price>) -> RequestUsage {
        RequestUsage {
            buffer,
            path: None,
            folder: PathBuf::new(),
            tariff: Tariff {
                price,
                ..Tariff::default()
            },
            usages: vec![Usage {
                input: Some(1000),
                output: Some(200),
                thoughts: Some(50),
                cache_read: Some(9000),
                cache_creation: None,
                searches: None,
            }],
            time: (0, 1),
        }
    }

    #[test]
    fn a_chat_and_all_chats_are_summed() {
        let price = provider::catalogue::model("anthropic", "claude-sonnet-4-5", None).price;
        let history = UsageHistory::default();
        for entry in [entry(1, price), entry(2, price), entry(1, None)] {
            history.add(entry);
        }
        let sums = history.sums(Some(1));
        assert_eq!((sums.requests, sums.input, sums.unpriced), (2, 2000, 1));
        assert_eq!(history.sums(None).requests, 3);
        assert_eq!(sums.line(), "2000 + 18.0k cached in, 400 out, $0.0087");
        let table = sums.table().join("\n");
        assert!(table.contains("18.0k (90 % of the prompts)"), "{table}");
        assert!(table.contains("without 1 requests"), "{table}");
    }

    #[test]
    fn each_part_of_a_paused_answer_has_the_price_of_its_own_prompt() {
        let price = provider::catalogue::model("anthropic", "claude-haiku-5-5", None).price;
        let long = price.and_then(|it| it.above).unwrap().tokens;
        let part = Usage {
            input: Some(long),
            ..Usage::default()
        };
        let of = |usages: &[Usage]| RequestUsage {
            usages: usages.to_vec(),
            ..entry(1, price)
        };
        let (one, two) = (of(&[part]).sums(), of(&[part, part]).sums());
        assert!(one.input_cost > 0.0);
        assert_eq!((two.requests, two.input), (2, 2 * long));
        assert_eq!(two.input_cost, 2.0 * one.input_cost);
    }

    #[test]
    fn without_prices_there_is_no_cost() {
        let history = UsageHistory::default();
        history.add(entry(1, None));
        let sums = history.sums(None);
        assert_eq!(sums.line(), "1000 + 9000 cached in, 200 out");
        assert!(sums.table().join("\n").contains("not known"));
    }

    #[test]
    fn small_costs_are_exact_and_others_are_rounded_up() {
        for (cost, shown) in [
            (0.0, "$0"),
            (0.00012, "$0.0001"),
            (0.0987, "$0.0987"),
            (1.10, "$1.10"),
            (1.201, "$1.21"),
            (2.05, "$2.05"),
        ] {
            assert_eq!(dollars(cost), shown);
        }
    }
}
