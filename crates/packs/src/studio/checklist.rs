//! A task file: Markdown with check boxes, which people may edit too.
//!
//! Changes are made to the text, line by line, so that whatever else a person has written in the file stays.

/// The state of a task, and the sign in its box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Pending,
    InProgress,
    Done,
    Failed,
    Skipped,
}

/// A task of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Task {
    /// From 1 on, in the order of the file.
    pub(super) number: usize,
    pub(super) text: String,
    pub(super) state: State,
    pub(super) outputs: Vec<String>,
    pub(super) notes: Vec<String>,
    /// The line of its box, and the line behind everything that belongs to it.
    lines: (usize, usize),
}

/// A task file as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Checklist {
    lines: Vec<String>,
}

const COMPLETED: &str = "Completed:";
const OUTPUT: &str = "  - output: ";
const NOTE: &str = "  - note: ";

impl State {
    pub(super) const ALL: [Self; 5] =
        [Self::Pending, Self::InProgress, Self::Done, Self::Failed, Self::Skipped];
    pub(super) const NAMES: [&'static str; 5] = ["pending", "in_progress", "done", "failed", "skipped"];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }

    /// Whether something is left to do; what has failed can be tried again.
    pub(super) const fn is_left(self) -> bool {
        matches!(self, Self::Pending | Self::InProgress | Self::Failed)
    }

    const fn sign(self) -> char {
        match self {
            Self::Pending => ' ',
            Self::InProgress => '~',
            Self::Done => 'x',
            Self::Failed => '!',
            Self::Skipped => '-',
        }
    }

    fn of_sign(sign: char) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.sign() == sign.to_ascii_lowercase())
    }
}

impl Checklist {
    /// Writes a new file.
    pub(super) fn new(name: &str, description: &str, created: &str, tasks: &[&str]) -> Self {
        let mut lines = vec![format!("# {}", one_line(name)), String::new()];
        if !description.trim().is_empty() {
            lines.extend([one_line(description), String::new()]);
        }
        lines.extend([format!("Created: {created}"), String::new()]);
        lines.extend(tasks.iter().map(|task| format!("- [ ] {}", one_line(task))));
        Self { lines }
    }

    pub(super) fn parse(text: &str) -> Self {
        Self { lines: text.lines().map(str::to_owned).collect() }
    }

    pub(super) fn text(&self) -> String {
        format!("{}\n", self.lines.join("\n"))
    }

    /// Returns the first heading.
    pub(super) fn name(&self) -> &str {
        self.lines.iter().find_map(|line| line.strip_prefix("# ")).map_or("Tasks", str::trim)
    }

    /// Whether the file as a whole was completed.
    pub(super) fn is_complete(&self) -> bool {
        self.lines.iter().any(|line| line.starts_with(COMPLETED))
    }

    pub(super) fn tasks(&self) -> Vec<Task> {
        let mut tasks: Vec<Task> = Vec::new();
        for (at, line) in self.lines.iter().enumerate() {
            if let Some((state, text)) = boxed(line) {
                let number = tasks.len() + 1;
                let text = text.trim().to_owned();
                tasks.push(Task {
                    number,
                    text,
                    state,
                    outputs: Vec::new(),
                    notes: Vec::new(),
                    lines: (at, at + 1),
                });
            } else if let Some(task) = tasks.last_mut().filter(|task| task.lines.1 == at) {
                if let Some(output) = line.strip_prefix(OUTPUT) {
                    task.outputs.push(output.to_owned());
                } else if let Some(note) = line.strip_prefix(NOTE) {
                    task.notes.push(note.to_owned());
                } else if !line.starts_with("  ") {
                    continue;
                }
                task.lines.1 = at + 1;
            }
        }
        tasks
    }

    /// Puts another sign into a task's box.
    pub(super) fn set(&mut self, task: &Task, state: State) {
        let line = &mut self.lines[task.lines.0];
        if let Some(at) = line.find('[') {
            // Every sign, the old and the new, is one byte long.
            line.replace_range(at + 1..at + 2, &state.sign().to_string());
        }
    }

    /// Adds a line below a task, once.
    pub(super) fn add_output(&mut self, number: usize, output: &str) {
        self.add(number, &format!("{OUTPUT}{}", one_line(output)));
    }

    /// Adds a line below a task, once.
    pub(super) fn add_note(&mut self, number: usize, note: &str) {
        self.add(number, &format!("{NOTE}{}", one_line(note)));
    }

    /// Marks the file as a whole as completed.
    pub(super) fn complete(&mut self, at: &str) {
        self.lines.extend([String::new(), format!("{COMPLETED} {at}")]);
    }

    fn add(&mut self, number: usize, line: &str) {
        let Some(task) = self.tasks().into_iter().find(|task| task.number == number) else { return };
        if !self.lines[task.lines.0..task.lines.1].iter().any(|it| it == line) {
            self.lines.insert(task.lines.1, line.to_owned());
        }
    }
}

/// Takes a line with a box apart.
fn boxed(line: &str) -> Option<(State, &str)> {
    let rest = ["- [", "* [", "+ ["].iter().find_map(|start| line.strip_prefix(start))?;
    let sign = rest.chars().next()?;
    let text = rest[sign.len_utf8()..].strip_prefix(']')?;
    Some((State::of_sign(sign)?, text.strip_prefix(' ')?))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
