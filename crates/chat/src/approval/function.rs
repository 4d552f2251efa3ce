//! Function-based approval resolvers and the interpretation of their answers.
//!
//! Knows the two answer formats, but neither calls a function nor knows its language.

use serde_json::Value;

use super::Decision;

/// Identifies a function and where it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FunctionId {
    /// In the editor, with this ID.
    Editor(u64),
    /// In the frontmatter of the chat.
    Frontmatter,
    /// In the host: the guard, see [`super::GUARD`].
    Guard,
    /// In the host: checks that a sandbox confines the call's programs.
    Held,
    /// In the host: checks that the call's target is as it was shown.
    Sight,
    /// In the host: the rules that the user chose at earlier calls.
    Remembered,
}

impl FunctionId {
    /// Returns true if the function runs in the editor.
    pub fn is_editor(self) -> bool {
        matches!(self, Self::Editor(_))
    }
}

/// A function that decides about calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Function {
    /// Its identity.
    pub id: FunctionId,
    /// Format of its answers.
    pub form: FunctionKind,
    /// Meaning of a failure.
    pub on_error: OnError,
}

/// Format of an answer; no value always means no opinion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionKind {
    /// `auto_approve`: `true`, `false`, `"deny"`.
    AutoApprove,
    /// A resolver: `"approve"`, `"require_approval"`, `"deny"`.
    Resolver,
}

/// Meaning of a failed or invalid answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnError {
    /// No opinion: ask the next resolver.
    Pass,
    /// The user must decide.
    RequireApproval,
    /// The call is denied: `fail = "closed"`.
    Deny,
}

/// Outcome of calling a function.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Returned<'a> {
    /// The returned value; nil is null.
    Value(&'a Value),
    /// The raised error.
    Error(&'a str),
    /// The function no longer exists or did not answer.
    Gone,
}

impl Function {
    /// The `auto_approve` function of the user's options. An error never approves.
    pub fn auto_approve(id: u64) -> Self {
        Self {
            id: FunctionId::Editor(id),
            form: FunctionKind::AutoApprove,
            on_error: OnError::RequireApproval,
        }
    }

    /// The `auto_approve` function of a chat's frontmatter.
    pub fn frontmatter() -> Self {
        Self {
            id: FunctionId::Frontmatter,
            ..Self::auto_approve(0)
        }
    }

    /// The host's guard for files.
    pub fn guard() -> Self {
        Self {
            id: FunctionId::Guard,
            // It answers in the form of `auto_approve`, and if it fails, the user decides.
            ..Self::auto_approve(0)
        }
    }

    /// The host's check that a sandbox confines a call.
    pub fn held() -> Self {
        Self {
            id: FunctionId::Held,
            ..Self::auto_approve(0)
        }
    }

    /// The host's check that a file is as it was shown.
    pub fn sight() -> Self {
        Self {
            id: FunctionId::Sight,
            ..Self::auto_approve(0)
        }
    }

    /// The rules that the user chose at earlier calls.
    pub fn remembered() -> Self {
        Self {
            id: FunctionId::Remembered,
            ..Self::auto_approve(0)
        }
    }

    /// A registered resolver.
    pub fn resolver(id: u64, on_error: OnError) -> Self {
        Self {
            id: FunctionId::Editor(id),
            form: FunctionKind::Resolver,
            on_error,
        }
    }

    /// Describes the function at the start of a sentence.
    pub fn subject(&self) -> &'static str {
        match self.form {
            FunctionKind::AutoApprove => "The function tools.auto_approve",
            FunctionKind::Resolver => "An approval resolver",
        }
    }

    /// Interprets an outcome. Returns a decision, or `None` for no opinion, and a sentence
    /// for the log if the answer was invalid.
    pub fn read(&self, returned: Returned<'_>) -> (Option<Decision>, Option<String>) {
        let what = match returned {
            // Nil is the usual way to have no opinion, so it is not a problem.
            Returned::Value(Value::Null) => return (None, None),
            Returned::Value(value) => match self.form.word(value) {
                Some(decision) => return (Some(decision), None),
                None => format!("returned {value}, but {}", self.form.words()),
            },
            Returned::Error(message) => format!("failed: {message}"),
            // The rules of a removed function are unknown, so `on_error` must not let the
            // call pass.
            Returned::Gone => {
                let problem = "no longer exists, so the call needs your approval".to_owned();
                return (Some(Decision::RequireApproval), Some(problem));
            }
        };
        let (decision, consequence) = match self.on_error {
            OnError::Pass => (None, "the next resolver is asked"),
            OnError::RequireApproval => (
                Some(Decision::RequireApproval),
                "the call needs your approval",
            ),
            OnError::Deny => (Some(Decision::Deny), "the call is denied"),
        };
        (decision, Some(format!("{what}; {consequence}")))
    }
}

impl FunctionKind {
    fn word(self, value: &Value) -> Option<Decision> {
        match (self, value) {
            (Self::AutoApprove, Value::Bool(true)) => Some(Decision::Approve),
            (Self::AutoApprove, Value::Bool(false)) => Some(Decision::RequireApproval),
            (_, Value::String(word)) => match (self, word.as_str()) {
                // Both forms know this word.
                (_, "deny") => Some(Decision::Deny),
                (Self::Resolver, "approve") => Some(Decision::Approve),
                (Self::Resolver, "require_approval") => Some(Decision::RequireApproval),
                _ => None,
            },
            _ => None,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::AutoApprove => "valid values are true, false, \"deny\", and nil",
            Self::Resolver => {
                "valid values are \"approve\", \"require_approval\", \"deny\", and nil"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const APPROVE: Option<Decision> = Some(Decision::Approve);
    const REQUIRE: Option<Decision> = Some(Decision::RequireApproval);
    const DENY: Option<Decision> = Some(Decision::Deny);

    fn decision(function: Function, value: &Value) -> Option<Decision> {
        function.read(Returned::Value(value)).0
    }

    #[test]
    fn each_form_has_its_own_values() {
        let rows = [
            (json!(true), APPROVE, None),
            (json!(false), REQUIRE, None),
            (json!("approve"), REQUIRE, APPROVE),
            (json!("require_approval"), REQUIRE, REQUIRE),
            (json!("deny"), DENY, DENY),
            (json!(null), None, None),
        ];
        for (value, auto_approve, resolver) in rows {
            let name = value.to_string();
            let policy = decision(Function::auto_approve(1), &value);
            assert_eq!(policy, auto_approve, "auto_approve {name}");
            let plugin = decision(Function::resolver(1, OnError::Pass), &value);
            assert_eq!(plugin, resolver, "resolver {name}");
        }
    }

    #[test]
    fn an_invalid_answer_never_approves_and_is_logged() {
        let forms = [
            Function::auto_approve(1),
            Function::frontmatter(),
            Function::resolver(1, OnError::Pass),
            Function::resolver(1, OnError::Deny),
        ];
        let odd = [
            json!("Approve"),
            json!(1),
            json!({}),
            json!("yes"),
            json!(["approve"]),
        ];
        for function in forms {
            for value in &odd {
                let (decision, problem) = function.read(Returned::Value(value));
                assert_ne!(decision, APPROVE, "{function:?} {value}");
                assert!(problem.is_some(), "{function:?} {value}");
            }
        }
    }

    #[test]
    fn an_invalid_answer_is_logged_with_the_valid_values() {
        let value = json!("perhaps");
        let problem = |function: Function| function.read(Returned::Value(&value)).1;
        let policy = problem(Function::auto_approve(1)).unwrap_or_default();
        assert!(
            policy.contains("valid values are true, false, \"deny\", and nil"),
            "{policy}"
        );
        let plugin = problem(Function::resolver(1, OnError::Pass)).unwrap_or_default();
        assert!(
            plugin.contains("valid values are \"approve\", \"require_approval\", \"deny\""),
            "{plugin}"
        );
    }

    #[test]
    fn on_error_passes_requires_approval_or_denies() {
        let error = Returned::Error("x.lua:1: boom");
        let read = |function: Function| function.read(error).0;
        assert_eq!(read(Function::resolver(1, OnError::Pass)), None);
        assert_eq!(read(Function::resolver(1, OnError::Deny)), DENY);
        assert_eq!(read(Function::auto_approve(1)), REQUIRE);
        assert_eq!(read(Function::frontmatter()), REQUIRE);
    }

    #[test]
    fn the_log_has_the_failure_and_its_consequence() {
        let said = |on_error: OnError, returned: Returned<'_>| {
            let function = Function::resolver(1, on_error);
            let (_, problem) = function.read(returned);
            format!("{} {}", function.subject(), problem.unwrap_or_default())
        };
        let failed = |on_error| said(on_error, Returned::Error("boom"));
        for (said, expected) in [
            (
                failed(OnError::Pass),
                "failed: boom; the next resolver is asked",
            ),
            (
                failed(OnError::RequireApproval),
                "failed: boom; the call needs your approval",
            ),
            (failed(OnError::Deny), "failed: boom; the call is denied"),
            (
                said(OnError::Pass, Returned::Gone),
                "no longer exists, so the call needs your approval",
            ),
        ] {
            assert_eq!(said, format!("An approval resolver {expected}"));
        }
        let policy = Function::auto_approve(1);
        assert_eq!(policy.subject(), "The function tools.auto_approve");
    }

    #[test]
    fn a_missing_function_requires_approval_even_if_errors_pass() {
        let plugin = Function::resolver(1, OnError::Pass);
        assert_eq!(plugin.read(Returned::Gone).0, REQUIRE);
    }
}
