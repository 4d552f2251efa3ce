//! Random keys on random chats: nothing crashes, no typed text is lost, and the host's
//! copy equals the buffer. A failure prints its seed, and `FLEMMA_SEEDS=7..8` repeats it.

use std::fmt::Write;

use harness::{Answer, Editor, Provider};
use serde_json::{Value as Json, json};

use crate::processes::host;
use crate::stage::{command, events, file, watch, with_options};
use crate::traces::stop;

/// The number of keys of a seed, and the seeds of a run.
const KEYS: usize = 40;
const SEEDS: std::ops::Range<u64> = 0..6;

/// Pseudorandom numbers from a seed (splitmix64).
pub struct Random(pub u64);

impl Random {
    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((bits ^ (bits >> 31)) % bound as u64).unwrap()
    }

    /// One of these items.
    pub fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.below(from.len())]
    }
}

const LINES: &[&str] = &[
    "@You:",
    "@Assistant:",
    "@System:",
    "@You: here",
    "@Nobody:",
    "Words, and more words.",
    "日本 🙂",
    "",
    "```",
    "````lua",
    "~~~",
    "<thinking>",
    "</thinking>",
    "<!-- flemma:aborted: why -->",
    "**Tool Use:** `bash` (`old_1`)",
    "**Tool Use:** `read` (`old_1`)",
    "**Tool Result:** `old_1`",
    "**Tool Result:** `old_2` (error)",
    "```json\n{\"label\":\"l\",\"command\":\"true\",\"timeout\":null}\n```",
    "```json\n{\"broken\":\n```",
    "```flemma:tool status=approved\n```",
    "```flemma:tool status=pending\n```",
    "```flemma:tool status=rejected\nno\n```",
    "{{ 1 + 1 }}",
    "\\@You:",
];

fn chat(random: &mut Random) -> String {
    let mut text = "@You:\nGo.\n".to_owned();
    for _ in 0..random.below(25) {
        text.push_str(random.pick(LINES));
        text.push('\n');
    }
    text.push_str("\n@You:\nAnd go.\n");
    text
}

fn answer(random: &mut Random, number: usize) -> Answer {
    let id = format!("t_{number}");
    let text = "Some words.\n@You:\n```\nand ";
    match random.below(8) {
        0 => Answer::new().tool_use(&id, "bash", &command("echo out")),
        1 => Answer::new().tool_use(&id, "bash", &command("sleep 0.05; exit 3")),
        2 => Answer::says(text).tool_use(&id, "read", &file("question.chat")),
        3 => Answer::new().tool_use(&id, "no_such_tool", &json!({"a": 1})),
        4 => Answer::status(400, "{\"error\": \"no\"}"),
        5 => Answer::says(text).stall(),
        _ => Answer::says(text),
    }
}

/// Random keys, which start and end in Normal mode. Typed text contains `token`.
fn keys(random: &mut Random, wild: bool, token: &str) -> String {
    let gentle = [
        "<C-]>",
        "<C-]>",
        "<M-CR>",
        "<C-c>",
        "GoTOKEN<Esc>",
        "ggoTOKEN<Esc>",
        "}OTOKEN<Esc>",
        "{oTOKEN<C-]>",
        "oTOKEN<CR>@You:<CR>TOKEN<Esc>",
        "A TOKEN<Esc>",
        "gg",
        "G",
        "<C-u>",
        "}",
        "{",
        ":Flemma send<CR>",
        ":Flemma tool:cancel<CR>",
        ":Flemma steer TOKEN<CR>",
        ":Flemma queue TOKEN<CR>",
        ":Flemma queue!<CR>",
        ":write<CR>",
        ":split<CR>",
        ":close<CR>",
        "yyp",
    ];
    let rude = [
        "u",
        "<C-r>",
        "3u",
        "dd",
        "5dd",
        "dG",
        "p",
        "J",
        "x",
        ":%s/pending/approved/e<CR>",
        ":%s/approved/denied/e<CR>",
        ":edit!<CR>",
        ":Flemma fix<CR>",
        ":Flemma restart<CR>",
        "ggVGyGp",
        "d",
        "<Esc>",
        ":",
        "<Esc>",
        "q:",
        ":close<CR>",
    ];
    let all = if wild {
        [&gentle[..], &rude].concat()
    } else {
        gentle.to_vec()
    };
    random.pick(&all).replace("TOKEN", token)
}

/// The messages of the request for the chat as it is now, without parts that depend on their position
/// in the conversation. `None` if the host refuses to send the chat.
#[track_caller]
fn sent(editor: &Editor, provider: &Provider, question: &str) -> Option<Vec<Json>> {
    editor.lua(
        "vim.api.nvim_buf_set_lines(0, -1, -1, false, { '@You:', ... })",
        &json!([question]),
    );
    let seen = |name: &str| {
        let events = events(editor);
        events.iter().filter(|it| it.starts_with(name)).count()
    };
    // Searched among all requests, because an earlier one may arrive late.
    let found = || {
        let requests = provider.requests().into_iter().map(|it| it.body);
        requests
            .into_iter()
            .find(|it| it.to_string().contains(question))
    };
    // Repeated, because an earlier Ctrl-C may arrive late and cancel the request.
    while found().is_none() {
        let started = seen("FlemmaRequestStarted");
        editor.command("messages clear");
        editor.command("Flemma send");
        // The answer may already have started a call, which must end first.
        editor.wait_for("a host that has handled all keys", |editor| {
            editor.command("Flemma tool:cancel");
            editor.messages().contains("No tool is running here.")
        });
        if seen("FlemmaRequestStarted") == started {
            return None;
        }
        editor.wait_for("a request, or its end", |_| {
            found().is_some() || seen("FlemmaRequestFinished") > started
        });
    }
    stop(editor);
    let mut body = found()?;
    strip(&mut body);
    let mut messages = body["messages"].as_array().unwrap().clone();
    // Later instructions follow the user's message, which still grows.
    messages.sort_by_key(|message| message["role"] != "system");
    Some(messages)
}

fn parts(message: &Json) -> &[Json] {
    message["content"].as_array().map_or(&[], Vec::as_slice)
}

fn strip(value: &mut Json) {
    match value {
        Json::Object(fields) => {
            fields.remove("cache_control");
            fields.values_mut().for_each(strip);
        }
        Json::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

/// Returns true if two requests are equal, except that calls without a result in the first may have one in the
/// second.
fn agrees(first: &Json, second: &Json) -> bool {
    match (first, second) {
        (Json::Object(a), Json::Object(b)) => {
            let waited = a.get("content") == Some(&json!("No result was given for this call."));
            let same = a.iter().all(|(key, value)| {
                let is_result = matches!(key.as_str(), "content" | "is_error");
                waited && is_result || b.get(key).is_some_and(|it| agrees(value, it))
            });
            same && (waited || a.len() == b.len())
        }
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| agrees(a, b))
        }
        _ => first == second,
    }
}

/// Returns true if the second list starts with the first one.
fn begins_with(second: &[Json], first: &[Json]) -> bool {
    second.len() >= first.len() && first.iter().zip(second).all(|(a, b)| agrees(a, b))
}

#[track_caller]
pub fn play(seed: u64) {
    let mut random = Random(seed);
    let wild = seed % 2 == 1;
    let answers: Vec<Answer> = (0..30).map(|n| answer(&mut random, n)).collect();
    let provider = Provider::anthropic(answers);
    let unasked = random.below(2) == 0;
    let options = json!({"tools": {"require_approval": !unasked}});
    let setup = with_options(&provider, options);
    let editor = setup.file("question.chat", &chat(&mut random)).start();
    watch(&editor);
    let first = host(&editor);
    let mut typed = Vec::new();
    let mut story = String::new();
    for step in 0..KEYS {
        let token = format!("tok{seed}x{step}y");
        let keys = keys(&mut random, wild, &token);
        let _ = write!(story, "{keys} ");
        editor.keys(&keys);
        // A chat with a running tool is locked for typed text, but not for commands.
        let said = keys.starts_with(":Flemma");
        if keys.contains(&token) && (said || editor.text().contains(&token)) {
            typed.push(token);
        }
    }
    eprintln!("seed {seed}: {story}");
    editor.keys("<Esc><C-\\><C-n>:silent! only<CR>");
    let before = editor.messages();
    stop(&editor);
    if !wild {
        // With a broken block, messages stay below the chat as virtual text. The host may be late.
        editor.wait_for(&format!("every word of {typed:?}, {story}"), |editor| {
            let (text, queued) = (editor.text(), editor.virtual_lines());
            let waits = |token: &str| queued.iter().any(|line| line.text.contains(token));
            typed.iter().all(|it| text.contains(it) || waits(it))
        });
        assert_eq!(
            host(&editor).worker,
            first.worker,
            "seed {seed}: the host died"
        );
    }
    let messages = before + &editor.messages();
    let path = editor.lua("return require('flemma.config').get().host.log", &json!([]));
    let log = std::fs::read_to_string(path.as_str().unwrap()).unwrap_or_default();
    let faults = [
        "could not handle a message",
        "traceback",
        "refused a change",
        "panicked",
    ];
    for fault in faults {
        assert!(
            !messages.contains(fault),
            "seed {seed}: {messages}\n{log}\n{story}"
        );
    }
    let mirror = sent(&editor, &provider, "Checked once.");
    editor.command("Flemma restart");
    host(&editor);
    let fresh = sent(&editor, &provider, "Checked again.");
    // A chat that cannot be sent cannot be compared.
    let (Some(mirror), Some(fresh)) = (mirror, fresh) else {
        return;
    };
    // Instructions that the user added may come after it.
    let is_question = |it: &Json| it.to_string().contains("Checked once.");
    let at = mirror.iter().rposition(is_question).unwrap();
    let same = begins_with(&fresh, &mirror[..at])
        && begins_with(parts(&fresh[at]), parts(&mirror[at]))
        && begins_with(&fresh[at + 1..], &mirror[at + 1..]);
    let text = editor.text();
    assert!(
        same,
        "seed {seed}: {mirror:#?}\nis not\n{fresh:#?}\n{story}\n{text}"
    );
}

#[test]
fn random_keys_on_random_chats_lose_nothing() {
    let given = std::env::var("FLEMMA_SEEDS").ok();
    let range = given.as_deref().and_then(|range| {
        let (first, last) = range.split_once("..")?;
        Some(first.parse().ok()?..last.parse().ok()?)
    });
    for seed in range.unwrap_or(SEEDS) {
        play(seed);
    }
}
