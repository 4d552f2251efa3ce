//! Questions of a server during a call: they reach the caller, and only the caller answers,
//! in both eras of the protocol.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use mcp::{Called, Caller, Http, PinnedTools, Reach, Server, ServerEvent, ServerSpec};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tools::{Elicitation, Form, FormContent, FormReply, NoElicitation, Progress};

/// Gives the same reply to each question, and records the questions.
struct FixedReply {
    asked: Mutex<Vec<Form>>,
    reply: FormReply,
}

impl FixedReply {
    fn new(reply: FormReply) -> Arc<Self> {
        Arc::new(Self {
            asked: Mutex::default(),
            reply,
        })
    }
}

#[async_trait]
impl Elicitation for FixedReply {
    async fn ask(&self, form: Form) -> FormReply {
        self.asked.lock().unwrap().push(form);
        self.reply.clone()
    }
}

/// Never replies.
#[derive(Default)]
struct NeverReplies(Notify);

#[async_trait]
impl Elicitation for NeverReplies {
    async fn ask(&self, _form: Form) -> FormReply {
        self.0.notify_one();
        std::future::pending().await
    }
}

type Heard = Arc<Mutex<Vec<ServerEvent>>>;

fn fake(how: &str) -> (Arc<Server>, Heard) {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/mcp/fake.py");
    let argv = ["python3", &script.to_string_lossy(), how].map(str::to_owned);
    let spec = ServerSpec::new(
        "test",
        "fake",
        Reach::Program {
            argv: argv.into(),
            env: Default::default(),
            cwd: None,
        },
    );
    let heard = Heard::default();
    let hearing = heard.clone();
    let no_http = Http::new(|_| Err("HTTP is disabled in this test".to_owned()));
    let server = Server::new(spec, PinnedTools::Never, no_http, move |it| {
        hearing.lock().unwrap().push(it);
    });
    (server, heard)
}

async fn ask(server: &Server, elicitation: Arc<dyn Elicitation>, params: Value) -> Called {
    call(server, "ask", elicitation, params).await
}

async fn call(
    server: &Server,
    tool: &str,
    elicitation: Arc<dyn Elicitation>,
    params: Value,
) -> Called {
    let caller = Caller {
        progress: Progress::default(),
        elicitation,
        cancel: CancellationToken::new(),
        limit: Duration::from_secs(60),
    };
    let arguments = Map::from_iter([("value".to_owned(), params)]);
    server.call(tool, arguments, &caller).await
}

fn answered(value: &Value) -> Called {
    Called::Answered {
        text: python(value),
        files: Vec::new(),
        is_error: false,
    }
}

/// Formats JSON as Python does.
fn python(value: &Value) -> String {
    value
        .to_string()
        .replace("\":", "\": ")
        .replace(",\"", ", \"")
}

fn name() -> Value {
    json!({"message": "Who are you?", "requestedSchema": {
        "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"],
    }})
}

fn given() -> FormReply {
    FormReply::Accepted(Map::from_iter([("name".to_owned(), json!("Ann"))]))
}

#[tokio::test]
async fn a_question_reaches_the_caller_and_the_reply_the_server() {
    let (server, heard) = fake("well");
    let user = FixedReply::new(given());
    let called = ask(&server, user.clone(), name()).await;
    assert_eq!(
        called,
        answered(&json!({"action": "accept", "content": {"name": "Ann"}}))
    );
    let asked = user.asked.lock().unwrap().clone();
    assert_eq!(asked[0].by, "The MCP server \"fake\"");
    assert_eq!(asked[0].message, "Who are you?");
    assert!(matches!(&asked[0].wanted, FormContent::Fields(fields) if fields[0].required));
    assert_eq!(*heard.lock().unwrap(), [ServerEvent::Agreed]);
}

#[tokio::test]
async fn declining_and_dismissing_are_different_replies() {
    let (server, _) = fake("well");
    let no = ask(&server, FixedReply::new(FormReply::Declined), name()).await;
    assert_eq!(no, answered(&json!({"action": "decline"})));
    let later = ask(&server, FixedReply::new(FormReply::Cancelled), name()).await;
    assert_eq!(later, answered(&json!({"action": "cancel"})));
}

#[tokio::test]
async fn in_the_newest_era_a_reply_repeats_the_call() {
    let (server, _) = fake("modern");
    let called = ask(&server, FixedReply::new(given()), name()).await;
    let content = json!({"action": "accept", "content": {"name": "Ann"}});
    assert_eq!(called, answered(&json!([{"first": content}, "s1"])));
    let Called::Failed(why) = ask(&server, FixedReply::new(given()), json!("model")).await else {
        panic!("the request for a model succeeded");
    };
    assert!(
        why.starts_with("it asks for something that servers do not get: sampling/createMessage"),
        "{why}"
    );
}

#[tokio::test]
async fn without_a_user_a_question_is_declined_and_reported() {
    let (server, heard) = fake("well");
    let called = ask(&server, Arc::new(NoElicitation), Value::Null).await;
    assert_eq!(called, answered(&json!({"action": "decline"})));
    let declined = ServerEvent::Declined("Your password?".to_owned());
    assert!(heard.lock().unwrap().contains(&declined));
}

#[tokio::test]
async fn a_question_outside_a_call_is_declined() {
    let (server, heard) = fake("unasked");
    server.start().await.unwrap();
    let declined = ServerEvent::Declined("Your password?".to_owned());
    while !heard.lock().unwrap().contains(&declined) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_question_with_an_invalid_address_is_declined() {
    let (server, _) = fake("well");
    let user = FixedReply::new(given());
    let file =
        json!({"mode": "url", "message": "Go", "url": "file:///etc/passwd", "elicitationId": "1"});
    assert_eq!(
        ask(&server, user.clone(), file).await,
        answered(&json!({"action": "decline"}))
    );
    assert!(user.asked.lock().unwrap().is_empty());
    let web =
        json!({"mode": "url", "message": "Go", "url": "https://a.example/x", "elicitationId": "1"});
    let went = ask(
        &server,
        FixedReply::new(FormReply::Accepted(Map::new())),
        web,
    )
    .await;
    assert_eq!(went, answered(&json!({"action": "accept"})));
}

#[tokio::test]
async fn a_call_is_cancelled_during_its_question() {
    let (server, _) = fake("well");
    let silent = Arc::new(NeverReplies::default());
    let caller = Caller {
        progress: Progress::default(),
        elicitation: silent.clone(),
        cancel: CancellationToken::new(),
        limit: Duration::from_secs(60),
    };
    let call = server.call("ask", Map::new(), &caller);
    let (called, ()) = tokio::join!(call, async {
        silent.0.notified().await;
        caller.cancel.cancel();
    });
    assert_eq!(called, Called::Cancelled);
}

#[tokio::test]
async fn a_call_is_repeated_after_the_user_visited_its_addresses() {
    let (server, _) = fake("well");
    let user = FixedReply::new(FormReply::Accepted(Map::new()));
    let called = call(&server, "login", user.clone(), json!(2)).await;
    assert_eq!(
        called,
        Called::Answered {
            text: "in after 3 calls".to_owned(),
            files: Vec::new(),
            is_error: false
        }
    );
    let asked = user.asked.lock().unwrap().clone();
    let addresses: Vec<_> = asked.into_iter().map(|form| form.wanted).collect();
    let at = |number: u8| FormContent::Visit(format!("https://login.example/{number}"));
    assert_eq!(addresses, [at(1), at(2)]);
}

#[tokio::test]
async fn a_call_that_requires_a_visit_fails_if_declined_and_after_10_rounds() {
    let (server, heard) = fake("well");
    let failed = |called| match called {
        Called::Failed(why) => why,
        other => panic!("{other:?}"),
    };
    let no = call(
        &server,
        "login",
        FixedReply::new(FormReply::Declined),
        json!(99),
    )
    .await;
    assert_eq!(
        failed(no),
        "it requires the user to visit an address first, but the user declined: Log in to go on"
    );
    let unavailable = call(&server, "login", Arc::new(NoElicitation), json!(99)).await;
    assert!(failed(unavailable).contains("but there is no user to ask: Log in"));
    let declined = ServerEvent::Declined("Log in to go on".to_owned());
    assert!(heard.lock().unwrap().contains(&declined));
    let user = FixedReply::new(FormReply::Accepted(Map::new()));
    let endless = failed(call(&server, "login", user.clone(), json!(99)).await);
    assert_eq!(endless, "it asked 10 times instead of giving a result");
    assert_eq!(user.asked.lock().unwrap().len(), 10);
}
