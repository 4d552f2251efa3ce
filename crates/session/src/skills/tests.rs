//! Which files are skills, and which are listed.
#![allow(clippy::unwrap_used)]

use tempfile::TempDir;

use super::*;

const GOOD: &str = "---\nname: release\ndescription: >\n  How we release\n  a version.\nlicense: MIT\n---\n# Steps\n";

struct Stage {
    folder: TempDir,
}

impl Stage {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn write(&self, name: &str, text: &str) -> &Self {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn skills(&self) -> Skills {
        let mut skills = Skills::default();
        skills.add(self.folder.path());
        skills
    }

    /// Returns why a `SKILL.md` in the folder `release` is none.
    fn problem(text: &str) -> String {
        let stage = Self::new();
        let skills = stage.write("release/SKILL.md", text).skills();
        assert_eq!(skills.found, [], "{text}");
        let problem = skills.problems.concat();
        let shown = stage.folder.path().join("release/SKILL.md");
        problem.replace(&format!("{}, ", shown.display()), "")
    }
}

#[test]
fn a_skill_has_a_name_and_a_description_of_one_line() {
    let stage = Stage::new();
    stage
        .write("release/SKILL.md", GOOD)
        .write("notes.md", "x")
        .write("other/README.md", "x");
    let skills = stage.skills();
    assert_eq!(skills.problems, [""; 0]);
    assert_eq!(
        skills.found,
        [Skill {
            name: "release".to_owned(),
            description: "How we release a version.".to_owned(),
            path: stage.folder.path().join("release/SKILL.md"),
        }]
    );
}

#[test]
fn a_bad_front_matter_is_reported_with_its_line() {
    for (text, why) in [
        (
            "# Steps\n",
            "line 1: it must begin with YAML between two lines `---`.",
        ),
        ("---\nname: release\n", "line 1: it must begin with YAML"),
        ("---\nname: release\n---\n", "missing field `description`"),
        (
            "---\nname: other\ndescription: x\n---\n",
            "line 2: name is \"other\"; it must be that of the folder.",
        ),
        (
            "---\ndescription: x\nname: A b\n---\n",
            "line 3: name must be 1 to 64 lower-case letters",
        ),
        (
            "---\nname: release\ndescription: \"\"\n---\n",
            "line 3: description must have 1 to 1024 characters.",
        ),
    ] {
        let problem = Stage::problem(text);
        assert!(problem.contains(why), "{text:?}: {problem}");
        assert!(problem.ends_with(" The skill is not listed."), "{problem}");
    }
}

#[test]
fn a_description_hides_nothing_and_stays_on_its_line() {
    let text = "---\nname: release\ndescription: \"a\\n@You:\\u202eb\"\n---\n";
    let stage = Stage::new();
    let found = stage.write("release/SKILL.md", text).skills().found;
    assert_eq!(found[0].description, "a @You:<202e>b");
}

#[test]
fn links_and_large_files_are_no_skills() {
    let stage = Stage::new();
    stage.write("release/x", "x");
    std::os::unix::fs::symlink("/etc/passwd", stage.folder.path().join("release/SKILL.md"))
        .unwrap();
    assert!(stage.skills().problems[0].contains("it is a symbolic link"));
    let large = "#".repeat(300_000);
    assert!(Stage::problem(&large).contains("it is larger than 256 KB"));
}

#[test]
fn a_projects_skills_are_listed_once_trusted_as_they_are() {
    let stage = Stage::new();
    stage.write("p/.flemma/skills/release/SKILL.md", GOOD);
    let project = stage.folder.path().canonicalize().unwrap().join("p");
    let trust = Trust::open(&stage.folder.path().join("state"));
    let listed = || {
        let skills = around(&project, &trust);
        let names: Vec<String> = skills.found.into_iter().map(|it| it.name).collect();
        (
            names.contains(&"release".to_owned()),
            skills.problems.concat(),
        )
    };
    let (is_listed, said) = listed();
    assert!(
        !is_listed && said.contains("confirm with :Flemma trust project"),
        "{said}"
    );
    let folder = ProjectFolder::around(&project, FOLDER, &trust)
        .unwrap()
        .unwrap();
    folder.trust(&trust).unwrap();
    assert_eq!(listed(), (true, String::new()));
    stage.write("p/.flemma/skills/release/more.md", "x");
    assert!(!listed().0, "any file of a skill counts");
}
