//! How much a model should think, independent of the provider.
//!
//! Levels and token budgets convert into each other. Knows neither encodings nor models.

/// Amount of thinking set by the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thinking {
    /// None, if the model can turn thinking off.
    Off,
    /// A level.
    Level(ThinkingLevel),
    /// At most this many tokens, at least 1.
    Budget(u32),
}

/// Level of thinking, the lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ThinkingLevel {
    /// `minimal`
    Minimal,
    /// `low`
    Low,
    /// `medium`
    Medium,
    /// `high`
    High,
    /// `xhigh`
    XHigh,
    /// `max`
    Max,
}

impl Thinking {
    /// Returns the token budget; 0 is off.
    pub fn budget(self) -> u32 {
        match self {
            Self::Off => 0,
            Self::Level(level) => level.budget(),
            Self::Budget(tokens) => tokens,
        }
    }

    /// Returns the level; `None` is off.
    pub fn level(self) -> Option<ThinkingLevel> {
        match self {
            Self::Off | Self::Budget(0) => None,
            Self::Level(level) => Some(level),
            Self::Budget(tokens) => Some(match tokens {
                0..=256 => ThinkingLevel::Minimal,
                257..=4096 => ThinkingLevel::Low,
                4097..=12_288 => ThinkingLevel::Medium,
                12_289..=20_480 => ThinkingLevel::High,
                20_481..=28_672 => ThinkingLevel::XHigh,
                _ => ThinkingLevel::Max,
            }),
        }
    }
}

impl ThinkingLevel {
    /// All levels, the lowest first.
    pub const ALL: [Self; 6] = [
        Self::Minimal,
        Self::Low,
        Self::Medium,
        Self::High,
        Self::XHigh,
        Self::Max,
    ];

    /// Returns the level with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
            Self::Max => "max",
        }
    }

    /// Returns the distance between two levels.
    pub fn abs_diff(self, other: Self) -> u8 {
        (self as u8).abs_diff(other as u8)
    }

    fn budget(self) -> u32 {
        match self {
            Self::Minimal => 128,
            Self::Low => 2048,
            Self::Medium => 8192,
            Self::High => 16_384,
            Self::XHigh => 24_576,
            Self::Max => 32_768,
        }
    }
}

/// Two options of a request that not every model takes.
#[derive(Debug)]
pub(crate) struct Carried<'a> {
    /// True if it has a temperature.
    pub temperature: bool,
    /// How much thinking it asks for.
    pub thinking: Amount<'a>,
}

/// How much thinking a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Amount<'a> {
    /// It leaves that to the model.
    Unsaid,
    /// None.
    Off,
    /// Some, as much as the model chooses.
    On,
    /// Only short notes between calls.
    BetweenTools,
    /// A level, in the model's or the server's terms.
    Level(&'a str),
    /// A number of tokens.
    Budget,
}

/// Limits a thinking budget to three quarters of `max_tokens`, because both count against
/// it and the answer needs the rest.
pub(crate) fn leaving_room(budget: u32, max_tokens: u32) -> u32 {
    // Not `max_tokens * 3 / 4`, which could overflow.
    budget.min(max_tokens - max_tokens / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_convert_to_tokens_and_names_and_back() {
        for level in ThinkingLevel::ALL {
            assert_eq!(Thinking::Budget(level.budget()).level(), Some(level));
            assert_eq!(ThinkingLevel::named(level.name()), Some(level));
        }
        assert_eq!(Thinking::Off.budget(), 0);
        assert_eq!(Thinking::Off.level(), None);
    }
}
