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
                12_289..=24_576 => ThinkingLevel::High,
                _ => ThinkingLevel::Max,
            }),
        }
    }
}

impl ThinkingLevel {
    /// Returns the level with this name. `xhigh`, the name of some models for the highest,
    /// is `max`.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "minimal" => Self::Minimal,
            "low" => Self::Low,
            "medium" => Self::Medium,
            "high" => Self::High,
            "max" | "xhigh" => Self::Max,
            _ => return None,
        })
    }

    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
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
            Self::Max => 32_768,
        }
    }
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
        for level in [
            ThinkingLevel::Minimal,
            ThinkingLevel::Low,
            ThinkingLevel::Medium,
            ThinkingLevel::High,
            ThinkingLevel::Max,
        ] {
            assert_eq!(Thinking::Budget(level.budget()).level(), Some(level));
            assert_eq!(ThinkingLevel::named(level.name()), Some(level));
        }
        assert_eq!(Thinking::Off.budget(), 0);
        assert_eq!(Thinking::Off.level(), None);
    }
}
