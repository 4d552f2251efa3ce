//! A user types at random while tools run: single keys and bursts, from Normal and Insert
//! mode. No text is lost, none runs as a command, and every call has its result.

use std::time::{Duration, Instant};

use harness::{Answer, Editor, Provider};
use serde_json::json;

use crate::cut_short::{killed_and_recovered, with_swap};
use crate::proofs;
use crate::random_keys::Random;
use crate::stage::{command, events, watch, with_options};

/// A chat whose first line is text, so that no word is typed into a role marker.
const CHAT: &str = "Notes.\n\n@You:\nGo.\n";
/// Number of calls in one answer.
const TOGETHER: usize = 10;

/// The number of typed characters and of calls.
#[derive(Debug, Default, Clone, Copy)]
struct Figures {
    characters: usize,
    runs: usize,
}

fn answers(runs: usize) -> Vec<Answer> {
    let call = |answer: Answer, number: usize| {
        answer.tool_use(
            &format!("t_{number}"),
            "bash",
            &command(&format!("sleep 0.02; echo result {number}")),
        )
    };
    let numbers: Vec<usize> = (0..runs).collect();
    let answers = numbers.chunks(TOGETHER).map(|chunk| {
        let begun = Answer::says("I'll look.\n");
        chunk.iter().fold(begun, |answer, it| call(answer, *it))
    });
    answers.collect()
}

fn ended(editor: &Editor) -> usize {
    let events = events(editor);
    let ended = events
        .iter()
        .filter(|it| it.starts_with("FlemmaToolFinished"));
    ended.count()
}

/// Types a word somewhere, key by key or at once. Its letters would delete, yank, and put if they were
/// read as commands.
fn type_word(editor: &Editor, random: &mut Random, word: &str) {
    let around = random.pick(&["ggO", "ggo", "Go", "ggA ", "ggI"]);
    // Neovim handles this request only after all earlier keys.
    let insert = editor.request("nvim_eval", json!(["mode()"])) == json!("i");
    let keys = if insert {
        word.to_owned()
    } else {
        format!("{around}{word}")
    };
    let end = random.pick(&["<Esc>", "<Esc>", " "]);
    let input = |keys: &str| {
        editor.request("nvim_input", json!([keys]));
    };
    if random.below(2) == 0 {
        for key in keys.chars() {
            input(&key.to_string());
        }
        input(end);
    } else {
        input(&format!("{keys}{end}"));
    }
}

#[track_caller]
fn play(seed: u64, runs: usize) -> Figures {
    let mut random = Random(seed);
    let provider = Provider::anthropic(answers(runs));
    let tools = json!({"require_approval": false, "autopilot": {"max_turns": 1000}});
    let setup = with_options(&provider, json!({"tools": tools}));
    let setup = setup.size(80, 24).patience(Duration::from_secs(60));
    let editor = setup.file("question.chat", CHAT).start();
    watch(&editor);
    editor.keys(if seed.is_multiple_of(2) {
        "G<C-]>"
    } else {
        "GA<C-]>"
    });
    let mut typed = Vec::new();
    editor.wait_for("the end of all calls", |editor| {
        let word = format!("ddxyyp{seed}q{}z", typed.len());
        type_word(editor, &mut random, &word);
        typed.push(word);
        // Faster than a user, but slow enough that the host can write.
        editor.wait_frame(editor.frames(), Duration::from_millis(20));
        // Text below the calls stops autopilot until the next key.
        let seen = events(editor);
        let rests = seen.last().is_some_and(|it| it == "FlemmaRested");
        if rests && ended(editor) < runs {
            editor.keys("<Esc><C-]>");
        }
        ended(editor) >= runs
    });
    editor.keys("<Esc>");
    for number in 0..runs {
        let result = format!("\nresult {number}\n");
        editor.wait_for(&format!("seed {seed}: one result {number}"), |editor| {
            editor.text().matches(&result).count() == 1
        });
    }
    let text = editor.text();
    for word in &typed {
        assert_eq!(
            text.matches(word.as_str()).count(),
            1,
            "seed {seed}, {word}:\n{text}"
        );
    }
    let messages = editor.messages();
    assert!(!messages.contains("E21"), "seed {seed}: {messages}");
    let register = editor.lua("return vim.fn.getreg('\"')", &json!([]));
    assert_eq!(register, json!(""), "seed {seed}: a command took text");
    Figures {
        characters: typed.iter().map(String::len).sum(),
        runs,
    }
}

#[test]
fn text_typed_while_tools_run_is_whole() {
    for seed in 0..2 {
        play(seed, 20);
    }
}

#[test]
#[ignore = "long: make prove"]
fn prove_that_text_typed_while_tools_run_is_whole() {
    let seeds = proofs::seeds(10);
    let first = seeds.start;
    let mut all = Figures::default();
    for seed in seeds {
        let figures = play(seed, 40);
        all.characters += figures.characters;
        all.runs += figures.runs;
    }
    proofs::summary(&format!(
        "{} tool runs, {} characters typed meanwhile: 0 lost, 0 ran as commands, seeds from {first}",
        all.runs, all.characters
    ));
}

/// Age from which typed text must survive a kill.
const KEPT_AFTER: Duration = Duration::from_secs(1);

fn milliseconds(count: usize) -> Duration {
    Duration::from_millis(u64::try_from(count).unwrap())
}

/// Types at a random pace, with pauses, kills Neovim at a random moment, and checks that its
/// swap file has every character that was typed a second before. Returns their number.
#[track_caller]
fn kill_while_typing(seed: u64) -> usize {
    let mut random = Random(seed);
    let provider = Provider::anthropic([""; 0]);
    let editor = with_swap(&provider, json!({}));
    editor.keys("Go");
    let kill = Instant::now() + milliseconds(1200 + random.below(2500));
    let mut typed = Vec::new();
    while Instant::now() < kill {
        let character = random.pick(&["a", "b", "c", "d", "e", " ", "é", "→"]);
        editor.request("nvim_input", json!([character]));
        typed.push((Instant::now(), character));
        let pause = match random.below(20) {
            0 => 700,
            _ => random.below(60),
        };
        // The pace of a user; nothing is waited for.
        std::thread::sleep(milliseconds(pause).min(kill.saturating_duration_since(Instant::now())));
    }
    let killed = Instant::now();
    let next = killed_and_recovered(&editor, &provider);
    let old = typed.iter().filter(|(at, _)| killed - *at > KEPT_AFTER);
    let old: String = old.map(|(_, character)| *character).collect();
    let text = next.text();
    assert!(
        text.contains(old.trim_end()),
        "seed {seed}: {old:?} is not in {text:?}"
    );
    old.chars().count()
}

#[test]
#[ignore = "long: make prove"]
fn prove_that_text_typed_before_a_kill_of_neovim_is_kept() {
    const KILLS: u64 = 300;
    const AT_ONCE: u64 = 4;
    let seeds = proofs::seeds(KILLS);
    let kills = |first: u64| -> usize {
        let own = seeds.clone().filter(|seed| seed % AT_ONCE == first);
        own.map(kill_while_typing).sum()
    };
    let kills = &kills;
    let characters: usize = std::thread::scope(|scope| {
        let start = |first| scope.spawn(move || kills(first));
        let threads: Vec<_> = (0..AT_ONCE).map(start).collect();
        threads.into_iter().map(|it| it.join().unwrap()).sum()
    });
    proofs::summary(&format!(
        "{KILLS} kills while nothing streamed; all {characters} characters older than a second were kept"
    ));
}
