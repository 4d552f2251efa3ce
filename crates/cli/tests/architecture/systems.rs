//! Which files refer to an operating system.

use std::collections::BTreeMap;
use std::fs;

use super::files;
use super::source::{code, is_test};

/// Components of the paths of files that may refer to an operating system. `elsewhere` is for all
/// that have no file of their own.
const SYSTEMS: [&str; 5] = ["elsewhere", "linux", "macos", "unix", "windows"];

/// What only exists on some systems, selects one, or has a replacement in `crates/platform`.
const SIGNS: [&str; 12] = [
    // The result on Windows is a path that no user writes.
    ".canonicalize()",
    "fs::canonicalize",
    "UnixDatagram",
    "UnixListener",
    "UnixStream",
    "landlock::",
    "nix::",
    "process_wrap::",
    "rustix::",
    "seccompiler::",
    "signal::unix",
    "std::os::",
];

/// Predicates of `cfg` that name a system.
const PREDICATES: [&str; 4] = ["unix", "windows", "target_os", "target_family"];

/// Returns the first line of the code that refers to a system.
fn first_reference(text: &str) -> Option<String> {
    let code = code(text);
    let lines: Vec<&str> = code.lines().collect();
    let refers = |(at, line): &(usize, &&str)| {
        let signs = SIGNS.iter().any(|it| line.contains(it));
        let selects = line.contains("cfg") && PREDICATES.iter().any(|it| line.contains(it));
        signs || selects && !is_dispatch(line, lines.get(at + 1).copied().unwrap_or_default())
    };
    let found = lines.iter().enumerate().find(refers);
    found.map(|(at, line)| format!("line {}: {}", at + 1, line.trim()))
}

/// Returns true for the attribute of a module that is named for a system, or of its import.
fn is_dispatch(attribute: &str, item: &str) -> bool {
    let words: Vec<&str> = item.trim().trim_end_matches(';').split(' ').collect();
    let named = |name: &str| SYSTEMS.contains(&name.split("::").next().unwrap_or_default());
    let is_item = match words[..] {
        ["mod", name] | ["mod", name, "{"] | ["pub" | "pub(crate)" | "pub(super)", "mod", name] => {
            named(name)
        }
        ["use", name, "as", _] => named(name),
        _ => false,
    };
    attribute.trim().starts_with("#[cfg(") && is_item
}

fn is_of_a_system(file: &str) -> bool {
    let mut parts = file.split(['/', '.']);
    parts.any(|part| SYSTEMS.contains(&part))
}

#[test]
fn only_modules_named_for_an_operating_system_refer_to_one() {
    let root = super::root();
    let mut found = BTreeMap::new();
    for path in files(&root.join("crates"), ".rs") {
        let file = path.strip_prefix(&root).unwrap().to_string_lossy();
        let file = file.into_owned();
        let is_ours = file.contains("/src/") && !file.starts_with("crates/platform/");
        if !is_ours || is_test(&file) || is_of_a_system(&file) {
            continue;
        }
        if let Some(line) = first_reference(&fs::read_to_string(&path).unwrap()) {
            found.insert(file, line);
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_reference_is_found_and_a_module_for_a_system_is_none() {
    for (text, expected) in [
        ("use std::os::fd::OwnedFd;", true),
        ("use std::{fs, io};\nuse rustix::fs::open;", true),
        ("#[cfg(unix)]\nfn f() {}", true),
        ("if cfg!(target_os = \"macos\") {}", true),
        ("#[cfg_attr(windows, path = \"x.rs\")]\nmod x;", true),
        (
            "#[cfg(unix)]\nmod unix;\n#[cfg(unix)]\nuse unix as system;",
            false,
        ),
        (
            "#[cfg(target_os = \"linux\")]\npub(super) mod linux;",
            false,
        ),
        ("// std::os::unix\nlet s = \"rustix::fs\";", false),
        (
            "#[cfg(test)]\nmod tests { use std::os::unix::fs::symlink; }",
            false,
        ),
    ] {
        assert_eq!(first_reference(text).is_some(), expected, "{text}");
    }
    assert!(is_of_a_system("crates/tools/src/process/unix/tree.rs"));
    assert!(is_of_a_system("crates/tools/src/process/linux.rs"));
    assert!(!is_of_a_system("crates/tools/src/unixes.rs"));
}
