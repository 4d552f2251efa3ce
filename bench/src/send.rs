//! Sending: from Ctrl-] to the complete request at the provider.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use harness::{Editor, Provider};
use serde_json::{Value as Json, json};

use crate::chats::{chat, name};
use crate::stage::{ask_again, await_row, await_turn, bare, ours, press, rest, since};
use crate::table::{Budget, Row, Samples, Table};

const RUNS: usize = 10;

pub fn run(table: &mut Table) -> io::Result<()> {
    for (lines, budget) in [
        (1_000, Budget::NONE),
        (10_000, Budget::median(20.0).by_hand(14.0)),
        (50_000, Budget::NONE),
    ] {
        let text = chat(lines);
        let (provider, other) = (Provider::anthropic([""; 0]), Provider::anthropic([""; 0]));
        let (with, without) = (ours(&provider, &text, json!({})), bare(&text));
        let (mut ours, mut hand) = (Samples::default(), Samples::default());
        for run in 1..=RUNS {
            let start = Instant::now();
            press(&with, "<C-]>");
            let arrived = provider.wait_requests(run)[run - 1].arrived;
            ours.add(arrived.duration_since(start).as_secs_f64() * 1e3);
            await_turn(&with);
            ask_again(&with);
            let start = Instant::now();
            send_by_hand(&without, &other)?;
            let arrived = other.wait_requests(run)[run - 1].arrived;
            hand.add(arrived.duration_since(start).as_secs_f64() * 1e3);
        }
        table.add(Row {
            what: format!("Ctrl-] to the request on the wire, {} lines", name(lines)),
            hand: Some(hand),
            ours,
            budget,
            // The request contains the chat, so its cost may grow with it.
            lines: None,
        })?;
        if lines == 50_000 {
            table.add(contexts(&with))?;
            table.add(summaries(&with))?;
        }
    }
    Ok(())
}

/// What the next request contains, from the command to the report.
fn contexts(editor: &Editor) -> Row {
    let mut ours = Samples::default();
    for _ in 0..RUNS {
        let start = Instant::now();
        press(editor, ":Flemma context<CR>");
        await_row(editor, "the report", |row| row.starts_with("next request"));
        ours.add(since(start));
        editor.keys("q");
        rest(editor);
    }
    Row {
        what: ":Flemma context, 50k lines".to_owned(),
        hand: None,
        ours,
        budget: Budget::median(50.0),
        lines: None,
    }
}

/// A summary of most of the chat, from the command that puts it into the chat to its line.
fn summaries(editor: &Editor) -> Row {
    let mut ours = Samples::default();
    for _ in 0..RUNS {
        press(editor, ":Flemma compact<CR>");
        await_row(editor, "the draft", |row| row.starts_with(" :w replaces"));
        rest(editor);
        let start = Instant::now();
        press(editor, ":w<CR>");
        await_row(editor, "the summary", |row| {
            row.contains("<!-- flemma:summary")
        });
        ours.add(since(start));
        rest(editor);
        editor.keys("uG");
        rest(editor);
    }
    Row {
        what: "placing a summary, 50k lines".to_owned(),
        hand: None,
        ours,
        budget: Budget::median(16.0),
        lines: None,
    }
}

/// Reads the buffer and sends it as one message.
fn send_by_hand(editor: &Editor, provider: &Provider) -> io::Result<()> {
    let lines = editor.request("nvim_buf_get_lines", json!([0, 0, -1, true]));
    let lines: Vec<&str> = lines
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
        .collect();
    let body = json!({"messages": [{"role": "user", "content": lines.join("\n")}]}).to_string();
    let mut stream = TcpStream::connect(provider.address())?;
    write!(
        stream,
        "POST /v1/messages HTTP/1.1\r\nhost: bench\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    stream.read_to_end(&mut Vec::new())?;
    Ok(())
}
