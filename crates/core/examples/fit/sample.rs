//! Hubs drawn from the servers of public registries.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use toolyard_core::catalog::{Advertised, Bounds, Catalog};
use toolyard_core::index::{Index, Meaning, Sense, asked, parts, spoken, tool_text};
use toolyard_core::lexicon::Related;
use toolyard_core::metadata::{Knowledge, Library};
use toolyard_core::rank::{self, Method, Observed, Ranked, Reasons, Request, Rules, Scope, Weights};
use toolyard_core::tool::{Tool, ToolId};
use toolyard_encoder::{Embedding, Encoder, Packed};

use crate::data::{Data, Server, Set, SetRequest};
use crate::learn::{Answer, Choice, Truth};

/// A hub as a person may have it: some tens of servers, some hundreds of tools.
pub(crate) struct Hub<'a> {
    data: &'a Data,
    servers: Vec<usize>,
    catalog: Catalog,
    index: Index,
    seed: u64,
    /// Which half of the servers is asked for; the other half taught which words are related.
    half: usize,
    encoding: Option<&'a Encoding>,
    meaning: Option<Meaning>,
}

/// An encoder that remembers what it encoded, in a file beside its own.
pub(crate) struct Encoding {
    encoder: Encoder,
    known: Mutex<HashMap<String, Packed>>,
    memory: PathBuf,
    /// Whether it was trained on the requests of every server: then only fresh ones tell how good it is.
    knows_all: bool,
}

impl Encoding {
    pub(crate) fn open(path: &Path, knows_all: bool) -> Self {
        let bytes = std::fs::read(path).unwrap_or_else(|err| panic!("{}: {err}", path.display()));
        let encoder = Encoder::open(bytes).expect("an encoder");
        let memory = path.with_extension(format!("{}.vectors", encoder.key()));
        let mut known = HashMap::new();
        let remembered = std::fs::read(&memory).unwrap_or_default();
        let mut rest = &remembered[..];
        while let Some((text, vector, after)) = record(rest) {
            known.insert(text, vector);
            rest = after;
        }
        Self { encoder, known: Mutex::new(known), memory, knows_all }
    }

    /// Writes down what was encoded, for the next run.
    pub(crate) fn remember(&self) {
        let mut bytes = Vec::new();
        for (text, vector) in &*self.known.lock() {
            for part in [text.as_bytes(), &vector.to_bytes()] {
                bytes.extend(u32::try_from(part.len()).expect("texts are short").to_le_bytes());
                bytes.extend(part);
            }
        }
        std::fs::write(&self.memory, bytes).expect("the encoder's folder can be written");
    }

    fn packed(&self, text: &str) -> Packed {
        if let Some(known) = self.known.lock().get(text) {
            return known.clone();
        }
        let packed = self.encoder.encode(text).pack();
        self.known.lock().insert(text.to_owned(), packed.clone());
        packed
    }

    fn meaning(&self, catalog: &Catalog, index: &Index) -> Meaning {
        let mut meaning = Meaning::new(catalog.len(), self.encoder.dims());
        for position in 0..catalog.len() {
            for (part, text) in parts(catalog, &index.knowledge, position) {
                meaning.add(position, &part, &self.packed(&text)).expect("of one encoder");
            }
        }
        meaning
    }

    /// Reads a request beside the texts of tools, on both cores.
    fn read(&self, text: &str, catalog: &Catalog, positions: &[usize]) -> Readings {
        let text = &spoken(text);
        let read = |position: &usize| {
            let fit = self.encoder.read(text, &tool_text(&catalog.tools()[*position]));
            (*position, fit.expect("an encoder that can read"))
        };
        let read = &read;
        std::thread::scope(|scope| {
            let halves = positions.chunks(positions.len().div_ceil(2).max(1));
            let reading: Vec<_> =
                halves.map(|half| scope.spawn(move || half.iter().map(read).collect::<Vec<_>>())).collect();
            reading.into_iter().flat_map(|half| half.join().expect("no reading panics")).collect()
        })
    }

    fn sense(&self, meaning: &Meaning, text: &str) -> Sense {
        let request: Vec<Embedding> = asked(text).iter().map(|it| self.packed(it).unpack()).collect();
        meaning.sense(&request).expect("of one encoder")
    }
}

/// How well a request fits the tools that were read beside it, by position.
type Readings = Vec<(usize, f32)>;

/// How closely requests are looked at.
#[derive(Clone, Copy)]
pub(crate) enum Look<'a> {
    /// By words, and by vectors where there are some.
    Once,
    /// What is unclear by these weights is read as well; what is clear is left out.
    Twice(&'a Weights),
}

impl Look<'_> {
    /// Returns what was read beside a request; nothing where the request is left out.
    fn read(
        self,
        (catalog, index): (&Catalog, &Index),
        encoding: Option<&Encoding>,
        (text, sense): (&str, Option<&Sense>),
    ) -> Option<Readings> {
        let (Self::Twice(weights), Some(encoding)) = (self, encoding) else { return Some(Vec::new()) };
        let method = Method::Fitted(weights);
        let rules = Rules { method, confidence: 1.0, candidates: 1, reasons: Reasons::LeftOut };
        match rank::rank(Scope::plain(catalog, index), Request { task: text, sense }, rules) {
            Ranked::Clear(_) => None,
            Ranked::Unclear(open) => Some(encoding.read(text, catalog, open.tools())),
        }
    }
}

/// Parts a text and its vector from what follows them.
fn record(bytes: &[u8]) -> Option<(String, Packed, &[u8])> {
    let part = |bytes: &'_ [u8]| -> Option<(Vec<u8>, usize)> {
        let length = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
        Some((bytes.get(4..4 + length)?.to_vec(), 4 + length))
    };
    let (text, end) = part(bytes)?;
    let (vector, length) = part(&bytes[end..])?;
    Some((String::from_utf8(text).ok()?, Packed::from_bytes(&vector).ok()?, &bytes[end + length..]))
}

/// Servers of a hub, by its seed: people have few or many.
const SERVERS: [usize; 4] = [30, 7, 30, 15];
const MAX_TOOLS: usize = 90;
const MIN_TOOLS: usize = 3;
const REQUESTS: usize = 260;
/// From this cosine on, two tools of different servers do the same.
const TWIN: f32 = 0.85;
const BOUNDS: Bounds = Bounds { tools: 1_000, name_chars: 128, description_chars: 4_096, nesting: 64 };

impl<'a> Hub<'a> {
    pub(crate) fn draw(
        data: &'a Data,
        seed: u64,
        related: &[&'static Related; 2],
        encoding: Option<&'a Encoding>,
    ) -> Self {
        let mut numbers = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let fits = |at: &usize| (MIN_TOOLS..=MAX_TOOLS).contains(&data.servers[*at].tools.len());
        let mut order: Vec<usize> = (0..data.servers.len()).filter(fits).collect();
        numbers.shuffle(&mut order);
        // Seeds of one remainder by six are alike in other ways already, so sizes go by another number.
        let size = SERVERS[usize::try_from(seed / 6 % 4).expect("below four")];
        let known = order.iter().copied().filter(|at| data.servers[*at].is_known).take(size / 2);
        let mut servers: Vec<usize> = known.collect();
        let is_asked = |at: &usize| !new_requests(&data.servers[*at], encoding).is_empty();
        for at in order.iter().copied().filter(is_asked) {
            if servers.len() == size {
                break;
            }
            if !servers.contains(&at) {
                servers.push(at);
            }
        }
        let catalog = gather(data, &servers);
        // Every third hub is one that nobody wrote anything about.
        let library = if seed % 3 == 2 { None } else { Some(Library::builtin()) };
        let knowledge = Knowledge::gather(&catalog, library, &[], |_| None);
        let half = usize::from(seed % 2 == 1);
        let mut index = Index::new(&catalog, knowledge);
        index.related = related[1 - half];
        let meaning = encoding.map(|encoding| encoding.meaning(&catalog, &index));
        Self { data, servers, catalog, index, seed, half, encoding, meaning }
    }

    fn scope(&self) -> Scope<'_> {
        Scope::plain(&self.catalog, &self.index)
    }

    /// Routes requests for tools of this hub: what each candidate looked like, and which was right.
    pub(crate) fn choices(&self, look: Look) -> Vec<Choice> {
        let mut numbers = Numbers(self.seed ^ 0xabcd_ef01_2345_6789);
        let mut requests: Vec<usize> =
            self.asked().flat_map(|at| self.new_requests(at).iter().copied()).collect();
        numbers.shuffle(&mut requests);
        requests.truncate(REQUESTS);
        let choice = |at: usize| {
            let request = &self.data.requests[at];
            let (sense, read) = self.look(&request.text, look)?;
            let asked = Request { task: &request.text, sense: sense.as_ref() };
            let Observed { tools: candidates, gates } = rank::observe(self.scope(), asked, &read);
            let right = candidates.iter().map(|(tool, _)| self.is_right(*tool, request)).collect();
            Some(Choice {
                server: request.server,
                signals: candidates.into_iter().map(|(_, it)| it).collect(),
                gates,
                right,
            })
        };
        requests.into_iter().filter_map(choice).collect()
    }

    /// Routes requests of every kind with fitted weights: what each decision looked like, and what was true.
    pub(crate) fn answers(&self, weights: &Weights, look: Look) -> Vec<Answer> {
        let mut numbers = Numbers(self.seed ^ 0x1234_5678_9abc_def0);
        let mut inside: Vec<usize> =
            self.asked().flat_map(|at| self.new_requests(at).iter().copied()).collect();
        numbers.shuffle(&mut inside);
        inside.truncate(200);
        let judged = |text: &str| {
            let (sense, read) = self.look(text, look)?;
            let asked = Request { task: text, sense: sense.as_ref() };
            Some(rank::traits(self.scope(), asked, &read, weights))
        };
        let mut answers: Vec<Answer> = inside
            .into_iter()
            .filter_map(|at| {
                let request = &self.data.requests[at];
                let (first, traits) = judged(&request.text)?;
                let is_right = first.is_some_and(|first| self.serves(first, request));
                Some(Answer { traits, truth: if is_right { Truth::Right } else { Truth::Wrong } })
            })
            .collect();
        let mut outside = 0;
        while outside < 25 {
            let request = &self.data.requests[numbers.below(self.data.requests.len())];
            // A tool of the same name in this hub may well do it.
            if request.server % 2 == self.half
                && !self.servers.contains(&request.server)
                && !self.catalog.tools().iter().any(|tool| request.tools.contains(&tool.name))
            {
                let judged = judged(&request.text);
                answers.extend(judged.map(|(_, traits)| Answer { traits, truth: Truth::None }));
                outside += 1;
            }
        }
        for (texts, truth, count) in
            [(&self.data.impossible, Truth::None, 15), (&self.data.vague, Truth::Vague, 25)]
        {
            for _ in 0..if texts.is_empty() { 0 } else { count } {
                let text = &texts[numbers.below(texts.len())];
                answers.extend(judged(text).map(|(_, traits)| Answer { traits, truth }));
            }
        }
        answers
    }

    fn asked(&self) -> impl Iterator<Item = usize> {
        self.servers.iter().copied().filter(|at| at % 2 == self.half)
    }

    fn new_requests(&self, server: usize) -> &[usize] {
        new_requests(&self.data.servers[server], self.encoding)
    }

    /// Looks at a request; nothing where it is left out.
    fn look(&self, text: &str, look: Look) -> Option<(Option<Sense>, Readings)> {
        let sense = self.encoding.and_then(|it| Some(it.sense(self.meaning.as_ref()?, text)));
        let read = look.read((&self.catalog, &self.index), self.encoding, (text, sense.as_ref()))?;
        Some((sense, read))
    }

    fn is_right(&self, tool: usize, request: &crate::data::Request) -> bool {
        request.tools.contains(&self.catalog.tools()[tool].name)
    }

    /// Whether a tool is as good as the right one: it is that, or a tool of another server that says the same.
    fn serves(&self, tool: usize, request: &crate::data::Request) -> bool {
        let tools = self.catalog.tools();
        let Some(encoding) = self.encoding else { return self.is_right(tool, request) };
        let vector = |tool: &Tool| encoding.packed(&tool_text(tool)).unpack();
        let says_the_same = |right: &Tool| {
            request.tools.contains(&right.name)
                && right.server != tools[tool].server
                && vector(right).cosine(&vector(&tools[tool])) >= TWIN
        };
        self.is_right(tool, request) || tools.iter().any(says_the_same)
    }
}

/// The requests for a server that the encoder was not trained on.
fn new_requests<'a>(server: &'a Server, encoding: Option<&Encoding>) -> &'a [usize] {
    match encoding {
        None => &server.requests,
        Some(encoding) if encoding.knows_all => &server.fresh,
        Some(_) if server.is_held_out => &server.requests,
        Some(_) => &[],
    }
}

/// A public data set as a hub.
pub(crate) struct SetHub<'a> {
    set: &'a Set,
    ids: HashMap<ToolId, &'a str>,
    catalog: Catalog,
    index: Index,
    requests: Vec<&'a SetRequest>,
    encoding: Option<(&'a Encoding, Meaning)>,
}

/// A set without servers is one long listing.
const ONE_LISTING: Bounds = Bounds { tools: usize::MAX, ..BOUNDS };
/// Requests of a data set.
const SET_REQUESTS: usize = 350;

impl<'a> SetHub<'a> {
    pub(crate) fn draw(
        (set, requests): (&'a Set, &'a [SetRequest]),
        related: &'static Related,
        encoding: Option<&'a Encoding>,
    ) -> Self {
        let mut servers: BTreeMap<&str, Vec<&(String, String, Server)>> = BTreeMap::new();
        for tool in &set.tools {
            servers.entry(&tool.2.name).or_default().push(tool);
        }
        let mut ids = HashMap::new();
        let advertised: Vec<(Advertised, Bounds)> = servers
            .into_iter()
            .map(|(server, tools)| {
                let mut names: HashSet<String> = HashSet::new();
                let mut listed = Vec::new();
                for (id, name, tool) in tools {
                    // A second tool of the same name must stay apart; the mark adds no word to it.
                    let mut own = name.clone();
                    while !names.insert(own.clone()) {
                        own.push('_');
                    }
                    ids.insert(ToolId::new(&tool.name, &own), id.as_str());
                    listed.extend(tool.tools.iter().map(|tool| renamed(tool, &own)));
                }
                (Advertised { server: Arc::from(server), tools: listed }, ONE_LISTING)
            })
            .collect();
        let (catalog, _) = Catalog::gather(advertised);
        let knowledge = Knowledge::gather(&catalog, None, &[], |_| None);
        let mut index = Index::new(&catalog, knowledge);
        index.related = related;
        let mut requests: Vec<&SetRequest> = requests.iter().collect();
        Numbers(99).shuffle(&mut requests);
        requests.truncate(SET_REQUESTS);
        let encoding = encoding.map(|it| (it, it.meaning(&catalog, &index)));
        Self { set, ids, catalog, index, requests, encoding }
    }

    pub(crate) fn name(&self) -> &str {
        &self.set.name
    }

    fn scope(&self) -> Scope<'_> {
        Scope::plain(&self.catalog, &self.index)
    }

    pub(crate) fn choices(&self, look: Look) -> Vec<Choice> {
        let choice = |(text, needed): &&SetRequest| {
            let (sense, read) = self.look(text, look)?;
            let asked = Request { task: text, sense: sense.as_ref() };
            let Observed { tools: candidates, gates } = rank::observe(self.scope(), asked, &read);
            let right: Vec<bool> = candidates.iter().map(|(tool, _)| self.is_right(*tool, needed)).collect();
            let signals = candidates.into_iter().map(|(_, it)| it).collect();
            Some(Choice { server: self.set.name.len(), signals, gates, right })
        };
        self.requests.iter().filter_map(choice).collect()
    }

    /// Routes its requests with fitted weights: what each decision looked like, and whether it was right.
    pub(crate) fn answers(&self, weights: &Weights, look: Look) -> Vec<Answer> {
        let answer = |(text, needed): &&SetRequest| {
            let (sense, read) = self.look(text, look)?;
            let asked = Request { task: text, sense: sense.as_ref() };
            let (first, traits) = rank::traits(self.scope(), asked, &read, weights);
            let is_right = first.is_some_and(|first| self.is_right(first, needed));
            Some(Answer { traits, truth: if is_right { Truth::Right } else { Truth::Wrong } })
        };
        self.requests.iter().filter_map(answer).collect()
    }

    fn look(&self, text: &str, look: Look) -> Option<(Option<Sense>, Readings)> {
        let encoding = self.encoding.as_ref().map(|(encoding, _)| *encoding);
        let sense = self.encoding.as_ref().map(|(encoding, meaning)| encoding.sense(meaning, text));
        let read = look.read((&self.catalog, &self.index), encoding, (text, sense.as_ref()))?;
        Some((sense, read))
    }

    fn is_right(&self, tool: usize, needed: &[String]) -> bool {
        let id = self.ids.get(&self.catalog.tools()[tool].id);
        id.is_some_and(|id| needed.iter().any(|needed| needed == id))
    }
}

fn renamed(tool: &RawValue, name: &str) -> Box<RawValue> {
    let mut definition: Value = serde_json::from_str(tool.get()).expect("JSON");
    definition["name"] = Value::String(name.to_owned());
    to_raw_value(&definition).expect("a JSON value has a text")
}

pub(crate) fn gather(data: &Data, servers: &[usize]) -> Catalog {
    let mut names: Vec<String> = Vec::new();
    let advertised = servers.iter().map(|at| {
        let server = &data.servers[*at];
        // Registries prefix the owner, which people leave out.
        let mut name = server.name.rsplit('/').next().unwrap_or(&server.name).to_owned();
        while names.contains(&name) {
            name.push_str("-mcp");
        }
        names.push(name.clone());
        (Advertised { server: Arc::from(name), tools: server.tools.clone() }, BOUNDS)
    });
    Catalog::gather(advertised.collect::<Vec<_>>()).0
}

/// A fixed sequence, so that two runs draw the same.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).expect("below a usize")
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            let other = self.below(at + 1);
            items.swap(at, other);
        }
    }
}
