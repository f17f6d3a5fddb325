# syntax=docker/dockerfile:1
# Builds `kb` and packages it with the programs that playbooks commonly call (bash, git).
#
#   docker build -t kb .
#   docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/project" -v kb-state:/home/kb/state \
#       -e ANTHROPIC_API_KEY kb playbook run add-feature --param featureName=x
#
# `--user` gives `kb` the rights of the owner of the project. The volume keeps runs and their journal.
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
# Any user may create a folder of its own in the state folder, so that `--user` works.
RUN useradd --create-home kb && install -d -m 1777 /home/kb/state && chmod 755 /home/kb
USER kb
ENV HOME=/home/kb XDG_STATE_HOME=/home/kb/state
WORKDIR /project
ENTRYPOINT ["kb"]
CMD ["--help"]
