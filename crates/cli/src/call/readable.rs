//! Data as a person reads it: names and values on lines of their own, without quotes and brackets.

use serde_json::Value;

/// Writes a value in lines.
pub(crate) fn readable(value: &Value) -> String {
    let mut lines = Vec::new();
    write(value, &mut lines);
    lines.join("\n")
}

fn write(value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::Array(items) if items.is_empty() => lines.push("none".to_owned()),
        Value::Object(members) if members.is_empty() => lines.push("none".to_owned()),
        Value::Array(items) => {
            for item in items {
                let inner = inside(item);
                lines.extend(inner.iter().enumerate().map(|(at, line)| {
                    let mark = if at == 0 { "- " } else { "  " };
                    format!("{mark}{line}")
                }));
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                let inner = inside(member);
                match inner.as_slice() {
                    [line] if !has_parts(member) => lines.push(format!("{name}: {line}")),
                    several => {
                        lines.push(format!("{name}:"));
                        lines.extend(several.iter().map(|line| format!("  {line}")));
                    }
                }
            }
        }
        Value::String(text) => lines.extend(text.trim_end().split('\n').map(str::to_owned)),
        Value::Null => lines.push("none".to_owned()),
        Value::Bool(is) => lines.push(if *is { "yes" } else { "no" }.to_owned()),
        Value::Number(number) => lines.push(number.to_string()),
    }
}

fn inside(value: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    write(value, &mut lines);
    lines
}

fn has_parts(value: &Value) -> bool {
    match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::readable;

    #[test]
    fn data_is_shown_in_lines() {
        let value = json!({
            "zone": "Europe/Paris", "offset": 2.5, "dst": true, "note": null, "tags": [], "text": "one\ntwo\n",
            "days": ["Monday", "Tuesday"],
            "people": [{ "name": "Ana", "langs": ["pt", "en"] }, { "name": "Bo", "langs": [] }],
            "place": { "city": "Paris", "at": [1, [2, 3]] },
        });
        insta::assert_snapshot!(readable(&value), @"
        zone: Europe/Paris
        offset: 2.5
        dst: yes
        note: none
        tags: none
        text:
          one
          two
        days:
          - Monday
          - Tuesday
        people:
          - name: Ana
            langs:
              - pt
              - en
          - name: Bo
            langs: none
        place:
          city: Paris
          at:
            - 1
            - - 2
              - 3
        ");
        assert_eq!(readable(&json!("plain")), "plain");
        assert_eq!(readable(&json!(12)), "12");
    }
}
