//! Tests how the answers of approval functions are interpreted.

use super::*;
use chat::approval::OnError;
use chat::tool::ToolUseId;
use serde_json::Value;

fn answer(ok: bool, value: Value, kind: &str) -> FunctionAnswer {
    FunctionAnswer {
        ok,
        value,
        kind: kind.to_owned(),
        message: None,
    }
}

fn decisions(functions: &[Function], replies: &[FunctionAnswer]) -> Vec<Option<Decision>> {
    let question = Question {
        call: CallKey {
            id: ToolUseId::new("t"),
            name: "bash".to_owned(),
            input: "{}".to_owned(),
        },
        input: json!({}),
        function: functions[0],
    };
    let mut answers = Answers::new();
    read(&question, functions, replies, &mut answers);
    answers.into_values().collect()
}

#[test]
fn a_function_that_fails_or_returns_a_wrong_value_makes_the_call_wait() {
    let wait = [Some(Decision::RequireApproval)];
    let policy = [Function::auto_approve(1)];
    for (reply, expected) in [
        (
            answer(true, json!(true), "boolean"),
            Some(Decision::Approve),
        ),
        (answer(true, Value::Null, "nil"), None),
        (answer(true, json!("deny"), "string"), Some(Decision::Deny)),
        (answer(true, json!("approve"), "string"), wait[0]),
        (answer(true, Value::Null, "table"), wait[0]),
        (answer(false, json!(true), "nil"), wait[0]),
        (answer(false, Value::Null, "gone"), wait[0]),
    ] {
        assert_eq!(decisions(&policy, &[reply]), [expected]);
    }
    assert_eq!(decisions(&policy, &[]), wait);
}

#[test]
fn resolvers_that_are_asked_together_each_get_their_answer() {
    let functions = [1, 2, 3].map(|id| Function::resolver(id, OnError::Pass));
    let replies = [
        answer(false, Value::Null, "nil"),
        answer(true, json!("approve"), "string"),
    ];
    assert_eq!(
        decisions(&functions, &replies),
        [None, Some(Decision::Approve)]
    );
}
