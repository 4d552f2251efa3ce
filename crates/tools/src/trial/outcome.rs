//! What a trial showed, in one of a few classes, and in words.

use std::time::Duration;

/// What a trial showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing changed, apart from ignored files.
    NoEffect,
    /// Files would change, as shown.
    Changes,
    /// It failed, and tried to reach the network.
    Network,
    /// It failed because of the view; the sign of that in its output.
    Hindered(&'static str),
    /// Its changes can't be applied: a clause about the command.
    CannotBeApplied(String),
    /// It was stopped at its time limit, or at the limit of what a trial may write: a clause.
    Stopped(String),
}

/// Signs in the output of a command that failed because of its view, and what is said of such a one
/// in the read-only view, to follow "asks:".
pub(crate) const SIGNS: [(&str, &str); 4] = [
    (
        "Read-only file system",
        "was hindered in the read-only view (Read-only file system)",
    ),
    // Also of a hidden secret, or of what is not shown of the home folder.
    (
        "Permission denied",
        "was hindered in the read-only view (Permission denied)",
    ),
    (
        "Operation not permitted",
        "was hindered in the read-only view (Operation not permitted)",
    ),
    (
        "Value too large for defined data type",
        "was hindered in the read-only view (Value too large)",
    ),
];

/// What is known of a trial that ended.
#[derive(Debug)]
pub(super) struct Facts<'a> {
    /// The exit code. `None` if it was stopped, or killed by a signal.
    pub code: Option<i32>,
    /// Its output.
    pub output: &'a str,
    /// Packets that were refused.
    pub refused: u64,
    /// Whether nothing of a project changed, apart from ignored files.
    pub is_without_effect: bool,
    /// Why its changes can't be applied.
    pub obstacle: Option<String>,
    /// Why it was stopped: a clause.
    pub stopped: Option<String>,
}

impl Outcome {
    /// Classifies a trial.
    pub(super) fn of(facts: Facts<'_>) -> Self {
        let failed = facts.code != Some(0);
        let mut signs = SIGNS.into_iter().map(|(sign, _)| sign);
        let sign = signs.find(|it| facts.output.contains(it));
        if let Some(why) = facts.stopped {
            Self::Stopped(why)
        } else if failed && facts.refused > 0 {
            Self::Network
        } else if let Some(sign) = sign.filter(|_| failed) {
            Self::Hindered(sign)
        } else if let Some(why) = facts.obstacle {
            Self::CannotBeApplied(why)
        } else if facts.is_without_effect {
            Self::NoEffect
        } else {
            Self::Changes
        }
    }

    /// Whether an approval takes the outcome instead of running the command.
    pub fn can_be_taken(&self) -> bool {
        matches!(self, Self::NoEffect | Self::Changes)
    }

    /// Why approving runs the command instead of taking the outcome: a clause. `None` if it takes it.
    pub fn reason(&self) -> Option<String> {
        Some(match self {
            Self::NoEffect | Self::Changes => return None,
            Self::Network => "it needs the network".to_owned(),
            Self::Hindered(sign) => format!("the trial was in its way ({sign})"),
            Self::CannotBeApplied(why) | Self::Stopped(why) => why.clone(),
        })
    }
}

/// The clause about a time limit.
pub(super) fn time_limit(limit: Duration) -> String {
    format!("it took more than {} seconds", limit.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(code: i32, output: &str) -> Facts<'_> {
        Facts {
            code: Some(code),
            output,
            refused: 0,
            is_without_effect: true,
            obstacle: None,
            stopped: None,
        }
    }

    #[test]
    fn each_trial_has_one_outcome() {
        assert_eq!(Outcome::of(facts(0, "")), Outcome::NoEffect);
        assert_eq!(Outcome::of(facts(1, "no match")), Outcome::NoEffect);
        let changes = Facts {
            is_without_effect: false,
            ..facts(0, "Permission denied is only mentioned")
        };
        assert_eq!(Outcome::of(changes), Outcome::Changes);
        let offline = |code| Facts {
            refused: 3,
            ..facts(code, "")
        };
        assert_eq!(Outcome::of(offline(6)), Outcome::Network);
        assert_eq!(Outcome::of(offline(0)), Outcome::NoEffect);
        assert_eq!(
            Outcome::of(facts(1, "touch: /etc/x: Read-only file system")),
            Outcome::Hindered("Read-only file system")
        );
        let git = Facts {
            obstacle: Some("it changes Git's own files".to_owned()),
            is_without_effect: false,
            ..facts(0, "")
        };
        assert_eq!(
            Outcome::of(git).reason().as_deref(),
            Some("it changes Git's own files")
        );
        let stopped = Facts {
            code: None,
            stopped: Some(time_limit(Duration::from_millis(1500))),
            refused: 1,
            ..facts(0, "Permission denied")
        };
        let stopped = Outcome::of(stopped);
        assert!(!stopped.can_be_taken());
        assert_eq!(
            stopped.reason().as_deref(),
            Some("it took more than 1.5 seconds")
        );
    }
}
