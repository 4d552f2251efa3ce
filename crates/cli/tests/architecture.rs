//! The invariants of ARCHITECTURE.md that can be read off the files.
#![allow(clippy::unwrap_used)]

#[path = "architecture/imports.rs"]
mod imports;
#[path = "architecture/source.rs"]
mod source;
#[path = "architecture/systems.rs"]
mod systems;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Names in the `[dependencies]` table of a crate.
fn dependencies(name: &str) -> BTreeSet<String> {
    let manifest = fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).unwrap();
    let mut tables = manifest.split("\n[");
    let table = tables.find(|table| table.starts_with("dependencies]"));
    // `platform` has only dependencies of one operating system each.
    let table = table.unwrap_or_default();
    let keys = table
        .lines()
        .skip(1)
        .filter_map(|line| line.split(['.', '=', ' ']).next());
    keys.filter(|key| !key.is_empty())
        .map(str::to_owned)
        .collect()
}

/// All files with this ending below a folder.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
    found
}

/// Each crate's folder, and the crates of ours that it may use.
const CRATES: [(&str, &[&str]); 10] = [
    ("chat", &[]),
    ("provider", &["chat"]),
    ("platform", &[]),
    ("tools", &["chat", "platform"]),
    ("agent", &["chat", "provider", "tools"]),
    ("mcp", &["chat", "tools"]),
    // The rows of the providers are options.
    ("policy", &["chat", "provider", "platform", "tools"]),
    (
        "session",
        &[
            "chat", "provider", "platform", "tools", "agent", "mcp", "policy",
        ],
    ),
    (
        "nvim",
        &["chat", "platform", "tools", "mcp", "policy", "session"],
    ),
    (
        "cli",
        &[
            "chat", "provider", "platform", "tools", "agent", "mcp", "policy", "session", "nvim",
        ],
    ),
];

#[test]
fn every_crate_has_its_edges_listed() {
    let folders = fs::read_dir(root().join("crates")).unwrap().flatten();
    let folders: BTreeSet<String> = folders
        .map(|it| it.file_name().to_string_lossy().into_owned())
        .collect();
    let listed = CRATES.iter().map(|(name, _)| (*name).to_owned());
    assert_eq!(folders, listed.collect());
}

#[test]
fn dependencies_point_one_way() {
    for (name, allowed) in CRATES {
        let ours = CRATES.iter().map(|(other, _)| *other);
        let used = dependencies(name);
        let used: Vec<&str> = ours.filter(|it| used.contains(*it)).collect();
        assert!(
            used.iter().all(|it| allowed.contains(it)),
            "{name} uses {used:?}"
        );
    }
}

#[test]
fn the_modules_of_a_crate_form_no_cycle() {
    for (name, _) in CRATES {
        let imports = imports::of_crate(&root().join("crates").join(name).join("src"));
        // The modules of `platform` need not know each other.
        assert!(name == "platform" || !imports.is_empty(), "{name}");
        if let Some(cycle) = imports::shortest_cycle(&imports) {
            panic!("cycle in {name}:\n{}", imports::describe(&cycle));
        }
    }
}

#[test]
fn the_pure_crates_have_no_way_out() {
    let ways_out = [
        "tokio",
        "reqwest",
        "rustix",
        "rmpv",
        "nvim-rs",
        "tempfile",
        "process-wrap",
        "tracing",
    ];
    for name in ["chat", "provider"] {
        let used = dependencies(name);
        assert!(
            !ways_out.iter().any(|it| used.contains(*it)),
            "{name} uses {used:?}"
        );
        for file in files(&root().join("crates").join(name).join("src"), ".rs") {
            let text = fs::read_to_string(&file).unwrap();
            for word in [
                "std::fs",
                "std::net",
                "std::process",
                "std::time",
                "std::env",
                "async fn",
            ] {
                assert!(!text.contains(word), "{} says {word}", file.display());
            }
        }
    }
}

#[test]
fn one_module_names_the_rpc_crates() {
    for file in files(&root().join("crates"), ".rs") {
        let text = fs::read_to_string(&file).unwrap();
        let names =
            text.contains("nvim_rs::") || text.contains("rmpv::") || text.contains("rmp_serde::");
        assert!(
            !names || file.ends_with("nvim/src/rpc.rs") || file.ends_with(file!()),
            "{}",
            file.display()
        );
    }
}

/// Re-exports and macros could use a library without naming it; a dependency cannot.
#[test]
fn one_crate_depends_on_the_library_of_a_protocol() {
    for (library, user) in [("nvim-rs", "nvim"), ("rmpv", "nvim"), ("rmcp", "mcp")] {
        for entry in fs::read_dir(root().join("crates")).unwrap().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let depends = dependencies(&name).contains(library);
            assert_eq!(depends, name == user, "{library} in {name}");
        }
    }
}

#[test]
fn one_crate_names_the_sdk_of_the_protocol() {
    for file in files(&root().join("crates"), ".rs") {
        let text = fs::read_to_string(&file).unwrap();
        let parts: Vec<_> = file.components().collect();
        let inside = |folder: &str| parts.iter().any(|it| it.as_os_str() == folder);
        let may = inside("mcp") && (inside("serve") || inside("client"))
            || file.ends_with("mcp/src/client.rs")
            || file.ends_with("mcp/src/serve.rs");
        let names = text.contains("rmcp::");
        assert!(
            !names || may || file.ends_with(file!()),
            "{}",
            file.display()
        );
    }
}

/// Other users and sandboxed commands may write to the temporary folder of the system. A name there
/// that can be guessed may be a link to any file of the user.
#[test]
fn one_module_makes_temporary_names() {
    /// Where each way may be used, as the end of a path.
    const WAYS: [(&str, &[&str]); 8] = [
        // A user without a home has the state folder there.
        ("temp_dir()", &["tools/src/state_dir.rs"]),
        // Keeps whole outputs for the user, in the state folder, under random names.
        ("tempfile::", &["tools/src/output/capture.rs"]),
        ("\"TMPDIR\"", &["sandbox/linux/bwrap.rs"]),
        (
            "\"/tmp",
            &[
                "policy/src/sandbox.rs",
                "tools/src/sandbox.rs",
                "policy/src/settings/grants.rs",
                "policy/src/options/rows/tools.rs",
            ],
        ),
        (".with_extension(\"new\")", &[]),
        (".with_extension(\"tmp\")", &[]),
        ("mktemp", &[]),
        (
            "create_new(true)",
            &[
                "tools/src/private.rs",
                "cli/src/headless/reviewing.rs",
                "platform/src/files/windows/folder.rs",
            ],
        ),
    ];
    let mut used = BTreeSet::new();
    for file in files(&root().join("crates"), ".rs") {
        let shown = file.to_string_lossy().into_owned();
        if !shown.contains("/src/") || source::is_test(&shown) {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        // Tests and comments may name any folder.
        let code = source::without_tests(&text);
        for (way, places) in WAYS {
            if code.contains(way) {
                let place = places.iter().find(|it| shown.ends_with(**it));
                assert!(place.is_some(), "{shown} says {way}: use tools::private");
                used.extend(place.map(|it| (way, *it)));
            }
        }
    }
    // A row that nothing needs permits too much.
    let listed = WAYS
        .iter()
        .flat_map(|(way, places)| places.iter().map(move |it| (*way, *it)));
    assert_eq!(used, listed.collect());
    for file in files(&root().join("lua"), ".lua") {
        let text = fs::read_to_string(&file).unwrap();
        for way in ["os.tmpname", "os_tmpdir", "mkdtemp", "\"/tmp"] {
            assert!(
                !text.contains(way),
                "{} says {way}: use vim.fn.tempname()",
                file.display()
            );
        }
    }
}

/// The names of the messages that the host sends, from where it sends them.
fn sent() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for file in files(&root().join("crates/nvim/src"), ".rs") {
        let text = fs::read_to_string(&file).unwrap();
        let flat: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for piece in flat.split(".send(").skip(1) {
            let literal = piece.trim_start().strip_prefix('"');
            names.extend(
                literal
                    .and_then(|rest| rest.split('"').next())
                    .map(str::to_owned),
            );
        }
    }
    names
}

#[test]
fn lua_receives_every_message_that_the_host_sends() {
    let lua = fs::read_to_string(root().join("lua/flemma/protocol.lua")).unwrap();
    let table = lua
        .split("M.RECEIVERS = {")
        .nth(1)
        .unwrap()
        .split('}')
        .next()
        .unwrap();
    let received: BTreeSet<String> = table
        .lines()
        .filter_map(|line| Some(line.split_once(" = ")?.0.trim().to_owned()))
        .collect();
    let sent = sent();
    assert!(sent.len() > 10, "{sent:?}");
    // `welcome` is the handshake, which `host.lua` reads itself.
    let missing: Vec<&String> = sent
        .iter()
        .filter(|name| *name != "welcome" && !received.contains(*name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    let protocol = fs::read_to_string(root().join("crates/session/src/protocol.rs")).unwrap();
    let version = protocol.split_once("VERSION: u64 = ").unwrap().1;
    let version = version.split_once(';').unwrap().0;
    assert!(lua.contains(&format!("\nM.VERSION = {version}\n")));
}

/// The test modules that `tests/README.md` names.
#[test]
fn the_modules_that_the_readme_of_the_tests_names_exist() {
    let readme = fs::read_to_string(root().join("tests/README.md")).unwrap();
    let (_, faults) = readme.split_once("## Faults").unwrap();
    let (faults, _) = faults.split_once("\n## ").unwrap();
    let mut folder = String::new();
    let mut count = 0;
    for name in faults.split('`').skip(1).step_by(2) {
        let tests = match name {
            "e2e" => "tests/e2e".to_owned(),
            "tools" => "crates/tools/tests/it".to_owned(),
            krate if root().join("crates").join(krate).is_dir() => format!("crates/{krate}/tests"),
            module => {
                let found = files(&root().join(&folder), &format!("/{module}.rs"));
                assert!(!found.is_empty(), "{folder} has no {module}.rs");
                count += 1;
                continue;
            }
        };
        folder = tests;
    }
    assert!(count > 20, "{count} modules");
}

/// A walk follows the code, so a reader finds each step by its name.
#[test]
fn the_names_in_the_walks_of_architecture_exist() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let mut sources = String::new();
    for (folder, ending) in [("crates", ".rs"), ("lua", ".lua")] {
        for file in files(&root().join(folder), ending) {
            sources.push_str(&fs::read_to_string(file).unwrap());
        }
    }
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let known: BTreeSet<&str> = sources.split(|c| !is_part(c)).collect();
    for title in ["One keypress", "One delta", "One approval"] {
        let (_, walk) = text.split_once(&format!("\n## {title}\n")).unwrap();
        let walk = walk.split("\n## ").next().unwrap();
        let steps = walk.lines().filter(|it| it.starts_with(char::is_numeric));
        let steps = steps.count();
        assert!((5..=12).contains(&steps), "{title}: {steps} steps");
        for name in walk.split('`').skip(1).step_by(2) {
            if name.ends_with(".rs") || name.ends_with(".lua") {
                let mut places = ["", "crates", "crates/session/src"].into_iter();
                let is_file = places.any(|it| root().join(it).join(name).is_file());
                assert!(is_file, "{title}: {name} is not a file");
                continue;
            }
            let missing = name
                .split(|c| !is_part(c))
                .find(|part| !known.contains(part));
            assert_eq!(missing, None, "{title}: {name}");
        }
    }
}

/// The documentation of the library is compiled as a test, so what stands there is true.
#[test]
fn the_readmes_program_is_an_example_of_the_library() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let library = fs::read_to_string(root().join("crates/agent/src/lib.rs")).unwrap();
    let programs = readme.split("```rust\n").skip(1);
    let programs: Vec<&str> = programs.filter_map(|it| it.split("```").next()).collect();
    assert!(!programs.is_empty());
    for line in programs.iter().flat_map(|it| it.lines()) {
        assert!(library.contains(&format!("//! {line}\n")), "{line}");
    }
}

#[test]
fn variables_are_read_where_those_outside_the_environment_block_are_known() {
    // Variables that only tests and the generator of the help read.
    let others = [
        "tools/src/variables.rs",
        "tools/src/shell/property.rs",
        "policy/src/options/docgen.rs",
        "nvim/src/host/panic_tests.rs",
    ];
    for path in files(&root().join("crates"), ".rs") {
        let shown = path.to_string_lossy().into_owned();
        if shown.contains("/src/") && !others.iter().any(|it| shown.ends_with(it)) {
            let text = fs::read_to_string(&path).unwrap();
            assert!(!text.contains("env::var"), "{shown}");
        }
    }
    // Those that the command line reads by itself stay in the block.
    let block = fs::read_to_string(root().join("crates/tools/src/variables.rs")).unwrap();
    for path in files(&root().join("crates/cli/src"), ".rs") {
        let text = fs::read_to_string(path).unwrap();
        for read in text.split("(long, env = \"").skip(1) {
            let name = read.split('"').next().unwrap();
            assert!(block.contains(&format!("    \"{name}\",")), "{name}");
        }
    }
}
