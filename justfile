# What there is to do here: `just` lists it.
default:
    @just --list

# Build the program
build:
    cargo build --release -p toolyard

# Run all tests, or those whose names contain a word
test *FILTER:
    scripts/test {{FILTER}}

# Check form, lints, licences and tests, as a change must pass them
check:
    .ci/run

# Check form and lints only
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings

# Serve HTTP at 127.0.0.1:8808 with your configuration, or with the built-in servers
serve *ARGS:
    cargo run --release -p toolyard -- serve --http {{ARGS}}

# Open the documentation of the code
docs:
    cargo doc --workspace --no-deps --open

# Run the official conformance suite, directly and through the hub
conformance:
    scripts/servers npm python conformance
    TOOLYARD_REQUIRE_SERVERS=1 cargo nextest run -p toolyard conformance

# Measure the hub beside its peers, as docs/benchmarks.md says
bench HARNESS *ARGS:
    cargo build --release -p toolyard
    scripts/bench {{HARNESS}} {{ARGS}}

# Measure how long the index over all tools takes
bench-index:
    cargo run --release -p toolyard-core --example index_speed

# Compute the vectors that come with the program, after the encoder or the library changed
vectors:
    cargo run --release -p toolyard-hub --example library_vectors -- models/library.vectors

# Record the terminal session of the README again
record:
    cargo build --release -p toolyard
    scripts/record target/release/toolyard
