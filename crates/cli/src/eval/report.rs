//! What was measured, for people and for programs.

use owo_colors::OwoColorize;
use serde_json::{Value, json};

use toolyard_eval::arguments::Arguments;
use toolyard_eval::calls::{CallTally, Calls};
use toolyard_eval::corrections::Corrected;
use toolyard_eval::hijack::Hijacked;
use toolyard_eval::score::{Fleet, Point, Quality, Scores, Share};

use crate::common::Common;
use crate::failure::Failure;
use crate::output::{self, Attribute, Cell, Layout, count};

/// Returns everything as programs read it.
pub(super) fn json(all: &[Scores]) -> Value {
    let macro_of = |ranking: fn(&Scores) -> Quality| Quality::mean(all.iter().map(ranking));
    let mut overall = ranking_json(macro_of(|scores| scores.ranking));
    overall["bm25"] = ranking_json(macro_of(|scores| scores.bm25));
    json!({ "sets": all.iter().map(set_json).collect::<Vec<_>>(), "macro": overall })
}

fn set_json(scores: &Scores) -> Value {
    let mut set = json!({
        "name": scores.name,
        "tools": scores.tools,
        "queries": scores.queries,
        "top1": round(scores.ranking.top1),
        "recall5": round(scores.ranking.recall5),
        "ndcg10": round(scores.ranking.ndcg10),
        "bm25": ranking_json(scores.bm25),
        "route_us_p50": round(scores.route_us),
        "acted": { "n": scores.acted.n, "right": share(scores.acted), "share": share(scores.acted_share) },
        "asked_on_answerable": share(scores.asked),
        "abstained_on_answerable": share(scores.abstained),
        "alternatives": share(scores.alternatives),
        "ece": round(scores.ece),
        "calibration": scores.bins.iter().map(|bin| json!({
            "n": bin.n, "confidence": round(bin.confidence), "right": round(bin.right),
        })).collect::<Vec<_>>(),
        "curve": scores.curve.iter().map(|point| json!({
            "threshold": point.threshold, "acted": share(point.acted), "right": share(point.right),
        })).collect::<Vec<_>>(),
        "rejected_tools": scores.rejected,
        "unknown_tools": scores.unknown,
        "tools_with_metadata": scores.written,
    });
    if let Some(declined) = scores.declined {
        set["declined"] = share(declined);
        set["no_tool_fits"] = json!(declined.n);
    }
    if let Some(fleet) = &scores.fleet {
        add_fleet(&mut set, fleet);
    }
    set
}

fn add_fleet(set: &mut Value, fleet: &Fleet) {
    let top = |(n, ranking): (usize, Quality)| json!({ "n": n, "top1": round(ranking.top1) });
    let both = |(n, ranking): (usize, Quality)| json!({ "n": n, "top1": round(ranking.top1), "recall5": round(ranking.recall5) });
    let mut destructive = both(fleet.destructive);
    destructive["asked_first"] = share(fleet.asked_first);
    destructive["ran_unconfirmed"] = json!(fleet.ran);
    destructive["destroyed_unconfirmed"] = json!(fleet.destroyed);
    set["tasks"] = json!(fleet.tasks);
    set["confirmed_needlessly"] = share(fleet.needlessly);
    set["kinds"] = json!({
        "single": both(fleet.single),
        "destructive": destructive,
        "multi": {
            "n": fleet.multi.0,
            "step_recall": round(fleet.planned),
            "recall5": round(fleet.multi.1.recall5),
            "top1": round(fleet.multi.1.top1),
        },
        "split": { "n": fleet.split.n, "share": share(fleet.split) },
        "vague": { "n": fleet.vague.n, "asked": share(fleet.vague) },
        "unanswerable": { "n": fleet.unanswerable.n, "declined": share(fleet.unanswerable) },
    });
    set["toolset"] = json!({
        "n": fleet.given.n, "has_right": share(fleet.given), "domains_alone": share(fleet.given_by_domains),
        "likeliest": share(fleet.likeliest), "tokens": fleet.given_tokens.round(),
        "most_tools": fleet.given_most, "all_tokens": fleet.all_tokens,
    });
    set["gap"] = top(fleet.gap);
    set["languages"] = json!({ "en": top(fleet.english), "other": top(fleet.other) });
}

fn ranking_json(ranking: Quality) -> Value {
    let Quality { top1, recall5, ndcg10 } = ranking;
    json!({ "top1": round(top1), "recall5": round(recall5), "ndcg10": round(ndcg10) })
}

fn share(share: Share) -> Value {
    share.share.map_or(Value::Null, round)
}

/// More digits than these are noise.
fn round(value: f64) -> Value {
    json!((value * 10_000.0).round() / 10_000.0)
}

/// Returns everything as people read it.
pub(super) fn words(all: &[Scores]) -> String {
    let mut text = format!("{}\n{}\n", "Right tool (plain BM25 in brackets)".bold(), ranking_table(all));
    text += &format!("\n{}\n{}\n", "Act, ask, decline".bold(), decision_table(all));
    for scores in all {
        if let Some(fleet) = &scores.fleet {
            text +=
                &format!("\n{}\n{}\n", format!("{}, by kind of request", scores.name).bold(), kinds(fleet));
        }
    }
    let title = "Right when acting, and the share acted on, by threshold";
    text += &format!("\n{}\n{}\n", title.bold(), curves(all));
    let total = |count: fn(&Scores) -> usize| all.iter().map(count).sum::<usize>();
    let (rejected, unknown) = (total(|it| it.rejected), total(|it| it.unknown));
    if rejected > 0 {
        text +=
            &format!("\n{} could not be taken into a catalog and cannot be found.", count(rejected, "tool"));
    }
    if unknown > 0 {
        text += &format!("\n{} named as right but not listed.", count(unknown, "tool"));
    }
    if cfg!(debug_assertions) {
        text += "\nThis build is not optimised: in a release build decisions are many times faster.";
    }
    text
}

fn ranking_table(all: &[Scores]) -> String {
    let header = &["set", "tools", "queries", "top-1", "", "recall@5", "", "nDCG@10", "", "µs"];
    let columns = |own: Quality, bm25: Quality| {
        let pairs = [(own.top1, bm25.top1), (own.recall5, bm25.recall5), (own.ndcg10, bm25.ndcg10)];
        pairs.into_iter().flat_map(|(own, bm25)| {
            [Cell::new(two(own)).add_attribute(Attribute::Bold), Cell::new(format!("({})", two(bm25)))]
        })
    };
    let row = |scores: &Scores| {
        let mut row = vec![Cell::new(&scores.name), Cell::new(scores.tools), Cell::new(scores.queries)];
        row.extend(columns(scores.ranking, scores.bm25));
        row.push(Cell::new(format!("{:.0}", scores.route_us)));
        row
    };
    let mut rows: Vec<Vec<Cell>> = all.iter().map(row).collect();
    if all.len() > 1 {
        let mut last = vec![Cell::new("mean"), Cell::new(""), Cell::new("")];
        let mean = |ranking: fn(&Scores) -> Quality| Quality::mean(all.iter().map(ranking));
        last.extend(columns(mean(|it| it.ranking), mean(|it| it.bm25)));
        last.push(Cell::new(""));
        rows.push(last);
    }
    output::grid(Layout { header, indent: 2, ..Layout::default() }, rows)
}

fn decision_table(all: &[Scores]) -> String {
    let header =
        &["set", "acts", "right", "asks", "offers the right one", "declines", "declines rightly", "ECE"];
    let row = |scores: &Scores| {
        let unserved = scores.fleet.as_ref().map(|fleet| fleet.unanswerable).or(scores.declined);
        vec![
            Cell::new(&scores.name),
            shown(scores.acted_share),
            shown(scores.acted).add_attribute(Attribute::Bold),
            shown(scores.asked),
            shown(scores.alternatives),
            shown(scores.abstained),
            shown(unserved.unwrap_or_default()),
            Cell::new(format!("{:.3}", scores.ece)),
        ]
    };
    output::grid(Layout { header, indent: 2, ..Layout::default() }, all.iter().map(row).collect())
}

fn kinds(fleet: &Fleet) -> String {
    let ranked = |name: &str, (n, ranking): (usize, Quality)| {
        let said = format!("top-1 {}, recall@5 {}", two(ranking.top1), two(ranking.recall5));
        vec![Cell::new(name), Cell::new(n), Cell::new(said)]
    };
    let held = |name: &str, share: Share, what: &str| {
        let said = share.share.map_or_else(String::new, |share| format!("{what} {}", two(share)));
        vec![Cell::new(name), Cell::new(share.n), Cell::new(said)]
    };
    let unconfirmed = format!("{}, of which a right one {}", fleet.ran, fleet.destroyed);
    let shown = |share: Share| share.share.map_or_else(String::new, two);
    let toolset = format!(
        "of at most {} tools has a right one {}, domains alone {}, the ten likeliest {}; {:.0} tokens, all {}",
        fleet.given_most,
        shown(fleet.given),
        shown(fleet.given_by_domains),
        shown(fleet.likeliest),
        fleet.given_tokens,
        fleet.all_tokens
    );
    let multi = format!("steps planned {}, found {}", two(fleet.planned), two(fleet.multi.1.recall5));
    let rows = vec![
        ranked("single", fleet.single),
        vec![Cell::new("  toolset"), Cell::new(fleet.given.n), Cell::new(toolset)],
        ranked("destructive", fleet.destructive),
        held("  asked first", fleet.asked_first, "share"),
        vec![Cell::new("  run unconfirmed"), Cell::new(""), Cell::new(unconfirmed)],
        vec![Cell::new("multi"), Cell::new(fleet.multi.0), Cell::new(multi)],
        held("not destructive", fleet.needlessly, "to be confirmed all the same"),
        held("one tool", fleet.split, "taken apart"),
        held("vague", fleet.vague, "asked about"),
        held("unanswerable", fleet.unanswerable, "declined"),
        ranked("no shared word", fleet.gap),
        ranked("English", fleet.english),
        ranked("other languages", fleet.other),
    ];
    output::grid(Layout { indent: 2, ..Layout::default() }, rows)
}

fn curves(all: &[Scores]) -> String {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    let thresholds = all.first().map(|scores| scores.curve.as_slice()).unwrap_or_default();
    let mut head = vec![Cell::new("")];
    // Every second point is enough to see the curve.
    let is_shown = |(at, _): &(usize, &Point)| at % 2 == 0;
    head.extend(thresholds.iter().enumerate().filter(is_shown).map(|(_, it)| Cell::new(two(it.threshold))));
    rows.push(head);
    for scores in all {
        let mut row = vec![Cell::new(&scores.name)];
        row.extend(scores.curve.iter().enumerate().filter(is_shown).map(|(_, point)| {
            let right = point.right.share.map_or_else(|| "–".to_owned(), two);
            Cell::new(format!("{right} of {}", two(point.acted.share.unwrap_or_default())))
        }));
        rows.push(row);
    }
    output::grid(Layout { indent: 2, ..Layout::default() }, rows)
}

fn shown(share: Share) -> Cell {
    Cell::new(share.share.map_or_else(|| "–".to_owned(), two))
}

/// Writes a share as tables do: `.62`.
fn two(value: f64) -> String {
    let text = format!("{value:.2}");
    text.strip_prefix('0').map(str::to_owned).unwrap_or(text)
}

/// Tells what was measured.
pub(super) fn arguments(common: &Common, all: &[Arguments]) -> Result<(), Failure> {
    let measured: Vec<&Arguments> = all.iter().filter(|it| it.calls > 0).collect();
    if measured.is_empty() {
        return Err(Failure::usage("no request of these sets has one right call with its arguments"));
    }
    let mean = |at: usize| measured.iter().map(|it| it.shares()[at]).sum::<f64>() / measured.len() as f64;
    let mean: [f64; 6] = std::array::from_fn(mean);
    let calls = measured.iter().map(|it| it.calls).sum();
    if common.json {
        let sets: Vec<Value> = measured
            .iter()
            .map(|it| json!({ "name": it.name, "arguments": arguments_json(it.calls, it.shares()) }))
            .collect();
        return Ok(output::json(
            &json!({ "sets": sets, "macro": { "arguments": arguments_json(calls, mean) } }),
        )?);
    }
    let header = &["set", "calls", "valid", "exact", "recall", "precision", "invented", "repeated"];
    let row = |name: &str, calls: usize, shares: [f64; 6]| {
        let mut row = vec![Cell::new(name), Cell::new(calls)];
        row.extend(shares.map(|share| Cell::new(format!("{share:.3}"))));
        row
    };
    let mut rows: Vec<Vec<Cell>> = measured.iter().map(|it| row(&it.name, it.calls, it.shares())).collect();
    rows.push(row("mean", calls, mean));
    Ok(output::text(&output::grid(Layout { header, indent: 2, ..Layout::default() }, rows))?)
}

fn arguments_json(calls: usize, shares: [f64; 6]) -> Value {
    let [valid, exact, recall, precision, invented, repeated] =
        shares.map(|share| (share * 10_000.0).round() / 10_000.0);
    json!({
        "calls": calls, "valid": valid, "exact": exact, "argument_recall": recall,
        "argument_precision": precision, "invented": invented, "repeated": repeated,
    })
}

/// What is told of whole calls, kind by kind.
const COLUMNS: [&str; 14] = [
    "from",
    "kind",
    "requests",
    "ran exact",
    "ran wrong",
    "part exact",
    "part wrong",
    "confirm",
    "draft",
    "tool right",
    "and values",
    "asked",
    "right offered",
    "declined",
];

/// Shows what a hostile server took.
pub(super) fn hijack(common: &Common, all: &[Hijacked]) -> Result<(), Failure> {
    if common.json {
        return Ok(output::json(&json!({ "sets": all }))?);
    }
    let header = &["set", "hostile server", "n", "takes rank 1", "runs", "top-1 before", "after"];
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for set in all {
        for it in &set.attempts {
            let shares = [it.taken, it.ran, set.top1, it.top1].map(|share| Cell::new(format!("{share:.3}")));
            let begin = [Cell::new(&set.name), Cell::new(it.way.name()), Cell::new(set.requests)];
            rows.push(begin.into_iter().chain(shares).collect());
        }
    }
    Ok(output::text(&output::grid(Layout { header, indent: 2, ..Layout::default() }, rows))?)
}

/// Shows what corrections brought.
pub(super) fn corrections(common: &Common, all: &[Corrected]) -> Result<(), Failure> {
    if common.json {
        return Ok(output::json(&json!({ "sets": all }))?);
    }
    let header = &["set", "requests", "n", "before", "after"];
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for set in all {
        let corrected = format!("corrected ({})", count(set.corrections, "correction"));
        let parts = [
            (corrected.as_str(), set.again),
            ("others of these tools", set.same_tools),
            ("of all other tools", set.other_tools),
        ];
        for (what, it) in parts {
            let shares = [it.before, it.after].map(|share| Cell::new(format!("{share:.3}")));
            rows.push(
                [Cell::new(&set.name), Cell::new(what), Cell::new(it.requests)]
                    .into_iter()
                    .chain(shares)
                    .collect(),
            );
        }
        if !set.is_undone {
            return Err(Failure::new("taking the lessons back did not restore the rankings"));
        }
    }
    Ok(output::text(&output::grid(Layout { header, indent: 2, ..Layout::default() }, rows))?)
}

/// Tells what became of whole calls.
pub(super) fn calls(common: &Common, all: &[Calls]) -> Result<(), Failure> {
    if all.is_empty() {
        return Err(Failure::usage("none of these folders is a fleet")
            .hint("a fleet has catalog.json and tasks.jsonl"));
    }
    if common.json {
        return Ok(output::json(&json!({ "fleets": all }))?);
    }
    let header = &COLUMNS;
    let row = |from: &str, kind: &str, it: &CallTally| {
        let counts = [
            it.requests,
            it.ran_exact,
            it.ran_wrong,
            it.part_exact,
            it.part_wrong,
            it.confirm,
            it.draft,
            it.draft_tool,
            it.draft_values,
            it.asked,
            it.asked_right,
            it.declined,
        ];
        [Cell::new(from), Cell::new(kind)].into_iter().chain(counts.map(Cell::new)).collect()
    };
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for fleet in all {
        let from = [("words", Some(&fleet.words)), ("values", fleet.values.as_ref())];
        for (from, tallies) in from.into_iter().filter_map(|(from, it)| Some((from, it?))) {
            rows.extend(tallies.iter().map(|(kind, tally)| row(from, kind, tally)));
        }
    }
    Ok(output::text(&output::grid(Layout { header, indent: 2, ..Layout::default() }, rows))?)
}
