//! A handle that passes text on while something runs.

use std::fmt;
use std::sync::Arc;

/// A cheap handle that passes on live output. It does nothing without a listener.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<Listener>>);

type Listener = dyn Fn(&str) + Send + Sync;

impl Progress {
    /// Calls `listener` with each batch of new output.
    pub fn new(listener: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listener)))
    }

    /// Passes on new output of the call.
    pub fn output(&self, text: &str) {
        if let Some(listener) = &self.0 {
            listener(text);
        }
    }

    /// Returns true if there is a listener.
    pub fn is_heard(&self) -> bool {
        self.0.is_some()
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Progress").field(&self.is_heard()).finish()
    }
}
