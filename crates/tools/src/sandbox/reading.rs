//! The sandbox of read-only calls.

use std::sync::OnceLock;

use super::{Backend, Sandbox, SandboxLimits, find_out};

impl Sandbox {
    /// The sandbox, turned off except for read-only calls.
    pub fn turned_off(self) -> Self {
        Self {
            reserve: self.given,
            given: None,
            limits: OnceLock::new(),
            ..self
        }
    }

    /// Whether read-only calls can be sandboxed. The first call in a process blocks for about 30 ms.
    pub fn can_hold_reading(&self) -> bool {
        let limits = self.given.as_ref().or(self.reserve.as_ref());
        limits.is_some() && find_out(&self.backend).is_ok()
    }

    /// The sandbox of a read-only call, with or without network. It also applies if the user turned
    /// the sandbox off. Without a working bubblewrap, the call runs like all others.
    pub fn reading(&self, network: bool) -> Self {
        let Some(limits) = self.given.as_ref().or(self.reserve.as_ref()) else {
            return self.clone();
        };
        let backend = Backend {
            // A sandbox that is turned off is not required.
            required: self.backend.required && self.given.is_some(),
            ..self.backend.clone()
        };
        let mut limits = limits.reading(network);
        // Reuses the secrets that the scan before the command found.
        limits.concealed = self.limits.get().and_then(|it| it.concealed.clone());
        if self.is_off() {
            // Other commands see the machine's `/tmp` then.
            limits.tmp = None;
        }
        Self::new(limits, backend)
    }
}

impl SandboxLimits {
    /// These limits without writable folders and privileges.
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
    fn a_read_only_call_cannot_write_and_has_a_network_only_on_request() {
        let limits = SandboxLimits {
            writable: vec!["/w".into()],
            kept: vec!["/w/k".into()],
            network: true,
            privileged: true,
            ..SandboxLimits::default()
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
            let given = held.given.as_ref().map(|it| SandboxLimits::clone(it));
            let given = given.unwrap_or_default();
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
