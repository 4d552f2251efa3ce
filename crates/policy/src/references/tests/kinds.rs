//! What a file is, and how large it may be.

use super::*;

#[test]
fn the_first_bytes_of_a_file_say_what_it_is() {
    let world = World::new();
    for (bytes, expected) in [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0\0", "image/jpeg"),
        (b"GIF87a\0", "image/gif"),
        (b"GIF89a\0", "image/gif"),
        (b"RIFF\x01\x02\x03\x04WEBP\0", "image/webp"),
        (b"%PDF-1.4\0", "pdf"),
    ] {
        world.file("p/chats/file", bytes);
        let sent = world.sent("@./file");
        assert!(sent.starts_with(&format!("@./file={expected} ")), "{sent}");
    }
    let binary = Refusal::Unsupported("binary".to_owned());
    for bytes in [&b"GIF88a\0"[..], b"RIFF\x01\x02\x03\x04WAVE\0", b"\xff\xfe"] {
        world.file("p/chats/file", bytes);
        assert_eq!(world.refusal("@./file"), binary, "{bytes:?}");
    }
}

#[test]
fn a_type_that_is_named_wins_and_a_picture_that_is_text_is_sent_as_text() {
    let world = World::new();
    world.file("p/chats/a.svg", b"<svg/>");
    let svg = "@./a.svg;type=image/svg+xml";
    assert_eq!(world.sent(svg), format!("{svg}=\"<svg/>\""));
    let pdf = "@./a.svg;type=APPLICATION/PDF";
    assert_eq!(world.sent(pdf), format!("{pdf}=pdf PHN2Zy8+"));
    for kind in ["audio/wav", "font/woff"] {
        let text = format!("@./a.svg;type={kind}");
        assert_eq!(world.refusal(&text), Refusal::Unsupported(kind.to_owned()));
    }
}

#[test]
fn a_pipe_is_refused_and_not_waited_for() {
    let world = World::new();
    let pipe = world.path("p/chats/pipe");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert_eq!(world.refusal("@./pipe"), Refusal::NotAFile);
}

#[test]
fn the_files_of_a_message_are_bounded_together() {
    let world = World::new();
    let file = fs::File::create(world.path("p/chats/big")).unwrap();
    file.set_len(11 * 1024 * 1024).unwrap();
    let twice = "@./big;type=image/png @./big;type=image/png";
    assert_eq!(world.refusal(twice), Refusal::TooLarge);
    let most = 20 * 1024 * 1024;
    file.set_len(most).unwrap();
    assert!(world.sent("@./big;type=image/png").len() > 20_000_000);
    file.set_len(most + 1).unwrap();
    assert_eq!(world.refusal("@./big;type=image/png"), Refusal::TooLarge);
}

#[test]
fn an_error_of_the_system_is_a_refusal() {
    use std::io::{Error, ErrorKind};
    let unreadable = |reason: &str| Refusal::Unreadable(reason.to_owned());
    for (kind, expected) in [
        (ErrorKind::NotFound, Refusal::Missing),
        (ErrorKind::NotADirectory, Refusal::Missing),
        (ErrorKind::PermissionDenied, unreadable("permission denied")),
        (ErrorKind::TimedOut, unreadable("timed out")),
    ] {
        assert_eq!(Refusal::from(Error::from(kind)), expected);
    }
}
