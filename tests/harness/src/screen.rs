//! The screen that the user sees: the grid of Neovim's `ext_linegrid` events, with the highlight
//! groups of each cell. Knows neither windows nor buffers.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rmpv::Value;

use crate::channel::lock;

/// A grid that one thread updates and others read.
#[derive(Default)]
pub(crate) struct Screen {
    grid: Mutex<Grid>,
    drawn: Condvar,
}

#[derive(Default)]
struct Grid {
    rows: Vec<Vec<Cell>>,
    /// Highlight groups by the id in cells, topmost last.
    groups: HashMap<u64, Vec<String>>,
    /// True if a frame is complete.
    whole: bool,
    /// The number of frames so far.
    frames: u64,
}

/// A cell. The right half of a wide character is empty.
#[derive(Clone, Default)]
struct Cell {
    text: String,
    highlight: u64,
}

impl Screen {
    /// Applies the parameters of one `redraw` notification.
    pub(crate) fn redraw(&self, batches: &[Value]) {
        let mut grid = lock(&self.grid);
        let frames = grid.frames;
        for batch in batches.iter().filter_map(Value::as_array) {
            if let Some((name, calls)) = batch.split_first() {
                let name = name.as_str().unwrap_or_default();
                for call in calls.iter().filter_map(Value::as_array) {
                    grid.apply(name, call);
                }
            }
        }
        if grid.frames != frames {
            self.drawn.notify_all();
        }
    }

    /// The rows of the last complete frame, without trailing blanks.
    pub(crate) fn rows(&self) -> Vec<String> {
        let grid = self.whole();
        grid.rows.iter().map(|row| text_of(row)).collect()
    }

    /// The highlight groups of the cell `columns` right of where `text` first starts in the last complete
    /// frame, topmost last. `None` if the text is not on the screen.
    pub(crate) fn groups_of(&self, text: &str, columns: usize) -> Option<Vec<String>> {
        let grid = self.whole();
        let mut found = grid.rows.iter().filter_map(|row| {
            let mut before = text_of(row).find(text)?;
            let column = row.iter().position(|cell| {
                let is_start = before == 0;
                before = before.saturating_sub(cell.text.len());
                is_start
            });
            row.get(column? + columns)
        });
        let groups = grid.groups.get(&found.next()?.highlight);
        Some(groups.cloned().unwrap_or_default())
    }

    /// Waits for a complete frame.
    fn whole(&self) -> MutexGuard<'_, Grid> {
        let mut grid = lock(&self.grid);
        let deadline = Instant::now() + Duration::from_secs(1);
        while !grid.whole && Instant::now() < deadline {
            grid = self.wait(grid, Duration::from_millis(20));
        }
        grid
    }

    /// The number of frames so far.
    pub(crate) fn frames(&self) -> u64 {
        lock(&self.grid).frames
    }

    /// Waits until the number of frames differs from `seen`, for at most `patience`.
    pub(crate) fn wait_frame(&self, seen: u64, patience: Duration) {
        let grid = lock(&self.grid);
        if grid.frames == seen {
            drop(self.wait(grid, patience));
        }
    }

    fn wait<'a>(&self, grid: MutexGuard<'a, Grid>, patience: Duration) -> MutexGuard<'a, Grid> {
        self.drawn
            .wait_timeout(grid, patience)
            .unwrap_or_else(PoisonError::into_inner)
            .0
    }
}

fn text_of(row: &[Cell]) -> String {
    let text: String = row.iter().map(|cell| cell.text.as_str()).collect();
    text.trim_end().to_owned()
}

fn number(arguments: &[Value], at: usize) -> usize {
    arguments.get(at).and_then(Value::as_u64).unwrap_or(0) as usize
}

impl Grid {
    fn apply(&mut self, name: &str, arguments: &[Value]) {
        self.whole = name == "flush";
        match name {
            "flush" => self.frames += 1,
            "grid_resize" => self.resize(number(arguments, 1), number(arguments, 2)),
            "grid_clear" => self.rows.iter_mut().for_each(|row| blank(row)),
            "grid_line" => self.line(arguments),
            "grid_scroll" => self.scroll(arguments),
            "hl_attr_define" => self.define(arguments),
            _ => {}
        }
    }

    fn resize(&mut self, width: usize, height: usize) {
        self.rows.resize(height, Vec::new());
        for row in &mut self.rows {
            row.resize(width, Cell::default());
        }
    }

    /// Applies `grid, row, column, cells`; a cell is `text, highlight?, repeat?`.
    fn line(&mut self, arguments: &[Value]) {
        let Some(row) = self.rows.get_mut(number(arguments, 1)) else {
            return;
        };
        let mut column = number(arguments, 2);
        let mut highlight = 0;
        let cells = arguments.get(3).and_then(Value::as_array);
        for cell in cells.into_iter().flatten().filter_map(Value::as_array) {
            let text = cell.first().and_then(Value::as_str).unwrap_or_default();
            // If absent, it is that of the previous cell.
            highlight = cell.get(1).and_then(Value::as_u64).unwrap_or(highlight);
            let repeat = cell.get(2).and_then(Value::as_u64).unwrap_or(1);
            for _ in 0..repeat {
                if let Some(place) = row.get_mut(column) {
                    place.text.clear();
                    place.text.push_str(text);
                    place.highlight = highlight;
                }
                column += 1;
            }
        }
    }

    /// Applies `grid, top, bottom, left, right, rows`: moves the region up by `rows`, or down if that
    /// is negative. Later events draw the uncovered rows.
    fn scroll(&mut self, arguments: &[Value]) {
        let (top, bottom) = (number(arguments, 1), number(arguments, 2));
        let (left, right) = (number(arguments, 3), number(arguments, 4));
        let by = arguments.get(5).and_then(Value::as_i64).unwrap_or(0);
        let distance = by.unsigned_abs() as usize;
        let targets: Vec<usize> = if by > 0 {
            (top..bottom.saturating_sub(distance)).collect()
        } else {
            (top + distance..bottom).rev().collect()
        };
        for target in targets {
            let source = if by > 0 {
                target + distance
            } else {
                target - distance
            };
            let moved = self.rows[source][left..right].to_vec();
            self.rows[target][left..right].clone_from_slice(&moved);
        }
    }

    /// Applies `id, rgb, cterm, info`. With `ext_hlstate`, `info` lists the groups.
    fn define(&mut self, arguments: &[Value]) {
        let groups = arguments.get(3).and_then(Value::as_array);
        let names = groups.into_iter().flatten().filter_map(|group| {
            let mut fields = group.as_map()?.iter();
            let name = fields.find(|(key, _)| key.as_str() == Some("hi_name"))?;
            name.1.as_str().map(str::to_owned)
        });
        self.groups
            .insert(number(arguments, 0) as u64, names.collect());
    }
}

fn blank(row: &mut [Cell]) {
    for cell in row {
        cell.text.clear();
        cell.text.push(' ');
        cell.highlight = 0;
    }
}
