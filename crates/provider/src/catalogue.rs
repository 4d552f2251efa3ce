//! Facts about models: limits, prices, and abilities.
//!
//! Pure lookup in `catalogue/models.json`, overridden by the user's own entries. Facts
//! about unlisted models are `None`, and such models must not be rejected. Knows no
//! request.
//!
//! Sources: the providers' model and price lists as of May 2026, without discounts and
//! without the providers' own tools.

mod cost;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::thinking::ThinkingLevel;

pub use cost::Cost;

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
    /// Whether thinking can be turned off; `None` means yes.
    pub thinking_off: Option<bool>,
    /// Whether it shows its thinking by default; `None` means yes.
    pub thinking_shown: Option<bool>,
    /// Whether it accepts a temperature; `None` means yes.
    pub temperature: Option<bool>,
    /// Whether it can call tools; `false` enables the text protocol.
    pub tools: Option<bool>,
    /// Whether it accepts images.
    pub images: Option<bool>,
    /// Whether it accepts PDF documents.
    pub pdf: Option<bool>,
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

/// Prices in dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Price {
    /// Input tokens, excluding cache reads and writes.
    pub input: f64,
    /// Output tokens, including thinking.
    pub output: f64,
    /// Cache reads; defaults to `input`.
    #[serde(default)]
    pub cache_read: Option<f64>,
    /// Short-lived cache writes; defaults to `input`.
    #[serde(default)]
    pub cache_write: Option<f64>,
    /// Cache writes kept for an hour; defaults to `cache_write`.
    #[serde(default)]
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
    pub input: f64,
    /// See [`Price::output`].
    pub output: f64,
    /// See [`Price::cache_read`].
    #[serde(default)]
    pub cache_read: Option<f64>,
}

/// The models of one provider or protocol.
#[derive(Debug, Deserialize)]
struct Group {
    providers: Vec<String>,
    /// Facts about unlisted models, by the beginning of their names.
    families: BTreeMap<String, Map<String, Value>>,
    models: BTreeMap<String, Map<String, Value>>,
}

// A test parses the file, so the empty default is never used.
static GROUPS: LazyLock<Vec<Group>> =
    LazyLock::new(|| serde_json::from_str(FILE).unwrap_or_default());

/// Returns the facts about `name` at `provider`. `own` contains the user's values for
/// fields of [`Model`]; invalid ones are ignored.
pub fn model(provider: &str, name: &str, own: Option<&Value>) -> Model {
    let mut facts = listed(provider, name).unwrap_or_default();
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
    let of = |group: &&Group| group.providers.iter().any(|it| it == provider);
    let groups = GROUPS.iter().filter(of);
    groups
        .flat_map(|group| group.models.keys().map(String::as_str))
        .collect()
}

/// Returns true if the model is listed, or is a dated version of one that is.
pub fn knows(provider: &str, name: &str) -> bool {
    let of = |group: &&Group| group.providers.iter().any(|it| it == provider);
    let mut models = GROUPS.iter().filter(of).flat_map(|it| it.models.keys());
    models.any(|it| it == name || is_dated(name, it))
}

fn listed(provider: &str, name: &str) -> Option<Map<String, Value>> {
    let group = GROUPS
        .iter()
        .find(|group| group.providers.iter().any(|it| it == provider))?;
    let exact = group.models.get(name);
    let dated = || group.models.iter().find(|(it, _)| is_dated(name, it));
    if let Some(facts) = exact.or_else(|| dated().map(|(_, facts)| facts)) {
        return Some(facts.clone());
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
            // `max` and `xhigh` are the same level, so the exact name breaks that tie. Between a
            // lower and a higher level at equal distance, the lower one wins because it is
            // listed first.
            Some(((level.abs_diff(wanted), it != wanted.name()), it.as_str()))
        });
        known
            .min_by_key(|(distance, _)| *distance)
            .map(|(_, word)| word)
    }

    /// Limits a thinking budget to the model's range.
    pub fn clamp_budget(&self, tokens: u32) -> u32 {
        let least = self.thinking_min.unwrap_or(1);
        // `clamp` panics on an empty range.
        tokens.clamp(least, self.thinking_max.unwrap_or(u32::MAX).max(least))
    }
}
