//! What reaches a run from outside while it goes on.
//!
//! Decides nothing: what follows from it is the cycle's business.

use chat::approval::CallKey;
use chat::tool::ToolUseId;
use provider::StreamEvent;
use tokio::sync::mpsc::UnboundedSender;
use tools::Ran;

/// Something that a run has to know.
#[derive(Debug)]
pub(crate) enum Input {
    /// The request of this number said something.
    Stream(u64, Vec<StreamEvent>),
    /// The request of this number waits for something.
    Waiting(u64, String),
    /// A call wrote something.
    Output(ToolUseId, String),
    /// A call ended.
    Ended(CallKey, Ran),
    /// The program decided about a call.
    Decided(CallKey, bool),
    /// The user speaks up.
    Steer(String),
    /// The user has more to say when the model is done.
    FollowUp(String),
    /// Nothing of it is wanted any more.
    Cancel,
}

/// Steers and cancels a conversation from anywhere, also while its run is being read.
#[derive(Debug, Clone)]
pub struct Remote(pub(crate) UnboundedSender<Input>);

impl Remote {
    /// Speaks up: calls that run end by themselves, those that did not start are skipped,
    /// and the model reads this next.
    pub fn steer(&self, words: impl Into<String>) {
        self.send(Input::Steer(words.into()));
    }

    /// Says this when the model is done with all that came before.
    pub fn follow_up(&self, words: impl Into<String>) {
        self.send(Input::FollowUp(words.into()));
    }

    /// Ends the request or the calls that go on; each call still gets a result. Where
    /// nothing goes on, nothing happens.
    pub fn cancel(&self) {
        self.send(Input::Cancel);
    }

    fn send(&self, input: Input) {
        // An agent that is gone has nothing to do.
        drop(self.0.send(input));
    }
}
