//! The server as rmcp sees it.

#![expect(deprecated, reason = "a legacy client may set the log level")]

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams, CompleteResult,
    CompletionInfo, GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ServerConfig,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
    UpdateTaskParams,
};
use rmcp::service::{RequestContext, SubscriptionContext, SubscriptionSink};
use rmcp::task_manager::TaskManager;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::{content, definition, live, rounds, task};

/// The fixture; clones share what must outlive one request.
#[derive(Clone, Default)]
pub(crate) struct Fixture(Arc<Shared>);

#[derive(Default)]
struct Shared {
    tasks: TaskManager,
    listeners: Mutex<Vec<SubscriptionSink>>,
    /// How many clients were told that they listen before [`Fixture::listen`] has their stream.
    joining: watch::Sender<usize>,
    /// States that were handed out and not yet brought back.
    states: Mutex<HashSet<String>>,
}

impl Fixture {
    pub(crate) fn tasks(&self) -> &TaskManager {
        &self.0.tasks
    }

    /// Gives the open streams of clients that listen.
    pub(crate) async fn listeners(&self) -> Vec<SubscriptionSink> {
        let mut joining = self.0.joining.subscribe();
        // One that went away while it joined is not waited for any longer.
        let _ = timeout(Duration::from_secs(1), joining.wait_for(|count| *count == 0)).await;
        self.0.listeners.lock().clone()
    }

    /// Makes a state that only this server can have made.
    pub(crate) fn new_state(&self, step: &str) -> String {
        let mut states = self.0.states.lock();
        let state = format!("{step}-{:016x}", RandomState::new().hash_one(states.len()));
        states.insert(state.clone());
        state
    }

    /// Says whether this server made the state for this step.
    pub(crate) fn knows_state(&self, step: &str, state: Option<&str>) -> bool {
        state.is_some_and(|state| state.starts_with(step) && self.0.states.lock().contains(state))
    }
}

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        typed(json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {
                "tools": {"listChanged": true}, "prompts": {"listChanged": true},
                "resources": {"subscribe": true, "listChanged": true},
                "logging": {}, "completions": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}
            },
            "serverInfo": {"name": "conformance-server", "version": env!("CARGO_PKG_VERSION")},
            "instructions": "Serves what the conformance suite asks for."
        }))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let tools: Vec<Tool> = typed(definition::tools());
        tools.into_iter().find(|tool| tool.name == name)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(typed(definition::tools())))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.to_string();
        if let Some(result) = content::tool(&name) {
            return Ok(complete(result));
        }
        if name.starts_with("test_input_required_result") {
            return rounds::call(self, &request, &context);
        }
        if task::is_one(&name) {
            return task::call(self, &request, &context).await;
        }
        live::call(self, &request, &context).await
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        Ok(GetTaskResult::new(self.tasks().get_task(&request.task_id)?))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.tasks().update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.tasks().cancel_task(&request.task_id)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(typed(definition::resources())))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(typed(definition::resource_templates())))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let missing =
            || ErrorData::resource_not_found("Resource not found", Some(json!({"uri": request.uri})));
        let found = content::resource(&request.uri).ok_or_else(missing)?;
        Ok(ReadResourceResponse::Complete(finished(found)))
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(typed(definition::prompts())))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if request.name == "test_input_required_result_prompt" {
            return Ok(rounds::prompt(&request));
        }
        let arguments = json!(request.arguments);
        let unknown = || ErrorData::invalid_params(format!("Unknown prompt: {}", request.name), None);
        let found = content::prompt(&request.name, &arguments).ok_or_else(unknown)?;
        Ok(GetPromptResponse::Complete(finished(found)))
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let values = ["test", "testing"].map(str::to_owned).to_vec();
        let completion = CompletionInfo::with_all_values(values)
            .map_err(|error| ErrorData::internal_error(error, None))?;
        Ok(CompleteResult::new(completion))
    }

    async fn set_level(
        &self,
        _: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        self.0.joining.send_modify(|count| *count += 1);
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let sink = context.sink().clone();
        let id = sink.id().clone();
        self.0.listeners.lock().push(sink);
        self.0.joining.send_modify(|count| *count = count.saturating_sub(1));
        context.cancelled().await;
        self.0.listeners.lock().retain(|listener| *listener.id() != id);
        Ok(())
    }
}

/// Turns a fixture's JSON into the type that rmcp wants.
pub(crate) fn typed<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("the fixtures have the shapes of the protocol")
}

/// Turns JSON into a result that says that it is complete; legacy clients are not told.
pub(crate) fn finished<T: DeserializeOwned>(mut result: Value) -> T {
    result["resultType"] = json!("complete");
    typed(result)
}

/// Gives a finished call.
pub(crate) fn complete(result: Value) -> CallToolResponse {
    CallToolResponse::Complete(finished(result))
}
