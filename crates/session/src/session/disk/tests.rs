//! The chat on disk, without a session, an editor, or a model.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::HashMap;
use std::path::Path;

use chat::approval::CallKey;
use chat::document::Document;
use chat::text::Text;
use chat::tool::{ToolOutcome, ToolUseId};
use tokio::time::advance;

use super::chat_lock::{BETWEEN_TRIES, ChatLock, KeyGate, LockPlace, TRIES};
use super::recovery::Recovery;
use crate::half_done::Result;
use crate::protocol::{Action, EditorCommand};

fn lock_of(process: u32) -> ChatLock {
    let mut lock = ChatLock::default();
    lock.set_process(process);
    lock
}

fn place<'a>(state: &Path, chat: &'a Path) -> LockPlace<'a> {
    LockPlace {
        state: state.to_owned(),
        chat: Some(chat),
        is_headless: false,
    }
}

fn key() -> EditorCommand {
    EditorCommand {
        buffer: 1,
        action: Action::Send,
        line: 0,
        window: 1000,
        shown: None,
        hidden: Vec::new(),
        drawn_ms: HashMap::new(),
    }
}

#[test]
fn another_program_has_the_chat_until_it_releases_the_lock() {
    let folder = tempfile::tempdir().unwrap();
    let chat = folder.path().join("a.chat");
    let place = place(folder.path(), &chat);
    let (mut ours, mut others) = (lock_of(1), lock_of(2));
    assert_eq!(others.ask(&place), None);
    assert!(others.is_held());
    // The user is told once, and at each key.
    assert!(ours.ask(&place).is_some());
    assert_eq!(ours.ask(&place), None);
    assert!(ours.is_elsewhere());
    assert!(matches!(ours.pass(&place, &key()), KeyGate::Closed(_)));
    assert!(!ours.has_waiting_key());
    others.release();
    assert_eq!(ours.pass(&place, &key()), KeyGate::Open);
    assert!(ours.is_held() && !ours.is_elsewhere());
}

#[tokio::test(start_paused = true)]
async fn a_key_waits_for_a_lock_of_our_own_neovim() {
    let folder = tempfile::tempdir().unwrap();
    let chat = folder.path().join("a.chat");
    let place = place(folder.path(), &chat);
    let (mut ours, mut ending) = (lock_of(1), lock_of(1));
    ending.ask(&place);
    assert_eq!(ours.pass(&place, &key()), KeyGate::Waits);
    assert!(ours.take_key().is_none());
    advance(BETWEEN_TRIES).await;
    assert!(ours.take_key().is_some());
    for _ in 1..TRIES {
        assert_eq!(ours.pass(&place, &key()), KeyGate::Waits);
    }
    let KeyGate::Closed(holder) = ours.pass(&place, &key()) else {
        panic!("the key must not wait forever");
    };
    assert_eq!(ours.name(&holder), "another buffer of this Neovim");
}

#[test]
fn a_headless_front_end_and_a_buffer_without_a_file_need_no_lock() {
    let folder = tempfile::tempdir().unwrap();
    let chat = folder.path().join("a.chat");
    let mut others = lock_of(2);
    others.ask(&place(folder.path(), &chat));
    let headless = LockPlace {
        is_headless: true,
        ..place(folder.path(), &chat)
    };
    let unnamed = LockPlace {
        chat: None,
        ..place(folder.path(), &chat)
    };
    for place in [headless, unnamed] {
        let mut ours = lock_of(1);
        assert_eq!(ours.pass(&place, &key()), KeyGate::Open);
        assert!(!ours.is_held() && !ours.is_elsewhere());
    }
}

/// The state of a recovery that reads the record of a chat.
fn read(state: &Path, chat: &Path) -> (Recovery, bool) {
    let mut recovery = Recovery::default();
    let is_found = recovery.follow(state, Some(chat));
    (recovery, is_found)
}

#[test]
fn a_cut_answer_and_results_are_found_until_the_file_contains_them() {
    let folder = tempfile::tempdir().unwrap();
    let (state, chat) = (folder.path(), folder.path().join("a.chat"));
    let question = Text::from("@You:\nGo.\n");
    let part = Text::from("@You:\nGo.\n\n@Assistant:\nI wi");
    let whole = Text::from("@You:\nGo.\n\n@Assistant:\nI will.\n");
    let call = CallKey {
        id: ToolUseId::new("t_1"),
        name: "read".to_owned(),
        input: "{}".to_owned(),
    };
    let outcome = ToolOutcome::Failed("It ended.".to_owned());

    let (mut recovery, is_found) = read(state, &chat);
    assert!(!is_found);
    recovery.note_request(&Document::parse(&question));
    recovery.note_result(Result::of(&call, &outcome));
    recovery.write().unwrap();

    let (mut recovery, is_found) = read(state, &chat);
    assert!(is_found);
    let lost = recovery.lost(&Document::parse(&part)).unwrap();
    assert!(lost.is_cut);
    assert_eq!(lost.results, [(call, outcome)]);
    // Nothing of the answer arrived.
    assert!(!recovery.lost(&Document::parse(&question)).unwrap().is_cut);

    recovery.note_answer_end("I will.");
    recovery.write().unwrap();
    let (mut recovery, _) = read(state, &chat);
    assert!(!recovery.lost(&Document::parse(&whole)).unwrap().is_cut);
    assert!(recovery.lost(&Document::parse(&part)).unwrap().is_cut);

    recovery.forget();
    recovery.write().unwrap();
    assert!(!read(state, &chat).1);
}

#[test]
fn the_record_follows_a_chat_to_its_new_name() {
    let folder = tempfile::tempdir().unwrap();
    let (state, old, new) = (
        folder.path(),
        folder.path().join("a.chat"),
        folder.path().join("b.chat"),
    );
    let text = Text::from("@You:\nGo.\n");
    let (mut recovery, _) = read(state, &old);
    recovery.note_request(&Document::parse(&text));
    recovery.write().unwrap();
    assert!(!recovery.follow(state, Some(&new)));
    recovery.write().unwrap();
    assert!(!read(state, &old).1);
    assert!(read(state, &new).1);
}
