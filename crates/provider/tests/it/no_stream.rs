//! Messages to the user about answers that are not event streams.

use chat::Problem;
use provider::{Decoder, Endpoint, Protocol, Secret, StopReason, StreamEvent, explain};
use serde_json::{Value, json};

const KEY: &str = "sk-ant-api03-secret";

fn anthropic() -> Endpoint {
    Endpoint {
        provider: "anthropic".to_owned(),
        protocol: Protocol::AnthropicMessages,
        base_url: "https://api.anthropic.com".to_owned(),
        api_key: Some(Secret::new(KEY)),
        key_source: "$ANTHROPIC_API_KEY".to_owned(),
        ca_file: None,
    }
}

fn local() -> Endpoint {
    Endpoint {
        provider: "openai_compatible".to_owned(),
        protocol: Protocol::ChatCompletions,
        base_url: "http://127.0.0.1:8080".to_owned(),
        api_key: None,
        key_source: "$OPENAI_API_KEY".to_owned(),
        ca_file: None,
    }
}

#[track_caller]
fn check(problem: &Problem, message: &str) {
    assert_eq!(problem.to_string(), message);
}

/// Decodes `body` as a stream and compares the only event, an error.
#[track_caller]
fn check_decoded(body: &str, message: &str) {
    for protocol in [Protocol::AnthropicMessages, Protocol::ChatCompletions] {
        let mut decoder = Decoder::new(protocol);
        let mut events = decoder.push(body.as_bytes());
        events.extend(decoder.finish());

        let [StreamEvent::Error(problem)] = events.as_slice() else {
            panic!("expected one error, got {events:?}");
        };
        check(problem, message);
    }
}

mod explained {
    use super::*;

    #[test]
    fn a_refused_key_names_its_source() {
        let body = br#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#;

        check(
            &explain(&anthropic(), 401, Some("application/json"), None, body),
            "Anthropic refused the key (401, invalid x-api-key). Set $ANTHROPIC_API_KEY (in Neovim by :let), run :Flemma restart, and press Ctrl-] again; the conversation is unchanged.",
        );
    }

    #[test]
    fn a_missing_key_is_reported_as_missing() {
        check(
            &explain(&local(), 401, None, None, b""),
            "The server at http://127.0.0.1:8080 requires a key, but none is set (401, without a message). Set $OPENAI_API_KEY (in Neovim by :let), run :Flemma restart, and press Ctrl-] again; the conversation is unchanged.",
        );
    }

    #[test]
    fn an_echoed_key_is_redacted() {
        let json = format!(r#"{{"error":{{"message":"bad key {KEY}"}}}}"#);
        let page = format!("<html>{}{KEY}", "x".repeat(185));

        let from_json = explain(&anthropic(), 401, None, None, json.as_bytes()).to_string();
        let from_page = explain(&anthropic(), 502, None, None, page.as_bytes()).to_string();

        assert!(from_json.contains("bad key [redacted]"), "{from_json}");
        assert!(!from_page.contains("sk-"), "{from_page}");
    }

    #[test]
    fn an_unknown_model_or_address_names_the_base_url() {
        let body =
            br#"{"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}"#;

        check(
            &explain(&anthropic(), 404, None, None, body),
            "Anthropic does not know this model or address (404, model: claude-9). Check the model's name and the base URL https://api.anthropic.com, then press Ctrl-] again; the conversation is unchanged.",
        );
    }

    #[test]
    fn a_base_url_without_its_version_gets_a_hint() {
        check(
            &explain(
                &local(),
                404,
                Some("text/plain"),
                None,
                b"404 page not found\n",
            ),
            "The server at http://127.0.0.1:8080 does not know this model or address (404, 404 page not found). Check the model's name and the base URL http://127.0.0.1:8080 (it usually ends in /v1), then press Ctrl-] again; the conversation is unchanged.",
        );
    }

    #[test]
    fn a_rate_limit_gives_the_delay() {
        let body =
            br#"{"type":"error","error":{"type":"rate_limit_error","message":"Rate limited."}}"#;

        check(
            &explain(&anthropic(), 429, None, Some("30"), body),
            "Anthropic accepts no more requests for now (429, Rate limited). Press Ctrl-] again in 30 s; the conversation is unchanged.",
        );
    }

    #[test]
    fn a_rate_limit_may_give_a_date() {
        let problem = explain(
            &anthropic(),
            429,
            None,
            Some("Fri, 21 Nov 2025 10:00:00 GMT"),
            b"",
        );

        assert!(
            problem
                .fix
                .contains("again after Fri, 21 Nov 2025 10:00:00 GMT"),
            "{problem}"
        );
    }

    #[test]
    fn a_conversation_that_is_too_long_is_reported() {
        let said = [
            "prompt is too long: 210000 tokens > 200000 maximum",
            "This model's maximum context length is 8192 tokens.",
            "the request exceeds the available context size. try increasing the context size",
            "The input token count (1200000) exceeds the maximum number of tokens allowed",
            "input length and max_tokens exceed context limit: 1 + 2 > 3",
        ];
        for message in said {
            let body = format!(r#"{{"error":{{"message":"{message}"}}}}"#);
            let problem = explain(&anthropic(), 400, None, None, body.as_bytes()).to_string();

            assert!(problem.starts_with("The conversation is too long for the model (400, "));
            assert!(
                problem.contains("nothing was cut from it. Delete earlier turns"),
                "{problem}"
            );
        }
    }

    #[test]
    fn a_413_is_about_the_size_of_the_request() {
        check(
            &explain(&anthropic(), 413, None, None, br#"{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#),
            "Anthropic refused the request as too large (413, Request exceeds the maximum size). Remove files or large results from the chat, or make them smaller, and press Ctrl-] again.",
        );
        let problem = explain(&anthropic(), 413, None, None, b"");
        assert!(
            problem
                .what
                .contains("as too large (413, without a message)"),
            "{problem}"
        );
    }

    #[test]
    fn a_gateways_page_is_quoted_as_what_it_is() {
        let page = b"<html>\n<head><title>413 Request Entity Too Large</title></head>\n<body></body></html>";
        check(
            &explain(&anthropic(), 413, Some("text/html"), None, page),
            "The server at https://api.anthropic.com answered 413 with a web page that says \"413 Request Entity Too Large\". Such pages come from a gateway or a proxy. Remove files or large results from the chat, or make them smaller, and press Ctrl-] again.",
        );
        let page = b"<!DOCTYPE html><title>Access denied</title>";
        for status in [400, 401, 403, 407] {
            let problem = explain(&anthropic(), status, Some("text/html"), None, page);
            let what = format!("answered {status} with a web page that says \"Access denied\"");
            assert!(problem.what.contains(&what), "{problem}");
            assert!(problem.fix.contains("the proxy"), "{problem}");
        }
    }

    #[test]
    fn a_403_is_a_refused_key_only_if_it_says_so() {
        for (body, is_key) in [
            (
                &br#"{"error":{"message":"Your API key does not have permission"}}"#[..],
                true,
            ),
            (br#"{"error":{"message":"Invalid credentials"}}"#, true),
            (
                br#"{"error":{"message":"Country, region, or territory not supported"}}"#,
                false,
            ),
            (br#"{"error":"Blocked by policy"}"#, false),
            (
                b"Access to this site is blocked by your administrator.",
                false,
            ),
            (b"", false),
        ] {
            let problem = explain(&anthropic(), 403, None, None, body);
            assert_eq!(
                problem.what.contains("refused the key"),
                is_key,
                "{problem}"
            );
            assert_eq!(problem.fix.contains("the proxy"), !is_key, "{problem}");
        }
    }

    #[test]
    fn other_refusals_quote_the_server() {
        let body = br#"{"error":{"message":"tools.0.name: invalid"}}"#;

        check(
            &explain(&anthropic(), 400, None, None, body),
            "Anthropic refused the request (400, tools.0.name: invalid). Correct what it names and press Ctrl-] again; the conversation is unchanged.",
        );
    }

    #[test]
    fn an_overloaded_provider_is_reported_as_such() {
        let body =
            br#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;

        check(
            &explain(&anthropic(), 529, None, None, body),
            "Anthropic failed or is overloaded (529, Overloaded). Press Ctrl-] again in a moment; the conversation is unchanged.",
        );
    }

    #[test]
    fn a_page_is_quoted_on_one_clean_line() {
        check(
            &explain(
                &local(),
                502,
                Some("text/html"),
                None,
                b"<html>\r\n<h1>Bad\x07 Gateway</h1>\n",
            ),
            "The server at http://127.0.0.1:8080 answered 502 with a web page that says \"Bad Gateway\". Such pages come from a gateway or a proxy. Press Ctrl-] again in a moment; the conversation is unchanged.",
        );
    }

    #[test]
    fn a_success_without_a_stream_mentions_the_base_url() {
        check(
            &explain(
                &local(),
                200,
                Some("text/html"),
                None,
                b"<!doctype html><title>Router</title>",
            ),
            "The server at http://127.0.0.1:8080 answered with something other than an event stream (200, a web page that says \"Router\"), so there is no answer. Check the base URL and press Ctrl-] again; the conversation is unchanged.",
        );
    }
}

mod decoded {
    use super::*;

    #[test]
    fn an_empty_body_has_no_content() {
        let message = "The provider's answer has no content. Press Ctrl-] to try again; the conversation is unchanged.";
        check_decoded("", message);
        check_decoded("\n\n", message);
    }

    #[test]
    fn a_page_is_quoted_up_to_200_bytes() {
        let page = format!("<!DOCTYPE html>\n<html>\u{1b}\n{}", "ä".repeat(300));
        let kept = "ä".repeat(100);

        check_decoded(
            &page,
            &format!(
                "The provider answered with a web page that says \"{kept}…\" instead of an event stream. Check the base URL; the conversation is unchanged."
            ),
        );
    }

    #[test]
    fn an_error_in_multi_line_json_is_parsed() {
        check_decoded(
            "{\n  \"error\": {\n    \"message\": \"model not loaded\"\n  }\n}\n",
            "The provider answered with an error (model not loaded). Press Ctrl-] to try again; the conversation is unchanged.",
        );
    }

    #[test]
    fn plain_text_is_quoted() {
        check_decoded(
            "upstream unavailable",
            "The provider's answer is not an event stream (upstream unavailable). Check the base URL; the conversation is unchanged.",
        );
    }

    #[test]
    fn an_event_that_is_not_json_ends_the_answer() {
        check_decoded(
            "data: <oops>\n\ndata: {}\n\n",
            "The provider's stream contains an event that is not JSON (\"<oops>\"), so the answer ends there. Press Ctrl-] to try again; if it happens again, check the base URL.",
        );
    }

    #[test]
    fn an_error_event_may_be_plain_text() {
        check_decoded(
            "event: error\ndata: out of memory\n\n",
            "The provider ended its answer with an error (out of memory); the part that arrived is kept. Press Ctrl-] to try again.",
        );
    }

    #[test]
    fn an_event_that_is_cut_ends_the_answer() {
        check_decoded(
            "data: {\"type\": \"mess",
            "The connection ended before the answer was complete; the part that arrived is kept. Press Ctrl-] to try again.",
        );
    }

    #[test]
    fn an_endless_line_ends_the_answer() {
        let mut decoder = Decoder::new(Protocol::AnthropicMessages);
        let piece = vec![b'a'; 1024 * 1024];

        decoder.push(b"data: ");
        let events: Vec<StreamEvent> = (0..20).flat_map(|_| decoder.push(&piece)).collect();

        let [StreamEvent::Error(problem)] = events.as_slice() else {
            panic!("expected one error, got {events:?}");
        };
        assert!(problem.what.contains("more than 16 MB"), "{problem}");
        assert_eq!(decoder.finish(), []);
    }

    #[test]
    fn an_error_outside_events_is_reported_if_the_stream_is_cut() {
        let mut decoder = Decoder::new(Protocol::ChatCompletions);

        decoder.push(b"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n");
        decoder.push(b"{\"error\": {\"message\": \"out of memory\"}}\n");
        let events = decoder.finish();

        let [StreamEvent::Error(problem)] = events.as_slice() else {
            panic!("expected one error, got {events:?}");
        };
        assert!(problem.what.contains("(out of memory)"), "{problem}");
    }

    #[test]
    fn events_after_the_end_are_ignored() {
        let mut decoder = Decoder::new(Protocol::AnthropicMessages);

        let end = decoder.push(b"data: {\"type\":\"message_stop\"}\n\n");
        let after = decoder.push(b"data: {\"type\":\"message_stop\"}\n\nrubbish\n\n");

        assert_eq!(end.len(), 1);
        assert_eq!(after, []);
        assert_eq!(decoder.finish(), []);
    }
}

// A JSON answer to a request for a stream gives the events of an equivalent stream.

const ANTHROPIC: Protocol = Protocol::AnthropicMessages;

const CHAT: Protocol = Protocol::ChatCompletions;

const GEMINI: Protocol = Protocol::Gemini;

const RESPONSES: Protocol = Protocol::Responses;

fn decode(protocol: Protocol, body: &str, piece: usize) -> Vec<StreamEvent> {
    let mut decoder = Decoder::new(protocol);
    let pieces = body.as_bytes().chunks(piece);
    let mut events: Vec<StreamEvent> = pieces.flat_map(|it| decoder.push(it)).collect();
    events.extend(decoder.finish());
    events
}

/// Formats the visible parts of an answer: text, thinking, calls, and end.
fn summary(events: &[StreamEvent]) -> String {
    let line = |event: &StreamEvent| match event {
        StreamEvent::Text(text) => format!("{text}|"),
        StreamEvent::Thinking(text) => format!("({text})|"),
        StreamEvent::ToolUse(call) => format!("{} {} {}|", call.name, call.id, call.input),
        StreamEvent::Usage(usage) => format!("{:?} {:?}|", usage.input, usage.output),
        StreamEvent::Stop(reason) => format!("{reason:?}"),
        StreamEvent::Error(problem) => format!("error: {}", problem.what),
        _ => String::new(),
    };
    events.iter().map(line).collect()
}

#[track_caller]
fn check_whole(protocol: Protocol, body: &Value, expected: &str) {
    for spelled in [
        body.to_string(),
        serde_json::to_string_pretty(body).unwrap(),
    ] {
        for piece in [1, 7, spelled.len()] {
            assert_eq!(
                summary(&decode(protocol, &spelled, piece)),
                expected,
                "{spelled}"
            );
        }
    }
}

#[test]
fn an_answer_in_one_piece_is_decoded_on_every_protocol() {
    check_whole(
        ANTHROPIC,
        &json!({"type": "message", "role": "assistant", "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "t_1", "name": "bash", "input": {"command": "ls"}},
        ], "stop_reason": "tool_use", "usage": {"input_tokens": 3, "output_tokens": 4}}),
        "Some(3) Some(4)|(Hm.)|I look.|bash t_1 {\"command\":\"ls\"}|ToolUse",
    );
    check_whole(
        CHAT,
        &json!({"object": "chat.completion", "choices": [{"index": 0, "finish_reason": "tool_calls",
            "message": {"role": "assistant", "content": "I look.", "tool_calls": [
                {"id": "t_1", "type": "function", "function": {"name": "bash", "arguments": "{\"a\":1}"}},
                {"id": "t_2", "type": "function", "function": {"name": "read", "arguments": "{}"}},
            ]}}], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}),
        "I look.|bash t_1 {\"a\":1}|read t_2 {}|Some(3) Some(4)|ToolUse",
    );
    let chunk = json!({"candidates": [{"content": {"parts": [{"text": "I see."}]},
        "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4}});
    check_whole(GEMINI, &chunk, "I see.|Some(3) Some(4)|EndTurn");
    let first = json!({"candidates": [{"content": {"parts": [{"text": "Well, "}]}}]});
    check_whole(
        GEMINI,
        &json!([first, chunk]),
        "Well, |I see.|Some(3) Some(4)|EndTurn",
    );
    check_whole(
        RESPONSES,
        &json!({"object": "response", "status": "completed", "error": null, "output": [
            {"type": "message", "content": [{"type": "output_text", "text": "I look."}]},
            {"type": "function_call", "call_id": "t_1", "name": "bash", "arguments": "{\"a\":1}"},
        ], "usage": {"input_tokens": 3, "output_tokens": 4}}),
        "I look.|bash t_1 {\"a\":1}|Some(3) Some(4)|ToolUse",
    );
}

#[test]
fn an_answer_in_one_piece_has_the_same_stop_reasons() {
    let chat = |reason: Value| json!({"choices": [{"message": {"content": "a"}, "finish_reason": reason}]});
    let end = |protocol, body: Value| decode(protocol, &body.to_string(), 64).pop().unwrap();
    let stop = StreamEvent::Stop;
    assert_eq!(end(CHAT, chat(json!("stop"))), stop(StopReason::EndTurn));
    assert_eq!(
        end(CHAT, chat(json!("length"))),
        stop(StopReason::MaxTokens)
    );
    let other = StopReason::Other("abort".to_owned());
    assert_eq!(end(CHAT, chat(json!("abort"))), stop(other));
    assert!(matches!(
        end(CHAT, chat(Value::Null)),
        StreamEvent::Error(_)
    ));
    let cut = json!({"content": [{"type": "text", "text": "a"}], "stop_reason": null});
    assert!(matches!(end(ANTHROPIC, cut), StreamEvent::Error(_)));
    let cut = json!({"status": "incomplete", "output": []});
    assert_eq!(end(RESPONSES, cut), stop(StopReason::MaxTokens));
}

#[test]
fn other_json_is_not_an_answer() {
    for protocol in [ANTHROPIC, CHAT, GEMINI, RESPONSES] {
        for body in [
            json!({"error": {"message": "no"}}),
            json!({"hello": "world"}),
            json!([]),
            json!("text"),
            json!(null),
            json!([1, [2]]),
            json!({"choices": {}, "content": 1, "candidates": "x", "output": null}),
            json!({"choices": [[]], "content": {}, "candidates": {}, "output": {}}),
        ] {
            let events = decode(protocol, &body.to_string(), 64);
            assert!(
                matches!(events.as_slice(), [StreamEvent::Error(_)]),
                "{events:?}"
            );
        }
    }
}

#[test]
fn a_large_answer_is_complete() {
    let text = "word ".repeat(100_000);
    let body = json!({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]});
    let events = decode(CHAT, &body.to_string(), 4096);
    assert_eq!(summary(&events), format!("{text}|EndTurn"));
}
