//! When workflows run by themselves: what was written becomes what it means.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::civil::{Time, Weekday};
use jiff::tz::TimeZone;

use super::super::document::Member;
use super::super::raw::{RawDay, RawSchedule, RawSpan};
use super::super::schedule::{Schedule, Times};
use super::super::server::duration;
use super::Resolving;

/// The key of the settings.
const SCHEDULES: &str = "schedules";

impl Resolving<'_, '_, '_> {
    /// Returns the workflows that run by themselves, by the names of their schedules.
    pub(super) fn schedules(&mut self) -> BTreeMap<String, Schedule> {
        let root = self.root;
        let members = root.member(SCHEDULES).map_or(&[][..], |it| it.node.members());
        members.iter().filter_map(|member| Some((member.key.clone(), self.schedule(member)?))).collect()
    }

    fn schedule(&mut self, member: &Member) -> Option<Schedule> {
        let raw = self.read::<RawSchedule>(&member.node)?;
        let times = match (&raw.at, &raw.every) {
            (Some(at), None) => self.daily(member, at, &raw),
            (None, Some(every)) if raw.on.is_none() && raw.time_zone.is_none() => self.every(member, every),
            (None, Some(_)) => {
                let message =
                    format!("`on` and `timeZone` of the schedule `{}` go with `at` alone", member.key);
                self.report.add(member.key_at, message, None);
                None
            }
            (Some(_), Some(_)) | (None, None) => {
                let message = format!("the schedule `{}` needs `at` or `every`, and not both", member.key);
                let hint =
                    "write a time such as \"at\": \"08:00\", or a length of time such as \"every\": \"6h\"";
                self.report.add(member.key_at, message, Some(hint.to_owned()));
                None
            }
        };
        Some(Schedule { workflow: raw.workflow, values: raw.values, times: times? })
    }

    fn daily(&mut self, member: &Member, at: &str, raw: &RawSchedule) -> Option<Times> {
        let place = |key: &str| member.node.member(key).map_or(member.key_at, |it| it.node.span.start);
        let time = Time::strptime("%H:%M", at);
        if time.is_err() {
            let message = format!("`at` of the schedule `{}` is not a time of the day", member.key);
            self.report.add(place("at"), message, Some("write it as \"08:00\" or \"17:30\"".to_owned()));
        }
        let zone = raw.time_zone.as_deref().map_or(Ok(TimeZone::system()), TimeZone::get);
        if zone.is_err() {
            let message = format!("`timeZone` of the schedule `{}` is unknown", member.key);
            let hint = "write it as \"Europe/Vienna\" or \"UTC\"".to_owned();
            self.report.add(place("timeZone"), message, Some(hint));
        }
        let on = raw.on.iter().flatten().map(|day| weekday(*day)).collect();
        Some(Times::Daily { at: time.ok()?, on, zone: zone.ok()? })
    }

    fn every(&mut self, member: &Member, span: &RawSpan) -> Option<Times> {
        let period = match span {
            RawSpan::Seconds(seconds) => Some(Duration::from_secs(*seconds)),
            RawSpan::Text(text) => duration(text),
        };
        let period = period.filter(|it| it.as_secs() > 0);
        if period.is_none() {
            let at = member.node.member("every").map_or(member.key_at, |it| it.node.span.start);
            let message = format!(
                "`every` of the schedule `{}` is not a length of time of a second to a year",
                member.key
            );
            let hint = "write seconds, or text such as \"90s\", \"15m\" or \"6h\"".to_owned();
            self.report.add(at, message, Some(hint));
        }
        period.map(Times::Every)
    }
}

fn weekday(day: RawDay) -> Weekday {
    match day {
        RawDay::Mon => Weekday::Monday,
        RawDay::Tue => Weekday::Tuesday,
        RawDay::Wed => Weekday::Wednesday,
        RawDay::Thu => Weekday::Thursday,
        RawDay::Fri => Weekday::Friday,
        RawDay::Sat => Weekday::Saturday,
        RawDay::Sun => Weekday::Sunday,
    }
}
