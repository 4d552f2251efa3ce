//! Scans of a folder of tools while it changes.

#![allow(clippy::unwrap_used)]

use super::*;

struct Stage {
    dir: tempfile::TempDir,
    folder: ScriptFolder,
}

impl Stage {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let folder = ScriptFolder::new(ScriptRoot {
            root: dir.path().join("tools"),
            libraries: Vec::new(),
            agreed: None,
        });
        Self { dir, folder }
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.dir.path().join("tools").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn tool(&self, folder: &str, rest: &str) {
        let text = format!("description = \"d\"\nscript = \"s.py\"\n{rest}");
        self.write(&format!("{folder}/tool.toml"), &text);
        self.write(&format!("{folder}/s.py"), "");
    }

    /// Scans the folder. Returns whether anything changed, and the names of the tools.
    fn scan(&mut self) -> (bool, Vec<String>) {
        let changed = self.folder.scan();
        let tools = self.folder.tools();
        (
            changed,
            tools.iter().map(|it| it.name().to_owned()).collect(),
        )
    }

    fn problems(&self) -> Vec<String> {
        let root = format!("{}/", self.dir.path().join("tools").display());
        let problems = self.folder.problems();
        problems
            .iter()
            .map(|it| it.to_string().replace(&root, ""))
            .collect()
    }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|it| (*it).to_owned()).collect()
}

#[test]
fn a_scan_finds_all_changes_and_nothing_else() {
    let mut stage = Stage::new();
    assert_eq!(stage.scan(), (false, vec![]));
    stage.tool("a", "");
    stage.tool("b", "");
    assert_eq!(stage.scan(), (true, names(&["a", "b"])));
    assert_eq!(stage.scan(), (false, names(&["a", "b"])));
    stage.tool("b", "name = \"renamed\"\n");
    assert_eq!(stage.scan(), (true, names(&["a", "renamed"])));
    fs::rename(
        stage.folder.place.root.join("a"),
        stage.folder.place.root.join("c"),
    )
    .unwrap();
    assert_eq!(stage.scan(), (true, names(&["c", "renamed"])));
    fs::remove_dir_all(&stage.folder.place.root).unwrap();
    assert_eq!(stage.scan(), (true, vec![]));
    assert_eq!(stage.problems(), Vec::<String>::new());
}

#[test]
fn a_broken_tool_is_reported_and_affects_no_other() {
    let mut stage = Stage::new();
    stage.tool("good", "");
    stage.write("bad/tool.toml", "description = \"d\"\nscript = 5\n");
    stage.write("lost/tool.toml", "description = \"d\"\nscript = \"s.py\"\n");
    stage.write("notes/readme.txt", "no tool");
    stage.write(".hidden/tool.toml", "no TOML");
    assert_eq!(stage.scan().1, ["good"]);
    let lost = "There is no file lost/s.py, which \"script\" names. Write it, or name another";
    assert_eq!(
        stage.problems(),
        [
            "bad/tool.toml, line 2: \"script\" must be text in quotes".to_owned(),
            format!("lost/tool.toml, line 1: {lost}"),
        ]
    );
    stage.write("lost/s.py", "");
    stage.tool("bad", "");
    assert_eq!(stage.scan(), (true, names(&["bad", "good", "lost"])));
    assert_eq!(stage.problems(), Vec::<String>::new());
}

#[test]
fn the_second_tool_with_a_name_is_left_out() {
    let mut stage = Stage::new();
    stage.tool("a", "name = \"same\"\n");
    stage.tool("b", "name = \"same\"\n");
    assert_eq!(stage.scan().1, ["same"]);
    assert_eq!(
        stage.problems(),
        [
            "b/tool.toml, line 1: \"same\" is the name of the tool in a already. Give it another name"
        ]
    );
}

#[test]
fn a_manifest_that_is_no_small_file_is_reported() {
    let mut stage = Stage::new();
    fs::create_dir_all(stage.folder.place.root.join("x/tool.toml")).unwrap();
    let large = "#".repeat(300 * 1024);
    stage.write("y/tool.toml", &large);
    stage.scan();
    let problems = stage.problems();
    assert_eq!(problems.len(), 2);
    assert!(
        problems
            .iter()
            .all(|it| it.contains("no file of at most 256 KB"))
    );
}
