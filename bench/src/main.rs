//! Benches with a real Neovim that has a screen, the real host, and a provider on the loopback. For
//! comparison, each run also measures the same result "by hand": with API calls in a Neovim without
//! the plugin. `make bench` runs all groups, and `BENCH=keys,open make bench` some of them.

mod changes;
mod chats;
mod commands;
mod diffs;
mod keys;
mod kinds;
mod looks;
mod machine;
mod memory;
mod menus;
mod open;
mod output;
mod probe;
mod rules;
mod scan;
mod send;
mod shell;
mod stage;
mod startup;
mod steady;
mod streams;
mod table;
mod tools;
mod trials;

use std::io::{self, Write};

use table::Table;

/// The load by other programs, in processors, above which the figures are unreliable.
const NOISE: f64 = 0.2;

type Group = fn(&mut Table) -> io::Result<()>;

const GROUPS: [(&str, Group); 19] = [
    ("startup", startup::run),
    ("open", open::run),
    ("keys", keys::run),
    ("looks", looks::run),
    ("menus", menus::run),
    ("streams", streams::run),
    ("steady", steady::run),
    ("send", send::run),
    ("shell", shell::run),
    ("tools", tools::run),
    ("changes", changes::run),
    ("trials", trials::run),
    ("commands", commands::run),
    ("diffs", diffs::run),
    ("rules", rules::run),
    ("kinds", kinds::run),
    ("output", output::run),
    ("memory", memory::run),
    ("scan", scan::run),
];

fn main() -> io::Result<()> {
    let wanted = std::env::var("BENCH").unwrap_or_default();
    let wanted: Vec<&str> = wanted.split(',').filter(|name| !name.is_empty()).collect();
    if let Some(unknown) = wanted
        .iter()
        .find(|name| GROUPS.iter().all(|group| group.0 != **name))
    {
        let names = GROUPS.map(|group| group.0).join(", ");
        return Err(io::Error::other(format!(
            "BENCH={unknown}: the groups are {names}"
        )));
    }
    let mut table = Table::default();
    writeln!(io::stdout(), "{}\n", machine::describe())?;
    table.head()?;
    let mut noisy = Vec::new();
    for (name, run) in GROUPS {
        if wanted.is_empty() || wanted.contains(&name) {
            let before = machine::busy();
            run(&mut table)?;
            let busy = before.max(machine::busy());
            if busy > NOISE {
                noisy.push(format!("{name} ({busy:.1} processors busy)"));
            }
        }
    }
    table.growth()?;
    if !noisy.is_empty() {
        writeln!(
            io::stdout(),
            "\nNoisy, others were at work: {}",
            noisy.join(", ")
        )?;
    }
    Ok(())
}
