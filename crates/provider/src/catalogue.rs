//! Facts about models: limits, prices, and abilities.
//!
//! Pure lookup in `catalogue/models.json`, overridden by the user's own entries. Facts
//! about unlisted models are `None`, and such models must not be rejected. Knows no
//! request.
//!
//! Sources: `scripts/catalogue.py` updates the numbers from a public price list, as the file's
//! `source` says; they are without discounts and without the providers' own tools. All other
//! facts are written by hand. Those about Anthropic's thinking are from the pages
//! "Preserved thinking", "Thinking", and "What's new" of each model on platform.claude.com,
//! those about levels also from "Reasoning models" of OpenAI and "Thinking" of Google. Compaction
//! is from "Compatibility" on the page "Compaction on demand" there, as of September 2026.
//!
//! The cost of a request is only arithmetic; the caller supplies tokens and prices.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::Usage;
use crate::thinking::ThinkingLevel;

const FILE: &str = include_str!("catalogue/models.json");

/// Facts about one model. Every field may be unknown.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct Model {
    /// Context size in tokens, prompt and answer together.
    pub context: Option<u64>,
    /// Maximum tokens of an answer.
    pub output: Option<u32>,
    /// Prices of tokens.
    pub price: Option<Price>,
    /// The way in which its thinking is controlled.
    pub thinking: Option<ThinkingKind>,
    /// Its levels if `thinking` is [`ThinkingKind::Levels`], the lowest first, in the
    /// provider's terms.
    pub levels: Vec<String>,
    /// Minimum thinking budget in tokens.
    pub thinking_min: Option<u32>,
    /// Maximum thinking budget in tokens.
    pub thinking_max: Option<u32>,
    /// True if it thinks unless told otherwise; `None` means no.
    pub thinking_default: Option<bool>,
    /// True if thinking can be turned off; `None` means yes.
    pub thinking_off: Option<bool>,
    /// True if thinking can be limited to notes between calls, if it cannot be turned off;
    /// `None` means no.
    pub thinking_between_tools: Option<bool>,
    /// True if its thinking is valid only after exactly what preceded it; `None` means no.
    pub preserved_thinking: Option<bool>,
    /// True if it shows its thinking by default; `None` means yes.
    pub thinking_shown: Option<bool>,
    /// True if it accepts a temperature; `None` means yes.
    pub temperature: Option<bool>,
    /// True if it takes instructions and tools in the middle of a conversation; `None` means
    /// no. Only Anthropic's models differ in this.
    pub system_messages: Option<bool>,
    /// True if it summarizes a conversation on demand and signs the summary; `None` means no. Only
    /// Anthropic's models do.
    pub compaction: Option<bool>,
    /// True if it can call tools; `false` enables the text protocol.
    pub tools: Option<bool>,
    /// True if it accepts images.
    pub images: Option<bool>,
    /// True if it accepts PDF documents.
    pub pdf: Option<bool>,
    /// The stage at which the provider offers it; `None` means as `retires_at` says.
    pub lifecycle: Option<Lifecycle>,
    /// The day from which the provider refuses it, as `YYYY-MM-DD`.
    pub retires_at: Option<String>,
}

/// The stage at which a provider offers a model, in the terms of Anthropic's list of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lifecycle {
    /// It is offered.
    Active,
    /// It is offered until its end, whose day may not be known.
    Deprecated,
    /// Requests to it fail.
    Retired,
}

/// The way in which a model's thinking is controlled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingKind {
    /// It does not think.
    None,
    /// By a token budget.
    Budget,
    /// By a named level.
    Levels,
}

/// Prices in dollars per million tokens. Values that cannot be prices are refused when it is
/// read.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Price {
    /// Input tokens, excluding cache reads and writes.
    #[serde(deserialize_with = "dollars")]
    pub input: f64,
    /// Output tokens, including thinking.
    #[serde(deserialize_with = "dollars")]
    pub output: f64,
    /// Cache reads; defaults to `input`.
    #[serde(default, deserialize_with = "optional_dollars")]
    pub cache_read: Option<f64>,
    /// Short-lived cache writes; defaults to `input`.
    #[serde(default, deserialize_with = "optional_dollars")]
    pub cache_write: Option<f64>,
    /// Cache writes kept for an hour; defaults to `cache_write`.
    #[serde(default, deserialize_with = "optional_dollars")]
    pub cache_write_long: Option<f64>,
    /// Prices of a long prompt, which apply to all its tokens.
    #[serde(default)]
    pub above: Option<Above>,
}

/// Prices of a request whose prompt exceeds `tokens`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Above {
    /// Prompt tokens, including cached ones.
    pub tokens: u64,
    /// See [`Price::input`].
    #[serde(deserialize_with = "dollars")]
    pub input: f64,
    /// See [`Price::output`].
    #[serde(deserialize_with = "dollars")]
    pub output: f64,
    /// See [`Price::cache_read`].
    #[serde(default, deserialize_with = "optional_dollars")]
    pub cache_read: Option<f64>,
}

/// Highest price in dollars per million tokens; anything above is an error.
const DEAREST: f64 = 1_000_000.0;

fn dollars<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let price = f64::deserialize(deserializer)?;
    if (0.0..=DEAREST).contains(&price) {
        Ok(price)
    } else {
        Err(D::Error::custom("not a price"))
    }
}

fn optional_dollars<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    dollars(deserializer).map(Some)
}

/// The file of the catalogue.
#[derive(Debug, Deserialize, Default)]
struct File {
    /// The day on which the numbers were last updated, as `YYYY-MM-DD`.
    date: String,
    groups: Vec<Group>,
}

/// The models of one provider or protocol.
#[derive(Debug, Deserialize)]
struct Group {
    providers: Vec<String>,
    /// Facts about unlisted models, by the beginning of their names.
    families: BTreeMap<String, Map<String, Value>>,
    /// Facts about each model. A field that is named for a provider has those facts that
    /// differ there.
    models: BTreeMap<String, Map<String, Value>>,
}

// A test parses the file, so the empty default is never used.
static CATALOGUE: LazyLock<File> = LazyLock::new(|| serde_json::from_str(FILE).unwrap_or_default());

/// Returns the day on which the numbers were last updated, as `YYYY-MM-DD`.
pub fn date() -> &'static str {
    &CATALOGUE.date
}

/// Returns the groups that list models of a provider.
fn groups(provider: &str) -> impl Iterator<Item = &'static Group> {
    let lists = move |group: &&Group| group.providers.iter().any(|it| it == provider);
    CATALOGUE.groups.iter().filter(lists)
}

/// Returns the facts about `name` at `provider`. `own` contains the user's values for
/// fields of [`Model`]; invalid ones are ignored.
pub fn model(provider: &str, name: &str, own: Option<&Value>) -> Model {
    refined(provider, name, &Map::new(), own)
}

/// Returns the facts about a model as [`model`] does, with those in the provider's own list
/// of models. The list is right about limits and the model's end, which change; about all
/// else it only adds what the catalogue lacks.
pub fn refined(
    provider: &str,
    name: &str,
    list: &Map<String, Value>,
    own: Option<&Value>,
) -> Model {
    let mut facts = listed(provider, name).unwrap_or_default();
    for (field, value) in list {
        let changes = ["context", "output", "lifecycle", "retires_at"];
        if changes.contains(&field.as_str()) || !facts.contains_key(field) {
            facts.insert(field.clone(), value.clone());
        }
    }
    for (field, value) in own.and_then(Value::as_object).into_iter().flatten() {
        match (facts.get_mut(field), value) {
            // The user's price changes only the parts that it names.
            (Some(Value::Object(known)), Value::Object(own)) => {
                known.extend(
                    own.iter()
                        .map(|(name, value)| (name.clone(), value.clone())),
                );
            }
            _ => drop(facts.insert(field.clone(), value.clone())),
        }
    }
    read(facts)
}

/// Reads all valid fields; invalid ones are unknown.
fn read(facts: Map<String, Value>) -> Model {
    match serde_json::from_value(Value::Object(facts.clone())) {
        Ok(model) => model,
        // One invalid field must not hide the others.
        Err(_) => {
            let fits = |(name, value): &(String, Value)| {
                let alone = Map::from_iter([(name.clone(), value.clone())]);
                serde_json::from_value::<Model>(Value::Object(alone)).is_ok()
            };
            let fitting = facts.into_iter().filter(fits).collect();
            serde_json::from_value(Value::Object(fitting)).unwrap_or_default()
        }
    }
}

/// Returns the listed models of a provider, for selection.
pub fn names(provider: &str) -> Vec<&'static str> {
    groups(provider)
        .flat_map(|group| group.models.keys().map(String::as_str))
        .collect()
}

/// Returns true if the model is listed, or is a dated version of one that is.
pub fn knows(provider: &str, name: &str) -> bool {
    let mut models = groups(provider).flat_map(|it| it.models.keys());
    models.any(|it| it == name || is_dated(name, it))
}

fn listed(provider: &str, name: &str) -> Option<Map<String, Value>> {
    let group = groups(provider).next()?;
    let exact = group.models.get(name);
    let dated = || group.models.iter().find(|(it, _)| is_dated(name, it));
    if let Some(facts) = exact.or_else(|| dated().map(|(_, facts)| facts)) {
        let mut facts = facts.clone();
        if let Some(Value::Object(here)) = facts.remove(provider) {
            facts.extend(here);
        }
        return Some(facts);
    }
    let of_family = |it: &(&String, &Map<String, Value>)| name.starts_with(it.0.as_str());
    let families = group.families.iter().filter(of_family);
    // The longest prefix is the most specific family.
    let longest = families.max_by_key(|(prefix, _)| prefix.len());
    longest.map(|(_, facts)| facts.clone())
}

/// Returns true if `name` is `listed` followed by a date, a three-digit number, or
/// `latest`, by which providers name versions of the same model.
fn is_dated(name: &str, listed: &str) -> bool {
    let Some(rest) = name.strip_prefix(listed) else {
        return false;
    };
    let Some(version) = rest.strip_prefix(['-', '@']) else {
        return false;
    };
    let digits = version.bytes().filter(u8::is_ascii_digit).count();
    let only = version.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    // `-20250514` and `-2025-04-14` have eight digits, Gemini's `-001` has three.
    version == "latest" || only && matches!(digits, 3 | 8)
}

impl Model {
    /// Returns the model's name for a level, or the nearest one it knows. `None` if it has
    /// no levels.
    pub fn level(&self, wanted: ThinkingLevel) -> Option<&str> {
        let known = self.levels.iter().filter_map(|it| {
            let level = ThinkingLevel::named(it)?;
            Some((level.abs_diff(wanted), it.as_str()))
        });
        // Between a lower and a higher level at equal distance, the lower one wins because it
        // is listed first.
        known
            .min_by_key(|(distance, _)| *distance)
            .map(|(_, word)| word)
    }

    /// Returns the name of its lowest level that is not "none"; `None` if it has no levels.
    pub fn lowest_level(&self) -> Option<&str> {
        let mut levels = self.levels.iter().map(String::as_str);
        levels.find(|name| ThinkingLevel::named(name).is_some())
    }

    /// Returns a sentence about the end of this model, which is called `name`, if that was
    /// announced. `today` is a date like [`Model::retires_at`].
    pub fn end(&self, name: &str, today: &str) -> Option<String> {
        // Dates in this form compare as text.
        let has_ended = |end: &str| end <= today;
        match (self.lifecycle, self.retires_at.as_deref()) {
            // The provider may name the earliest possible end of a model that it still offers.
            (Some(Lifecycle::Active), _) | (None, None) => None,
            // A date that has passed does not mean that it has ended.
            (Some(Lifecycle::Deprecated), Some(end)) if has_ended(end) => {
                Some(format!("{name} will end."))
            }
            (_, Some(end)) if has_ended(end) => Some(format!("{name} ended on {end}.")),
            (Some(Lifecycle::Retired), _) => Some(format!("{name} has ended.")),
            (_, Some(end)) => Some(format!("{name} ends on {end}.")),
            (Some(Lifecycle::Deprecated), None) => Some(format!("{name} will end.")),
        }
    }

    /// Limits a thinking budget to the model's range.
    pub fn clamp_budget(&self, tokens: u32) -> u32 {
        let least = self.thinking_min.unwrap_or(1);
        // `clamp` panics on an empty range.
        tokens.clamp(least, self.thinking_max.unwrap_or(u32::MAX).max(least))
    }
}

/// Dollars, by kind of token.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cost {
    /// For input tokens, including the cache.
    pub input: f64,
    /// For output tokens, including thinking.
    pub output: f64,
}

impl Cost {
    /// Returns the sum.
    pub fn total(&self) -> f64 {
        self.input + self.output
    }
}

impl Price {
    /// Returns the cost of these tokens. `long` is true if the cache was asked to keep them
    /// for an hour.
    pub fn cost(&self, usage: &Usage, long: bool) -> Cost {
        let [input, output, read, written] = [
            usage.input,
            usage.output,
            usage.cache_read,
            usage.cache_creation,
        ]
        .map(Option::unwrap_or_default);
        let prompt = input + read + written;
        let tier = self.above.filter(|above| prompt > above.tokens);
        let (input_price, output_price, read_price) = match tier {
            Some(above) => (above.input, above.output, above.cache_read),
            None => (self.input, self.output, self.cache_read),
        };
        let short_price = self.cache_write.unwrap_or(self.input);
        let write_price = match self.cache_write_long {
            Some(price) if long => price,
            _ => short_price,
        };
        // Writes cost a multiple of the input, which is the same for long prompts.
        let write_price = match tier {
            Some(above) if self.input > 0.0 => write_price * above.input / self.input,
            _ => write_price,
        };
        Cost {
            input: price(input, input_price)
                + price(read, read_price.unwrap_or(input_price))
                + price(written, write_price),
            output: price(output, output_price),
        }
    }
}

fn price(tokens: u64, per_million: f64) -> f64 {
    // The cast is exact up to 2^53 tokens.
    tokens as f64 * per_million / 1e6
}
