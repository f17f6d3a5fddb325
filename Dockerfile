# syntax=docker/dockerfile:1
# Builds `kb` and packages it with the programs that playbooks commonly call (bash, git).
#
#   docker build -t kb .
#   docker run --rm -v "$PWD:/project" -e ANTHROPIC_API_KEY kb playbook run add-feature --param featureName=x
#
# Inside a container the kernel often refuses user namespaces and Landlock. `kb doctor` reports the
# sandbox and process control levels that are available.
FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
RUN cargo build --release --locked --bin kb

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends bash ca-certificates git \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /src/target/release/kb /usr/local/bin/kb
RUN useradd --create-home kb
USER kb
# Runs and their journal. Mount a volume here to keep them.
ENV XDG_STATE_HOME=/home/kb/state
WORKDIR /project
ENTRYPOINT ["kb"]
CMD ["--help"]
