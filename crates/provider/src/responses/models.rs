//! What OpenAI's models differ in on the wire, beyond what the catalogue tells.
//!
//! By the beginning of a name. A model that no row names gets none of it.

/// How a model is asked to keep a prompt for long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LongCache {
    /// `prompt_cache_options`, which can also turn the cache off.
    Options,
    /// The older `prompt_cache_retention`.
    Retention,
}

/// A row for the models whose names begin so; the first that fits counts.
struct Row {
    prefix: &'static str,
    long_cache: Option<LongCache>,
    /// Whether its answers carry the phase they belong to, and want it again.
    has_phases: bool,
}

/// Sources: "Prompt caching" and the field `phase` in OpenAI's API reference.
const ROWS: [Row; 7] = [
    row("gpt-6", Some(LongCache::Options), true),
    row("gpt-5.6", Some(LongCache::Options), true),
    row("gpt-5.5", Some(LongCache::Retention), true),
    row("gpt-5.4", Some(LongCache::Retention), true),
    row("gpt-5.3", Some(LongCache::Retention), true),
    row("gpt-5", Some(LongCache::Retention), false),
    row("gpt-4.1", Some(LongCache::Retention), false),
];

const fn row(prefix: &'static str, long_cache: Option<LongCache>, has_phases: bool) -> Row {
    Row {
        prefix,
        long_cache,
        has_phases,
    }
}

/// How `model` is asked to keep a prompt for long; `None` when it cannot be.
pub(super) fn long_cache(model: &str) -> Option<LongCache> {
    of(model)?.long_cache
}

/// Whether `model` wants to know which of its texts came before calls.
pub(super) fn has_phases(model: &str) -> bool {
    of(model).is_some_and(|row| row.has_phases)
}

fn of(model: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| model.starts_with(row.prefix))
}
