//! Fitting: which weights make the right tool most likely, and how sure that is.

use toolyard_core::rank::{Gate, Signal, Signals, Trait, Traits};

/// A request with everything that could have been chosen.
#[derive(Clone)]
pub(crate) struct Choice {
    pub(crate) server: usize,
    pub(crate) signals: Vec<Signals>,
    pub(crate) gates: [f32; Gate::ALL.len()],
    pub(crate) right: Vec<bool>,
}

/// A decision, and what was true.
pub(crate) struct Answer {
    pub(crate) traits: Traits,
    pub(crate) truth: Truth,
}

impl Answer {
    /// Whether some tool could do what was asked.
    pub(crate) fn is_servable(&self) -> bool {
        matches!(self.truth, Truth::Right | Truth::Wrong)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Truth {
    Right,
    Wrong,
    None,
    Vague,
}

pub(crate) type SignalWeights = [[f32; Gate::ALL.len() + 1]; Signal::ALL.len()];

const SIGNALS: usize = Signal::ALL.len();
const GATES: usize = Gate::ALL.len() + 1;
const STEPS: usize = 400;

/// One server in five is only for looking at.
pub(crate) fn split(choices: &[Choice]) -> (Vec<&Choice>, Vec<&Choice>) {
    choices.iter().partition(|choice| choice.server % 5 != 0)
}

/// Fits the weights by which the right tool is most likely: softmax over the candidates, Adam.
pub(crate) fn rank(choices: &[&Choice]) -> SignalWeights {
    let usable: Vec<&&Choice> = choices.iter().filter(|choice| choice.right.contains(&true)).collect();
    let mut weights = [[0.0; GATES]; SIGNALS];
    let (mut first, mut second) = (weights, weights);
    for step in 1..=STEPS {
        let half = usable.len().div_ceil(2).max(1);
        let slopes: Vec<SignalWeights> = std::thread::scope(|scope| {
            let working: Vec<_> =
                usable.chunks(half).map(|part| scope.spawn(move || slope(part, &weights))).collect();
            working.into_iter().map(|it| it.join().expect("arithmetic does not panic")).collect()
        });
        for signal in 0..SIGNALS {
            for gate in 0..GATES {
                let sum: f32 = slopes.iter().map(|slope| slope[signal][gate]).sum();
                // What a gate adds is pulled to nothing harder than what always counts.
                let pull = if gate == 0 { 1e-4 } else { 1e-3 };
                let slope = sum / usable.len() as f32 + pull * weights[signal][gate];
                let (m, v) = (&mut first[signal][gate], &mut second[signal][gate]);
                *m = 0.9 * *m + 0.1 * slope;
                *v = 0.99 * *v + 0.01 * slope * slope;
                let (m, v) =
                    (*m / (1.0 - 0.9_f32.powi(step as i32)), *v / (1.0 - 0.99_f32.powi(step as i32)));
                weights[signal][gate] -= 0.08 * m / (v.sqrt() + 1e-8);
            }
        }
        keep_by_hand(&mut weights);
    }
    weights
}

fn slope(choices: &[&&Choice], weights: &SignalWeights) -> SignalWeights {
    let mut slope = [[0.0; GATES]; SIGNALS];
    for choice in choices {
        let scores = scores(choice, weights);
        let all = softmax(&scores, |_| true);
        let right = softmax(&scores, |at| choice.right[at]);
        for (at, signals) in choice.signals.iter().enumerate() {
            let error = all[at] - right[at];
            if error.abs() < 1e-6 {
                continue;
            }
            for (signal, value) in signals.iter().enumerate() {
                slope[signal][0] += error * value;
                for (gate, open) in choice.gates.iter().enumerate() {
                    slope[signal][gate + 1] += error * value * open;
                }
            }
        }
    }
    slope
}

fn scores(choice: &Choice, weights: &SignalWeights) -> Vec<f32> {
    let now: Vec<f32> = weights
        .iter()
        .map(|own| {
            own[0] + choice.gates.iter().zip(&own[1..]).map(|(gate, weight)| gate * weight).sum::<f32>()
        })
        .collect();
    choice.signals.iter().map(|signals| signals.iter().zip(&now).map(|(a, b)| a * b).sum()).collect()
}

fn softmax(scores: &[f32], counts: impl Fn(usize) -> bool) -> Vec<f32> {
    let best =
        (0..scores.len()).filter(|at| counts(*at)).map(|at| scores[at]).fold(f32::NEG_INFINITY, f32::max);
    let powers: Vec<f32> =
        (0..scores.len()).map(|at| if counts(at) { (scores[at] - best).exp() } else { 0.0 }).collect();
    let total: f32 = powers.iter().sum();
    powers.into_iter().map(|power| if total > 0.0 { power / total } else { 0.0 }).collect()
}

/// What no request was written for, or what must not be learnt: set by hand, small enough not to outvote what
/// was fitted. That a tool changes something never speaks for it where reading was asked for. The words of a name
/// count among all words: many requests were written to avoid them, and they would be learnt as a sign against a tool.
fn keep_by_hand(weights: &mut SignalWeights) {
    let by_hand = [
        (Signal::Name, 0.0),
        (Signal::Effect, -0.4),
        (Signal::Available, 0.7),
        (Signal::Tier, -0.5),
        (Signal::Recent, 0.6),
        (Signal::Liked, 6.0),
        (Signal::Preferred, 2.0),
    ];
    for (signal, weight) in by_hand {
        weights[signal as usize] = [0.0; GATES];
        weights[signal as usize][0] = weight;
    }
}

pub(crate) fn report(name: &str, choices: &[&Choice], weights: &SignalWeights) {
    let (mut top, mut five, mut reach) = (0, 0, 0);
    for choice in choices {
        let scores = scores(choice, weights);
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
        top += usize::from(order.first().is_some_and(|at| choice.right[*at]));
        five += usize::from(order.iter().take(5).any(|at| choice.right[*at]));
        reach += usize::from(choice.right.contains(&true));
    }
    let best = |choice: &&&Choice, signal: Signal| {
        let value = |at: &usize| choice.signals[*at][signal as usize];
        (0..choice.right.len())
            .max_by(|a, b| value(a).total_cmp(&value(b)))
            .is_some_and(|at| choice.right[at])
    };
    let alone = |signal: Signal| choices.iter().filter(|choice| best(choice, signal)).count();
    let share = |count: usize| count as f32 / choices.len().max(1) as f32;
    println!(
        "{name}: {} requests, top-1 {:.3}, recall@5 {:.3}, among candidates {:.3}; words alone {:.3}, sense alone {:.3}",
        choices.len(),
        share(top),
        share(five),
        share(reach),
        share(alone(Signal::Words)),
        share(alone(Signal::Sense)),
    );
}

/// Fits the three judgements: logistic regression, Newton-free and slow, which does not matter.
pub(crate) fn judge(answers: &[Answer]) -> Vec<(&'static str, Traits)> {
    let right: Vec<(&Traits, bool)> =
        answers.iter().map(|it| (&it.traits, it.truth == Truth::Right)).collect();
    let none: Vec<(&Traits, bool)> = answers
        .iter()
        .filter(|it| it.truth != Truth::Vague)
        .map(|it| (&it.traits, it.truth == Truth::None))
        .collect();
    let vague: Vec<(&Traits, bool)> =
        answers.iter().map(|it| (&it.traits, it.truth == Truth::Vague)).collect();
    vec![("right", logistic(&right)), ("none", logistic(&none)), ("vague", logistic(&vague))]
}

fn logistic(cases: &[(&Traits, bool)]) -> Traits {
    let mut weights = [0.0_f32; Trait::ALL.len()];
    let (mut first, mut second) = (weights, weights);
    for step in 1..=1500 {
        let mut slope = [0.0_f32; Trait::ALL.len()];
        for (traits, truth) in cases {
            let error = sure(traits, &weights) - f32::from(*truth);
            for (slope, value) in slope.iter_mut().zip(traits.iter()) {
                *slope += error * value;
            }
        }
        for at in 0..weights.len() {
            let slope = slope[at] / cases.len() as f32 + 1e-4 * weights[at];
            first[at] = 0.9 * first[at] + 0.1 * slope;
            second[at] = 0.99 * second[at] + 0.01 * slope * slope;
            let (m, v) = (first[at] / (1.0 - 0.9_f32.powi(step)), second[at] / (1.0 - 0.99_f32.powi(step)));
            weights[at] -= 0.05 * m / (v.sqrt() + 1e-8);
        }
    }
    weights
}

fn sure(traits: &Traits, weights: &Traits) -> f32 {
    1.0 / (1.0 + (-traits.iter().zip(weights).map(|(a, b)| a * b).sum::<f32>()).exp())
}

pub(crate) fn report_judgements(answers: &[Answer], judgements: &[(&'static str, Traits)]) {
    let of = |name: &str| judgements.iter().find(|(known, _)| *known == name).expect("all are fitted").1;
    let (right, none, vague) = (of("right"), of("none"), of("vague"));
    for threshold in [0.4, 0.5, 0.6, 0.7, 0.8, 0.9] {
        let acted: Vec<&Answer> = answers
            .iter()
            .filter(|it| sure(&it.traits, &right) >= threshold && sure(&it.traits, &vague) < 0.5)
            .collect();
        let hits = acted.iter().filter(|it| it.truth == Truth::Right).count();
        let on_answerable = acted.iter().filter(|it| it.is_servable()).count();
        let all = answers.iter().filter(|it| it.is_servable()).count();
        println!(
            "threshold {threshold}: right when acting {:.3}, acts on {:.3} of what can be done, on {} of {} vague, on {} of {} impossible",
            hits as f32 / acted.len().max(1) as f32,
            on_answerable as f32 / all.max(1) as f32,
            acted.iter().filter(|it| it.truth == Truth::Vague).count(),
            answers.iter().filter(|it| it.truth == Truth::Vague).count(),
            acted.iter().filter(|it| it.truth == Truth::None).count(),
            answers.iter().filter(|it| it.truth == Truth::None).count(),
        );
    }
    for (name, weights, truth) in [("none", none, Truth::None), ("vague", vague, Truth::Vague)] {
        let said: Vec<&Answer> = answers.iter().filter(|it| sure(&it.traits, &weights) >= 0.5).collect();
        let hits = said.iter().filter(|it| it.truth == truth).count();
        let all = answers.iter().filter(|it| it.truth == truth).count();
        println!("{name}: said {}, true {hits}, of {all}", said.len());
    }
    for (name, weights) in judgements {
        let shown: Vec<String> =
            Trait::ALL.iter().map(|it| format!("{} {:.2}", it.name(), weights[*it as usize])).collect();
        println!("{name}: {}", shown.join(", "));
    }
}
