//! Conversations with services that check requests as the real ones do; `make test-strict` runs
//! these alone.
//!
//! Models with preserved thinking refuse a request in which anything before their thinking differs
//! from what they answered. So what was sent once must be sent again, whatever became of it.

mod changes;
mod claude;
mod editor;
mod editor_changes;
mod flows;
mod share;
mod summaries;

use harness::{Answer, Provider, Strict};
use serde_json::{Value as Json, json};

use crate::shell::{Ran, Shell};

/// Claude models with preserved thinking.
const CLAUDE: [&str; 4] = [
    "claude-opus-5-5",
    "claude-sonnet-5-5",
    "claude-haiku-5-5",
    "claude-fable-5-2",
];

/// What the service does with thinking whose prefix has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mismatch {
    /// It refuses the request, whatever that asks for.
    Refused,
    /// It drops the thinking, if the request asks for that.
    Dropped,
}

impl Mismatch {
    fn service(self) -> Strict {
        match self {
            Self::Refused => Strict::anthropic_without_dropping(),
            Self::Dropped => Strict::anthropic(),
        }
    }
}

/// A chat on the command line with one model.
struct Talk {
    shell: Shell,
    provider: Provider,
    model: &'static str,
    mismatch: Mismatch,
}

impl Talk {
    /// A chat with a service that checks requests.
    fn new(provider: Provider, model: &'static str) -> Self {
        let shell = Shell::new(&provider);
        let name = provider.name();
        shell.configure(&format!(
            "provider = \"{name}\"\nmodel = \"{model}\"\n[tools]\nrequire_approval = false\n"
        ));
        Self {
            shell,
            provider,
            model,
            mismatch: Mismatch::Refused,
        }
    }

    /// Appends answers to the script.
    fn script<const N: usize>(&self, answers: [Answer; N]) {
        answers.into_iter().for_each(|it| self.provider.then(it));
    }

    /// Sends a message.
    fn send(&self, message: &str) -> Ran {
        self.shell.run(&["send", "a.chat", "-m", message])
    }

    /// Sends a message, which must be answered.
    #[track_caller]
    fn ask(&self, message: &str) -> Ran {
        let ran = self.send(message);
        assert_eq!(ran.code, Some(0), "{self:?}\n{ran:?}\n{}", self.chat());
        ran
    }

    fn chat(&self) -> String {
        self.shell.read("a.chat")
    }

    /// Fails unless every request was accepted, nothing was dropped, and all thinking that the chat
    /// has from before the last answer was sent again.
    #[track_caller]
    fn expect_kept(&self) {
        assert_eq!(self.provider.refusals(), [""; 0], "{self:?}");
        assert_eq!(json!(self.provider.dropped()), json!([]), "{self:?}");
        let chat = self.chat();
        let (before, _) = chat.rsplit_once("@Assistant:").unwrap();
        let thoughts = signatures(before);
        assert!(!thoughts.is_empty(), "{self:?}: no thinking in\n{chat}");
        let requests = self.provider.requests();
        let last = requests.last().unwrap().body.to_string();
        for thought in thoughts {
            assert!(
                last.contains(thought),
                "{self:?}: thinking is missing in {last}"
            );
        }
    }

    /// The body of the latest request.
    fn last(&self) -> Json {
        let requests = self.provider.requests();
        requests.last().unwrap().body.clone()
    }
}

impl std::fmt::Debug for Talk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} with a mismatch {:?}", self.model, self.mismatch)
    }
}

/// Plays a scenario with each Claude model, at a service that refuses changed prefixes, and once at one
/// that drops thinking.
#[track_caller]
fn with_each_claude(scenario: impl Fn(&Talk)) {
    let refusing = CLAUDE.map(|model| (model, Mismatch::Refused));
    for (model, mismatch) in refusing.into_iter().chain([(CLAUDE[0], Mismatch::Dropped)]) {
        let provider = Provider::anthropic([""; 0]).strict(mismatch.service());
        let talk = Talk {
            mismatch,
            ..Talk::new(provider, model)
        };
        scenario(&talk);
    }
}

/// The signatures of thinking in a chat.
fn signatures(chat: &str) -> Vec<&str> {
    let marked = chat.split("anthropic:signature=\"").skip(1);
    marked.filter_map(|it| it.split('"').next()).collect()
}

/// A call that changes a text of a file.
fn edit(id: &str, path: &str, old: &str, new: &str) -> Answer {
    let input =
        json!({"label": "edit", "path": path, "oldText": old, "newText": new, "edits": null});
    Answer::new()
        .thinks("I edit it.")
        .tool_use(id, "edit", &input)
}

/// An answer that only speaks, after some thinking.
fn says(text: &str) -> Answer {
    Answer::new().thinks("Well.").text(text)
}
