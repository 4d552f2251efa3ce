//! When summaries are written.

use crate::options::{ContextSettings, share};

impl ContextSettings {
    /// Returns the share of the context, from 0 to 1, from which a summary is offered; `None` if never.
    pub fn compact_at(&self) -> Option<f64> {
        let percents = self.compact_at.as_str().and_then(share)?;
        Some(f64::from(percents) / 100.0)
    }
}
