//! How much a model is to think, in the one way that holds for every provider.
//!
//! Levels and numbers of tokens stand for each other. How a provider spells them,
//! and what its models know of them, is not known here.

/// How much the model is to think, as the user set it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thinking {
    /// Not at all, where the model can do without.
    Off,
    /// As much as this.
    Level(Level),
    /// At most this many tokens, at least 1.
    Budget(u32),
}

/// A level of thinking, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
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
    /// In tokens; 0 is off. Source: "Unified thinking" in the reference.
    pub fn budget(self) -> u32 {
        match self {
            Self::Off => 0,
            Self::Level(level) => level.budget(),
            Self::Budget(tokens) => tokens,
        }
    }

    /// As a level; `None` is off. Source: "Unified thinking" in the reference.
    pub fn level(self) -> Option<Level> {
        match self {
            Self::Off | Self::Budget(0) => None,
            Self::Level(level) => Some(level),
            Self::Budget(tokens) => Some(match tokens {
                0..=256 => Level::Minimal,
                257..=4096 => Level::Low,
                4097..=12_288 => Level::Medium,
                12_289..=24_576 => Level::High,
                _ => Level::Max,
            }),
        }
    }
}

impl Level {
    /// The level of this name. `xhigh`, as some models name their greatest, is `max`.
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

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Max => "max",
        }
    }

    /// How many levels lie between this one and another.
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

/// A thinking budget that leaves a quarter of the answer's limit for the answer itself.
///
/// Providers count both against `max_tokens`, so a budget as large as that leaves no word.
pub(crate) fn leaving_room(budget: u32, max_tokens: u32) -> u32 {
    budget.min(max_tokens - max_tokens / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_convert_to_tokens_and_names_and_back() {
        for level in [
            Level::Minimal,
            Level::Low,
            Level::Medium,
            Level::High,
            Level::Max,
        ] {
            assert_eq!(Thinking::Budget(level.budget()).level(), Some(level));
            assert_eq!(Level::named(level.name()), Some(level));
        }
        assert_eq!(Thinking::Off.budget(), 0);
        assert_eq!(Thinking::Off.level(), None);
    }
}
