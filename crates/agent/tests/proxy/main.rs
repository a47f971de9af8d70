//! The endpoints of OpenAI and Ollama in front of a model server, over real sockets.

mod yard; //    a proxy between a client and a model that says what is written down
mod chats; //   tools injected and called, in both dialects
mod consent; // calls that wait for a person
mod broken; //  what goes wrong
mod passed; //  what passes unchanged, and who may come in
mod clients; // the official clients
