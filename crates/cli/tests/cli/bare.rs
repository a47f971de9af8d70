//! With no configuration at all, the built-in servers are there.

use crate::place::Place;

#[test]
fn the_welcome_names_the_next_steps_and_what_is_known() {
    let place = Place::new();
    insta::assert_snapshot!(place.run(&[]), @"
    toolyard 0.1.0: one plug for every tool

      toolyard list          every tool of every server
      toolyard find WORDS    the tools that fit these words
      toolyard serve         serve them all to an MCP client

    2 servers, 0 tools known, 2 not reached yet (built in; there is no configuration yet)
    `toolyard help` shows everything else.
    [exit 0]
    ");
    place.output(&["list"]);
    let after = place.run(&[]);
    assert!(after.contains("2 servers, 10 tools known (built in"), "{after}");
}

#[test]
fn list_shows_the_built_in_tools() {
    insta::assert_snapshot!(Place::new().run(&["list"]), @"
    notes  6 tools
      notes__search_notes    read     Searches the Markdown notes for words in titles, text, headings and tags, best first.
      notes__read_note       read     Shows the text of one note.
      notes__create_note     write    Creates a new Markdown note.
      notes__update_note     write    Changes the text of a note.
      notes__tag_note        write    Adds tags to a note, removes tags from it, or both.
      notes__list_notes      read     Lists notes with title, tags and time of change.

    time  4 tools
      time__current_time     read     Tells the current date and time in a time zone.
      time__convert_time     read     Carries a time from one time zone over to another.
      time__time_difference  read     Measures the time from one moment to another, exactly, across zones and daylight saving.
      time__add_time         read     Finds the moment a span of time after or before another.

    10 tools of 2 servers
    [exit 0]
    ");
}

#[test]
fn find_ranks_by_words() {
    insta::assert_snapshot!(Place::new().run(&["find", "-n", "2", "what time is it in Tokyo"]), @"
    time__current_time  read     Tells the current date and time in a time zone.
    time__convert_time  read     Carries a time from one time zone over to another.
    [exit 0]
    ");
    insta::assert_snapshot!(Place::new().run(&["find", "zzyzx"]), @"
    [stderr]
    error: no tool fits these words
      hint: `toolyard list` shows every tool
    [exit 1]
    ");
}

#[test]
fn describe_shows_parameters_and_how_to_call() {
    insta::assert_snapshot!(Place::new().run(&["describe", "time__convert_time"]), @r#"
    time__convert_time  Convert a time between zones
    server  time
    effect  read

    Carries a time from one time zone over to another. Use for "what is 9am New York in Tokyo" or to plan a call across zones. Does not tell the present time alone (use current_time) nor add hours or days (use add_time). Args: time, e.g. "14:30", "2026-03-01 9am", "tomorrow noon", "2026-03-01T14:30:00Z"; from_zone (optional, this computer's zone), e.g. "New York"; to_zone, e.g. "Asia/Tokyo". Returns both moments, the hours between the zones, and remarks on daylight saving or on what was assumed.

    Parameters
      time       string  required  The time to carry over. ISO 8601 or an everyday form.
      to_zone    string  required  Where to carry it over to. An IANA name, a large city, an abbreviation or an offset.
      from_zone  string            Where the time is meant; without it, this computer's zone. An IANA name, a large city, an abbreviation or an offset.

    Known
      example  {"time":"14:30","to_zone":"Asia/Tokyo"}

    Call
      toolyard call time__convert_time time=… to_zone=…
    [exit 0]
    "#);
}

#[test]
fn call_runs_a_tool_that_was_never_listed() {
    let place = Place::new();
    let convert =
        ["call", "time__convert_time", "time=2026-03-01 09:00", "from_zone=UTC", "to_zone=Asia/Tokyo"];
    insta::assert_snapshot!(place.run(&convert), @"
    Sunday 2026-03-01 09:00:00 (UTC) is Sunday 2026-03-01 18:00:00 (Asia/Tokyo, UTC+09:00)
    [exit 0]
    ");
    insta::assert_snapshot!(place.run(&["call", "notes__read_note", "note=no such note"]), @"
    [stderr]
    error: there is no note `no such note`; list_notes and search_notes find what there is
    [exit 1]
    ");
}

#[test]
fn a_tools_own_name_will_do_when_it_is_the_only_one() {
    let place = Place::new();
    let output = place.output(&["call", "add_time", "span=1 day", "time=2026-02-28 12:00", "zone=UTC"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("2026-03-01"), "{said}");
}
