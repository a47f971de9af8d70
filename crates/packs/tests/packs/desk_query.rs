//! The desk, through its front door: filters, orders, pages and dates.

use serde_json::{Value, json};

use crate::shelf::{Shelf, slugs};

#[test]
fn d1_dates_are_understood_and_the_answer_says_how() {
    let desk = Shelf::desk();
    let lines: Vec<String> = [
        "2026-11-20",
        "tomorrow",
        "the day after tomorrow",
        "next friday",
        "next friday 17:00",
        "friday",
        "in 3 days",
        "in two weeks",
        "Nov 20",
        "20.11.2026",
        "yesterday",
        "5 Feb",
        "2026-02-30",
        "03/04/2026",
        "someday",
        "17:00",
        "next week",
        "9",
        "tomorrow morning",
        "tomorrow morning 9am",
    ]
    .iter()
    .map(|due| {
        let result = desk.call("create_tasks", &json!({ "title": "x", "due": due }));
        match result["structuredContent"].as_object() {
            Some(data) => format!("{due} -> {} {}", data["created"][0]["due"], data["remarks"]),
            None => format!("{due} -> ERROR {}", result["content"][0]["text"].as_str().unwrap()),
        }
    })
    .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    2026-11-20 -> "2026-11-20" []
    tomorrow -> "2026-03-02" ["x-2: `due`: `tomorrow` was read as Monday 2026-03-02"]
    the day after tomorrow -> "2026-03-03" ["x-3: `due`: `the day after tomorrow` was read as Tuesday 2026-03-03"]
    next friday -> "2026-03-06" ["x-4: `due`: `next friday` was read as Friday 2026-03-06"]
    next friday 17:00 -> "2026-03-06" ["x-5: `due`: `next friday 17:00` was read as Friday 2026-03-06","x-5: `due` holds a day: the time of day 17:00:00 is not kept"]
    friday -> "2026-03-06" ["x-6: `due`: `friday` was read as Friday 2026-03-06"]
    in 3 days -> "2026-03-04" ["x-7: `due`: `in 3 days` was read as Wednesday 2026-03-04"]
    in two weeks -> "2026-03-15" ["x-8: `due`: `in two weeks` was read as Sunday 2026-03-15"]
    Nov 20 -> "2026-11-20" ["x-9: `due`: `Nov 20` was read as Friday 2026-11-20"]
    20.11.2026 -> "2026-11-20" ["x-10: `due`: `20.11.2026` was read as Friday 2026-11-20"]
    yesterday -> "2026-02-28" ["x-11: `due`: `yesterday` was read as Saturday 2026-02-28, which is past"]
    5 Feb -> "2026-02-05" ["x-12: `due`: `5 Feb` was read as Thursday 2026-02-05, which is past"]
    2026-02-30 -> ERROR no task was created. `due` is `2026-02-30`, which cannot be read: `2026-02-30` is no date of the calendar. Send for example `2026-11-20`, `tomorrow`, `next friday` or `in 3 days`
    03/04/2026 -> ERROR no task was created. `due` is `03/04/2026`, which cannot be read: `03/04/2026` can be read as 2026-04-03 or as 2026-03-04: send the one that is meant. Send for example `2026-11-20`, `tomorrow`, `next friday` or `in 3 days`
    someday -> ERROR no task was created. `due` is `someday`, which cannot be read: it has neither a date nor a time of day. Send for example `2026-11-20`, `tomorrow`, `next friday` or `in 3 days`
    17:00 -> ERROR no task was created. `due` is `17:00`, which names no day: send for example `2026-11-20`, `tomorrow`, `next friday` or `in 3 days`
    next week -> ERROR no task was created. `due` is `next week`, which cannot be read: it has neither a date nor a time of day. Send for example `2026-11-20`, `tomorrow`, `next friday` or `in 3 days`
    9 -> ERROR no task was created. `due` is `9`, which cannot be read: the number `9` could be a day, a year or an hour: write `9am`, `09:00` or `2026-03-09`. Send for example `2026-11-20`, `tomorrow`, `next friday` or `in 3 days`
    tomorrow morning -> ERROR no task was created. `due` is `tomorrow morning`, which cannot be read: `morning` names no hour: write for example `9am` or `19:00`. Send for example `2026-11-20`, `tomorrow`, `next friday` or `in 3 days`
    tomorrow morning 9am -> "2026-03-02" ["x-13: `due`: `tomorrow morning 9am` was read as Monday 2026-03-02","x-13: `due` holds a day: the time of day 09:00:00 is not kept"]
    "#);
}

#[test]
fn d1_times_are_understood_and_the_answer_says_how() {
    let desk = Shelf::desk();
    let lines: Vec<String> = [
        "2026-11-20T17:00:00+01:00",
        "tomorrow 9am",
        "next friday 17:00",
        "in 3 hours",
        "in 3 days at 17:00",
        "15:30",
        "9am",
        "today",
        "tonight",
        "tonight 8pm",
        "2026-03-29 02:30",
        "9am in Tokyo",
        "tomorrow evening",
        "7:00 in the evening",
        "in 3 days",
        "2020-01-01 10:00",
        "whenever",
    ]
    .iter()
    .map(|at| {
        let result = desk.call("create_reminders", &json!({ "text": "x", "at": at }));
        match result["structuredContent"].as_object() {
            Some(data) => format!("{at} -> {} {}", data["created"][0]["at"], data["remarks"]),
            None => format!("{at} -> ERROR {}", result["content"][0]["text"].as_str().unwrap()),
        }
    })
    .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    2026-11-20T17:00:00+01:00 -> "2026-11-20T17:00:00+01:00" []
    tomorrow 9am -> "2026-03-02T09:00:00+01:00" ["x-2: `at`: `tomorrow 9am` was read as Monday 2026-03-02T09:00:00+01:00"]
    next friday 17:00 -> "2026-03-06T17:00:00+01:00" ["x-3: `at`: `next friday 17:00` was read as Friday 2026-03-06T17:00:00+01:00"]
    in 3 hours -> "2026-03-01T15:00:00+01:00" ["x-4: `at`: `in 3 hours` was read as Sunday 2026-03-01T15:00:00+01:00"]
    in 3 days at 17:00 -> "2026-03-04T17:00:00+01:00" ["x-5: `at`: `in 3 days at 17:00` was read as Wednesday 2026-03-04T17:00:00+01:00"]
    15:30 -> "2026-03-01T15:30:00+01:00" ["x-6: `at`: `15:30` was read as Sunday 2026-03-01T15:30:00+01:00","x-6: `at`: no date was given: read as today, 2026-03-01, in Europe/Berlin"]
    9am -> ERROR no reminder was created. `at` is `9am`, and that is past today: send it with the day, for example `tomorrow 9am`, `next friday 17:00`, `in 3 hours` or `2026-11-20T17:00`
    today -> ERROR no reminder was created. `at` is `today`, which names no time of day: send for example `tomorrow 9am`, `next friday 17:00`, `in 3 hours` or `2026-11-20T17:00`
    tonight -> ERROR no reminder was created. `at` is `tonight`, which names no time of day: send for example `tomorrow 9am`, `next friday 17:00`, `in 3 hours` or `2026-11-20T17:00`
    tonight 8pm -> "2026-03-01T20:00:00+01:00" ["x-7: `at`: `tonight 8pm` was read as Sunday 2026-03-01T20:00:00+01:00"]
    2026-03-29 02:30 -> "2026-03-29T03:30:00+02:00" ["x-8: `at`: `2026-03-29 02:30` was read as Sunday 2026-03-29T03:30:00+02:00","x-8: `at`: 02:30:00 does not exist in Europe/Berlin on 2026-03-29, because the clocks go forward: read as 03:30:00"]
    9am in Tokyo -> ERROR no reminder was created. `at` is `9am in Tokyo`, and that is past today: send it with the day, for example `tomorrow 9am`, `next friday 17:00`, `in 3 hours` or `2026-11-20T17:00`
    tomorrow evening -> ERROR no reminder was created. `at` is `tomorrow evening`, which cannot be read: `evening` names no hour: write for example `9am` or `19:00`. Send for example `tomorrow 9am`, `next friday 17:00`, `in 3 hours` or `2026-11-20T17:00`
    7:00 in the evening -> ERROR no reminder was created. `at` is `7:00 in the evening`, which cannot be read: `evening` names no hour: write for example `9am` or `19:00`. Send for example `tomorrow 9am`, `next friday 17:00`, `in 3 hours` or `2026-11-20T17:00`
    in 3 days -> "2026-03-04T12:00:00+01:00" ["x-9: `at`: `in 3 days` was read as Wednesday 2026-03-04T12:00:00+01:00"]
    2020-01-01 10:00 -> "2020-01-01T10:00:00+01:00" ["x-10: `at`: `2020-01-01 10:00` was read as Wednesday 2020-01-01T10:00:00+01:00, which is past"]
    whenever -> ERROR no reminder was created. `at` is `whenever`, which cannot be read: it has neither a date nor a time of day. Send for example `tomorrow 9am`, `next friday 17:00`, `in 3 hours` or `2026-11-20T17:00`
    "#);
}

#[test]
fn c2_pages_are_exact_at_their_borders() {
    let desk = Shelf::desk();
    let items: Value = (1..=7).map(|at| json!({ "title": format!("T {at}") })).collect();
    desk.create("create_tasks", &items);
    let page = |offset: usize, limit: usize| {
        let data = desk.data("query_tasks", &json!({ "sort": "created", "offset": offset, "limit": limit }));
        assert_eq!(
            (&data["offset"], &data["limit"], &data["total_count"]),
            (&json!(offset), &json!(limit), &json!(7))
        );
        (slugs(&data["items"]).join(" "), data["has_more"].as_bool().unwrap())
    };
    assert_eq!(page(0, 3), ("t-1 t-2 t-3".to_owned(), true));
    assert_eq!(page(3, 3), ("t-4 t-5 t-6".to_owned(), true));
    assert_eq!(page(6, 3), ("t-7".to_owned(), false));
    assert_eq!(page(4, 3), ("t-5 t-6 t-7".to_owned(), false));
    assert_eq!(page(7, 3), (String::new(), false));
    assert_eq!(page(0, 7), ("t-1 t-2 t-3 t-4 t-5 t-6 t-7".to_owned(), false));
    assert_eq!(page(900, 1), (String::new(), false));
    assert_eq!(desk.found("query_tasks", &json!({ "limit": 2 })), ["t-7", "t-6"]);
}

#[test]
fn c2_filters_and_orders_combine() {
    let desk = Shelf::desk();
    desk.create(
        "create_tasks",
        &json!([
            { "title": "Paint", "priority": "low", "due": "2026-03-05", "tags": ["home", "Garden"] },
            { "title": "Café order", "priority": "high", "due": "2026-03-06", "notes": "Two flat whites" },
            { "title": "File taxes", "priority": "high", "due": "2026-03-07", "tags": ["home"] },
            { "title": "Sleep", "status": "done" },
        ]),
    );
    let cases = [
        (json!({ "sort": "due" }), "paint cafe-order file-taxes sleep"),
        (json!({ "sort": "-due" }), "file-taxes cafe-order paint sleep"),
        (json!({ "sort": "-priority" }), "file-taxes cafe-order sleep paint"),
        (json!({ "sort": "title" }), "cafe-order file-taxes paint sleep"),
        (json!({ "due_before": "2026-03-06" }), "paint"),
        (json!({ "due_after": "2026-03-05", "due_before": "in 6 days" }), "cafe-order"),
        (json!({ "due": "next saturday" }), "file-taxes"),
        (json!({ "priority": "high", "tags": ["home"] }), "file-taxes"),
        (json!({ "tags": ["home", "garden"] }), "paint"),
        (json!({ "search": "CAFE flat" }), "cafe-order"),
        (json!({ "search": "home" }), "file-taxes paint"),
        (json!({ "title": "tax" }), "file-taxes"),
        (json!({ "status": "done" }), "sleep"),
        (json!({ "search": "open" }), ""),
        (json!({ "priority": "high", "due_after": "2026-03-07" }), ""),
    ];
    for (arguments, wanted) in cases {
        assert_eq!(desk.found("query_tasks", &arguments).join(" "), wanted, "{arguments}");
    }
    let found = desk.data("query_tasks", &json!({ "due_after": "2026-03-01", "due_before": "next friday" }));
    assert_eq!(found["remarks"], json!(["`due_before`: `next friday` was read as Friday 2026-03-06"]));
    desk.create(
        "create_reminders",
        &json!([{ "text": "Early", "at": "2026-03-05 00:00" }, { "text": "Late", "at": "2026-03-05 23:30" }]),
    );
    let cases = [
        (json!({ "at": "2026-03-05" }), "late early"),
        (json!({ "at": "2026-03-04" }), ""),
        (json!({ "at_after": "2026-03-05" }), ""),
        (json!({ "at_before": "2026-03-05" }), ""),
        (json!({ "at_after": "2026-03-05 00:00" }), "late"),
        (json!({ "at_before": "2026-03-05T22:30:00Z" }), "early"),
        (json!({ "at": "2026-03-05 23:30", "done": false }), "late"),
        (json!({ "done": true }), ""),
    ];
    for (arguments, wanted) in cases {
        assert_eq!(desk.found("query_reminders", &arguments).join(" "), wanted, "{arguments}");
    }
}

#[test]
fn c2_long_texts_are_cut_in_lists_only_and_the_cut_is_said() {
    let desk = Shelf::desk();
    let long = "é".repeat(301);
    desk.create("create_ideas", &json!([{ "title": "Long", "text": long }]));
    let list = desk.data("query_ideas", &json!({}));
    assert_eq!(list["items"][0]["text"], format!("{}…", "é".repeat(300)));
    assert_eq!(list["remarks"], json!(["long texts are cut at 300 characters: get_idea shows all"]));
    assert_eq!(desk.data("get_idea", &json!({ "slug": "long" }))["item"]["text"], long);
}
