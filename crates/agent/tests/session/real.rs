//! Real small models behind a real llama.cpp. They are slow and large, so they have to be asked for:
//! `scripts/servers models`, then `cargo nextest run -p toolyard-agent --run-ignored all -E 'test(real::)'`.

use testkit::{Listening, servers};
use toolyard_core::turn::TurnEnding;

use crate::desk::{Desk, Listener};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: scripts/servers models && cargo nextest run -p toolyard-agent --run-ignored only real::"]
async fn i1_a_small_model_finds_out_the_time_with_a_tool() {
    let service = Listening::start(servers::model("qwen2.5-coder-1.5b"));
    let desk = Desk::before(&format!("{}#qwen", service.url())).await;
    let mut heard = Listener::default();
    let ended = desk.session(false).say("what time is it in Tokyo?", &mut heard).await;
    let ended = ended.expect("the model answers");
    let calls = heard.calls();
    assert!(calls.iter().any(|(tool, _)| tool == "time__current_time"), "{calls:?}");
    assert!(!ended.text.is_empty() && ended.ending == TurnEnding::Answered);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: scripts/servers models && cargo nextest run -p toolyard-agent --run-ignored only real::"]
async fn i4_whatever_a_tiny_model_says_the_turn_ends_within_its_bounds() {
    let service = Listening::start(servers::model("smollm2-135m"));
    let desk = Desk::before(&format!("{}#smollm", service.url())).await;
    for words in ["what time is it in Tokyo?", "search my notes for bees", "hello"] {
        let mut heard = Listener::default();
        let ended = desk.session(false).say(words, &mut heard).await.expect("the turn ends");
        assert!(ended.iterations <= 2 && ended.asked <= 7, "{ended:?}");
    }
}
