//! Where the devices are: a simulated network, a Z-Wave JS server or an MQTT gateway.
//!
//! Every call looks at the network afresh, so that nothing stale is shown and a network that was away is found again
//! by the next call. Everything has a time limit, and what may have arrived is never sent twice.

use std::{
    io,
    net::{TcpStream, ToSocketAddrs},
    str::FromStr,
    time::{Duration, Instant},
};

use url::Url;

use super::{
    action::Change,
    device::Device,
    mqtt,
    simulated::{self, Simulated},
    zwave_js,
};
use crate::reply::shown;

/// How long reaching a network may take, and how long its list of devices.
pub(super) const CONNECT: Duration = Duration::from_secs(3);
pub(super) const SURVEY: Duration = Duration::from_secs(4);
/// How long one change may take; radio commands are repeated by the controller and can take seconds.
pub(super) const CHANGE: Duration = Duration::from_secs(10);
/// How long a device has for telling its new state.
pub(super) const SETTLE: Duration = Duration::from_secs(3);

/// Which Z-Wave network the home pack controls.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Network {
    /// A small house that exists only in the pack's folder.
    #[default]
    Simulated,
    /// A Z-Wave JS server, by its WebSocket.
    ZwaveJs {
        /// For example `ws://localhost:3000`.
        url: String,
    },
    /// The MQTT gateway of Z-Wave JS UI.
    Mqtt {
        /// The broker, for example `mqtt://user:secret@localhost:1883`.
        url: String,
        /// The gateway's prefix of topics, usually `zwave`.
        prefix: String,
    },
}

/// Says why a text names no network.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{network}` is no Z-Wave network ({why}): write `simulated`, `ws://HOST:3000` for a Z-Wave JS server, or \
     `mqtt://HOST:1883/zwave` for the MQTT gateway of Z-Wave JS UI"
)]
pub struct BadNetwork {
    network: String,
    why: String,
}

/// Why a network could not be asked, or did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error(
        "the {service} at `{at}` cannot be reached ({source}): check that it is running, that the address is right \
         and that no firewall is between. Nothing was done"
    )]
    Unreachable { service: &'static str, at: String, source: io::Error },
    #[error(
        "the {service} at `{at}` did not answer within {} s while {doing}: check that it is running and not busy. \
         Nothing was done", limit.as_secs()
    )]
    Silent { service: &'static str, at: String, doing: &'static str, limit: Duration },
    #[error(
        "what answers at `{at}` is not a {service} ({why}): check the address and the port. Nothing was done"
    )]
    Foreign { service: &'static str, at: String, why: String },
    #[error(
        "the {service} at `{at}` refused the login ({why}): check the user and the password of the address"
    )]
    Login { service: &'static str, at: String, why: String },
    #[error(
        "the change was sent to `{device}`, and the connection was lost or silent before an answer came ({why}): it \
         may still happen. Look at the device with get_device before sending it again"
    )]
    Uncertain { device: String, why: String },
    #[error("`{device}` did not do it: {why}. Check its power, its battery and its distance, then try again")]
    Failed { device: String, why: String },
    #[error("`{device}` tells of no value that this action could set: nothing was done")]
    NotSettable { device: String },
    #[error(
        "there are no Z-Wave values under the topic `{prefix}/` of the MQTT broker at `{at}`: check the prefix, and in \
         the MQTT settings of Z-Wave JS UI that the gateway is on and that `Retain` is checked"
    )]
    NoValues { at: String, prefix: String },
    #[error(
        "the gateway Z-Wave JS UI is not connected to the MQTT broker at `{at}`: check that Z-Wave JS UI is running. \
         Nothing was done"
    )]
    GatewayAway { at: String },
    #[error(transparent)]
    Simulated(#[from] simulated::Error),
}

/// What came of a change.
#[derive(Debug)]
pub(super) struct Applied {
    /// The device as it is afterwards.
    pub(super) device: Device,
    /// Whether the device has told that it made the change.
    pub(super) confirmed: bool,
}

/// A network that can be asked, with its address checked.
#[derive(Debug)]
pub(super) enum Link {
    Simulated(Simulated),
    ZwaveJs(Address),
    Mqtt { broker: Address, prefix: String },
}

/// One look at a network, during which changes can be made.
#[derive(Debug)]
pub(super) enum Session<'l> {
    Simulated(simulated::Session<'l>),
    ZwaveJs(Box<zwave_js::Session<'l>>),
    Mqtt(Box<mqtt::Session<'l>>),
}

/// Whether a session is going to change something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Look,
    Change,
}

/// How a service is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheme {
    WebSocket,
    Mqtt,
}

/// Where a service listens, and who asks.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Address {
    scheme: Scheme,
    url: Url,
    port: u16,
    pub(super) login: Option<(String, String)>,
}

impl FromStr for Network {
    type Err = BadNetwork;

    fn from_str(text: &str) -> Result<Self, BadNetwork> {
        let text = text.trim();
        if text.eq_ignore_ascii_case("simulated") {
            return Ok(Self::Simulated);
        }
        match text.split_once("://").map_or("", |(scheme, _)| scheme) {
            "ws" => {
                Address::parse(text, Scheme::WebSocket)?;
                Ok(Self::ZwaveJs { url: text.to_owned() })
            }
            "mqtt" => {
                let broker = Address::parse(text, Scheme::Mqtt)?;
                let prefix = broker.url.path().trim_matches('/');
                let prefix = if prefix.is_empty() { "zwave" } else { prefix }.to_owned();
                let end = text.find("://").map_or(0, |at| at + 3);
                let end = text[end..].find('/').map_or(text.len(), |at| end + at);
                Ok(Self::Mqtt { url: text[..end].to_owned(), prefix })
            }
            "wss" | "mqtts" => Err(BadNetwork::new(text, "encrypted connections are not supported")),
            "" => Err(BadNetwork::new(text, "it is no URL")),
            other => Err(BadNetwork::new(text, format!("`{}` is no known way to a network", shown(other)))),
        }
    }
}

impl std::fmt::Debug for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Simulated => f.write_str("Simulated"),
            Self::ZwaveJs { url } => f.debug_struct("ZwaveJs").field("url", &without_login(url)).finish(),
            Self::Mqtt { url, prefix } => {
                f.debug_struct("Mqtt").field("url", &without_login(url)).field("prefix", prefix).finish()
            }
        }
    }
}

impl BadNetwork {
    fn new(network: &str, why: impl Into<String>) -> Self {
        Self { network: without_login(network), why: why.into() }
    }
}

impl Link {
    /// Checks the address of a network; nothing is connected yet.
    pub(super) fn new(network: &Network, simulated: impl FnOnce() -> Simulated) -> Result<Self, BadNetwork> {
        match network {
            Network::Simulated => Ok(Self::Simulated(simulated())),
            Network::ZwaveJs { url } => Ok(Self::ZwaveJs(Address::parse(url, Scheme::WebSocket)?)),
            Network::Mqtt { url, prefix } => {
                let broker = Address::parse(url, Scheme::Mqtt)?;
                let prefix = prefix.trim_matches('/');
                if prefix.is_empty() || prefix.contains(['#', '+', '\0']) {
                    return Err(BadNetwork::new(url, format!("`{prefix}` is no prefix of topics")));
                }
                Ok(Self::Mqtt { broker, prefix: prefix.to_owned() })
            }
        }
    }

    /// Connects and asks for all devices.
    pub(super) fn open(&self, access: Access) -> Result<Session<'_>, Error> {
        match self {
            Self::Simulated(simulated) => Ok(Session::Simulated(simulated.open(access)?)),
            Self::ZwaveJs(server) => Ok(Session::ZwaveJs(Box::new(zwave_js::Session::open(server)?))),
            Self::Mqtt { broker, prefix } => {
                Ok(Session::Mqtt(Box::new(mqtt::Session::open(broker, prefix)?)))
            }
        }
    }
}

impl Session<'_> {
    /// Returns the devices, in the order of their ids.
    pub(super) fn devices(&self) -> Vec<Device> {
        let mut devices = match self {
            Self::Simulated(session) => session.devices().to_vec(),
            Self::ZwaveJs(session) => session.devices(),
            Self::Mqtt(session) => session.devices(),
        };
        let number = |device: &Device| device.id.split('-').next().and_then(|id| id.parse::<u16>().ok());
        devices.sort_by(|a, b| {
            let (a_number, b_number) = (number(a).unwrap_or(u16::MAX), number(b).unwrap_or(u16::MAX));
            a_number.cmp(&b_number).then_with(|| a.id.cmp(&b.id))
        });
        devices
    }

    /// Makes a change and waits a moment for the device to tell of it.
    pub(super) fn apply(&mut self, device: &Device, change: &Change) -> Result<Applied, Error> {
        match self {
            Self::Simulated(session) => Ok(session.apply(device, change)?),
            Self::ZwaveJs(session) => session.apply(device, change),
            Self::Mqtt(session) => session.apply(device, change),
        }
    }
}

impl Scheme {
    fn name(self) -> &'static str {
        match self {
            Self::WebSocket => "ws",
            Self::Mqtt => "mqtt",
        }
    }

    /// Returns the port where such a service usually listens.
    fn port(self) -> u16 {
        match self {
            Self::WebSocket => 3000,
            Self::Mqtt => 1883,
        }
    }
}

impl Address {
    /// Reads a URL of this scheme.
    fn parse(text: &str, scheme: Scheme) -> Result<Self, BadNetwork> {
        let wrong = |why: &str| BadNetwork::new(text, why);
        let rest = text.trim().strip_prefix(scheme.name()).and_then(|rest| rest.strip_prefix("://"));
        let rest = rest.ok_or_else(|| wrong(&format!("it does not begin with `{}://`", scheme.name())))?;
        // Under a scheme of its own a port stays what was written, also where it is the usual one of the scheme.
        let url = Url::parse(&format!("network://{rest}")).map_err(|error| wrong(&error.to_string()))?;
        if url.host_str().is_none_or(str::is_empty) {
            return Err(wrong("it names no host"));
        }
        let decoded = |text: &str| percent_decoded(text).ok_or_else(|| wrong("its login is not UTF-8"));
        let login = match (url.username(), url.password()) {
            ("", None) => None,
            (user, password) => Some((decoded(user)?, decoded(password.unwrap_or_default())?)),
        };
        let port = url.port().unwrap_or(scheme.port());
        Ok(Self { scheme, url, port, login })
    }

    /// Returns host and port, as messages show them.
    pub(super) fn shown(&self) -> String {
        format!("{}:{}", self.url.host_str().unwrap_or_default(), self.port)
    }

    /// Returns the URL that the service itself is asked for.
    pub(super) fn url(&self) -> String {
        let path = if self.url.path().is_empty() { "/" } else { self.url.path() };
        format!("{}://{}{path}", self.scheme.name(), self.shown())
    }

    /// Connects to the first of the host's addresses that answers.
    pub(super) fn connect(&self, service: &'static str) -> Result<TcpStream, Error> {
        let unreachable = |source| Error::Unreachable { service, at: self.shown(), source };
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for address in self.shown().to_socket_addrs().map_err(unreachable)? {
            match TcpStream::connect_timeout(&address, CONNECT) {
                Ok(stream) => {
                    // Without it small commands wait for each other; with an error they are only slower.
                    let _ = stream.set_nodelay(true);
                    stream.set_write_timeout(Some(CONNECT)).map_err(unreachable)?;
                    return Ok(stream);
                }
                Err(error) => last = error,
            }
        }
        Err(unreachable(last))
    }
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Address").field(&self.shown()).finish()
    }
}

/// Lets the next read wait until the deadline; `None` when it has passed.
pub(super) fn wait_until(stream: &TcpStream, deadline: Instant) -> Option<()> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return None;
    }
    stream.set_read_timeout(Some(left.max(Duration::from_millis(1)))).ok()
}

/// Says whether a read ended because its time was over.
pub(super) fn timed_out(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// Takes user and password out of a URL that is shown.
fn without_login(text: &str) -> String {
    match (text.split_once("://"), text.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
        _ => text.to_owned(),
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        let hex =
            (*first == b'%').then(|| after.get(..2)).flatten().and_then(|it| std::str::from_utf8(it).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => bytes.push(*first),
        }
    }
    String::from_utf8(bytes).ok()
}
