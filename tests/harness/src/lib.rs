//! Harness of the end-to-end tests and benches: a real Neovim with keys and a screen ([`Editor`]),
//! and a provider on the loopback that plays a script in a real wire format ([`Provider`]).
//!
//! It uses threads instead of an async runtime, so that a test reads from top to bottom. It shares no
//! code with `crates/provider`: the wire formats follow the providers' documentation, so that a
//! mistake in that crate is found. Errors panic, as usual in test libraries.
//!
//! ```no_run
//! use harness::{Answer, Provider, Setup};
//!
//! let provider = Provider::anthropic([Answer::says("Four.")]);
//! let editor = Setup::new()
//!     .provider(&provider)
//!     .file("sum.chat", "@You:\nTwo and two?\n")
//!     .start();
//! editor.keys("<C-]>");
//! editor.wait_text("Four.");
//! assert_eq!(provider.requests()[0].path, "/v1/messages");
//! ```

mod answer;
mod anthropic;
mod channel;
mod chat_completions;
mod delivery;
mod editor;
mod gate;
mod gemini;
mod gzip;
mod http;
mod inspect;
mod provider;
mod responses;
mod screen;
mod setup;
mod strict;

pub use answer::Answer;
pub use editor::{Editor, Mode, PATIENCE, is_running};
pub use gate::Gate;
pub use http::Recorded;
pub use inspect::Drawn;
pub use provider::Provider;
pub use setup::{Setup, neovim, repository};
pub use strict::{Accepted, Dialect, Refusal, Strict, Verdict};
