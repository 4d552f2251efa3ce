//! A user types, undoes, saves, renames, reloads, and closes at random while three
//! answers stream: no answer has a gap, and each one that was cut off is marked.

use harness::{Answer, Editor, Gate, Provider};
use serde_json::json;

use crate::proofs;
use crate::random_keys::Random;
use crate::stage::{QUESTION, with_options};
use crate::traces::settle;

/// The number of pieces of an answer, and of words in a piece.
const PIECES: usize = 12;
const WORDS: usize = 4;

const CHATS: usize = 3;

/// An answer that streams.
struct Stream {
    /// The present name of the buffer's file.
    name: String,
    gates: Vec<Gate>,
}

fn word(chat: usize, number: usize) -> String {
    format!("c{chat}w{number}")
}

/// An answer of words, newlines, and blanks.
fn stream(chat: usize, random: &mut Random) -> (Answer, Stream) {
    let gates: Vec<Gate> = (0..PIECES).map(|_| Gate::new()).collect();
    let mut answer = Answer::new();
    for (piece, gate) in gates.iter().enumerate() {
        for number in piece * WORDS..(piece + 1) * WORDS {
            let after = random.pick(&[" ", " ", "\n", "  \n", "\n    ", "\n\n", ".\t"]);
            answer = answer.text(&format!("{}{after}", word(chat, number)));
        }
        answer = answer.gate(gate);
    }
    let name = format!("{chat}.chat");
    (
        answer.text(&word(chat, PIECES * WORDS)),
        Stream { name, gates },
    )
}

/// Switches to the buffer of a file.
#[track_caller]
fn show(editor: &Editor, name: &str) {
    editor.lua(
        "vim.cmd('silent buffer ' .. vim.fn.bufadd(...))",
        &json!([name]),
    );
}

/// Returns true if the answer of the current chat is still streaming, according to the status line.
fn is_streaming(editor: &Editor) -> bool {
    let code = "return require('flemma.status').text(vim.api.nvim_get_current_buf())";
    let said = editor.lua(code, &json!([]));
    said.as_str().unwrap_or_default().contains(": ")
}

/// Does a random action in the current chat.
fn act(editor: &Editor, random: &mut Random, stream: &mut Stream, step: usize) {
    let name = stream.name.clone();
    // A complete or marked answer can be undone, so undo is only used while it streams.
    let first = if is_streaming(editor) { 0 } else { 6 };
    let keys = match first + random.below(12 - first) {
        0 | 1 => format!("ggOtyped{step}<Esc>"),
        2 => format!("ggOtyped{step}<Esc>u"),
        3 => "u".to_owned(),
        4 => "2u<C-r>".to_owned(),
        5 => ":earlier 3<CR>".to_owned(),
        6 | 7 => ":silent write!<CR>".to_owned(),
        8 | 9 => {
            stream.name = format!("s{step}{name}");
            let command = random.pick(&["saveas!", "file"]);
            format!(":silent {command} {}<CR>", stream.name)
        }
        10 => ":silent write!<CR>:silent edit!<CR>".to_owned(),
        _ => format!(":silent write!<CR>:silent bdelete!<CR>:silent edit {name}<CR>"),
    };
    eprintln!("{name}: {keys}");
    editor.keys(&keys);
    if keys.contains("edit") {
        // Waits for the mark, so that no later undo removes it.
        crate::traces::wait_request_over(editor);
        settle(editor);
    }
}

/// Checks that the words of an answer have no gap, and that the answer is marked if its last words are
/// missing. Returns the number of words.
#[track_caller]
fn check(seed: u64, chat: usize, text: &str) -> usize {
    let mark = format!("c{chat}w");
    let found: Vec<usize> = text
        .split(|it: char| !it.is_ascii_alphanumeric())
        .filter_map(|it| it.strip_prefix(&mark)?.parse().ok())
        .collect();
    let expected: Vec<usize> = (0..found.len()).collect();
    assert_eq!(found, expected, "seed {seed}, chat {chat}:\n{text}");
    let is_cut = !found.is_empty() && found.len() <= PIECES * WORDS;
    let says_so = text.contains("<!-- flemma:aborted: ");
    assert_eq!(says_so, is_cut, "seed {seed}, chat {chat}:\n{text}");
    found.len()
}

#[track_caller]
fn play(seed: u64) -> (usize, usize) {
    let mut random = Random(seed);
    let provider = Provider::anthropic::<Answer>([]);
    let mut setup = with_options(&provider, json!({}));
    for chat in 0..CHATS {
        setup = setup.with(&format!("{chat}.chat"), QUESTION);
    }
    let editor = setup.start();
    editor.command(r"autocmd BufWritePre *.chat silent! keeppatterns %s/\s\+$//e");
    let mut streams = Vec::new();
    for chat in 0..CHATS {
        let (answer, stream) = stream(chat, &mut random);
        provider.then(answer);
        editor.command(&format!("edit {}", stream.name));
        editor.keys("<C-]>");
        editor.wait_text(&word(chat, 0));
        streams.push(stream);
    }
    let steps = CHATS * PIECES;
    for step in 0..steps {
        let chat = random.below(CHATS);
        let stream = &mut streams[chat];
        show(&editor, &stream.name);
        act(&editor, &mut random, stream, step);
        // Opens a gate of an answer, but never the last one.
        let open = &streams[random.below(CHATS)];
        let closed = open.gates.iter().take(PIECES - 1).find(|it| !it.is_open());
        if let Some(gate) = closed {
            gate.open();
        }
    }
    for stream in &streams {
        stream.gates.iter().for_each(Gate::open);
    }
    let mut words = 0;
    let mut whole = 0;
    for (chat, stream) in streams.iter().enumerate() {
        show(&editor, &stream.name);
        crate::traces::wait_request_over(&editor);
        settle(&editor);
        let count = check(seed, chat, &editor.text());
        words += count;
        whole += usize::from(count > PIECES * WORDS);
    }
    (words, whole)
}

#[test]
fn answers_have_no_gaps_and_cut_ones_are_marked() {
    for seed in 0..4 {
        play(seed);
    }
}

#[test]
#[ignore = "long: make prove"]
fn prove_that_answers_have_no_gaps_and_cut_ones_are_marked() {
    let seeds = proofs::seeds(60);
    let first = seeds.start;
    let (mut words, mut whole) = (0, 0);
    for seed in seeds {
        let (more, complete) = play(seed);
        words += more;
        whole += complete;
    }
    proofs::summary(&format!(
        "{} answers during random acts, {whole} of them whole, {words} words: 0 holes, 0 cut without a mark, seeds \
         from {first}",
        60 * CHATS
    ));
}
