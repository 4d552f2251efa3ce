//! What is known of models: their limits, prices and abilities.
//!
//! Pure lookup in a data file, `catalogue/models.json`, with what the user knows
//! better laid over it. A model that stands nowhere is a model all the same: what is
//! not known of it is `None`, and nobody may refuse it. Knows no request.
//!
//! Sources of the figures: the providers' model and price lists as of May 2026. They
//! are what a request costs without discounts and without tools of the provider's.

mod cost;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::thinking::Level;

pub use cost::Cost;

const FILE: &str = include_str!("catalogue/models.json");

/// What is known of one model. Every field may be unknown.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct Model {
    /// Tokens that question and answer may have together.
    pub context: Option<u64>,
    /// Most tokens of an answer.
    pub output: Option<u32>,
    /// What tokens cost.
    pub price: Option<Price>,
    /// How it is told how much to think.
    pub thinking: Option<ThinkingKind>,
    /// The levels it knows when `thinking` is [`ThinkingKind::Levels`], the least
    /// first, in the provider's words.
    pub levels: Vec<String>,
    /// Least tokens of a budget.
    pub thinking_min: Option<u32>,
    /// Most tokens of a budget.
    pub thinking_max: Option<u32>,
    /// Whether thinking can be turned off; `None` means that it can.
    pub thinking_off: Option<bool>,
    /// Whether it shows what it thinks without being asked; `None` means that it does.
    pub thinking_shown: Option<bool>,
    /// Whether it takes a temperature; `None` means that it does.
    pub temperature: Option<bool>,
    /// Whether it can call tools. `false` turns the text protocol on.
    pub tools: Option<bool>,
    /// Whether it sees pictures.
    pub images: Option<bool>,
    /// Whether it reads PDF documents.
    pub pdf: Option<bool>,
}

/// How a model is told how much to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingKind {
    /// It does not think.
    None,
    /// By a number of tokens.
    Budget,
    /// By a word.
    Levels,
}

/// Dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Price {
    /// Read by the model, without those from or into a cache.
    pub input: f64,
    /// Written by the model, thinking included.
    pub output: f64,
    /// Read from the cache; as `input` when absent.
    #[serde(default)]
    pub cache_read: Option<f64>,
    /// Written into the cache for minutes; as `input` when absent.
    #[serde(default)]
    pub cache_write: Option<f64>,
    /// Written into the cache for an hour; as `cache_write` when absent.
    #[serde(default)]
    pub cache_write_long: Option<f64>,
    /// What a long prompt costs, as a whole.
    #[serde(default)]
    pub above: Option<Above>,
}

/// The prices of a request whose prompt is longer than `tokens`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Above {
    /// Tokens of the prompt, those from the cache included.
    pub tokens: u64,
    /// See [`Price::input`].
    pub input: f64,
    /// See [`Price::output`].
    pub output: f64,
    /// See [`Price::cache_read`].
    #[serde(default)]
    pub cache_read: Option<f64>,
}

/// Models that are reached in the same way.
#[derive(Debug, Deserialize)]
struct Group {
    providers: Vec<String>,
    /// What the beginning of a name tells about a model that is not listed.
    families: BTreeMap<String, Map<String, Value>>,
    models: BTreeMap<String, Map<String, Value>>,
}

static GROUPS: LazyLock<Vec<Group>> =
    LazyLock::new(|| serde_json::from_str(FILE).unwrap_or_default());

/// What is known of `name` at `provider`. `own` is what the user says about this
/// model, in the same fields as [`Model`]; what does not fit them is passed over.
pub fn model(provider: &str, name: &str, own: Option<&Value>) -> Model {
    let mut facts = listed(provider, name).unwrap_or_default();
    for (field, value) in own.and_then(Value::as_object).into_iter().flatten() {
        match (facts.get_mut(field), value) {
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

/// Every field that can be read; one that cannot is not known.
fn read(facts: Map<String, Value>) -> Model {
    match serde_json::from_value(Value::Object(facts.clone())) {
        Ok(model) => model,
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

/// The models that are listed for a provider, for those who choose one.
pub fn names(provider: &str) -> Vec<&'static str> {
    let of = |group: &&Group| group.providers.iter().any(|it| it == provider);
    let groups = GROUPS.iter().filter(of);
    groups
        .flat_map(|group| group.models.keys().map(String::as_str))
        .collect()
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
    let longest = families.max_by_key(|(prefix, _)| prefix.len());
    longest.map(|(_, facts)| facts.clone())
}

/// Whether `name` is `listed` with a date, a number of three digits or `latest`
/// behind it, as providers name one and the same model.
fn is_dated(name: &str, listed: &str) -> bool {
    let Some(rest) = name.strip_prefix(listed) else {
        return false;
    };
    let Some(version) = rest.strip_prefix(['-', '@']) else {
        return false;
    };
    let digits = version.bytes().filter(u8::is_ascii_digit).count();
    let only = version.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    version == "latest" || only && matches!(digits, 3 | 8)
}

impl Model {
    /// The model's own word for a level: the same, or the nearest that it knows.
    /// `None` when it goes by no levels.
    pub fn level(&self, wanted: Level) -> Option<&str> {
        let known = self.levels.iter().filter_map(|it| {
            let level = Level::named(it)?;
            Some(((level.abs_diff(wanted), it != wanted.name()), it.as_str()))
        });
        known
            .min_by_key(|(distance, _)| *distance)
            .map(|(_, word)| word)
    }

    /// A thinking budget within what the model takes.
    pub fn clamp_budget(&self, tokens: u32) -> u32 {
        let least = self.thinking_min.unwrap_or(1);
        tokens.clamp(least, self.thinking_max.unwrap_or(u32::MAX).max(least))
    }
}
