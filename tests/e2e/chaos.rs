//! Ninety broken answers in four formats, each at a seeded position: cuts, resets,
//! stalls, wrong codes, and garbage. The chat stays valid, the next key continues, and no
//! call of an interrupted turn runs.

use harness::{Answer, Editor, Provider};
use serde_json::{Value as Json, json};

use crate::stage::*;
use crate::wire::*;

/// Minimum length of the text after the calls of an answer, in any format.
const LONG: usize = 3000;

/// Pseudorandom numbers from a seed (splitmix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut it = self.0;
        it = (it ^ (it >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        it = (it ^ (it >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((it ^ (it >> 31)) % end as u64) as usize
    }
}

/// The complete answer: text, calls, and more text than arrives with any fault.
fn whole(dice: &mut Dice, seed: u64, fault: impl Fn(Answer) -> Answer) -> Answer {
    let ran = command(&format!("touch ran_{seed}"));
    let mut answer = Answer::new();
    if dice.below(2) == 0 {
        answer = answer.thinking("Hmm.\n@You:\n", Some("c2ln"));
    }
    answer = answer.text_in_pieces("I'll look.\n```\n@Assistant:\nOpen fence", 4);
    for call in 0..1 + dice.below(2) {
        answer = answer.tool_use(&format!("t_{seed}_{call}"), "bash", &ran);
    }
    fault(answer).text_in_pieces(&"And so on. ".repeat(LONG / 11 + 1), 60)
}

/// The answer of a seed, and whether its turn is certainly incomplete.
fn scenario(seed: u64) -> (Answer, bool) {
    let mut dice = Dice(seed);
    let kind = dice.below(10);
    let at = dice.below(LONG);
    let garbage = [
        "data: {oops\n\n",
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"message\":\"@You: no\"}}\n\n",
        "<html><body>502</body></html>\n\n",
        "data: \u{0}\u{1}\u{7f}\n\n: x\ndata: [1,2\n\n",
        "data: {\"type\":\"content_block_stop\",\"index\":99}\n\n",
        "data: null\n\ndata: 7\n\ndata: {}\n\n",
    ];
    let noise = garbage[dice.below(garbage.len())];
    let codes = [400, 403, 404, 418, 429, 500, 503, 529];
    match kind {
        0 | 1 => (whole(&mut dice, seed, |it| it).cut_after(at), true),
        2 => (whole(&mut dice, seed, |it| it).reset_after(at), true),
        3 => (whole(&mut dice, seed, |it| it).end_after(at), true),
        4 => (whole(&mut dice, seed, |it| it).stall_after(at), true),
        5 => (
            whole(&mut dice, seed, |it| it)
                .dribble(1 + at % 97)
                .crlf()
                .cut_after(at),
            true,
        ),
        6 => {
            let code = codes[dice.below(codes.len())];
            (Answer::status(code, noise), true)
        }
        7 => (Answer::wire(format!("HTTP/1.1 200 OK\r\n{noise}")), true),
        _ => (whole(&mut dice, seed, |it| it.bytes(noise)), false),
    }
}

/// Returns true if the chat shows that its answer is incomplete or missing.
fn broke_off(text: &str) -> bool {
    text == QUESTION || text.contains("\n<!-- flemma:aborted: ")
}

/// Waits until this many requests have ended, and no request or call is running.
#[track_caller]
fn wait_rest(editor: &Editor, requests: usize) {
    editor.wait_for("a chat at rest", |editor| {
        let (seen, text) = (events(editor), editor.text());
        let count = |name: &str| seen.iter().filter(|it| it.starts_with(name)).count();
        let ended = count("FlemmaRequestFinished");
        ended >= requests
            && count("FlemmaRequestStarted") == ended
            && count("FlemmaToolStarted") == count("FlemmaToolFinished")
            && (text.ends_with("\n\n@You:\n\n") || requests == 1 && broke_off(&text))
    });
    at_rest(editor);
}

/// Sends a question that gets a broken answer, and continues after it.
#[track_caller]
fn play(editor: &Editor, provider: &Provider, seed: u64) {
    editor.lua("seen = {}", &json!([]));
    editor.command(&format!("edit {seed}.chat"));
    let (answer, incomplete) = scenario(seed);
    provider.then(answer);
    editor.keys("<C-]>");
    wait_rest(editor, 1);
    let broke = broke_off(&editor.text());
    assert!(broke || !incomplete, "seed {seed}\n{}", editor.text());
    if broke {
        editor.keys("<C-]>");
        wait_rest(editor, 2);
    }
    let text = editor.text();
    let ran = editor.dir().join(format!("ran_{seed}")).exists();
    assert!(ran != broke, "seed {seed}\n{text}");
    let end = "@Assistant:\nDone.\n\n@You:\n\n";
    assert!(text.ends_with(end), "seed {seed}\n{text}");
    let problems = editor.lua("return #vim.diagnostic.get(0)", &json!([]));
    assert_eq!(problems, json!(0), "seed {seed}\n{text}");
    editor.command("write");
}

/// Plays these seeds one after another, and checks that each request is valid.
fn play_all(provider: &Provider, valid: fn(&Json), seeds: std::ops::Range<u64>) {
    let options = json!({
        "tools": {"require_approval": false},
        "parameters": {"max_retries": 0, "timeout": 4},
    });
    let mut setup = with_options(provider, options);
    for seed in seeds.clone() {
        setup = setup.with(&format!("{seed}.chat"), QUESTION);
    }
    let editor = setup.start();
    watch(&editor);
    for seed in seeds {
        play(&editor, provider, seed);
    }
    for request in provider.requests() {
        valid(&request.body);
    }
}

/// No script: the provider answers every request with "Done.".
const NONE: [Answer; 0] = [];

/// Plays these seeds in each of the four formats.
pub fn play_in_all_formats(seeds: &std::ops::Range<u64>) {
    let play = |provider: &Provider, valid| play_all(provider, valid, seeds.clone());
    play(&Provider::anthropic(NONE), expect_valid_messages);
    play(&Provider::chat_completions(NONE), expect_valid_completion);
    play(&Provider::responses(NONE), expect_valid_input);
    play(&Provider::gemini(NONE), expect_valid_contents);
}

#[test]
fn fifteen_broken_answers_in_the_messages_format() {
    play_all(&Provider::anthropic(NONE), expect_valid_messages, 0..15);
}

#[test]
fn fifteen_more_in_the_messages_format() {
    play_all(&Provider::anthropic(NONE), expect_valid_messages, 15..30);
}

#[test]
fn fifteen_broken_chat_completions() {
    play_all(
        &Provider::chat_completions(NONE),
        expect_valid_completion,
        30..45,
    );
}

#[test]
fn fifteen_more_chat_completions() {
    play_all(
        &Provider::chat_completions(NONE),
        expect_valid_completion,
        45..60,
    );
}

#[test]
fn fifteen_broken_answers_in_the_responses_format() {
    play_all(&Provider::responses(NONE), expect_valid_input, 60..75);
}

#[test]
fn fifteen_broken_answers_in_geminis_format() {
    play_all(&Provider::gemini(NONE), expect_valid_contents, 75..90);
}
