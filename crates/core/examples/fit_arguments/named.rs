//! Calls whose values were named by somebody who saw only the request.

use std::path::Path;
use std::sync::LazyLock;

use serde_json::{Map, Value};
use toolyard_core::arguments::{
    FeatureWeights, FillWeights, Filling, Form, Named, Nearness, Sources, field_names, fill_with, spoken,
    value_names,
};
use toolyard_encoder::Encoder;

use crate::data::{HeldOut, Tools, lines, quarter, server, text};
use crate::exact::{Judged, is_exact};
use crate::measure::NOW;
use crate::read::Opened;

/// A call as an assistant makes it, and the right arguments.
pub(crate) struct NamedCall {
    pub(crate) task: String,
    pub(crate) values: Map<String, Value>,
    /// The name of its tool, and what that says about itself.
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) form: Form,
    pub(crate) gold: Map<String, Value>,
    /// Which quarter of the tools it belongs to.
    pub(crate) quarter: u32,
    pub(crate) is_held_out: bool,
    nearness: Nearness,
}

static NOTHING: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

impl NamedCall {
    pub(crate) fn sources(&self) -> Sources<'_> {
        let named = Named { values: &self.values, nearness: Some(&self.nearness) };
        Sources {
            task: &self.task,
            given: &NOTHING,
            named: Some(named),
            reading: None,
            earlier: &[],
            now: NOW,
        }
    }

    /// Says it in words, as the reader sees it.
    pub(crate) fn spoken(&self) -> String {
        spoken(&self.task, &self.values)
    }

    fn fill<T>(
        &self,
        values: &FeatureWeights,
        reader: Option<&Opened>,
        take: impl FnOnce(&Sources<'_>, Filling) -> T,
    ) -> T {
        let reading = reader.map(|it| it.read(&self.spoken(), (&self.name, &self.about), &self.form));
        let sources = Sources { reading: reading.as_ref(), ..self.sources() };
        let filling = fill_with(&self.form, &sources, FillWeights { values, ..FillWeights::builtin() });
        take(&sources, filling)
    }

    /// The same where nothing compares meanings.
    pub(crate) fn without_nearness(&self) -> Sources<'_> {
        Sources { named: Some(Named { values: &self.values, nearness: None }), ..self.sources() }
    }
}

pub(crate) fn load(tools: &Tools, training: &Path, encoder: &Encoder) -> Vec<NamedCall> {
    let held = HeldOut::read(training);
    let call = |line: Value| {
        let tool = tools.get(&format!("written:{}", text(&line["tool"])))?;
        let about = (text(&tool["name"]), text(&tool["description"]));
        let form = Form::new(about, tool["input_schema"].clone()).of_server(server(text(&line["tool"])));
        let (gold, values) = (line["arguments"].as_object()?.clone(), line["values"].as_object()?.clone());
        let is_known = gold.keys().all(|name| form.has(name));
        let names: Vec<_> = value_names(&form, &values).iter().map(|it| encoder.encode(it)).collect();
        let fields: Vec<_> =
            field_names(&form).iter().map(|it| it.each_ref().map(|it| encoder.encode(it))).collect();
        let nearness = Nearness::of(&names, &fields);
        is_known.then(|| NamedCall {
            task: text(&line["task"]).to_owned(),
            name: about.0.to_owned(),
            about: about.1.to_owned(),
            values,
            form,
            gold,
            quarter: quarter(text(&line["tool"])),
            is_held_out: held.has(text(&line["tool"])),
            nearness,
        })
    };
    lines(&training.join("data/values.jsonl")).filter_map(call).collect()
}

/// Judges calls that weights were not fitted on.
pub(crate) fn judge(calls: &[&NamedCall], values: &FeatureWeights, reader: Option<&Opened>) -> Vec<Judged> {
    let judge = |call: &&NamedCall| {
        call.fill(values, reader, |sources, filling| Judged::of(&call.form, sources, &filling, &call.gold))
    };
    calls.iter().filter_map(judge).collect()
}

/// Prints how right the arguments are that named values become.
pub(crate) fn report(calls: &[&NamedCall], values: &FeatureWeights, reader: Option<&Opened>) {
    let (mut exact, mut whole, mut exact_whole) = (0, 0, 0);
    for call in calls {
        let filling = call.fill(values, reader, |_, filling| filling);
        let sent = filling.object();
        let is_exact = is_exact(&call.form, &sent, &call.gold);
        let is_whole = filling.unused.is_empty() && filling.missing.is_empty();
        exact += usize::from(is_exact);
        whole += usize::from(is_whole);
        exact_whole += usize::from(is_exact && is_whole);
        if std::env::var_os("SHOW").is_some() && !is_exact {
            println!(
                "{} {} | {} | want {} | unused {:?}",
                call.task,
                Value::from(call.values.clone()),
                Value::from(sent),
                Value::from(call.gold.clone()),
                filling.unused
            );
        }
    }
    let share = |count: usize, of: usize| count as f64 / of.max(1) as f64;
    println!(
        "named values{}: {} calls  exact {:.3}  nothing missing or unused {:.3}, of these exact {:.3}",
        if reader.is_some() { " and reader" } else { "" },
        calls.len(),
        share(exact, calls.len()),
        share(whole, calls.len()),
        share(exact_whole, whole)
    );
}
