//! OAuth against a real authorization server on loopback (npm `oidc-provider`).
//!
//! Every test starts its own server and plays the person in front of the browser. All are left out, with a
//! message, where the package is not installed.

use std::time::{Duration, SystemTime};

use serde_json::json;
use toolyard_hub::oauth::{Document, Error, Settings};
use toolyard_hub::vault::Secret;

use yard::{Yard, plain};

mod yard;

#[tokio::test]
async fn a_hub_says_that_a_login_is_needed_uses_it_and_renews_it_after_a_401() {
    let Some(yard) = Yard::start().await else { return };
    let hub = yard.hub();
    hub.learn(|_| true, |_| {}).await;
    let reason = hub.servers().remove(0).reason.unwrap();
    assert_eq!(reason, "`yard` needs a login; run `toolyard login yard`");

    yard.login(&yard.authority(plain()), &[]).await.0.unwrap();
    let hub = yard.hub();
    hub.learn(|_| true, |_| {}).await;
    assert_eq!(yard.greet(&hub).await, "hello from behind the login");
    yard.control(json!({"revoke": true})).await;
    assert_eq!(yard.greet(&hub).await, "hello from behind the login");
    assert_eq!(yard.counts().await["refreshes"], 1);
    hub.close().await;
}

#[tokio::test]
async fn a_login_with_dynamic_registration_opens_the_server_and_survives_a_restart() {
    let Some(yard) = Yard::start().await else { return };
    let authority = yard.authority(plain());
    assert_eq!(authority.bearer().await, None);
    let refused = yard.call(None, "ping").await;
    let err = authority.renew(None, refused.challenge.as_deref()).await.unwrap_err();
    assert_eq!(
        (refused.status, err.to_string().as_str()),
        (401, "`yard` needs a login; run `toolyard login yard`")
    );

    let (done, page) = yard.login(&authority, &[]).await;
    done.unwrap();
    assert!(page.contains("<h1>Logged in</h1><p>Toolyard may now use yard."), "{page}");
    let token = authority.bearer().await.unwrap();
    let said = yard.call(Some(&token), "ping").await;
    assert_eq!((said.status, &said.body["scope"]), (200, &json!("mcp:read")));

    let restarted = yard.authority(plain());
    assert_eq!(restarted.bearer().await.as_deref(), Some(token.as_str()));
    // The registration is remembered as well.
    yard.login(&restarted, &[]).await.0.unwrap();
    assert_eq!(yard.counts().await, json!({"registrations": 1, "refreshes": 0, "documents": 0, "tokens": 2}));
    assert_ne!(authority.bearer().await.unwrap(), token, "a login in one process is seen by the others");
}

#[tokio::test]
async fn a_client_metadata_document_goes_before_registration() {
    let Some(yard) = Yard::start().await else { return };
    let authority = yard.authority(Settings { document: Document::At(yard.document.clone()), ..plain() });
    yard.login(&authority, &[]).await.0.unwrap();
    let token = authority.bearer().await.unwrap();
    assert_eq!(yard.call(Some(&token), "ping").await.body["client"], yard.document.as_str());
    assert_eq!(yard.counts().await, json!({"registrations": 0, "refreshes": 0, "documents": 1, "tokens": 1}));
}

#[tokio::test]
async fn a_client_that_a_person_registered_goes_before_everything() {
    let Some(yard) = Yard::start().await else { return };
    let settings = Settings {
        client_id: Some("by-hand".to_owned()),
        client_secret: Some(Secret::new("by-hand-secret:/+".to_owned())),
        document: Document::At(yard.document.clone()),
        ..plain()
    };
    let authority = yard.authority(settings);
    yard.login(&authority, &[]).await.0.unwrap();
    let token = authority.bearer().await.unwrap();
    assert_eq!(yard.call(Some(&token), "ping").await.body["client"], "by-hand");
    // The client proves itself at a renewal too.
    let later = SystemTime::now() + Duration::from_secs(90);
    assert_ne!(authority.bearer_at(later).await.unwrap(), token);
    // The tokens of one client are not used for another.
    assert_eq!(
        yard.authority(Settings { client_id: Some("other".to_owned()), ..plain() }).bearer().await,
        None
    );
}

#[tokio::test]
async fn without_any_way_to_introduce_itself_the_login_says_what_to_set() {
    let Some(yard) = Yard::start().await else { return };
    yard.control(json!({"registration": false, "documents": false})).await;
    let err = yard.login(&yard.authority(plain()), &[]).await.0.unwrap_err().to_string();
    assert!(matches!(err.as_str(), text if text.contains("set `auth.clientId` of `yard`")), "{err}");
}

#[tokio::test]
async fn a_token_is_renewed_at_eighty_percent_by_one_for_all() {
    let Some(yard) = Yard::start().await else { return };
    let authority = yard.authority(plain());
    yard.login(&authority, &[]).await.0.unwrap();
    let first = authority.bearer().await.unwrap();
    let start = SystemTime::now();
    assert_eq!(authority.bearer_at(start + Duration::from_secs(75)).await.unwrap(), first);

    // Two hubs of one machine, four requests each.
    let other = yard.authority(plain());
    let due = start + Duration::from_secs(85);
    let asks = (0..8).map(|n| if n % 2 == 0 { &authority } else { &other }.bearer_at(due));
    let given = futures_util::future::join_all(asks).await;
    let second = given[0].clone().unwrap();
    assert_ne!(second, first);
    assert!(given.iter().all(|token| token.as_ref() == Some(&second)), "one renewal serves everybody");
    assert_eq!(yard.counts().await["refreshes"], 1);
    assert_eq!(yard.call(Some(&second), "ping").await.status, 200);

    // The rotated refresh token was kept, also by a hub that starts after 80%.
    let third = yard.authority(plain()).bearer_at(due + Duration::from_secs(200)).await.unwrap();
    assert_eq!(yard.call(Some(&third), "ping").await.status, 200);
    assert_eq!(yard.counts().await["refreshes"], 2);
}

#[tokio::test]
async fn a_refused_token_is_renewed_once_and_then_a_login_is_asked_for() {
    let Some(yard) = Yard::start().await else { return };
    let authority = yard.authority(plain());
    yard.login(&authority, &[]).await.0.unwrap();
    let first = authority.bearer().await.unwrap();
    yard.control(json!({"revoke": true})).await;
    let refused = yard.call(Some(&first), "ping").await;
    assert_eq!(refused.status, 401);

    let asks = (0..4).map(|_| authority.renew(Some(&first), refused.challenge.as_deref()));
    let given = futures_util::future::join_all(asks).await;
    let second = given[0].clone().unwrap();
    assert!(given.iter().all(|token| token.as_ref().is_ok_and(|token| *token == second)));
    assert_eq!(yard.call(Some(&second), "ping").await.status, 200);
    assert_eq!(authority.bearer().await.unwrap(), second);

    yard.control(json!({"revoke": true})).await;
    let refused = yard.call(Some(&second), "ping").await;
    let err = authority.renew(Some(&second), refused.challenge.as_deref()).await.unwrap_err();
    assert_eq!(err.to_string(), "`yard` needs a login; run `toolyard login yard`");
    assert_eq!(yard.counts().await["refreshes"], 1);
}

#[tokio::test]
async fn a_403_leads_to_a_wider_login_that_keeps_what_was_there() {
    let Some(yard) = Yard::start().await else { return };
    let authority = yard.authority(plain());
    yard.login(&authority, &[]).await.0.unwrap();
    let token = authority.bearer().await.unwrap();
    let refused = yard.call(Some(&token), "write").await;
    assert_eq!(refused.status, 403);
    let err = authority.forbidden(refused.challenge.as_deref()).unwrap().to_string();
    assert_eq!(err, "`yard` wants more permission (mcp:write); run `toolyard login yard --scope mcp:write`");

    yard.login(&authority, &["mcp:write"]).await.0.unwrap();
    let said = yard.call(authority.bearer().await.as_deref(), "write").await;
    assert_eq!((said.status, &said.body["scope"]), (200, &json!("mcp:read mcp:write")));
}

#[tokio::test]
async fn an_answer_from_somebody_else_is_refused() {
    let Some(yard) = Yard::start().await else { return };
    for (iss, refusal) in [
        ("https://honest.example".to_owned(), "calls itself `https://honest.example`"),
        (format!("{}/", yard.issuer), "calls itself"),
        (String::new(), "does not say whom it is from"),
    ] {
        yard.control(json!({"iss": iss})).await;
        let authority = yard.authority(plain());
        let (done, page) = yard.login(&authority, &[]).await;
        let err = done.unwrap_err().to_string();
        assert!(err.contains(refusal), "{err}");
        assert!(page.contains("<h1>Login failed</h1>"), "{page}");
        assert_eq!(authority.bearer().await, None);
    }
}

#[tokio::test]
async fn an_authorization_server_without_s256_is_refused_before_the_browser_opens() {
    let Some(yard) = Yard::start().await else { return };
    yard.control(json!({"pkce": false})).await;
    let (done, page) = yard.login(&yard.authority(plain()), &[]).await;
    assert!(matches!(done, Err(Error::NoPkce { .. })), "{done:?}");
    assert_eq!(page, "the browser was not opened");
}

#[tokio::test]
async fn metadata_about_another_resource_is_refused() {
    let Some(yard) = Yard::start().await else { return };
    yard.control(json!({"resource": "https://bank.example/mcp"})).await;
    let done = yard.login(&yard.authority(plain()), &[]).await.0;
    assert!(matches!(done, Err(Error::WrongResource { .. })), "{done:?}");
}

#[tokio::test]
async fn an_old_server_without_resource_metadata_is_its_own_issuer() {
    let Some(yard) = Yard::start().await else { return };
    let origin = yard.endpoint.trim_end_matches("/mcp");
    yard.control(json!({"legacy": format!("{origin}/"), "iss": ""})).await;
    let authority = yard.authority(plain());
    yard.login(&authority, &["mcp:write"]).await.0.unwrap();
    let token = authority.bearer().await.unwrap();
    assert_eq!(yard.call(Some(&token), "write").await.status, 200);

    yard.control(json!({"legacy": "https://honest.example"})).await;
    let done = yard.login(&authority, &[]).await.0;
    assert!(matches!(done, Err(Error::WrongIssuer { .. })), "{done:?}");
}

#[tokio::test]
async fn a_token_endpoint_that_is_down_ends_nothing_and_one_that_refuses_ends_the_login() {
    let Some(yard) = Yard::start().await else { return };
    let authority = yard.authority(plain());
    yard.login(&authority, &[]).await.0.unwrap();
    let first = authority.bearer().await.unwrap();
    let start = SystemTime::now();
    let at = |seconds| authority.bearer_at(start + Duration::from_secs(seconds));

    yard.control(json!({"token": [503, "down"]})).await;
    assert_eq!(at(85).await.as_ref(), Some(&first), "the old token works until its end");
    assert_eq!(at(86).await.as_ref(), Some(&first));
    assert_eq!(yard.counts().await["tokens"], 2, "the login and one attempt; then the renewal rests");
    assert_eq!(at(101).await, None);
    yard.control(json!({"token": null})).await;
    let second = at(102).await.unwrap();
    assert_ne!(second, first);

    yard.control(json!({"token": [400, {"error": "invalid_grant"}]})).await;
    let asked = yard.counts().await["tokens"].clone();
    let err = authority.renew(None, None).await;
    assert_eq!(err.unwrap(), second, "a token that nobody refused is not renewed");
    assert_eq!(at(300).await, None);
    assert_eq!(at(300).await, None);
    let more = yard.counts().await["tokens"].as_u64().unwrap() - asked.as_u64().unwrap();
    assert_eq!(more, 1, "a refused refresh token is not shown again");
    assert!(matches!(authority.renew(Some(&second), None).await, Err(Error::LoginNeeded { .. })));
}

#[tokio::test]
async fn a_token_is_not_sent_to_another_address_under_the_same_name() {
    let Some(yard) = Yard::start().await else { return };
    let authority = yard.authority(plain());
    yard.login(&authority, &[]).await.0.unwrap();
    let vault = toolyard_hub::vault::Vault::open(yard.folder.path(), None);
    let moved =
        toolyard_hub::oauth::Authority::new("yard", "https://elsewhere.example/mcp", plain(), vault).unwrap();
    assert_eq!(moved.bearer().await, None);

    authority.forget().unwrap();
    assert_eq!(authority.bearer().await, None);
    assert_eq!(yard.authority(plain()).bearer().await, None);
}
