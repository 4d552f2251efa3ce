//! What the trust store remembers, and what it takes for nothing.
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

const LOOSE: &str = "flemma.opt.tools.auto_approve = {\"bash\"}\n";

struct Desk {
    folder: tempfile::TempDir,
    trust: Trust,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let trust = Trust::open(&folder.path().join("state"));
        Self { folder, trust }
    }

    fn chat(&self, name: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, "@You:\n").unwrap();
        path
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("state/trust.json")
    }
}

#[test]
fn a_frontmatter_is_trusted_in_its_file_and_only_as_it_was_read() {
    let desk = Desk::new();
    let (mine, other) = (desk.chat("mine.chat"), desk.chat("other.chat"));
    assert!(!desk.trust.is_trusted(&mine, LOOSE));

    desk.trust.trust(&mine, LOOSE).unwrap();

    assert!(desk.trust.is_trusted(&mine, LOOSE));
    assert!(!desk.trust.is_trusted(&mine, &format!("{LOOSE} ")));
    assert!(!desk.trust.is_trusted(&mine, ""));
    assert!(!desk.trust.is_trusted(&other, LOOSE));
}

#[test]
fn agreeing_again_forgets_what_was_agreed_to_before() {
    let desk = Desk::new();
    let chat = desk.chat("a.chat");
    desk.trust.trust(&chat, LOOSE).unwrap();
    desk.trust.trust(&chat, "x = 1\n").unwrap();
    assert!(!desk.trust.is_trusted(&chat, LOOSE));
    assert_eq!(desk.trust.list().len(), 1);
}

#[test]
fn a_file_may_be_sent_with_its_chat_until_that_is_taken_back() {
    let desk = Desk::new();
    let (mine, other) = (desk.chat("mine.chat"), desk.chat("other.chat"));
    let file = Path::new("/elsewhere/notes.txt");
    desk.trust.trust(&mine, LOOSE).unwrap();
    let (old, new) = (Fingerprint::of(b"old"), Fingerprint::of(b"new"));
    desk.trust.let_send(&mine, file, &old).unwrap();
    desk.trust.let_send(&mine, file, &new).unwrap();
    let mut agreed = Agreed::default();
    agreed.add(file.to_owned(), Some(new));
    assert_eq!(desk.trust.sendable(&mine), agreed);
    assert_eq!(desk.trust.sendable(&other), Agreed::default());
    assert!(desk.trust.is_trusted(&mine, LOOSE));
    assert!(desk.trust.revoke(&mine).unwrap());
    assert_eq!(desk.trust.sendable(&mine), Agreed::default());
    assert!(!desk.trust.revoke(&mine).unwrap());
}

#[test]
fn what_an_earlier_version_agreed_to_by_name_is_known_as_that() {
    let desk = Desk::new();
    let chat = desk.chat("a.chat");
    let file = Path::new("/elsewhere/notes.txt");
    let holds = Fingerprint::of(b"x");
    desk.trust.let_send(&chat, file, &holds).unwrap();
    let text = fs::read_to_string(desk.store()).unwrap();
    let mut store: Value = serde_json::from_str(&text).unwrap();
    store["files"][0].as_object_mut().unwrap().remove("holds");
    fs::write(desk.store(), store.to_string()).unwrap();
    let mut by_name = Agreed::default();
    by_name.add(file.to_owned(), None);
    assert_eq!(desk.trust.sendable(&chat), by_name);
}

#[test]
fn revoking_says_whether_there_was_anything() {
    let desk = Desk::new();
    let chat = desk.chat("a.chat");
    desk.trust.trust(&chat, LOOSE).unwrap();
    assert!(desk.trust.revoke(&chat).unwrap());
    assert!(!desk.trust.is_trusted(&chat, LOOSE));
    assert!(!desk.trust.revoke(&chat).unwrap());
}

#[test]
fn a_link_is_the_file_it_leads_to() {
    let desk = Desk::new();
    let chat = desk.chat("a.chat");
    let link = desk.folder.path().join("link.chat");
    symlink(&chat, &link).unwrap();
    desk.trust.trust(&link, LOOSE).unwrap();
    assert!(desk.trust.is_trusted(&chat, LOOSE));

    // The link leads elsewhere now: that is another chat.
    fs::remove_file(&link).unwrap();
    symlink(desk.chat("b.chat"), &link).unwrap();
    assert!(!desk.trust.is_trusted(&link, LOOSE));
}

#[test]
fn a_chat_that_was_never_written_is_known_by_its_folder() {
    let desk = Desk::new();
    let path = desk.folder.path().join("new.chat");
    desk.trust.trust(&path, LOOSE).unwrap();
    fs::write(&path, "").unwrap();
    assert!(desk.trust.is_trusted(&path, LOOSE));
}

#[test]
fn what_has_no_file_is_never_remembered() {
    let desk = Desk::new();
    for path in [
        "",
        "a.chat",
        "oil://x/a.chat",
        "/",
        "/no-such-folder/a.chat",
    ] {
        assert!(desk.trust.trust(Path::new(path), LOOSE).is_err(), "{path}");
        assert!(!desk.trust.is_trusted(Path::new(path), LOOSE), "{path}");
    }
    assert_eq!(desk.trust.list(), []);
}

#[test]
fn a_damaged_store_trusts_nothing_and_is_kept_aside() {
    for damage in ["", "{", "[]", "{\"trusted\": 3}", "\u{0}\u{0}"] {
        let desk = Desk::new();
        let chat = desk.chat("a.chat");
        desk.trust.trust(&chat, LOOSE).unwrap();
        fs::write(desk.store(), damage).unwrap();
        assert!(!desk.trust.is_trusted(&chat, LOOSE), "{damage:?}");
        assert!(desk.trust.problem().unwrap().contains("trust.json"));

        desk.trust.trust(&chat, LOOSE).unwrap();
        assert!(desk.trust.is_trusted(&chat, LOOSE), "{damage:?}");
        let kept = desk.store().with_file_name("trust.json.damaged");
        assert_eq!(fs::read_to_string(kept).unwrap(), damage);
    }
}

#[test]
fn one_bad_entry_takes_no_other_along() {
    let desk = Desk::new();
    let chat = desk.chat("a.chat");
    desk.trust.trust(&chat, LOOSE).unwrap();
    let text = fs::read_to_string(desk.store()).unwrap();
    let bad = text.replace("\"trusted\": [", "\"trusted\": [{\"path\": 3}, 7,");
    assert_ne!(bad, text);
    fs::write(desk.store(), bad).unwrap();
    assert!(desk.trust.is_trusted(&chat, LOOSE));
}

#[test]
fn only_its_owner_reads_the_store_and_a_store_others_can_write_counts_for_nothing() {
    let desk = Desk::new();
    let chat = desk.chat("a.chat");
    desk.trust.trust(&chat, LOOSE).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&desk.store()), 0o600);
    assert_eq!(mode(desk.store().parent().unwrap()), 0o700);

    fs::set_permissions(desk.store(), fs::Permissions::from_mode(0o666)).unwrap();
    assert!(!desk.trust.is_trusted(&chat, LOOSE));
}

#[test]
fn a_store_of_four_megabytes_is_read_and_a_larger_one_is_not() {
    let desk = Desk::new();
    let chat = desk.chat("a.chat");
    desk.trust.trust(&chat, LOOSE).unwrap();
    let text = fs::read_to_string(desk.store()).unwrap();
    for (size, is_read) in [(4_194_304, true), (4_194_305, false)] {
        let blanks = " ".repeat(size - text.len());
        fs::write(desk.store(), format!("{text}{blanks}")).unwrap();
        assert_eq!(desk.trust.is_trusted(&chat, LOOSE), is_read, "{size}");
    }
}

#[test]
fn a_folder_in_the_place_of_the_store_is_a_problem() {
    let desk = Desk::new();
    assert_eq!(desk.trust.problem(), None);
    fs::create_dir_all(desk.store()).unwrap();
    assert!(desk.trust.problem().unwrap().contains("it is not a file"));
}

#[test]
fn an_agreement_has_its_time() {
    let desk = Desk::new();
    desk.trust.trust(&desk.chat("a.chat"), LOOSE).unwrap();
    let since = desk.trust.list()[0].since;
    assert!(since > 1_700_000_000, "{since} seconds since 1970");
}

#[test]
fn what_is_taken_back_in_one_chat_stays_in_others() {
    let desk = Desk::new();
    let [mine, other, third] = ["mine.chat", "other.chat", "third.chat"].map(|it| desk.chat(it));
    let holds = Fingerprint::of(b"x");
    let may_send = |chat: &Path, files: &[&str]| {
        let mut agreed = Agreed::default();
        for file in files {
            agreed.add(PathBuf::from(file), Some(holds.clone()));
        }
        desk.trust.sendable(chat) == agreed
    };
    for (chat, file) in [(&mine, "/a"), (&mine, "/b"), (&other, "/a")] {
        desk.trust.let_send(chat, Path::new(file), &holds).unwrap();
    }
    desk.trust.trust(&other, LOOSE).unwrap();
    assert!(may_send(&mine, &["/a", "/b"]));

    assert!(!desk.trust.revoke(&third).unwrap());
    assert!(desk.trust.revoke(&mine).unwrap(), "it may send files");
    assert!(may_send(&mine, &[]) && may_send(&other, &["/a"]));
    assert!(desk.trust.is_trusted(&other, LOOSE));
}

#[test]
fn a_path_below_a_file_is_never_remembered() {
    let desk = Desk::new();
    let path = desk.chat("a.chat").join("b.chat");
    assert!(desk.trust.trust(&path, LOOSE).is_err());
}

#[test]
fn hosts_that_write_at_the_same_time_lose_nothing() {
    let desk = Desk::new();
    let chats: Vec<PathBuf> = (0..8).map(|at| desk.chat(&format!("{at}.chat"))).collect();
    std::thread::scope(|scope| {
        for chat in &chats {
            let trust = desk.trust.clone();
            scope.spawn(move || trust.trust(chat, LOOSE).unwrap());
        }
    });
    assert!(chats.iter().all(|chat| desk.trust.is_trusted(chat, LOOSE)));
}

#[test]
fn a_folder_is_trusted_by_what_was_in_it_until_that_is_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let trust = Trust::open(&folder.path().join("state"));
    let tools = folder.path().join("tools");
    std::fs::create_dir(&tools).unwrap();
    assert_eq!(trust.trusted_digest(&tools), None);
    trust.trust_folder(&tools, "one").unwrap();
    trust.trust_folder(&tools, "two").unwrap();
    assert_eq!(trust.trusted_digest(&tools).as_deref(), Some("two"));
    trust.trust(&folder.path().join("a.chat"), "x").unwrap();
    assert_eq!(
        trust.trusted_digest(&tools).as_deref(),
        Some("two"),
        "it stays"
    );
    assert!(trust.revoke_folder(&tools).unwrap());
    assert!(!trust.revoke_folder(&tools).unwrap());
    assert_eq!(trust.trusted_digest(&tools), None);
}
