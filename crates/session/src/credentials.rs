//! Finds the key of a provider that is neither in `setup()` nor in the environment: asks
//! programs that store secrets, one after another, and keeps the key in memory.
//!
//! `places` lists the programs. A key is a type that does not print, and is never written
//! to a log, file, or argument.

mod places;

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use agent::transport::{Asker, WaitNote};
use async_trait::async_trait;
use chat::Problem;
use provider::Secret;
use tools::{Program, ProgramOutput};

use self::places::{Place, places};
pub use self::places::{Wanted, how_to_store};

/// Timeout of a program: a keyring may ask the user for a password first.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time for which a Google token is used; it is valid for an hour.
const TOKEN_LIFE: Duration = Duration::from_secs(55 * 60);
/// Maximum characters shown of a program's error message.
const COMPLAINT: usize = 160;

/// A key and its source.
#[derive(Debug, Clone)]
pub struct FoundKey {
    /// The key.
    pub key: Secret,
    /// For messages, as in "Set … and press Ctrl-]".
    pub source: String,
}

/// Serves the transport: shows what a request waits for, and finds a new key if the
/// provider refused the old one.
pub struct Keyed<N> {
    /// The keys that were found.
    pub keys: Keys,
    /// Shows what a request waits for.
    pub note: N,
}

#[async_trait]
impl<N: Fn(WaitNote) + Send + Sync> Asker for Keyed<N> {
    fn note(&self, note: WaitNote) {
        (self.note)(note);
    }

    async fn renew_key(&self, provider: &str) -> Option<Secret> {
        let note = |text| (self.note)(WaitNote::from(text));
        let found = self.keys.renew(provider, &note).await?;
        Some(found.key)
    }
}

struct Kept {
    wanted: Wanted,
    found: FoundKey,
    until: Option<Instant>,
}

/// The keys that were found in key stores, in memory.
#[derive(Clone, Default)]
pub struct Keys(Arc<Mutex<HashMap<String, Kept>>>);

impl Keys {
    fn kept(&self) -> MutexGuard<'_, HashMap<String, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a key: from memory, or from the first place that has it. Calls `note` with the
    /// program that runs.
    ///
    /// # Errors
    ///
    /// No place has it; each is named with the reason.
    pub async fn find(
        &self,
        wanted: &Wanted,
        note: &(dyn Fn(String) + Sync),
    ) -> Result<FoundKey, Problem> {
        if let Some(found) = self.remembered(wanted) {
            return Ok(found);
        }
        let mut reasons = vec![format!("${} is not set", wanted.variable)];
        for place in places(wanted) {
            let argv = place.argv(wanted);
            let program = argv.first().cloned().unwrap_or_default();
            note(format!(
                "asking {program} for the key of {}",
                wanted.provider
            ));
            match ask(&argv).await {
                Ok(key) => return Ok(self.keep(wanted, &place, key)),
                Err(reason) => {
                    tracing::info!(provider = wanted.provider, program, reason, "no key there");
                    reasons.push(format!("{} {reason}", place.subject(wanted)));
                }
            }
        }
        if wanted.command.is_none() {
            reasons.push(format!(
                "parameters.{}.api_key_command is not set",
                wanted.provider
            ));
        }
        Err(nowhere(wanted, &reasons))
    }

    /// Drops the stored key of a provider, which rejected it, and looks for it once more. `None` if
    /// the key did not come from here, or can no longer be found.
    async fn renew(&self, provider: &str, note: &(dyn Fn(String) + Sync)) -> Option<FoundKey> {
        // Removed first, so that `find` asks the program instead of the memory.
        let old = self.kept().remove(provider)?;
        self.find(&old.wanted, note).await.ok()
    }

    fn remembered(&self, wanted: &Wanted) -> Option<FoundKey> {
        let kept = self.kept();
        let it = kept.get(&wanted.provider)?;
        // A changed command or variable makes the stored key obsolete.
        let holds = it.wanted == *wanted && it.until.is_none_or(|until| Instant::now() < until);
        holds.then(|| it.found.clone())
    }

    fn keep(&self, wanted: &Wanted, place: &Place, key: Secret) -> FoundKey {
        let found = FoundKey {
            key,
            source: place.source(wanted),
        };
        let until = place.is_token().then(|| Instant::now() + TOKEN_LIFE);
        let entry = Kept {
            wanted: wanted.clone(),
            found: found.clone(),
            until,
        };
        self.kept().insert(wanted.provider.clone(), entry);
        found
    }
}

/// Returns the first line that the program prints; or why there is none, as a phrase that
/// follows the program's name.
async fn ask(argv: &[String]) -> Result<Secret, String> {
    let said = match Program::ask(argv, PATIENCE).await {
        Ok(said) => said,
        Err(error) => return Err(never_ran(&error)),
    };
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    // Some programs print further fields of the entry below the secret.
    let line = text.lines().next().unwrap_or_default().trim();
    match (said.status.success(), line.is_empty()) {
        (true, false) => Ok(Secret::new(line)),
        (true, true) => Err("has none".to_owned()),
        (false, _) => Err(complained(&said)),
    }
}

fn never_ran(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "is not installed".to_owned(),
        io::ErrorKind::TimedOut => format!("did not answer in {} s", PATIENCE.as_secs()),
        _ => format!("could not be started ({error})"),
    }
}

/// Explains why a program failed. One that fails without an error message has no such key.
fn complained(said: &ProgramOutput) -> String {
    let text = String::from_utf8_lossy(&said.stderr);
    let line: String = text
        .trim()
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        // The message may contain colors for a terminal.
        .filter(|c| !c.is_control())
        .take(COMPLAINT)
        .collect();
    match (said.status.code(), line.is_empty()) {
        // `secret-tool` exits this way if it found nothing.
        (Some(1), true) => "has none".to_owned(),
        (Some(code), true) => format!("failed with code {code}"),
        (_, false) => format!("failed ({line})"),
        (None, true) => "was killed".to_owned(),
    }
}

fn nowhere(wanted: &Wanted, reasons: &[String]) -> Problem {
    let what = format!(
        "There is no key for {}, so nothing was sent: {}.",
        wanted.provider,
        reasons.join("; ")
    );
    let fix = format!(
        "Set ${} and restart Neovim, or {}; `:Flemma tutor` needs no key.",
        wanted.variable,
        places::how_to_store(&wanted.provider)
    );
    Problem::new(what, fix)
}
