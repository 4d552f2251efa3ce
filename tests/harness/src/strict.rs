//! Services that check requests as the real ones do: order, pairing, ids, names, parameters per
//! model, and what they issued before. Pure: it sees requests and answers, and returns verdicts.
//!
//! Each rule follows the documentation of its provider as of November 2026, or the type definitions
//! of its SDK; error messages are spelled as the provider spells them, where that is known.

mod anthropic;
mod chat_completions;
mod claude;
mod gemini;
mod prefix;
mod responses;
mod schemas;
mod token;

use serde_json::{Value as Json, json};

use crate::answer::Answer;
use crate::http::Recorded;

pub(crate) use self::anthropic::found;
use self::token::Account;

/// A service with strict checks. It remembers what it issued.
pub struct Strict {
    service: Service,
    account: Account,
    issued: Vec<Issued>,
}

/// A service, and how it differs from others with the same protocol.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Service {
    Anthropic {
        /// True if `drop_block` is honored. Otherwise each changed prefix is refused.
        drops_blocks: bool,
        /// True if `anthropic-beta` is understood, unlike at some gateways.
        has_betas: bool,
    },
    Responses,
    Gemini,
    ChatCompletions(Dialect),
}

/// A service with the Chat Completions API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// OpenAI.
    OpenAi,
    /// Mistral: call ids have nine letters and digits.
    Mistral,
    /// DeepSeek: the reasoning before a call must be sent back.
    DeepSeek,
}

/// An answer as it was issued: its content in the form in which a client sends it back.
#[derive(Debug, Clone)]
struct Issued {
    model: String,
    content: Vec<Json>,
    /// True if the answer goes on with the next request.
    paused: bool,
}

/// What the service does with a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It answers.
    Accepted(Accepted),
    /// It answers with an error.
    Refused(Refusal),
}

/// How an accepted request is read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Accepted {
    /// The thinking that the model does not see, as entries of `input_transformations`.
    pub dropped: Vec<Json>,
    /// True if the answer reports it.
    pub reports: bool,
}

/// An error response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The message, without the provider's JSON around it.
    pub message: String,
}

/// The result of a check without further findings.
type Checked = Result<(), Refusal>;

/// Refuses a request with status 400.
fn refuse<T>(message: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal {
        status: 400,
        message: message.into(),
    })
}

impl Strict {
    /// Anthropic's Messages API, for an account with the prefix check.
    pub fn anthropic() -> Self {
        Self::new(Service::Anthropic {
            drops_blocks: true,
            has_betas: true,
        })
    }

    /// Anthropic's Messages API, which refuses every changed prefix, whatever the request asks for.
    pub fn anthropic_without_dropping() -> Self {
        Self::new(Service::Anthropic {
            drops_blocks: false,
            has_betas: true,
        })
    }

    /// A gateway to Anthropic's Messages API that refuses beta headers.
    pub fn anthropic_without_betas() -> Self {
        Self::new(Service::Anthropic {
            drops_blocks: false,
            has_betas: false,
        })
    }

    /// OpenAI's Responses API.
    pub fn responses() -> Self {
        Self::new(Service::Responses)
    }

    /// Gemini's API.
    pub fn gemini() -> Self {
        Self::new(Service::Gemini)
    }

    /// A service with the Chat Completions API.
    pub fn chat_completions(dialect: Dialect) -> Self {
        Self::new(Service::ChatCompletions(dialect))
    }

    /// The same service for another account, which cannot read everything that this one issues.
    pub fn for_account(mut self, name: &str) -> Self {
        self.account = Account::named(name);
        self
    }

    fn new(service: Service) -> Self {
        Self {
            service,
            account: Account::named("first"),
            issued: Vec::new(),
        }
    }

    /// Checks a request.
    pub fn check(&self, request: &Recorded) -> Verdict {
        let checked = match self.service {
            Service::Anthropic { .. } => anthropic::check(self, request),
            Service::Responses => {
                responses::check(self, &request.body).map(|()| Accepted::default())
            }
            Service::Gemini => gemini::check(self, request).map(|()| Accepted::default()),
            Service::ChatCompletions(dialect) => {
                chat_completions::check(self, dialect, &request.body).map(|()| Accepted::default())
            }
        };
        match checked {
            Ok(accepted) => Verdict::Accepted(accepted),
            Err(refusal) => Verdict::Refused(refusal),
        }
    }

    /// Issues the answer to an accepted request: signs its thinking and remembers it. Returns the
    /// answer as the client gets it.
    pub fn issue(&mut self, request: &Recorded, mut answer: Answer) -> Answer {
        answer.serial = self.issued.len() + 1;
        let issued = match self.service {
            Service::Anthropic { .. } => anthropic::issue(self, request, &mut answer),
            Service::Responses => responses::issue(self, request, &mut answer),
            Service::Gemini => gemini::issue(self, request, &mut answer),
            Service::ChatCompletions(_) => chat_completions::issue(request, &answer),
        };
        self.issued.push(issued);
        answer
    }

    /// The body of an error response.
    pub(crate) fn error_body(&self, refusal: &Refusal) -> Json {
        let message = &refusal.message;
        match self.service {
            Service::Anthropic { .. } => {
                let kind = match refusal.status {
                    413 => "request_too_large",
                    _ => "invalid_request_error",
                };
                json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"})
            }
            Service::Gemini => json!({"error": {
                "code": refusal.status, "message": message, "status": "INVALID_ARGUMENT",
            }}),
            Service::Responses | Service::ChatCompletions(_) => json!({"error": {
                "message": message, "type": "invalid_request_error", "param": null, "code": null,
            }}),
        }
    }
}

/// The entries of a list; none if it is not one.
fn list(value: &Json) -> &[Json] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A string; empty if it is not one.
fn text(value: &Json) -> &str {
    value.as_str().unwrap_or_default()
}
