//! A workspace to try things on, with images and a world outside that answers from memory.

use std::{
    collections::BTreeMap,
    fs,
    io::Cursor,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use image::{ImageFormat, RgbaImage};
use serde_json::{Map, Value};
use tempfile::TempDir;
use toolyard_packs::{Abilities, Clock, Kind, Outside, Pack, ReferenceImage, SearchHit, Services};

use crate::definitions::keeps_to;

/// What lies beside the workspace and must never be seen.
pub(crate) const SECRET: &str = "canary-93d0";

/// A workspace in a home that has other things too.
pub(crate) struct Shop {
    pub(crate) home: TempDir,
    pub(crate) pack: Pack,
}

#[expect(clippy::needless_pass_by_value, reason = "calls read best with their arguments written in place")]
impl Shop {
    pub(crate) fn new() -> Self {
        Self::with(None)
    }

    pub(crate) fn with(outside: Option<Outside>) -> Self {
        let home = TempDir::new().unwrap();
        let pack = open(&home.path().join("workspace"), outside);
        let shop = Self { home, pack };
        shop.put("uploads/bottle.png", &png(1200, 1000, &[[250, 200, 20], [20, 20, 60]]));
        shop.put("uploads/hero-banner.jpg", &encoded(ImageFormat::Jpeg, 64, 32, &[[200, 30, 30]]));
        shop.put("uploads/snow.webp", &encoded(ImageFormat::WebP, 40, 40, &[[240, 245, 255]]));
        shop
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.home.path().join("workspace")
    }

    pub(crate) fn put(&self, path: &str, bytes: &[u8]) {
        let place = self.folder().join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, bytes).unwrap();
    }

    /// Calls a tool and checks that the answer keeps to the tool's own schema and is JSON that can be read.
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> Value {
        answered(&self.pack, tool, arguments.as_object().unwrap())
    }

    /// Calls a tool that has to work and returns its facts.
    pub(crate) fn ok(&self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments.clone());
        assert_eq!(result["isError"], false, "{tool} {arguments}: {}", result["content"][0]["text"]);
        result["structuredContent"].clone()
    }

    /// Calls a tool that has to refuse and returns what it says.
    pub(crate) fn refused(&self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments.clone());
        assert_eq!(result["isError"], true, "{tool} {arguments}: {result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Everything in the home except the database, by path.
    pub(crate) fn snapshot(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut seen = BTreeMap::new();
        walk(self.home.path(), &mut seen);
        seen
    }
}

pub(crate) fn open(folder: &Path, outside: Option<Outside>) -> Pack {
    let at = "2026-03-01T12:00:00+01:00[Europe/Berlin]".parse().unwrap();
    Pack::open_with_clock(&Kind::Studio { folder: folder.to_owned(), outside }, Clock::Fixed(at)).unwrap()
}

pub(crate) fn answered(pack: &Pack, tool: &str, arguments: &Map<String, Value>) -> Value {
    let result = pack.call(tool, arguments).unwrap_or_else(|| panic!("there is no tool {tool}"));
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(!text.is_empty());
    if result["isError"] == false {
        let definition = pack.tools().into_iter().find(|it| it["name"] == tool).unwrap();
        keeps_to(&definition["outputSchema"], &result["structuredContent"]).unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), result["structuredContent"], "{tool}");
    }
    result
}

fn walk(folder: &Path, seen: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let shape = path.symlink_metadata().unwrap().file_type();
        if shape.is_dir() {
            walk(&path, seen);
        } else if shape.is_symlink() {
            seen.insert(path.clone(), fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes());
        } else if shape.is_file() && !path.to_string_lossy().contains("studio.db") {
            seen.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
}

/// A PNG with upright stripes of these colours.
pub(crate) fn png(width: u32, height: u32, colours: &[[u8; 3]]) -> Vec<u8> {
    encoded(ImageFormat::Png, width, height, colours)
}

pub(crate) fn encoded(format: ImageFormat, width: u32, height: u32, colours: &[[u8; 3]]) -> Vec<u8> {
    let row: Vec<u8> = (0..width as usize)
        .flat_map(|x| {
            let [red, green, blue] = colours[x * colours.len() / width as usize];
            [red, green, blue, 255]
        })
        .collect();
    let image = RgbaImage::from_raw(width, height, row.repeat(height as usize)).unwrap();
    let mut bytes = Cursor::new(Vec::new());
    let image = image::DynamicImage::from(image);
    if format == ImageFormat::Jpeg {
        image.to_rgb8().write_to(&mut bytes, format).unwrap();
    } else {
        image.write_to(&mut bytes, format).unwrap();
    }
    bytes.into_inner()
}

/// Services that answer from memory and note what they were asked.
#[derive(Default)]
pub(crate) struct Desk {
    pub(crate) abilities: Abilities,
    pub(crate) fails: bool,
    pub(crate) asked: Mutex<Vec<String>>,
}

impl Desk {
    pub(crate) fn everything() -> Arc<Self> {
        let abilities = Abilities { pictures: true, search: true, answers: true, vision: true };
        Arc::new(Self { abilities, ..Self::default() })
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    fn note(&self, what: String) -> Result<(), String> {
        self.asked.lock().unwrap().push(what);
        if self.fails { Err("the line is dead".to_owned()) } else { Ok(()) }
    }
}

pub(crate) fn outside(desk: &Arc<Desk>) -> Option<Outside> {
    let services: Arc<dyn Services> = desk.clone();
    Some(Outside::new(services))
}

impl Services for Desk {
    fn abilities(&self) -> Abilities {
        self.abilities
    }

    fn picture(&self, prompt: &str, references: &[ReferenceImage]) -> Result<Vec<u8>, String> {
        let labels: Vec<_> = references.iter().map(|it| format!("{} {}", it.label, it.media_type)).collect();
        self.note(format!("picture: {prompt} with {labels:?}"))?;
        Ok(png(16, 8, &[[1, 2, 3]]))
    }

    fn search(&self, query: &str) -> Result<Vec<SearchHit>, String> {
        self.note(format!("search: {query}"))?;
        let hit = |number: u32| SearchHit {
            title: format!("{query} {number}"),
            url: format!("https://example.org/{number}"),
            snippet: "Lemonade sells in glass".to_owned(),
        };
        Ok(vec![hit(1), hit(2), hit(3)])
    }

    fn answer(&self, prompt: &str, images: &[ReferenceImage]) -> Result<String, String> {
        self.note(format!(
            "answer: {} ({} images)",
            prompt.lines().next().unwrap_or_default(),
            images.len()
        ))?;
        if prompt.starts_with("Write 3 web search queries") {
            return Ok("- lemonade bottles\nlemonade prices\n\n".to_owned());
        }
        Ok("A calm, sunny look.".to_owned())
    }
}
