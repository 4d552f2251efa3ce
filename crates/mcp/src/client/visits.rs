//! Handles error -32042, "URL elicitation required": the server refuses a call until the
//! user has visited an address.
//!
//! The user is asked about each address; nothing opens it. Once the user has confirmed all
//! of them, the call is repeated.

use rmcp::service::ServiceError;
use serde_json::{Map, Value};
use tools::FormReply;

use super::peer::Peer;
use super::questions::Questions;
use crate::definition::clean;
use crate::elicit;

/// The error's code.
const NEEDED: i32 = -32042;
/// Maximum number of addresses per error.
const MOST: usize = 5;
/// Maximum bytes of a server's text in our messages.
const SAID: usize = 300;

/// Returns the addresses as parameters of `elicitation/create`; `None` for any other error
/// or without an address.
pub(super) fn wanted(error: &ServiceError) -> Option<Vec<Value>> {
    let ServiceError::McpError(error) = error else {
        return None;
    };
    let listed = error.data.as_ref()?["elicitations"].as_array()?;
    let is_needed = error.code.0 == NEEDED && !listed.is_empty();
    is_needed.then(|| listed.iter().take(MOST).map(address).collect())
}

/// Builds the parameters of a question from a listed address. The mode is fixed, so that
/// the server can't ask for anything but a visit.
fn address(listed: &Value) -> Value {
    let mut asked: Map<String, Value> = listed.as_object().cloned().unwrap_or_default();
    asked.insert("mode".to_owned(), "url".into());
    Value::Object(asked)
}

/// Asks the user about each address.
///
/// # Errors
///
/// The user declined one of them; a phrase.
pub(super) async fn ask(peer: &Peer, all: &[Value], questions: &Questions) -> Result<(), String> {
    for asked in all {
        let why = match peer.ask(asked, questions).await {
            FormReply::Accepted(_) => continue,
            FormReply::Declined => "the user declined",
            FormReply::Cancelled => "the user dismissed the question",
            FormReply::Unavailable => "there is no user to ask",
        };
        let message = clean(&elicit::summary(asked), SAID);
        return Err(format!(
            "it requires the user to visit an address first, but {why}: {message}"
        ));
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use rmcp::model::{ErrorCode, ErrorData};
    use serde_json::json;

    fn error(code: i32, data: Value) -> ServiceError {
        ServiceError::McpError(ErrorData::new(ErrorCode(code), "Go there", Some(data)))
    }

    #[test]
    fn only_error_32042_with_addresses_is_a_question() {
        let one = json!({"url": "https://a.example", "message": "Log in", "mode": "form"});
        let found = wanted(&error(NEEDED, json!({"elicitations": [one, 5]}))).unwrap();
        assert_eq!(found[0]["mode"], "url");
        assert_eq!(found[1], json!({"mode": "url"}));
        let many = json!({"elicitations": vec![one.clone(); 100]});
        assert_eq!(wanted(&error(NEEDED, many)).unwrap().len(), MOST);
        for (code, data) in [
            (-32600, json!({"elicitations": [one]})),
            (NEEDED, json!({"elicitations": []})),
            (NEEDED, json!({"elicitations": "https://a.example"})),
            (NEEDED, Value::Null),
        ] {
            assert_eq!(wanted(&error(code, data.clone())), None, "{code} {data}");
        }
        assert_eq!(wanted(&ServiceError::TransportClosed), None);
    }
}
