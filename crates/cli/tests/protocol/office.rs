//! Tasks of several steps on workbooks, Word documents and converted files; skipped where `scripts/servers` was not run.

use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::client::Client;
use testkit::{servers, wait_for};

use crate::chained::{READ, say};
use crate::desk::understood;
use crate::fleet::{START, laid_out, real};
use crate::yard::{SESSION, Yard};

/// A folder with texts and tables, a vault, and the servers on them.
struct Office {
    yard: Yard,
    folder: PathBuf,
}

impl Office {
    async fn new() -> Option<Self> {
        let (temporary, folder) = laid_out(&[
            ("files/notes.md", "# Notes\n\nBuy *milk*.\n"),
            ("files/docs/one.md", "# One\n\nThe first page.\n"),
            ("files/docs/two.md", "# Two\n\nThe second page.\n"),
            ("files/docs/skipped.txt", "No Markdown.\n"),
            ("files/sales.csv", "region,amount\nNorth,12\nSouth,30\n"),
            ("files/out/kept.txt", "stays"),
            ("vault/Plan.md", "Ship the office release.\n"),
        ])?;
        let place = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        let yard = Yard::of(json!({
            "excel": real("excel", &["stdio"]),
            "word": real("word", &[]),
            "pandoc": real("pandoc", &[]),
            "filesystem": real("filesystem", &[&place("files")]),
            "obsidian": real("obsidian", &[&place("vault")]),
        }));
        Some(Self { yard: yard.keep(temporary).learnt_within(START).await, folder })
    }

    async fn client(&self) -> Client {
        let client = self.yard.stdio(&[]);
        client.initialize(SESSION, json!({})).await.unwrap();
        // Decisions change while vectors are missing, and a busy machine takes its time to compute them.
        wait_for(START, || async {
            let output = self.yard.command(&["status", "--json"]).output().unwrap();
            let said: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            let meaning = &said["hubs"][0]["meaning"];
            (meaning["known"].as_u64()? > 0 && meaning["known"] == meaning["all"]).then_some(())
        })
        .await;
        understood(&client).await;
        client
    }

    /// Gives a path as a person would name it.
    fn file(&self, name: &str) -> String {
        self.folder.join("files").join(name).display().to_string()
    }

    /// Opens a workbook and reads the rows of a sheet.
    fn rows(&self, workbook: &str, sheet: &str) -> Value {
        let script = "import json, openpyxl, sys\n\
                      sheet = openpyxl.load_workbook(sys.argv[1])[sys.argv[2]]\n\
                      print(json.dumps([list(row) for row in sheet.iter_rows(values_only=True)]))";
        read("excel", script, &[&self.file(workbook), sheet])
    }

    /// Opens a workbook and lists its sheets.
    fn sheets(&self, workbook: &str) -> Value {
        let script = "import json, openpyxl, sys\n\
                      print(json.dumps(openpyxl.load_workbook(sys.argv[1]).sheetnames))";
        read("excel", script, &[&self.file(workbook)])
    }

    /// Opens a Word document and reads its paragraphs.
    fn paragraphs(&self, document: &str) -> Value {
        let script = "import docx, json, sys\n\
                      print(json.dumps([it.text for it in docx.Document(sys.argv[1]).paragraphs]))";
        read("word", script, &[&self.file(document)])
    }
}

fn read(server: &str, script: &str, arguments: &[&str]) -> Value {
    let output = servers::python(server).arg("-c").arg(script).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test]
async fn r9_workbooks_are_made_filled_and_read_step_by_step() {
    let Some(office) = Office::new().await else { return };
    let client = office.client().await;
    let (book, table) = (office.file("sales.xlsx"), office.file("out/table.txt"));
    let task = format!(
        "Create a workbook {book} with a sheet Q1, then write the rows [[\"North\", 12], [\"South\", 30]] into the \
         sheet Q1 at B2"
    );
    say(&client, &task, &["excel__create_workbook", "excel__write_range"]).await;
    assert_eq!(office.rows("sales.xlsx", "Q1")[1], json!([null, "North", 12]));
    let (year, csv) = (office.file("year.xlsx"), office.file("sales.csv"));
    let task = format!(
        "Create the workbook {year} with the sheets Q1 and Q2, then for each of Q1 and Q2 write the values \
         [[\"Month\", \"Sales\"]] into the cells at A1"
    );
    say(&client, &task, &["excel__create_workbook", "excel__write_range"]).await;
    for sheet in ["Q1", "Q2"] {
        assert_eq!(office.rows("year.xlsx", sheet), json!([["Month", "Sales"]]), "{sheet}");
    }
    let imported = office.file("imported.xlsx");
    let task = format!(
        "Create the workbook {imported} with a sheet Data, import {csv} into the sheet Data, then read the range A1:B3"
    );
    let tools = ["excel__create_workbook", "excel__import_csv", "excel__read_range"];
    let seen = say(&client, &task, &tools).await;
    assert!(seen["result"].to_string().contains("South"), "{seen}");
    assert_eq!(office.rows("imported.xlsx", "Data")[2], json!(["South", 30]));
    let task = format!("Read the range A1:B3 of the sheet Data in {imported} and write it to {table}");
    say(&client, &task, &["excel__read_range", "filesystem__write_file"]).await;
    assert!(std::fs::read_to_string(&table).unwrap().contains("North"));
    let task = format!(
        "For each of Berlin, Oslo and Rome, add a sheet to the workbook {year}, then describe the workbook"
    );
    let seen = say(&client, &task, &["excel__create_sheet", "excel__describe_workbook"]).await;
    assert!(seen["result"].to_string().contains("Oslo"), "{seen}");
    assert_eq!(office.sheets("year.xlsx"), json!(["Q1", "Q2", "Berlin", "Oslo", "Rome"]));
}

#[tokio::test]
async fn r9_texts_become_documents_and_documents_texts() {
    let Some(office) = Office::new().await else { return };
    let client = office.client().await;
    let (notes, report) = (office.file("notes.md"), office.file("report.docx"));
    let task = format!("Read the file {notes} and turn it into {report}");
    say(&client, &task, &[READ, "pandoc__convert-contents"]).await;
    assert_eq!(office.paragraphs("report.docx"), json!(["Notes", "Buy milk."]));
    let second = office.file("second.docx");
    let task = format!("Convert {notes} to {second}, then get the whole text of the document {second}");
    let seen = say(&client, &task, &["pandoc__convert-contents", "word__get_document_text"]).await;
    assert!(seen["result"].to_string().contains("Buy milk."), "{seen}");
    let docs = office.file("docs");
    let task = format!("Search for files matching \"*.md\" in {docs}, then convert each file to docx");
    say(&client, &task, &["filesystem__search_files", "pandoc__convert-contents"]).await;
    assert_eq!(office.paragraphs("docs/one.docx"), json!(["One", "The first page."]));
    assert_eq!(office.paragraphs("docs/two.docx"), json!(["Two", "The second page."]));
    assert!(!office.folder.join("files/docs/skipped.docx").exists());
    let text = office.file("out/report.txt");
    let task = format!("Get the text of the Word document {report} and write it to {text}");
    say(&client, &task, &["word__get_document_text", "filesystem__write_file"]).await;
    assert!(std::fs::read_to_string(&text).unwrap().contains("Buy milk."));
}

#[tokio::test]
async fn r9_documents_are_written_from_notes_and_tables() {
    let Some(office) = Office::new().await else { return };
    let client = office.client().await;
    let (memo, plan, book) = (office.file("memo.docx"), office.file("plan.docx"), office.file("sales.xlsx"));
    let task = format!(
        "Create a Word document {memo} titled \"Memo\", then add the heading \"Minutes\" to it and add the paragraph \
         \"We met on Monday.\""
    );
    say(&client, &task, &["word__create_document", "word__add_heading", "word__add_paragraph"]).await;
    assert_eq!(office.paragraphs("memo.docx"), json!(["Minutes", "We met on Monday."]));
    let task =
        format!("Read my note Plan.md, then create the Word document {plan} and add it as a paragraph");
    say(&client, &task, &["obsidian__read_note", "word__create_document", "word__add_paragraph"]).await;
    assert!(office.paragraphs("plan.docx").to_string().contains("Ship the office release."));
    let csv = office.file("sales.csv");
    let task = format!("Create the workbook {book} with a sheet Data, then import {csv} into the sheet Data");
    say(&client, &task, &["excel__create_workbook", "excel__import_csv"]).await;
    let task = format!(
        "Read the range A1:B3 of the sheet Data in {book} and add it as a paragraph to the Word document {memo}"
    );
    say(&client, &task, &["excel__read_range", "word__add_paragraph"]).await;
    assert!(office.paragraphs("memo.docx").to_string().contains("South"));
}
