//! The service: what clients ask for, whatever carries their words.

use std::borrow::Cow;
use std::sync::Arc;

use atm_store::watch::Stop;
use atm_wire::{MemberName, TeamName};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, DiscoverResult, ErrorCode, ErrorData, GetPromptRequestParams,
    GetPromptResponse, Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig, SubscribeRequestParams, UnsubscribeRequestParams,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};

use crate::calls::Calls;
use crate::desk::Desk;
use crate::handover::{Handover, Settling, Slot};
use crate::settings::Settings;
use crate::subscriptions::Subscriptions;
use crate::tools::{self, Offered};
use crate::trouble::Trouble;
use crate::{prompts, resources, words};

/// The MCP server of one member, or of a lead. Clones are the same server.
#[derive(Debug, Clone)]
pub struct Server {
    pub(crate) desk: Arc<Desk>,
    tools: Arc<[Arc<Offered>]>,
    calls: Arc<Calls>,
    subscriptions: Arc<Subscriptions>,
    /// Where mail waits until its answer was written, for a transport that has one for all calls.
    handover: Option<Handover>,
    settling: Settling,
    closed: Stop,
}

impl Server {
    /// A server with these settings.
    pub fn new(settings: Settings) -> Self {
        let desk = Arc::new(Desk::new(settings));
        let closed = Stop::default();
        Self {
            tools: tools::callable(&desk).into(),
            desk,
            calls: Arc::new(Calls::new(closed.clone())),
            subscriptions: Arc::default(),
            handover: None,
            settling: Settling::default(),
            closed,
        }
    }

    /// The member whose server it is, if it is bound to one.
    pub fn member(&self) -> Option<&MemberName> {
        self.desk.bound()
    }

    /// The team that it is bound to, as far as that is settled.
    pub fn team(&self) -> Option<TeamName> {
        self.desk.bound_team()
    }

    /// With a transport that says when an answer was written.
    pub(crate) fn with_handover(self, handover: Handover) -> Self {
        Self { handover: Some(handover), ..self }
    }

    /// The same server for one more client, with places and subscriptions of its own.
    #[cfg(feature = "http")]
    pub(crate) fn session(&self) -> Self {
        let closed = Stop::default();
        Self {
            calls: Arc::new(Calls::new(closed.clone())),
            subscriptions: Arc::default(),
            settling: Settling::default(),
            closed,
            ..self.clone()
        }
    }

    /// The client has gone: nobody waits any more.
    pub(crate) fn close(&self) {
        self.closed.stop();
        self.subscriptions.clear();
    }

    /// Where the mail of a call waits until its answer was written. Nobody closes the slot of a transport that does not
    /// report this, so there mail stays unread.
    fn slot(&self, context: &RequestContext<RoleServer>) -> Slot {
        if let Some(handover) = &self.handover {
            return handover.begin(context.id.clone());
        }
        #[cfg(feature = "http")]
        if let Some(slot) = crate::http::slot(&context.extensions) {
            return slot;
        }
        Slot::default()
    }

    /// Runs office work of a resource in a thread.
    async fn look<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Desk) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let desk = self.desk.clone();
        let looked = tokio::task::spawn_blocking(move || {
            desk.pages().settle();
            work(&desk)
        });
        let looked = looked.await;
        let looked = looked.unwrap_or_else(|error| Err(Trouble::new(format!("it failed: {error}"))));
        looked.map_err(|trouble| ErrorData::resource_not_found(trouble.words(self.desk.toolbox()), None))
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_resources()
            .enable_resources_subscribe()
            .build();
        let about =
            Implementation::new("atm", env!("CARGO_PKG_VERSION")).with_title("Mail for teams of agents");
        ServerConfig::new(capabilities)
            .with_server_info(about)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
            .with_instructions(words::instructions(&self.desk))
    }

    /// Those that begin with `initialize`; clients of newer ones fall back to it.
    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        ProtocolVersion::known_up_to(&ProtocolVersion::LATEST_WITH_INITIALIZE).into()
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "server/discover", None))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let callable = self.tools.clone();
        let tools = self.look(move |desk| Ok(tools::listed(desk, &callable))).await?;
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(offered) = self.tools.iter().find(|offered| offered.name == request.name) else {
            let name: String = request.name.chars().take(80).collect();
            let trouble = Trouble::new(format!("there is no tool {name:?}"));
            return Err(ErrorData::invalid_params(trouble.words(self.desk.toolbox()), None));
        };
        // Before anything is waited for: a cancellation may come at any time.
        let slot = self.slot(&context);
        self.settling.settled().await;
        let given = request.arguments.unwrap_or_default();
        let mut answer = match self.calls.run(&self.desk, offered, given, &context, &slot).await {
            Ok(answer) => answer.noting(self.desk.told_late()),
            Err(trouble) => return Ok(trouble.into_result(self.desk.toolbox()).into()),
        };
        // Of a call that was cancelled the answer goes nowhere, so its mail stays unread.
        let (reading, ending) = (answer.reading.take(), answer.ending.take());
        if (reading.is_some() || ending.is_some()) && !context.ct.is_cancelled() {
            slot.put(self.settling.hand(self.desk.clone(), reading, ending).await);
        }
        Ok(answer.into_result().into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        self.look(move |desk| resources::list(desk, cursor.as_deref())).await
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(vec![resources::template()]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Ok(self.look(move |desk| resources::read(desk, &request.uri)).await?.into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let uri = request.uri.clone();
        let inbox = self.look(move |desk| resources::find(desk, &uri)).await?;
        self.subscriptions
            .add(self.desk.office(), request.uri, inbox, context.peer)
            .map_err(|trouble| ErrorData::invalid_params(trouble.words(self.desk.toolbox()), None))
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriptions.remove(&request.uri);
        Ok(())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::list()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let given = request.arguments.unwrap_or_default();
        let prompt = prompts::get(&self.desk, &request.name, &given);
        Ok(prompt
            .map_err(|trouble| ErrorData::invalid_params(trouble.words(self.desk.toolbox()), None))?
            .into())
    }
}
