//! Where tasks are cut, and where they are not.

use super::*;

fn cut(task: &str) -> Vec<String> {
    let show = |clause: Clause| match clause.each {
        None => clause.words,
        Some(Each::Found) => format!("each: {}", clause.words),
        Some(Each::Listed(items)) => format!("each of {}: {}", items.join("|"), clause.words),
        Some(Each::Values { .. }) => unreachable!("no parameter is known yet"),
    };
    // What is only likely is not cut before tools were compared with it.
    let mut sure: Vec<Clause> = Vec::new();
    for clause in clauses(task) {
        match sure.last_mut().filter(|_| clause.shape != Shape::Request) {
            Some(before) => before.join(task, &clause),
            None => sure.push(clause),
        }
    }
    sure.into_iter().map(show).collect()
}

#[track_caller]
fn whole(task: &str) {
    assert_eq!(cut(task), [task]);
}

#[test]
fn r9_requests_are_cut_where_another_begins() {
    assert_eq!(
        cut("Find note about AI and add tag #important"),
        ["Find note about AI", "add tag #important"]
    );
    assert_eq!(
        cut("Find my latest commit and create a GitHub issue about it"),
        ["Find my latest commit", "create a GitHub issue about it"]
    );
    assert_eq!(cut("List repos, then open the first"), ["List repos", "open the first"]);
    assert_eq!(
        cut("Read a.txt, convert it to HTML and then email the result to Bob. Finally, delete a.txt"),
        ["Read a.txt", "convert it to HTML", "email the result to Bob", "delete a.txt"]
    );
    assert_eq!(
        cut("1. list the open issues\n2. write them to issues.md"),
        ["list the open issues", "write them to issues.md"]
    );
    assert_eq!(
        cut("Please show me the open PRs and email Bob the list"),
        ["show me the open PRs", "email Bob the list"]
    );
}

#[test]
fn r9_words_that_only_look_like_another_request_stay() {
    whole("search for salt and pepper");
    whole("add milk, eggs and bread to the shopping list");
    whole("Find and replace foo with bar in main.rs");
    whole("create a note called \"Plan and build, then test\"");
    whole("Send an email to Bob saying I am late and ask him to start");
    whole("Show me deployments of the last week and how many of them failed");
    whole("remind me to buy milk and call mom");
    whole("compare the read and write speed of both disks");
    whole("run `cd x; make` in the build folder");
    whole("create a task to review the draft and merge it");
    whole("then");
    whole("");
    whole("Delete the note and don't ask");
    whole("What is the total and average price");
}

#[test]
fn r9_before_and_after_say_the_order() {
    assert_eq!(
        cut("Back up notes.db before deleting the old notes"),
        ["Back up notes.db", "deleting the old notes"]
    );
    assert_eq!(
        cut("Before deleting the old notes, back up notes.db"),
        ["back up notes.db", "deleting the old notes"]
    );
    assert_eq!(
        cut("Send the report to Ann after converting it to PDF"),
        ["converting it to PDF", "Send the report to Ann"]
    );
    whole("show commits before March");
}

#[test]
fn r9_for_each_repeats_what_an_earlier_request_found() {
    assert_eq!(
        cut("List the open issues and for each issue create a note"),
        ["List the open issues", "each: create a note"]
    );
    assert_eq!(cut("For each file in docs, read it"), ["list file in docs", "each: read it"]);
    assert_eq!(
        cut("create a note for each open issue in toolyard"),
        ["list open issue in toolyard", "each: create a note"]
    );
    assert_eq!(
        cut("For each of Paris, Rome and Oslo, tell me the time"),
        ["each of Paris|Rome|Oslo: tell me the time"]
    );
}

#[test]
fn r9_other_languages_have_joints_of_their_own() {
    assert_eq!(
        cut("Suche die Notiz über KI und füge dann das Tag #wichtig hinzu"),
        ["Suche die Notiz über KI", "füge dann das Tag #wichtig hinzu"]
    );
    assert_eq!(
        cut("Busca la nota sobre IA y luego añade la etiqueta #importante"),
        ["Busca la nota sobre IA", "añade la etiqueta #importante"]
    );
    assert_eq!(
        cut("Lis le fichier a.txt puis traduis le résultat"),
        ["Lis le fichier a.txt", "traduis le résultat"]
    );
    assert_eq!(cut("查找关于AI的笔记，然后添加标签重要"), ["查找关于AI的笔记", "添加标签重要"]);
    assert_eq!(cut("Найди заметку об ИИ и добавь тег #важно"), ["Найди заметку об ИИ", "добавь тег #важно"]);
    whole("Buscar notas sobre IA y robots");
    whole("Zeig mir Notizen zu Salz und Pfeffer");
}

fn shapes(task: &str) -> Vec<Shape> {
    clauses(task).iter().map(|clause| clause.shape).collect()
}

#[test]
fn r9_a_question_behind_a_request_is_one_of_its_own() {
    use Shape::{Question, Request};
    for task in [
        "what time is it in Oslo and what is the git status of /srv/app",
        "What's 17% of 2340? And what time is it in Sydney?",
        "Wie spät ist es in Tokio und welche Notizen habe ich?",
        "¿Qué hora es en Lima? ¿Qué canales hay en Slack?",
        "quelle heure est-il à Lyon et quelles sont les branches de /srv/app ?",
        "сколько времени в Токио и какие ветки есть в репозитории?",
        "東京は今何時ですか？どのブランチがありますか？",
        "东京现在几点？里有哪些文件？",
    ] {
        assert_eq!(shapes(task), [Request, Question], "{task}");
    }
    // What is asked afterwards is not about the answer.
    assert_eq!(shapes("list the files in docs, and then what time is it in Lima?"), [Request, Request]);
    // A question that a comma only goes on with belongs to what it stands behind.
    assert_eq!(shapes("show the commits of last week, which of them are mine"), [Request]);
}

#[test]
fn r9_what_is_told_before_a_request_is_no_request() {
    use Shape::{Request, Told, Unclear};
    for task in [
        "Our release went out this morning. Search my notes for AI",
        "I'm tidying up before the meeting. Search my notes for AI",
        "Marcus is on leave for two weeks. Search my notes for AI",
        "Wir ziehen am Montag um. Suche die Notiz über Kartons",
    ] {
        assert_eq!(shapes(task), [Told, Request], "{task}");
    }
    // A verb that the lexicon does not know may be one all the same.
    assert_eq!(shapes("geocode 10 Downing Street, then read the elevation there")[0], Unclear);
    assert_eq!(shapes("I want to find the note about AI, then add the tag #pet")[0], Request);
}
