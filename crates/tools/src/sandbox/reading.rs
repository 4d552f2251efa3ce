//! The sandbox of a call that may only read.

use std::sync::OnceLock;

use super::{Backend, Limits, Sandbox, find_out};

impl Sandbox {
    /// The same, turned off for all calls but those that may only read.
    pub fn turned_off(self) -> Self {
        Self {
            reserve: self.given,
            given: None,
            limits: OnceLock::new(),
            backend: self.backend,
        }
    }

    /// Whether calls that may only read can be held. The first time in a process, this
    /// waits some 30 ms.
    pub fn can_hold_reading(&self) -> bool {
        let limits = self.given.as_ref().or(self.reserve.as_ref());
        limits.is_some() && find_out(&self.backend).is_ok()
    }

    /// The sandbox for a call that may only read, with the network or without. It holds
    /// also where the user turned the sandbox off; where it cannot, the call runs as the
    /// others do.
    pub fn reading(&self, network: bool) -> Self {
        let Some(limits) = self.given.as_ref().or(self.reserve.as_ref()) else {
            return self.clone();
        };
        let backend = Backend {
            // Turned off, it was not required either.
            required: self.backend.required && self.given.is_some(),
            ..self.backend.clone()
        };
        let mut limits = limits.reading(network);
        // Those that were found when files were looked through for the command.
        limits.concealed = self.limits.get().and_then(|it| it.concealed.clone());
        if self.is_off() {
            // Where the sandbox is off, all others see the machine's `/tmp`.
            limits.tmp = None;
        }
        Self::new(limits, backend)
    }
}

impl Limits {
    /// These limits with nothing to write, and no privileges.
    fn reading(&self, network: bool) -> Self {
        Self {
            writable: Vec::new(),
            network,
            privileged: false,
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_only_read_writes_nothing_and_has_the_network_only_if_it_needs_it() {
        let limits = Limits {
            writable: vec!["/w".into()],
            kept: vec!["/w/k".into()],
            network: true,
            privileged: true,
            ..Limits::default()
        };
        let sandbox = Sandbox::new(
            limits,
            Backend {
                required: true,
                ..Backend::default()
            },
        );
        for network in [false, true] {
            let held = sandbox.reading(network);
            let given = held.given.clone().unwrap_or_default();
            assert!(given.writable.is_empty() && !given.privileged);
            assert_eq!(given.network, network);
            assert_eq!(given.kept.len(), 1);
            assert!(held.backend.required);
        }
        let off = sandbox.turned_off();
        assert!(off.is_off() && off.limits().is_none());
        let held = off.reading(false);
        assert!(!held.is_off() && !held.backend.required);
        assert!(Sandbox::off().reading(false).is_off());
    }
}
