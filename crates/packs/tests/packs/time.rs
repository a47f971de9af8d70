//! The time pack, through its front door, at a moment that never passes.

use serde_json::{Map, Value, json};
use toolyard_packs::{Clock, Kind, Pack};

#[test]
fn tells_the_local_time_without_arguments() {
    insta::assert_snapshot!(whole("current_time", json!({})), @r#"
    {
      "content": [
        {
          "type": "text",
          "text": "Sunday 2026-03-01 12:00:00 (Europe/Berlin, UTC+01:00)"
        }
      ],
      "structuredContent": {
        "iso": "2026-03-01T12:00:00+01:00",
        "zone": "Europe/Berlin",
        "abbreviation": "CET",
        "utc_offset": "+01:00",
        "date": "2026-03-01",
        "time": "12:00:00",
        "weekday": "Sunday",
        "daylight_saving": false,
        "unix_seconds": 1772362800,
        "iso_week": 9,
        "day_of_year": 60,
        "remarks": []
      },
      "isError": false
    }
    "#);
}

#[test]
fn tells_the_time_of_a_city_an_abbreviation_and_an_offset() {
    insta::assert_snapshot!(each("current_time", "zone", &[
        "Asia/Tokyo", "tokyo", "America/New York", "São Paulo", "Bengaluru", "Paris, France", "UTC+2", "-03:30",
        "gmt+5:45", "EST", "IST", "Pacific Time", "CET", "US/Eastern", "Etc/GMT+5", "local", "z",
    ]), @"
    Asia/Tokyo -> Sunday 2026-03-01 20:00:00 (Asia/Tokyo, UTC+09:00)
    tokyo -> Sunday 2026-03-01 20:00:00 (Asia/Tokyo, UTC+09:00)
    America/New York -> Sunday 2026-03-01 06:00:00 (America/New_York, UTC-05:00)
    São Paulo -> Sunday 2026-03-01 08:00:00 (America/Sao_Paulo, UTC-03:00)
    Bengaluru -> Sunday 2026-03-01 16:30:00 (Asia/Kolkata, UTC+05:30)
    Paris, France -> Sunday 2026-03-01 12:00:00 (Europe/Paris, UTC+01:00)
    UTC+2 -> Sunday 2026-03-01 13:00:00 (UTC+02:00)
    -03:30 -> Sunday 2026-03-01 07:30:00 (UTC-03:30)
    gmt+5:45 -> Sunday 2026-03-01 16:45:00 (UTC+05:45)
    EST -> Sunday 2026-03-01 06:00:00 (UTC-05:00)
    Note: EST is read as UTC-05:00 (standard time all year; with daylight saving it is `America/New_York`)
    IST -> Sunday 2026-03-01 16:30:00 (UTC+05:30)
    Note: IST is read as UTC+05:30 (India Standard Time; Israel is `Asia/Jerusalem`, Ireland `Europe/Dublin`)
    Pacific Time -> Sunday 2026-03-01 03:00:00 (America/Los_Angeles, UTC-08:00)
    CET -> Sunday 2026-03-01 12:00:00 (CET, UTC+01:00)
    US/Eastern -> Sunday 2026-03-01 06:00:00 (US/Eastern, UTC-05:00)
    Etc/GMT+5 -> Sunday 2026-03-01 06:00:00 (Etc/GMT+5, UTC-05:00)
    Note: `Etc/GMT+5` is UTC-05:00: its sign is inverted
    local -> Sunday 2026-03-01 12:00:00 (Europe/Berlin, UTC+01:00)
    z -> Sunday 2026-03-01 11:00:00 (UTC)
    ");
}

#[test]
fn answers_an_unknown_zone_with_the_nearest_names() {
    insta::assert_snapshot!(each("current_time", "zone", &[
        "Tokio", "Europe/Pariss", "New Yrok", "Middle-earth", "USA", "UTC+15", "+99:99", " ",
    ]), @r#"
    Tokio -> ERROR `Tokio` is no time zone that is known here: send an IANA name such as `Europe/Paris`, a large city, or an offset such as `UTC+2`; did you mean `Asia/Tokyo`?
    Europe/Pariss -> ERROR `Europe/Pariss` is no time zone that is known here: send an IANA name such as `Europe/Paris`, a large city, or an offset such as `UTC+2`; did you mean `Europe/Paris`?
    New Yrok -> ERROR `New Yrok` is no time zone that is known here: send an IANA name such as `Europe/Paris`, a large city, or an offset such as `UTC+2`; did you mean `America/New_York`?
    Middle-earth -> ERROR `Middle-earth` is no time zone that is known here: send an IANA name such as `Europe/Paris`, a large city, or an offset such as `UTC+2`
    USA -> ERROR `USA` has several time zones: send one of `America/New_York`, `America/Chicago`, `America/Denver`, `America/Los_Angeles`, or a city
    UTC+15 -> ERROR UTC offsets go from -12:00 to +14:00, so `UTC+15` is none: send for example `UTC+2` or `+05:30`
    +99:99 -> ERROR UTC offsets go from -12:00 to +14:00, so `+99:99` is none: send for example `UTC+2` or `+05:30`
      -> ERROR `current_time` was not run. `zone` is empty: send a string, for example "Asia/Tokyo". It takes `zone`
    "#);
}

#[test]
fn converts_between_zones() {
    insta::assert_snapshot!(
        whole("convert_time", json!({ "time": "9am", "from_zone": "New York", "to_zone": "Tokyo" })), @r#"
        {
          "content": [
            {
              "type": "text",
              "text": "Sunday 2026-03-01 09:00:00 (America/New_York, UTC-05:00) is Sunday 2026-03-01 23:00:00 (Asia/Tokyo, UTC+09:00)\nNote: no date was given: read as today, 2026-03-01, in America/New_York"
            }
          ],
          "structuredContent": {
            "source": {
              "iso": "2026-03-01T09:00:00-05:00",
              "zone": "America/New_York",
              "abbreviation": "EST",
              "utc_offset": "-05:00",
              "date": "2026-03-01",
              "time": "09:00:00",
              "weekday": "Sunday",
              "daylight_saving": false,
              "unix_seconds": 1772373600
            },
            "target": {
              "iso": "2026-03-01T23:00:00+09:00",
              "zone": "Asia/Tokyo",
              "abbreviation": "JST",
              "utc_offset": "+09:00",
              "date": "2026-03-01",
              "time": "23:00:00",
              "weekday": "Sunday",
              "daylight_saving": false,
              "unix_seconds": 1772373600
            },
            "hours_ahead": 14.0,
            "remarks": [
              "no date was given: read as today, 2026-03-01, in America/New_York"
            ]
          },
          "isError": false
        }
        "#);
}

#[test]
fn reads_iso_and_everyday_forms() {
    insta::assert_snapshot!(converted(&[
        "now", "14:30", "2026-03-01 9am", "9:30 pm", "14h30", "noon", "tomorrow noon", "yesterday 23:59:59.5",
        "March 5th, 2027 at 7 a.m.", "5 Mar", "2026/07/04 08:00", "04.07.2026 08:00", "25/12/2026", "20260704",
        "friday 17:00", "last monday", "2026-07-04T08:00:00Z", "2026-07-04T08:00:00-07:00",
        "2026-07-04T08:00[Asia/Tokyo]", "2026-07-04T8:15", "9am in Tokyo", "9am EST", "14:30+05:30", "1767225600",
        "1767225600123", "in 2 hours", "3 days ago", "tomorrow 9am Sydney",
    ]), @"
    now -> 2026-03-01T12:00:00+01:00 Europe/Berlin
    14:30 -> 2026-03-01T14:30:00+01:00 Europe/Berlin
        no date was given: read as today, 2026-03-01, in Europe/Berlin
    2026-03-01 9am -> 2026-03-01T09:00:00+01:00 Europe/Berlin
    9:30 pm -> 2026-03-01T21:30:00+01:00 Europe/Berlin
        no date was given: read as today, 2026-03-01, in Europe/Berlin
    14h30 -> 2026-03-01T14:30:00+01:00 Europe/Berlin
        no date was given: read as today, 2026-03-01, in Europe/Berlin
    noon -> 2026-03-01T12:00:00+01:00 Europe/Berlin
        no date was given: read as today, 2026-03-01, in Europe/Berlin
    tomorrow noon -> 2026-03-02T12:00:00+01:00 Europe/Berlin
    yesterday 23:59:59.5 -> 2026-02-28T23:59:59.5+01:00 Europe/Berlin
    March 5th, 2027 at 7 a.m. -> 2027-03-05T07:00:00+01:00 Europe/Berlin
    5 Mar -> 2026-03-05T00:00:00+01:00 Europe/Berlin
        no time of day was given: read as the start of 2026-03-05
    2026/07/04 08:00 -> 2026-07-04T08:00:00+02:00 Europe/Berlin
    04.07.2026 08:00 -> 2026-07-04T08:00:00+02:00 Europe/Berlin
    25/12/2026 -> 2026-12-25T00:00:00+01:00 Europe/Berlin
        no time of day was given: read as the start of 2026-12-25
    20260704 -> 2026-07-04T00:00:00+02:00 Europe/Berlin
        no time of day was given: read as the start of 2026-07-04
    friday 17:00 -> 2026-03-06T17:00:00+01:00 Europe/Berlin
    last monday -> 2026-02-23T00:00:00+01:00 Europe/Berlin
        no time of day was given: read as the start of 2026-02-23
    2026-07-04T08:00:00Z -> 2026-07-04T08:00:00+00:00 UTC
    2026-07-04T08:00:00-07:00 -> 2026-07-04T08:00:00-07:00 UTC-07:00
    2026-07-04T08:00[Asia/Tokyo] -> 2026-07-04T08:00:00+09:00 Asia/Tokyo
    2026-07-04T8:15 -> 2026-07-04T08:15:00+02:00 Europe/Berlin
    9am in Tokyo -> 2026-03-01T09:00:00+09:00 Asia/Tokyo
        no date was given: read as today, 2026-03-01, in Asia/Tokyo
    9am EST -> 2026-03-01T09:00:00-05:00 UTC-05:00
        EST is read as UTC-05:00 (standard time all year; with daylight saving it is `America/New_York`)
        no date was given: read as today, 2026-03-01, in UTC-05:00
    14:30+05:30 -> 2026-03-01T14:30:00+05:30 UTC+05:30
        no date was given: read as today, 2026-03-01, in UTC+05:30
    1767225600 -> 2026-01-01T01:00:00+01:00 Europe/Berlin
    1767225600123 -> 2026-01-01T01:00:00.123+01:00 Europe/Berlin
    in 2 hours -> 2026-03-01T14:00:00+01:00 Europe/Berlin
    3 days ago -> 2026-02-26T12:00:00+01:00 Europe/Berlin
    tomorrow 9am Sydney -> 2026-03-02T09:00:00+11:00 Australia/Sydney
    ");
}

#[test]
fn reads_days_that_are_counted_in_words() {
    insta::assert_snapshot!(converted(&[
        "the day after tomorrow 9am", "day before yesterday noon", "in two weeks", "in 3 days at 17:00",
        "in a month at noon", "tomorrow morning at 9:30", "friday evening 19:00", "tomorrow evening", "7:00 in the evening",
    ]), @"
    the day after tomorrow 9am -> 2026-03-03T09:00:00+01:00 Europe/Berlin
    day before yesterday noon -> 2026-02-27T12:00:00+01:00 Europe/Berlin
    in two weeks -> 2026-03-15T12:00:00+01:00 Europe/Berlin
    in 3 days at 17:00 -> 2026-03-04T17:00:00+01:00 Europe/Berlin
    in a month at noon -> 2026-04-01T12:00:00+02:00 Europe/Berlin
    tomorrow morning at 9:30 -> 2026-03-02T09:30:00+01:00 Europe/Berlin
    friday evening 19:00 -> 2026-03-06T19:00:00+01:00 Europe/Berlin
    tomorrow evening -> ERROR `tomorrow evening` cannot be read as a time: `evening` names no hour: write for example `9am` or `19:00`. Send for example `14:30`, `2026-03-01 9am`, `tomorrow noon`, `2026-03-01T14:30:00Z`, `9am in Tokyo` or `now`
    7:00 in the evening -> ERROR `7:00 in the evening` cannot be read as a time: `evening` names no hour: write for example `9am` or `19:00`. Send for example `14:30`, `2026-03-01 9am`, `tomorrow noon`, `2026-03-01T14:30:00Z`, `9am in Tokyo` or `now`
    ");
}

#[test]
fn says_why_a_time_cannot_be_read() {
    insta::assert_snapshot!(converted(&[
        "25:00", "13pm", "14:61", "2026-02-30", "30 February", "03/04/2026", "9", "March", "soonish",
        "14:30 in Narnia", "14:30 15:30", "2026-07-04T08:00+02:00[Nowhere/Land]", "24:00", "🕑",
    ]), @r"
    25:00 -> ERROR `25:00` cannot be read as a time: `25:00` is no time of day: hours go from 0 to 23 (1 to 12 with am or pm), minutes from 0 to 59. Send for example `14:30`, `2026-03-01 9am`, `tomorrow noon`, `2026-03-01T14:30:00Z`, `9am in Tokyo` or `now`
    13pm -> ERROR `13pm` cannot be read as a time: `13pm` is no time of day: hours go from 0 to 23 (1 to 12 with am or pm), minutes from 0 to 59. Send for example `14:30`, `2026-03-01 9am`, `tomorrow noon`, `2026-03-01T14:30:00Z`, `9am in Tokyo` or `now`
    14:61 -> ERROR `14:61` cannot be read as a time: `14:61` is no time of day: hours go from 0 to 23 (1 to 12 with am or pm), minutes from 0 to 59. Send for example `14:30`, `2026-03-01 9am`, `tomorrow noon`, `2026-03-01T14:30:00Z`, `9am in Tokyo` or `now`
    2026-02-30 -> ERROR `2026-02-30` cannot be read as a time: `2026-02-30` is no date of the calendar. Send for example `14:30`, `2026-03-01 9am`, `tomorrow noon`, `2026-03-01T14:30:00Z`, `9am in Tokyo` or `now`
    30 February -> ERROR `30 February` cannot be read as a time: `2026-02-30` is no date of the calendar. Send for example `14:30`, `2026-03-01 9am`, `tomorrow noon`, `2026-03-01T14:30:00Z`, `9am in Tokyo` or `now`
    03/04/2026 -> ERROR `03/04/2026` cannot be read as a time: `03/04/2026` can be read as 2026-04-03 or as 2026-03-04: send the one that is meant. Send for example `14:30`, `2026-03-01 9am`, `tomorrow noon`, `2026-03-01T14:30:00Z`, `9am in Tokyo` or `now`
    9 -> ERROR `9` cannot be read as a time: the number `9` could be a day, a year or an hour: write `9am`, `09:00` or `2026-03-09`. Send for example `14:30`, `2026-03-01 9am`, `tomorrow noon`, `2026-03-01T14:30:00Z`, `9am in Tokyo` or `now`
    March -> ERROR `March` cannot be read as a time: a month needs a day beside it: write `March 1` or `2026-03-01`. Send for example `14:30`, `2026-03-01 9am`, `tomorrow noon`, `2026-03-01T14:30:00Z`, `9am in Tokyo` or `now`
    soonish -> ERROR `soonish` cannot be read as a time: it has neither a date nor a time of day. Send for example `14:30`, `2026-03-01 9am`, `tomorrow noon`, `2026-03-01T14:30:00Z`, `9am in Tokyo` or `now`
    14:30 in Narnia -> ERROR `14:30 in Narnia` cannot be read as a time: `Narnia` is no time zone that is known here: send an IANA name such as `Europe/Paris`, a large city, or an offset such as `UTC+2`. Send for example `14:30`, `2026-03-01 9am`, `tomorrow noon`, `2026-03-01T14:30:00Z`, `9am in Tokyo` or `now`
    14:30 15:30 -> ERROR `14:30 15:30` cannot be read as a time: it has two dates, or two times. Send for example `14:30`, `2026-03-01 9am`, `tomorrow noon`, `2026-03-01T14:30:00Z`, `9am in Tokyo` or `now`
    2026-07-04T08:00+02:00[Nowhere/Land] -> ERROR `2026-07-04T08:00+02:00[Nowhere/Land]` cannot be read as a time: failed to find time zone `Nowhere/Land` in time zone database. Send for example `14:30`, `2026-03-01 9am`, `tomorrow noon`, `2026-03-01T14:30:00Z`, `9am in Tokyo` or `now`
    24:00 -> ERROR `24:00` cannot be read as a time: `24:00` is no time of day: hours go from 0 to 23 (1 to 12 with am or pm), minutes from 0 to 59. Send for example `14:30`, `2026-03-01 9am`, `tomorrow noon`, `2026-03-01T14:30:00Z`, `9am in Tokyo` or `now`
    🕑 -> ERROR `🕑` cannot be read as a time: it has neither a date nor a time of day. Send for example `14:30`, `2026-03-01 9am`, `tomorrow noon`, `2026-03-01T14:30:00Z`, `9am in Tokyo` or `now`
    ");
}

#[test]
fn says_what_daylight_saving_does_to_a_time() {
    insta::assert_snapshot!(converted(&[
        "2026-03-08 02:30 New York", "2026-11-01 01:30 New York", "2026-11-01T01:30:00-05:00[America/New_York]",
        "2026-03-29T02:15:00", "2026-09-06 Santiago",
    ]), @r"
    2026-03-08 02:30 New York -> 2026-03-08T03:30:00-04:00 America/New_York
        02:30:00 does not exist in America/New_York on 2026-03-08, because the clocks go forward: read as 03:30:00
    2026-11-01 01:30 New York -> 2026-11-01T01:30:00-04:00 America/New_York
        01:30:00 happens twice in America/New_York on 2026-11-01, because the clocks go back: read as the first, at UTC-04:00; for the second send 2026-11-01T01:30:00-05:00
    2026-11-01T01:30:00-05:00[America/New_York] -> 2026-11-01T01:30:00-05:00 America/New_York
    2026-03-29T02:15:00 -> 2026-03-29T03:15:00+02:00 Europe/Berlin
        02:15:00 does not exist in Europe/Berlin on 2026-03-29, because the clocks go forward: read as 03:15:00
    2026-09-06 Santiago -> 2026-09-06T01:00:00-03:00 America/Santiago
        00:00:00 does not exist in America/Santiago on 2026-09-06, because the clocks go forward: read as 01:00:00
        no time of day was given: read as the start of 2026-09-06
    ");
}

#[test]
fn measures_between_two_times_in_exact_units() {
    let arguments = json!({
        "start": "2024-02-29 10:00", "start_zone": "Berlin", "end": "2026-03-01 09:30:15.25", "end_zone": "Tokyo",
    });
    insta::assert_snapshot!(whole("time_difference", arguments), @r#"
    {
      "content": [
        {
          "type": "text",
          "text": "1 year, 11 months, 30 days, 15 hours, 30 minutes, 15.25 seconds (63127815.25 seconds): from Thursday 2024-02-29 10:00:00 (Europe/Berlin, UTC+01:00) to Sunday 2026-03-01 09:30:15.25 (Asia/Tokyo, UTC+09:00)"
        }
      ],
      "structuredContent": {
        "start": {
          "iso": "2024-02-29T10:00:00+01:00",
          "zone": "Europe/Berlin",
          "abbreviation": "CET",
          "utc_offset": "+01:00",
          "date": "2024-02-29",
          "time": "10:00:00",
          "weekday": "Thursday",
          "daylight_saving": false,
          "unix_seconds": 1709197200
        },
        "end": {
          "iso": "2026-03-01T09:30:15.25+09:00",
          "zone": "Asia/Tokyo",
          "abbreviation": "JST",
          "utc_offset": "+09:00",
          "date": "2026-03-01",
          "time": "09:30:15.25",
          "weekday": "Sunday",
          "daylight_saving": false,
          "unix_seconds": 1772325015
        },
        "order": "end is after start",
        "total_seconds": 63127815.25,
        "years": 1,
        "months": 11,
        "days": 30,
        "hours": 15,
        "minutes": 30,
        "seconds": 15.25,
        "words": "1 year, 11 months, 30 days, 15 hours, 30 minutes, 15.25 seconds",
        "remarks": []
      },
      "isError": false
    }
    "#);
}

#[test]
fn a_day_with_a_changed_clock_is_measured_as_it_passes() {
    let days = [
        ("2026-03-28 12:00", "2026-03-29 12:00"),
        ("2026-10-24 12:00", "2026-10-25 12:00"),
        ("now", "now"),
        ("2026-03-02", "2026-03-01"),
    ];
    let lines: Vec<String> = days
        .iter()
        .map(|(start, end)| text("time_difference", json!({ "start": start, "end": end })))
        .collect();
    insta::assert_snapshot!(lines.join("\n\n"), @r"
    1 day (82800 seconds): from Saturday 2026-03-28 12:00:00 (Europe/Berlin, UTC+01:00) to Sunday 2026-03-29 12:00:00 (Europe/Berlin, UTC+02:00)
    Note: between the two the clocks in Europe/Berlin go forward by 1 hour

    1 day (90000 seconds): from Saturday 2026-10-24 12:00:00 (Europe/Berlin, UTC+02:00) to Sunday 2026-10-25 12:00:00 (Europe/Berlin, UTC+01:00)
    Note: between the two the clocks in Europe/Berlin go back by 1 hour

    no time (0 seconds): from Sunday 2026-03-01 12:00:00 (Europe/Berlin, UTC+01:00) to Sunday 2026-03-01 12:00:00 (Europe/Berlin, UTC+01:00)

    1 day, backwards (-86400 seconds): from Monday 2026-03-02 00:00:00 (Europe/Berlin, UTC+01:00) to Sunday 2026-03-01 00:00:00 (Europe/Berlin, UTC+01:00)
    Note: no time of day was given: read as the start of 2026-03-02
    Note: no time of day was given: read as the start of 2026-03-01
    ");
}

#[test]
fn adds_days_on_the_calendar_and_hours_in_elapsed_time() {
    let sums = [
        ("2026-03-28 12:00", "1 day"),
        ("2026-03-28 12:00", "24 hours"),
        ("2026-01-31", "1 month"),
        ("2026-03-28 02:30", "1 day"),
        ("now", "2 weeks and 4 hours"),
        ("now", "half an hour ago"),
        ("2026-03-01 9am", "-P1DT2H"),
        ("now", "an hour"),
        ("now", "1h 30m"),
        ("now", "9000 years"),
        ("now", "three bananas"),
        ("now", "99999999999999999999 days"),
    ];
    let lines: Vec<String> =
        sums.iter().map(|(time, span)| text("add_time", json!({ "time": time, "span": span }))).collect();
    insta::assert_snapshot!(lines.join("\n\n"), @r"
    Saturday 2026-03-28 12:00:00 (Europe/Berlin, UTC+01:00) plus P1D is Sunday 2026-03-29 12:00:00 (Europe/Berlin, UTC+02:00)

    Saturday 2026-03-28 12:00:00 (Europe/Berlin, UTC+01:00) plus PT24H is Sunday 2026-03-29 13:00:00 (Europe/Berlin, UTC+02:00)

    Saturday 2026-01-31 00:00:00 (Europe/Berlin, UTC+01:00) plus P1M is Saturday 2026-02-28 00:00:00 (Europe/Berlin, UTC+01:00)
    Note: no time of day was given: read as the start of 2026-01-31

    Saturday 2026-03-28 02:30:00 (Europe/Berlin, UTC+01:00) plus P1D is Sunday 2026-03-29 03:30:00 (Europe/Berlin, UTC+02:00)
    Note: 02:30:00 does not exist in Europe/Berlin on 2026-03-29, because the clocks go forward: read as 03:30:00

    Sunday 2026-03-01 12:00:00 (Europe/Berlin, UTC+01:00) plus P2WT4H is Sunday 2026-03-15 16:00:00 (Europe/Berlin, UTC+01:00)

    Sunday 2026-03-01 12:00:00 (Europe/Berlin, UTC+01:00) plus -PT30M is Sunday 2026-03-01 11:30:00 (Europe/Berlin, UTC+01:00)

    Sunday 2026-03-01 09:00:00 (Europe/Berlin, UTC+01:00) plus -P1DT2H is Saturday 2026-02-28 07:00:00 (Europe/Berlin, UTC+01:00)

    Sunday 2026-03-01 12:00:00 (Europe/Berlin, UTC+01:00) plus PT1H is Sunday 2026-03-01 13:00:00 (Europe/Berlin, UTC+01:00)

    Sunday 2026-03-01 12:00:00 (Europe/Berlin, UTC+01:00) plus PT1H30M is Sunday 2026-03-01 13:30:00 (Europe/Berlin, UTC+01:00)

    ERROR the result is out of range: years from -9999 to 9999 can be worked with (failed to add span to date: parameter 'year' is not in the required range of -9999..=9999)

    ERROR `three bananas` cannot be read as a span of time: send for example `3 days`, `2 weeks 4 hours`, `90 minutes ago` or `P1DT2H` (units from years to nanoseconds)

    ERROR `99999999999999999999 days` cannot be read as a span of time: send for example `3 days`, `2 weeks 4 hours`, `90 minutes ago` or `P1DT2H` (units from years to nanoseconds)
    ");
}

#[test]
fn wrong_arguments_are_all_named_at_once() {
    let cases = [
        json!({}),
        json!({ "time": 9, "tozone": "Tokyo", "x": 1 }),
        json!({ "time": null, "to_zone": ["Tokyo"] }),
        json!({ "time": "x".repeat(300), "to_zone": "" }),
    ];
    let lines: Vec<String> = cases.into_iter().map(|case| text("convert_time", case)).collect();
    insta::assert_snapshot!(lines.join("\n\n"), @r#"
    ERROR `convert_time` was not run. `time` is missing: send a string, for example "14:30". `to_zone` is missing: send a string, for example "Asia/Tokyo". It takes `time`, `from_zone`, `to_zone`

    ERROR `convert_time` was not run. `to_zone` is missing: send a string, for example "Asia/Tokyo". `time` is a number and not a string: send a string, for example "14:30". There is no argument `tozone`: did you mean `to_zone`. There is no argument `x`. It takes `time`, `from_zone`, `to_zone`

    ERROR `convert_time` was not run. `time` is missing: send a string, for example "14:30". `to_zone` is a list and not a string: send a string, for example "Asia/Tokyo". It takes `time`, `from_zone`, `to_zone`

    ERROR `convert_time` was not run. `time` has 300 characters, over 200: send a string, for example "14:30". `to_zone` is empty: send a string, for example "Asia/Tokyo". It takes `time`, `from_zone`, `to_zone`
    "#);
}

#[test]
fn a_tool_of_another_name_is_none() {
    assert_eq!(pack().call("search_notes", &Map::new()), None);
}

/// A Sunday in Berlin, four weeks before the clocks go forward.
fn pack() -> Pack {
    let at = "2026-03-01T12:00:00+01:00[Europe/Berlin]".parse().unwrap();
    Pack::open_with_clock(&Kind::Time, Clock::Fixed(at)).unwrap()
}

fn call(tool: &str, arguments: Value) -> Value {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    pack().call(tool, &arguments).unwrap()
}

fn whole(tool: &str, arguments: Value) -> String {
    serde_json::to_string_pretty(&call(tool, arguments)).unwrap()
}

fn text(tool: &str, arguments: Value) -> String {
    let result = call(tool, arguments);
    let mark = if result["isError"] == true { "ERROR " } else { "" };
    format!("{mark}{}", result["content"][0]["text"].as_str().unwrap())
}

fn each(tool: &str, argument: &str, values: &[&str]) -> String {
    let lines = values.iter().map(|value| format!("{value} -> {}", text(tool, json!({ argument: value }))));
    lines.collect::<Vec<_>>().join("\n")
}

fn converted(times: &[&str]) -> String {
    let lines = times.iter().map(|time| {
        let result = call("convert_time", json!({ "time": time, "to_zone": "UTC" }));
        match result["structuredContent"].as_object() {
            Some(data) => {
                let remarks = data["remarks"].as_array().unwrap().iter().filter_map(Value::as_str);
                let remarks: String = remarks.map(|remark| format!("\n    {remark}")).collect();
                format!(
                    "{time} -> {} {}{remarks}",
                    data["source"]["iso"].as_str().unwrap(),
                    data["source"]["zone"].as_str().unwrap()
                )
            }
            None => format!("{time} -> ERROR {}", result["content"][0]["text"].as_str().unwrap()),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}
