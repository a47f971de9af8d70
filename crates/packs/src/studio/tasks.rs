//! Task files: the steps of a long job, kept as Markdown in `tasks/`, so that a job survives whatever happens.
//!
//! A file is replaced whole or not at all, and only one change happens at a time, over all programs.

use serde_json::{Value, json};

use super::{
    Studio,
    checklist::{Checklist, State, Task},
    describe::Doc,
    schema::{self, Page, choice, count, flag, is, line, lines, page_of, records, said, texts},
    slug,
};
use crate::{
    arguments::Arguments,
    reply::{Answer, Outcome, Refusal, shown},
    sandbox::{self, SafePath, Shape, Writing},
    tool::{Effect, Spec, Tool},
};

/// The folder of task files.
pub(super) const FOLDER: &str = "tasks";
const MOST_TASKS: u32 = 200;
const LARGEST: u64 = 1024 * 1024;

pub(super) fn tools() -> Vec<Tool<Studio>> {
    let tools = [
        create_spec().run(create),
        remaining_spec().run(remaining),
        update_spec().run(update),
        complete_spec().run(complete),
    ];
    tools.into_iter().map(|tool| tool.tagged(["domain:tasks_files"])).collect()
}

fn create(studio: &Studio, arguments: &Arguments<'_>) -> Outcome {
    let (name, tasks) = (arguments.required("name").trim(), arguments.list("tasks"));
    if tasks.is_empty() {
        return Err(Refusal::new(
            "`tasks` is empty: send the steps, for example [\"Take photos\", \"Write headline\"]",
        ));
    }
    let description = arguments.text("description").unwrap_or_default();
    let file = Checklist::new(name, description, &studio.now(), &tasks);
    // The lock of the database keeps two calls from taking the same name.
    studio.store.write(|_| {
        let base = slug::from_words(name);
        for number in 1.. {
            let slug = if number == 1 { base.clone() } else { format!("{base}-{number}") };
            match studio.sandbox.write(&path(&slug)?, file.text().as_bytes(), Writing::New) {
                Ok(()) => return Ok(answer(&slug, &file)),
                Err(sandbox::Error::Exists(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Refusal::new("there is no name left for the task file: choose another"))
    })
}

fn remaining(studio: &Studio, arguments: &Arguments<'_>) -> Outcome {
    let page = Page::unless(arguments, "slug")?;
    let slugs = match arguments.text("slug") {
        Some(slug) => vec![slug.to_owned()],
        None => all(studio)?,
    };
    let asked_for_one = arguments.text("slug").is_some();
    let (mut files, mut unreadable) = (Vec::new(), Vec::new());
    for slug in slugs {
        match read(studio, &slug) {
            Ok(file) if asked_for_one || !file.is_complete() => files.push((slug, file)),
            Ok(_) => {}
            Err(error) if asked_for_one => return Err(error),
            // One file that a person has broken does not hide the others.
            Err(error) => unreadable.push(error.text().to_owned()),
        }
    }
    let total = files.len();
    let left: usize =
        files.iter().map(|(_, file)| file.tasks().iter().filter(|it| it.state.is_left()).count()).sum();
    let files = page.take(files);
    let shown: Vec<Value> =
        files.iter().map(|(slug, file)| status(slug, file, |task| task.state.is_left())).collect();
    Ok(Answer::json(json!({
        "has_more": page.has_more(shown.len(), total),
        "files": shown,
        "remaining_count": left,
        "unreadable": unreadable,
        "total_count": total,
        "offset": page.offset,
    })))
}

fn update(studio: &Studio, arguments: &Arguments<'_>) -> Outcome {
    let (slug, number) = (arguments.required("slug"), arguments.whole("task", 0));
    let (status, output, note) = (arguments.text("status"), arguments.text("output"), arguments.text("note"));
    if status.is_none() && output.is_none() && note.is_none() {
        return Err(Refusal::new(
            "there is nothing to change: send `status`, `output` or `note`, as in update_task(slug=\"...\", task=1, \
             status=\"done\")",
        ));
    }
    change(studio, slug, |file| {
        let tasks = file.tasks();
        let task = tasks.iter().find(|task| task.number == number).ok_or_else(|| {
            Refusal::new(format!("task file `{slug}` has tasks 1 to {}, and no {number}", tasks.len()))
        })?;
        if let Some(state) = status.and_then(|name| State::ALL.into_iter().find(|state| state.name() == name))
        {
            file.set(task, state);
        }
        if let Some(output) = output {
            file.add_output(number, output);
        }
        if let Some(note) = note {
            file.add_note(number, note);
        }
        Ok(())
    })
}

fn complete(studio: &Studio, arguments: &Arguments<'_>) -> Outcome {
    let slug = arguments.required("slug");
    let skip = arguments.flag("skip_remaining") == Some(true);
    change(studio, slug, |file| {
        let left: Vec<Task> = file.tasks().into_iter().filter(|task| task.state.is_left()).collect();
        if !left.is_empty() && !skip {
            let names: Vec<String> =
                left.iter().take(5).map(|it| format!("{} ({})", it.number, shown(&it.text))).collect();
            return Err(Refusal::new(format!(
                "task file `{slug}` was not completed: {} remain, first {}. Finish them with update_task, or send \
                 skip_remaining=true to mark them as skipped",
                left.len(),
                names.join(", ")
            )));
        }
        for task in &left {
            file.set(task, State::Skipped);
        }
        if !file.is_complete() {
            file.complete(&studio.now());
        }
        Ok(())
    })
}

/// Reads a task file, changes it and writes it back, with nobody else writing in between.
fn change(studio: &Studio, slug: &str, edit: impl FnOnce(&mut Checklist) -> Result<(), Refusal>) -> Outcome {
    studio.store.write(|_| {
        let before = read(studio, slug)?;
        let mut file = before.clone();
        edit(&mut file)?;
        if file != before {
            studio.sandbox.write(&path(slug)?, file.text().as_bytes(), Writing::Replace)?;
        }
        Ok(answer(slug, &file))
    })
}

fn answer(slug: &str, file: &Checklist) -> Answer {
    Answer::json(status(slug, file, |_| true))
}

/// Returns a file in the form of [`file_fields`], with some of its tasks.
fn status(slug: &str, file: &Checklist, wanted: impl Fn(&Task) -> bool) -> Value {
    let all = file.tasks();
    let tasks = all.iter().filter(|task| wanted(task)).map(|task| {
        json!({
            "number": task.number,
            "text": task.text,
            "status": task.state.name(),
            "outputs": task.outputs,
            "notes": task.notes,
        })
    });
    json!({
        "slug": slug,
        "name": file.name(),
        "path": format!("{FOLDER}/{slug}.md"),
        "complete": file.is_complete(),
        "task_count": all.len(),
        "remaining": all.iter().filter(|task| task.state.is_left()).count(),
        "tasks": tasks.collect::<Vec<_>>(),
    })
}

fn path(slug: &str) -> Result<SafePath, Refusal> {
    // A slug is one name: what would lead into another folder is none.
    if slug.contains('/') {
        return Err(Refusal::new(format!("`{}` is no slug of a task file", shown(slug))));
    }
    Ok(SafePath::parse(&format!("{FOLDER}/{slug}.md"))?)
}

fn read(studio: &Studio, slug: &str) -> Result<Checklist, Refusal> {
    let path = path(slug)?;
    let bytes = studio.sandbox.read(&path, LARGEST).map_err(|error| match error {
        sandbox::Error::Missing(_) => Refusal::new(format!(
            "there is no task file `{}`: get_remaining_tasks() shows those that are open, create_task_file makes one",
            shown(slug)
        )),
        sandbox::Error::Link(_)
        | sandbox::Error::HardLink(_)
        | sandbox::Error::NotAFile(_)
        | sandbox::Error::NotAFolder(_)
        | sandbox::Error::TooLarge { .. }
        | sandbox::Error::Exists(_)
        | sandbox::Error::ReadOnly(_)
        | sandbox::Error::System { .. } => error.into(),
    })?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Refusal::new(format!("`{}` is not UTF-8 text: repair it by hand", path.as_str())))?;
    Ok(Checklist::parse(&text))
}

/// Returns the slugs of all task files.
fn all(studio: &Studio) -> Result<Vec<String>, Refusal> {
    let listing = studio.sandbox.list(Some(&SafePath::parse(FOLDER)?), 0)?;
    let files = listing.entries.into_iter().filter(|entry| matches!(entry.shape, Shape::File(_)));
    let markdown = files.filter(|entry| entry.path.extension().as_deref() == Some("md"));
    Ok(markdown.map(|entry| entry.path.stem().to_owned()).collect())
}

fn file_fields() -> Value {
    json!({
        "slug": said("Names the task file."),
        "name": said("What the job is called."),
        "path": said("The file in the workspace."),
        "complete": is("Whether the job as a whole was completed."),
        "task_count": count("How many tasks there are."),
        "remaining": count("How many are left to do."),
        "tasks": records(&json!({
            "number": count("Names the task in update_task."),
            "text": said("What to do."),
            "status": said("pending, in_progress, done, failed or skipped."),
            "outputs": texts("What it brought, such as files."),
            "notes": texts("Remarks."),
        })),
    })
}

fn create_spec() -> Spec {
    let doc = Doc {
        purpose: "Writes the steps of a longer job to a task file that survives restarts.",
        prerequisite: "none.",
        use_when: &["do a job of several steps", "make a todo list and work through it"],
        not: &["do the steps (use the tools for them)", "change a task later (use update_task)"],
        args: &[
            "name: e.g. \"Launch campaign\"",
            "tasks: the steps in order, up to 200, e.g. [\"Take photos\", \"Write headline\"]",
            "description: optional, e.g. \"For the fair in May\"",
        ],
        returns: "JSON with slug, name, path and the numbered tasks.",
        examples: &[
            "create_task_file(name=\"Launch campaign\", tasks=[\"Take photos\", \"Write headline\"])",
        ],
    };
    Spec {
        name: "create_task_file".into(),
        title: "Create a task file".into(),
        description: doc.text().into(),
        effect: Effect::Adds,
        input: (
            json!({
                "name": line("What the job is called.", 200, &["Launch campaign"]),
                "tasks": lines("The steps, in order.", MOST_TASKS, 1000, &["Take photos", "Write headline"]),
                "description": schema::text("What it is for.", 2000, &["For the fair in May"]),
            }),
            vec!["name".to_owned(), "tasks".to_owned()],
        ),
        output: file_fields(),
    }
}

fn remaining_spec() -> Spec {
    let doc = Doc {
        purpose: "Shows what is left to do in one task file, or in all that are open.",
        prerequisite: "none; with slug, a task file (create_task_file).",
        use_when: &["go on with a job after a break or a restart", "see how far a job is"],
        not: &["change a task (use update_task)", "create a job (use create_task_file)"],
        args: &[
            "slug: e.g. \"launch-campaign\"; without it, all open task files",
            "offset: Defaults to 0",
            "limit: 1 to 100 files. Defaults to 20",
        ],
        returns: "JSON with files (slug, name, remaining, tasks left), remaining_count, total_count and has_more.",
        examples: &["get_remaining_tasks()", "get_remaining_tasks(slug=\"launch-campaign\")"],
    };
    let mut output = page_of("files", records(&file_fields()));
    output["remaining_count"] = count("How many tasks are left in all files.");
    output["unreadable"] = texts("Task files that cannot be read, and why.");
    Spec {
        name: "get_remaining_tasks".into(),
        title: "Get remaining tasks".into(),
        description: doc.text().into(),
        effect: Effect::Reads,
        input: (
            json!({
                "slug": schema::slug("The task file; without it, all that are open.", "launch-campaign"),
                "offset": schema::offset(),
                "limit": schema::limit(100),
            }),
            Vec::new(),
        ),
        output,
    }
}

fn update_spec() -> Spec {
    let doc = Doc {
        purpose: "Sets the status of a task, and records what it brought.",
        prerequisite: "a task file (create_task_file) and the number of the task (get_remaining_tasks).",
        use_when: &[
            "mark a step as done, failed, in progress or skipped",
            "record a result or a remark for a step",
        ],
        not: &["finish the whole job (use complete_task_file)", "add steps (use create_task_file)"],
        args: &[
            "slug: e.g. \"launch-campaign\"",
            "task: its number, e.g. 2",
            "status: pending, in_progress, done, failed or skipped",
            "output: e.g. \"generated/soda-1.png\"",
            "note: e.g. \"The second photo is better\"",
        ],
        returns: "JSON with the task file and all its tasks.",
        examples: &[
            "update_task(slug=\"launch-campaign\", task=1, status=\"done\", output=\"uploads/a.png\")",
        ],
    };
    Spec {
        name: "update_task".into(),
        title: "Update a task".into(),
        description: doc.text().into(),
        effect: Effect::Settles,
        input: (
            json!({
                "slug": schema::slug("The task file.", "launch-campaign"),
                "task": {
                    "type": "integer", "description": "The number of the task.",
                    "minimum": 1, "maximum": 100_000, "examples": [1],
                },
                "status": choice("The new status.", &State::NAMES),
                "output": line("What the task brought.", 2000, &["generated/soda-1.png"]),
                "note": line("A remark.", 2000, &["The second photo is better"]),
            }),
            vec!["slug".to_owned(), "task".to_owned()],
        ),
        output: file_fields(),
    }
}

fn complete_spec() -> Spec {
    let doc = Doc {
        purpose: "Marks a whole job as completed; the file stays.",
        prerequisite: "a task file whose tasks are done or skipped (update_task).",
        use_when: &["finish a job", "close a todo list, also an unfinished one"],
        not: &["delete the file or its tasks", "finish a single step (use update_task)"],
        args: &[
            "slug: e.g. \"launch-campaign\"",
            "skip_remaining: true marks what is left as skipped. Defaults to false",
        ],
        returns: "JSON with the task file; refused, with what is left, while tasks remain.",
        examples: &[
            "complete_task_file(slug=\"launch-campaign\")",
            "complete_task_file(slug=\"launch-campaign\", skip_remaining=true)",
        ],
    };
    Spec {
        name: "complete_task_file".into(),
        title: "Complete a task file".into(),
        description: doc.text().into(),
        effect: Effect::Settles,
        input: (
            json!({
                "slug": schema::slug("The task file.", "launch-campaign"),
                "skip_remaining": flag("Whether what is left is marked as skipped.", false),
            }),
            vec!["slug".to_owned()],
        ),
        output: file_fields(),
    }
}

/// Says whether a path belongs to the task tools.
pub(super) fn owns(path: &SafePath) -> bool {
    path.as_str().split('/').next().is_some_and(|it| it.eq_ignore_ascii_case(FOLDER))
}
