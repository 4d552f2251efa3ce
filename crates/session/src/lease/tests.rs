//! Tests in which two programs want the same chat.
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

fn program(name: &str, pid: u32) -> LeaseHolder {
    let name = name.to_owned();
    LeaseHolder { name, pid }
}

#[track_caller]
fn held(refusal: Result<Lease, LeaseError>) -> HeldBy {
    match refusal {
        Err(LeaseError::Held(by)) => by,
        other => panic!("no holder was reported: {other:?}"),
    }
}

/// Returns a state folder, a folder for chats, and the path of a chat in it.
fn place() -> (TempDir, TempDir, PathBuf) {
    let (state, work) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let chat = work.path().join("a.chat");
    fs::write(&chat, "@You:\n").unwrap();
    (state, work, chat)
}

#[test]
fn the_second_program_learns_who_holds_the_lease() {
    let (state, _work, chat) = place();
    let first = program("Neovim", 4711);
    let _lease = take(state.path(), &chat, &first).unwrap();
    let by = held(take(state.path(), &chat, &program("flemma send", 12)));
    assert_eq!(by.program, Some(first));
    assert!(by.since < Duration::from_secs(60));
}

#[test]
fn another_path_to_the_same_chat_is_the_same_lease() {
    let (state, work, chat) = place();
    let link = work.path().join("link.chat");
    symlink(&chat, &link).unwrap();
    let lease = take(state.path(), &link, &program("Neovim", 1)).unwrap();
    let roundabout = work
        .path()
        .join("../")
        .join(work.path().file_name().unwrap());
    for path in [chat, roundabout.join("a.chat")] {
        held(take(state.path(), &path, &program("Neovim", 2)));
        assert!(lease.is_of(&path));
    }
    let other = work.path().join("b.chat");
    assert!(!lease.is_of(&other));
    take(state.path(), &other, &program("Neovim", 2)).unwrap();
}

#[test]
fn a_hard_link_to_the_same_chat_is_held_with_it() {
    let (state, work, chat) = place();
    let first = program("Neovim", 1);
    let lease = take(state.path(), &chat, &first).unwrap();
    let link = work.path().join("link.chat");
    fs::hard_link(&chat, &link).unwrap();
    for _ in 0..2 {
        let by = held(take(state.path(), &link, &program("Neovim", 2)));
        assert_eq!(by.program.as_ref(), Some(&first));
    }
    // Saving by renaming makes the first name another file.
    let new = work.path().join("new");
    fs::write(&new, "@You:\nHi.\n").unwrap();
    fs::rename(&new, &chat).unwrap();
    let other = take(state.path(), &link, &program("Neovim", 2)).unwrap();
    drop((lease, other));
    // The lease of a program that was killed does not block others.
    fs::remove_file(&link).unwrap();
    fs::hard_link(&chat, &link).unwrap();
    let left = state.path().join(FOLDER).join("left.json");
    let record = Record {
        program: first,
        since: 0,
        chat: chat.to_string_lossy().into_owned(),
    };
    fs::write(left, serde_json::to_vec(&record).unwrap()).unwrap();
    take(state.path(), &link, &program("Neovim", 2)).unwrap();
}

#[test]
fn a_chat_that_is_not_saved_yet_keeps_its_lease_when_it_is() {
    let (state, work, _) = place();
    let chat = work.path().join("new.chat");
    let lease = take(state.path(), &chat, &program("Neovim", 1)).unwrap();
    fs::write(&chat, "@You:\n").unwrap();
    assert!(lease.is_of(&chat));
    held(take(state.path(), &chat, &program("Neovim", 2)));
}

#[test]
fn a_released_lease_can_be_taken_and_leaves_no_file() {
    let (state, _work, chat) = place();
    for pid in 1..4 {
        take(state.path(), &chat, &program("Neovim", pid)).unwrap();
    }
    let files = fs::read_dir(state.path().join(FOLDER)).unwrap();
    assert_eq!(files.count(), 0);
}

#[test]
fn the_file_of_a_killed_holder_blocks_no_other_program() {
    let (state, _work, chat) = place();
    let lease = take(state.path(), &chat, &program("Neovim", 1)).unwrap();
    let file = lease.path.clone();
    let text = fs::read(&file).unwrap();
    drop(lease);
    fs::write(
        &file,
        [&text[..], b" and more of it than the next one writes"].concat(),
    )
    .unwrap();
    let _lease = take(state.path(), &chat, &program("Neovim", 2)).unwrap();
    let by = held(take(state.path(), &chat, &program("Neovim", 3)));
    assert_eq!(by.program, Some(program("Neovim", 2)));
}

#[test]
fn of_many_programs_at_once_one_gets_it() {
    let (state, _work, chat) = place();
    for _ in 0..50 {
        let (state, chat) = (state.path(), chat.as_path());
        let got = std::thread::scope(|scope| {
            let all: Vec<_> = (0..4)
                .map(|pid| scope.spawn(move || take(state, chat, &program("Neovim", pid))))
                .collect();
            // All leases are held until the last program has tried.
            let results: Vec<_> = all.into_iter().map(|it| it.join().unwrap()).collect();
            results.iter().filter(|it| it.is_ok()).count()
        });
        assert_eq!(got, 1);
    }
}

#[test]
fn an_unwritable_state_folder_is_not_reported_as_a_holder() {
    let (state, _work, chat) = place();
    fs::write(state.path().join(FOLDER), "in the way").unwrap();
    let refused = take(state.path(), &chat, &program("Neovim", 1));
    assert!(matches!(refused, Err(LeaseError::Unknown(_))));
}

#[test]
fn the_holder_is_described_in_words() {
    let by = |program, seconds| {
        let since = Duration::from_secs(seconds);
        HeldBy { program, since }.to_string()
    };
    let neovim = Some(program("Neovim", 4711));
    let just = "Neovim (process 4711, for less than a minute)";
    assert_eq!(by(neovim.clone(), 1), just);
    assert_eq!(
        by(neovim.clone(), 180),
        "Neovim (process 4711, for 3 minutes)"
    );
    assert_eq!(
        by(neovim.clone(), 7200),
        "Neovim (process 4711, for 2 hours)"
    );
    assert_eq!(by(neovim, 90_000), "Neovim (process 4711, for 1 day)");
    assert_eq!(by(None, 0), "another program");
}
