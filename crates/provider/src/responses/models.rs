//! Differences between OpenAI's models on the wire, beyond the catalogue.
//!
//! By prefix of the name. Unlisted models get none of these features.

/// The parameter that requests long caching of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LongCache {
    /// `prompt_cache_options`, which can also turn the cache off.
    Options,
    /// The older `prompt_cache_retention`.
    Retention,
}

/// Features of the models with this prefix; the first match counts.
struct Row {
    prefix: &'static str,
    long_cache: Option<LongCache>,
    /// Whether its answers contain phases that must be sent back.
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

/// Returns how to request long caching for `model`; `None` if it is not supported.
pub(super) fn long_cache(model: &str) -> Option<LongCache> {
    of(model)?.long_cache
}

/// Returns true if `model` needs to know which of its texts preceded calls.
pub(super) fn has_phases(model: &str) -> bool {
    of(model).is_some_and(|row| row.has_phases)
}

fn of(model: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| model.starts_with(row.prefix))
}
